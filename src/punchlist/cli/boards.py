"""Open the board that a command means."""

from __future__ import annotations

from argparse import Namespace

from punchlist.board import Board
from punchlist.cli.arguments import board_url, check_names, complete_session, has_inbox
from punchlist.errors import StoreFailed, StoreFull


def open_board(options: Namespace, *, reads: bool = False) -> Board:
    """Open the board that is meant. With `reads`, the file of `--db`, the session and the agent have to exist."""
    url = board_url(options, reads=reads)
    board = Board.open(url)
    if has_inbox(url):
        from punchlist.hosts.inbox import ingest  # most boards have none

        try:
            ingest(board)
        except (StoreFull, StoreFailed):
            if not reads:  # the inbox stays; what is on the board can still be shown
                board.close()
                raise
    complete_session(board, options)
    if reads:
        check_names(board, options)
    return board
