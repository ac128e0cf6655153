"""Hook events of agent programs: taken exactly once from the inbox or a socket, applied to the board, answered."""
