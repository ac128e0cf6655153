"""Judge shell lines: what they really run, what that changes, and what their exit status says."""
