"""Presence: which agents run on this machine, what each does now, and the first screen that follows from it."""
