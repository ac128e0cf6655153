"""What people and programs see of the board: a Struct per noun, for `--json`, the HTTP API and the page."""
