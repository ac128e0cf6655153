"""Attach agent programs: our tool server, hooks and status line in their own settings; handoffs between them."""
