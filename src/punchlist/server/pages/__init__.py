"""The pages of the server: views of the board, their templates, and the forms that change it."""
