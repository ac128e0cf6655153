"""Conversations of agent programs, each tied to a session of the board, and receipts of what reached them."""
