"""Decide what a model is told, and when: pure functions of settings and history, without a store."""
