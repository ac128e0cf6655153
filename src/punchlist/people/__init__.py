"""People: their answers and decisions on the way to agents, and what they are told of agents."""
