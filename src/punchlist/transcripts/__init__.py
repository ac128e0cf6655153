"""Read other agents' records: the list that each tells of, whose it is, and when it was written.

There is one module per format. Nothing here knows a board; `formats.open_transcript` is the way in.
"""
