"""What one handle's calls cost, kept beside the list. Imported with the first call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from punchlist.core.events import Draft
from punchlist.dialects.base import Reply
from punchlist.guidance.ledger import Size, key_of, size_of_json
from punchlist.guidance.tally import EMPTY, Tally, after_call, decode_tally, encode_tally

if TYPE_CHECKING:
    from punchlist.detect.findings import Finding


class Accounts:
    """The tally of an agent, as bytes and as a value. It is decoded only when another handle wrote it."""

    size = staticmethod(size_of_json)
    """The arguments of a call, as the model wrote them."""

    def __init__(self, dialect: str, profile: str) -> None:
        self.key = key_of(dialect, profile)
        self._foreign = dialect != "punchlist"
        self._last: tuple[bytes | None, Tally] = (None, EMPTY)

    def tally(self, ledger: bytes | None) -> Tally:
        """The value of the bytes that an agent's row holds."""
        known, tally = self._last
        if known is not ledger:
            tally = decode_tally(ledger)
            self._last = ledger, tally
        return tally

    def watching(self, ledger: bytes | None) -> bytes | None:
        """The bytes to store once a tool call of the agent was reported; None if one was before."""
        tally = self.tally(ledger)
        if tally.watched:
            return None
        return self._kept(replace(tally, watched=True, awaited=False, pace=()))

    def awaiting(self, ledger: bytes | None, awaited: bool) -> bytes:
        """The bytes to store when a sign of life is waited for, or has come."""
        return self._kept(replace(self.tally(ledger), awaited=awaited))

    def calm(self, ledger: bytes | None) -> tuple[bytes | None, Sequence[Finding]]:
        """The bytes to store when a turn is over, None if they stay, and what is over with it: a storm of calls."""
        tally = self.tally(ledger)
        if not tally.pace:
            return None, ()
        from punchlist.detect.pace import calm, pace_of

        known = pace_of(tally.pace)
        if not known.storm_until:
            return None, ()
        pace, ended = calm(known)
        return self._kept(replace(tally, pace=pace)), ended

    def _kept(self, tally: Tally) -> bytes:
        body = encode_tally(tally)
        self._last = body, tally
        return body

    def after(
        self,
        tally: Tally,
        arguments: Size,
        reply: Reply,
        events: Sequence[Draft] = (),
        *,
        wrote: bool = False,
        pace: tuple[Any, ...] | None = None,
    ) -> bytes:
        """The bytes to store after that tally and one more call; one that wrote the list has events, another says so.

        `pace` is how the list is written now, where that is noted here.
        """
        completed = sum(kind == "item.completed" for kind, _ in events) if len(events) > 2 else 0
        after = after_call(
            tally,
            self.key,
            arguments,
            reply,
            wrote=wrote or bool(events),
            completed=completed,
            foreign=self._foreign,
            pace=pace,
        )
        return self._kept(after)
