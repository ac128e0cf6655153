"""Test doubles for what is built on Punchlist: a clock to set, and a store that fails when told to."""

from punchlist.testing.doubles import FakeClock, Fault, FaultyStore

__all__ = ["FakeClock", "Fault", "FaultyStore"]
