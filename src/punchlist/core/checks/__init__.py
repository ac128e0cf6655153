"""Recognise checks (tests, builds, lints, probes) in command lines, and tell how they came out."""
