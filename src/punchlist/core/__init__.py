"""Decide by pure rules: a state and a command give the next state and its events. No I/O, no clock, no randomness."""
