"""Projections: the events of a board as messages of other programs, formed by pure values."""
