"""Tool calls as ACP updates, by the rules of OpenClaw's translator: one start, updates, one end.

A second start, and whatever comes behind the end, is dropped. Calls that a turn leaves open are given up as Hermes
does it: the protocol has no word for that, so they are `failed`, and `_meta` says why. Who says later how such a call
went is heard all the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from punchlist.bridges.acp.plan import OURS, Update
from punchlist.bridges.acp.raw import raw
from punchlist.bridges.acp.titles import call_content, call_kind, call_title
from punchlist.core.grounding.places import Place, places

_MOST_OPEN: Final = 1_024
_MOST_ENDED: Final = 1_024


class Calls:
    """The calls of one session. Bounded: of more than 1,024 open calls the oldest is forgotten."""

    def __init__(self) -> None:
        self._open: dict[str, list[Place]] = {}
        self._ended: dict[str, None] = {}
        self._given_up: dict[str, list[Place]] = {}

    def knows(self, call_id: str) -> bool:
        """Whether the call has begun, and perhaps ended."""
        return call_id in self._open or call_id in self._ended

    @property
    def running(self) -> Collection[str]:
        """The calls that have begun and not ended."""
        return self._open.keys()

    def started(
        self,
        call_id: str,
        name: str,
        arguments: Any = None,
        *,
        title: str | None = None,
        found: Iterable[Place] = (),
        meta: dict[str, Any] | None = None,
    ) -> Update | None:
        """A call begins. `title` and the places `found` are for those who do not have its arguments."""
        if not call_id or self.knows(call_id):
            return None
        arguments = raw(arguments)
        known = places(arguments, list(found))
        self._open[call_id] = known or []
        _trim(self._open, _MOST_OPEN)
        return _update(
            "tool_call",
            call_id,
            status="in_progress",
            title=call_title(name, arguments) if title is None else title,
            kind=call_kind(name),
            rawInput=arguments,
            locations=known,
            _meta=meta,
        )

    def updated(self, call_id: str, partial: Any = None, *, meta: dict[str, Any] | None = None) -> Update | None:
        """A call has brought something, and goes on."""
        if not call_id or call_id in self._ended:
            return None
        partial = raw(partial)
        return _update(
            "tool_call_update",
            call_id,
            status="in_progress",
            rawOutput=partial,
            content=call_content(partial),
            locations=places(self._open.get(call_id, []), partial),
            _meta=meta,
        )

    def finished(
        self,
        call_id: str,
        result: Any = None,
        *,
        is_error: bool = False,
        found: Iterable[Place] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Update | None:
        """A call has ended, perhaps one that was given up. The places `found` are for those who know only a preview."""
        if not call_id or (call_id in self._ended and call_id not in self._given_up):
            return None
        begun, result = self._given_up.pop(call_id, None) or self._end(call_id), raw(result)
        return _update(
            "tool_call_update",
            call_id,
            status="failed" if is_error else "completed",
            rawOutput=result,
            content=call_content(result),
            locations=places(begun, result if found is None else list(found)),
            _meta=meta,
        )

    def given_up(self, call_ids: Iterable[str] | None = None) -> list[Update]:
        """The end of those calls that are still open, or of these of them: nobody waits for them any more."""
        wanted = list(self._open) if call_ids is None else [each for each in call_ids if each in self._open]
        for call_id in wanted:
            self._given_up[call_id] = self._end(call_id)
            _trim(self._given_up, _MOST_ENDED)
        meta = {f"{OURS}outcome": "abandoned"}
        return [_update("tool_call_update", call_id, status="failed", _meta=meta) for call_id in wanted]

    def _end(self, call_id: str) -> list[Place]:
        self._ended[call_id] = None
        _trim(self._ended, _MOST_ENDED)
        return self._open.pop(call_id, [])


def _update(what: str, call_id: str, **fields: Any) -> Update:
    """An update without the fields of which nothing is known."""
    known = {name: value for name, value in fields.items() if value is not None}
    return {"sessionUpdate": what, "toolCallId": call_id, **known}


def _trim(calls: dict[str, Any], most: int) -> None:
    if len(calls) > most:
        del calls[next(iter(calls))]
