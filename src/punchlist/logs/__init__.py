"""Logs that agents write themselves: where they are, what they say, and how they reach the board."""
