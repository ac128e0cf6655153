"""Evidence that was offered for a completion, held against what was seen. It is never believed alone.

A command, an address or a file counts as seen if a call of the agent ran, fetched or wrote it. What a call that it
names really did may then ground the completion; the words themselves never do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final, Literal

from punchlist.core.grounding.calls import ToolCall
from punchlist.core.grounding.tally import Tally, counted
from punchlist.core.todo import Evidence
from punchlist.text.previews import preview

Kind = Literal["command", "url", "file", "person", "text"]
KINDS: Final[tuple[Kind, ...]] = ("command", "url", "file", "person", "text")

_LEAST: Final = 4
"""Characters that a text needs to be found within another one."""


@dataclass(frozen=True, slots=True)
class Matched:
    """One piece of evidence, what kind of thing it is, and the call that it names, if one was seen."""

    evidence: Evidence
    kind: Kind
    call: ToolCall | None = None

    @property
    def is_seen(self) -> bool:
        return self.call is not None

    @property
    def holds(self) -> bool:
        """Whether the call that it names went well: a check has to have passed."""
        if self.call is None or self.call.outcome != "ok":
            return False
        return self.call.check is None or self.call.check_outcome == "passed"


def match_evidence(
    given: Sequence[Evidence], calls: Sequence[ToolCall], *, until: datetime | None = None
) -> tuple[Matched, ...]:
    """Each piece with the last call that it names, among these calls in their order; none that began after `until`."""
    if not given:
        return ()
    known = [call for call in calls if until is None or call.started is None or call.started.at <= until]
    return tuple(_matched(evidence, known) for evidence in given)


def grounded_by(tally: Tally, matches: Iterable[Matched], *, item: str, since: datetime | None = None) -> Tally:
    """The tally with the calls that evidence names counted too, though they ran under another item, or under none.

    `item` is the key of the item that the tally is of, `since` when it came to be: what ran before proves nothing.
    """
    named: dict[str, ToolCall] = {}
    for match in matches:
        call = match.call
        begun = None if call is None else call.started or call.finished
        if call is not None and call.item != item and begun is not None and (since is None or begun.at >= since):
            named[call.id] = call
    for call in named.values():
        tally = counted(tally, None, call) or tally
    return tally


def kind_of(evidence: Evidence) -> Kind:
    """The kind that was given, if it is one, else what the text looks like."""
    wanted = (evidence.kind or "").strip().lower()
    for kind in KINDS:
        if kind == wanted:
            return kind
    text = evidence.text.strip()
    if _compiled(r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}://\S+").fullmatch(text) is not None:
        return "url"
    if _compiled(r"(?i)(?:confirmed|approved|accepted|reviewed|checked|signed off) by\b.*").match(text) is not None:
        return "person"
    if _compiled(r"[\w.@~/\\-]*[\w-]\.[A-Za-z0-9]{1,8}|[\w.@~-]*/[\w.@/-]+").fullmatch(text) is not None:
        return "file"
    return "text"


def _matched(evidence: Evidence, calls: Sequence[ToolCall]) -> Matched:
    kind = kind_of(evidence)
    if kind == "person":
        return Matched(evidence, kind)
    needle = _folded(preview(evidence.text))
    for call in reversed(calls):
        if call.kind != "todo" and (
            evidence.text.strip() == call.id or _names(kind, evidence.text.strip(), needle, call)
        ):
            return Matched(evidence, "command" if kind == "text" and call.program else kind, call)
    return Matched(evidence, kind)


def _names(kind: Kind, text: str, needle: str, call: ToolCall) -> bool:
    if kind == "file":
        return any(path == text or path.endswith(f"/{text.lstrip('./')}") for path in call.files)
    if len(needle) < _LEAST:
        return False
    if kind == "url":
        return needle in call.preview.lower()
    asked = _folded(call.preview)
    if needle in asked or (len(asked) >= _LEAST and asked in needle):
        return True
    return kind == "text" and needle in _folded(call.result)


def _folded(text: str) -> str:
    return " ".join(text.lower().strip(" `$>…").split())


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
