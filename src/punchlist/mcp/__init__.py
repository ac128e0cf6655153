"""Serve a board to MCP clients over standard input and output, with the standard library alone."""
