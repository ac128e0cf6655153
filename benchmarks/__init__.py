"""How fast Punchlist is beside its peers. `python -m benchmarks` measures and prints; nothing here asserts a time."""
