"""Bridges: other programs' files and protocols, kept in step with a board or fed from its events."""
