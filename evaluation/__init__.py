"""Measure whether a list helps a run, and what it costs: scripted models in worlds whose end state can be checked."""
