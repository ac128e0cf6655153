"""Reports and briefs: the work on the board, and what Git saw of it."""
