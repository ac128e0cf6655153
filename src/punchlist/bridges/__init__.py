"""Other people's protocols and files: each bridge turns them into calls on a board, and back."""
