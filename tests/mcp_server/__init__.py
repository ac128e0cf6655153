"""Tests of `punchlist.mcp`. The folder is not called `mcp`: type checkers would take it for the official SDK."""
