"""Views of the board for people and programs: a Struct per noun, for `--json`, the HTTP API and the page."""
