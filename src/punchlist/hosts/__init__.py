"""Work inside the agents that people run: attach to them, take in what their hooks say, reach them again."""
