"""Serve the board over HTTP: pages for people, an API and a live feed for programs. `punchlist serve` runs it.

Each module here exports its `routes`; `app` collects them, `access` decides who may call them.
"""
