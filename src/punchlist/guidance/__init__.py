"""What is put before a model, and when: pure functions of settings and history. Nothing here knows a store."""
