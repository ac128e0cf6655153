"""Other agents' records, read as values: the list that each tells of, whose it is, and when it was written.

One file a format. Nothing here knows a board; `formats.open_transcript` is the way in.
"""
