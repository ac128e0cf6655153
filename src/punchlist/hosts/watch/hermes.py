"""Read the tool calls and list writes of Hermes from its store. The place in it is the number of a message."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

from punchlist.board import Board
from punchlist.hosts.watch.rows import Piece, StoreRows
from punchlist.hosts.watch.scope import WatchScope
from punchlist.transcripts import hermes
from punchlist.transcripts.chat_activity import HermesSteps
from punchlist.transcripts.decoding import name, path
from punchlist.transcripts.stores import read_rows
from punchlist.transcripts.values import MAIN

HOST: Final = hermes.NAME
_FIRST: Final = "SELECT coalesce(max(id), 0) FROM messages WHERE timestamp < ?"
_CHANGED: Final = "SELECT DISTINCT session_id FROM messages WHERE id > ? AND active = 1"
_ASKED: Final = "SELECT max(id) FROM messages WHERE session_id = ? AND id <= ? AND role = 'assistant' AND active = 1"
_MESSAGES: Final = """
SELECT id, role, content, tool_call_id, tool_calls, timestamp FROM messages
WHERE session_id = ? AND id >= ? AND active = 1 ORDER BY id
"""
_COLUMNS: Final = "SELECT name FROM pragma_table_info('sessions')"
_FOLDER: Final = "SELECT cwd FROM sessions WHERE id = ?"


def read_calls(board: Board, store: str, since: float | None, scope: WatchScope) -> None:
    """Put on the board what was written to a store since the last time."""

    def find_first() -> int:
        return 0 if since is None else next(read_rows(store, _FIRST, (since,)))[0]

    StoreRows(board, HOST, store, scope, is_timed=False).take(lambda place: _read_pieces(store, place), find_first)


def _read_pieces(store: str, place: int) -> Iterator[Piece]:
    has_folders = any(column == "cwd" for (column,) in read_rows(store, _COLUMNS))
    for (given,) in list(read_rows(store, _CHANGED, (place,))):
        session = name(given)
        if session is None:
            continue
        told: Any = next(read_rows(store, _FOLDER, (given,)), (None,))[0] if has_folders else None
        steps = HermesSteps(MAIN)
        asked = next(read_rows(store, _ASKED, (given, place)))[0]  # its calls may end after the place
        for number, *fields in list(read_rows(store, _MESSAGES, (given, place if asked is None else asked))):
            message = dict(zip(hermes.COLUMNS, fields, strict=True))
            taken = list(steps.take(hermes.unwrap_content(message)))
            if number > place:
                yield Piece(number, session, MAIN, path(told) or os.path.dirname(store), taken)
