"""Which answer is whose: calls and their outcomes in a plain file, by ids that may be any text and come again.

A call's outcome is the first one of its id behind it, up to the next call of that id. All searches together read the
file a few times at most, so that a hostile file costs no more than a long one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from punchlist.transcripts.decoding import record
from punchlist.transcripts.reverse import Log
from punchlist.transcripts.search import holds
from punchlist.transcripts.values import Call, Outcome

if TYPE_CHECKING:
    from punchlist.transcripts.lines import LineFormat

WINDOW = 32 * 1024 * 1024
"""How far from a call its outcome is looked for; it is nearly always the next line but one."""

_PLAIN = re.compile(r"[\w.:| -]+", re.ASCII)
_LONGEST_WORD = 200
_NEAR = 8192


def word(call_id: str) -> bytes:
    """What every line with this id holds, however its text is escaped there: the longest part that never is."""
    last = len(call_id)
    runs = ['"' * (run.start() == 0) + run[0] + '"' * (run.end() == last) for run in _PLAIN.finditer(call_id)]
    longest = max(runs, key=len, default='""' if not call_id else '"')
    return longest[:_LONGEST_WORD].encode()


class Answers:
    """Finds what belongs to what around a line."""

    def __init__(self, log: Log, form: LineFormat) -> None:
        self._log = log
        self._form = form
        self._left = 2 * log.size + WINDOW
        self.answering: set[int] = set()
        """Where the lines begin that were found to answer a call and may tell a list of their own."""

    def to(self, call_id: str, start: int) -> Outcome | None:
        """The outcome of a call, from the line behind it on."""
        if self._left <= 0:
            return None
        stop = min(start + WINDOW, start + self._left)
        for line in self._log.forwards((word(call_id),), start, stop, block_size=_NEAR):
            found = None if line.body is None else record(line.body)
            for said in () if found is None else self._form.said(found):
                if isinstance(said, Call | Outcome) and said.call_id == call_id:
                    self._left -= line.end - start
                    if isinstance(said, Call):
                        return None
                    if self._form.tells is not None:
                        self.answering.add(line.start)
                    return said
        self._left -= min(stop, self._log.size) - start
        return None

    def is_orphan(self, outcome: Outcome, before: int) -> bool:
        """Whether the call of an outcome was lost, rather than never made or made by another tool.

        It was if a line before that cannot be read holds its id, or if the nearest line before that could hold a call
        cannot be read, or if there is no call before at all: the beginning of the file was cut off.
        """
        sight = self._call(outcome.call_id, before)
        return self._is_lost(before) if sight == "none" else sight == "unreadable"

    def _call(self, call_id: str, before: int) -> Literal["readable", "unreadable", "none"]:
        """Whether there is a call of this id without an outcome yet, and whether it can be read."""
        stop = max(0, before - max(0, self._left))
        for line in self._log.backwards((word(call_id),), before, stop, block_size=_NEAR):
            found = None if line.body is None else record(line.body)
            for said in () if found is None else self._form.said(found):
                if isinstance(said, Call | Outcome) and said.call_id == call_id:
                    self._left -= before - line.start
                    return "readable" if isinstance(said, Call) else "none"
            if line.body is not None and found is None and holds(line.body, self._form.callers):
                self._left -= before - line.start
                return "unreadable"
        self._left -= before - stop
        return "none"

    def _is_lost(self, before: int) -> bool:
        stop = max(0, before - max(0, self._left))
        for line in self._log.backwards(self._form.callers, before, stop, block_size=_NEAR):
            found = None if line.body is None else record(line.body)
            is_torn = line.body is not None and found is None
            if is_torn or any(isinstance(said, Call) for said in self._form.said(found or {})):
                self._left -= before - line.start
                return is_torn
        self._left -= before - stop
        return stop == 0  # what could not be looked at is not taken for lost

    def is_reused(self, call: Call, before: int) -> bool:
        """Whether a call of the same id and tool stands not far before this one."""
        if call.call_id is None:
            return False
        for line in self._log.backwards((word(call.call_id),), before, before - (1 << 20), block_size=_NEAR):
            found = None if line.body is None else record(line.body)
            for said in () if found is None else self._form.said(found):
                if isinstance(said, Call) and (said.call_id, said.name) == (call.call_id, call.name):
                    return True
        return False
