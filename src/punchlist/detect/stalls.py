"""Silence: an agent that was started and of which nothing comes, told about once, as OpenClaw's relay does.

Four kinds, by how far the agent got: nothing was submitted to it, no event came from it, there was activity but no
output, there was output and then none. Whoever watches calls `check` every `poll_every` seconds. Only visible output
ends a stall; other signs of life put the next notice off.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.options import Seconds, parse_options
from punchlist.detect.findings import Finding, shown
from punchlist.text import cut

LONGEST_LABEL = 40


class StallOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """In seconds. `notice_after` of silence there is a notice, 0 for none; after `lifetime` nobody watches any more."""

    notice_after: Seconds = 60.0
    poll_every: Seconds = 15.0
    lifetime: Seconds = 6 * 60 * 60.0


DEFAULT = StallOptions()
_LEAST = {"notice_after": 0.0, "poll_every": 0.25, "lifetime": 1.0}


def stall_options(given: object, otherwise: StallOptions = DEFAULT) -> StallOptions:
    """The options that a person gave. A time that is too short is the shortest there is, as in the original."""
    found = parse_options(StallOptions, given, "stalls")
    return replace(otherwise, **{name: max(_LEAST[name], getattr(found, name)) for name in cast("Any", given)})


class StallState(Struct, frozen=True):
    """The progress of an agent, and the time of its last heartbeat. `label` is what it is called in a notice.

    `told_as` is the detector of the stall that was told about, and is not over yet.
    """

    started_at: datetime
    alive_at: datetime
    label: str = "ACP child"
    submitted: bool = False
    proxies: tuple[str, ...] = ()
    active: bool = False
    last_event: str = ""
    spoke: bool = False
    told: bool = False
    over: bool = False
    told_as: str = ""


def watched(at: datetime, label: str = "") -> StallState:
    """The state at the start of an agent."""
    words = " ".join(label[:400].split())
    return StallState(at, at, shown(cut(words, LONGEST_LABEL)) if words else "ACP child")


def submitted(state: StallState, at: datetime, proxies: Iterable[str] = ()) -> StallState:
    """The prompt was sent. `proxies` are the names of proxy variables that were set then, never their values."""
    return replace(_alive(state, at), submitted=True, proxies=tuple(sorted(shown(name) for name in proxies))[:16])


def active(state: StallState, at: datetime, event: str = "") -> StallState:
    """An event came from the agent that nobody sees."""
    return replace(_alive(state, at), active=True, last_event=event)


def muttered(state: StallState, at: datetime) -> StallState:
    """The agent said something that is not passed on."""
    return _alive(state, at)


def spoke(state: StallState, at: datetime) -> tuple[StallState, Finding | None]:
    """Visible output came. If a stall was told about, so is its end."""
    now = replace(_alive(state, at), spoke=True, told=False, told_as="")
    if not state.told or state.over:
        return now, None
    return now, Finding("resumed", "ok", f"{state.label} resumed output.", subject=state.label)


def ended(state: StallState) -> StallState:
    """The agent finished or failed; nothing more is said about it."""
    return replace(state, over=True, told_as="")


def over(state: StallState, seen: str = "") -> Finding | None:
    """Return the finding that a stall which was told about is over, by output, a new turn, or the end."""
    if not state.told_as:
        return None
    return Finding(state.told_as, "ok", seen or f"{state.label} is no longer waited for.", subject=state.label)


def check(state: StallState, now: datetime, options: StallOptions = DEFAULT) -> tuple[StallState, Finding | None]:
    """The stall to tell about at this time, if any: one for each stall. At the end of its lifetime a watch is over."""
    if state.over:
        return state, None
    if now - state.started_at >= timedelta(seconds=options.lifetime):
        n = max(1, round(options.lifetime))
        said = f"{state.label} stream relay timed out after {n}s without completion."
        return replace(ended(state), told_as="timed_out"), Finding("timed_out", "critical", said, n, state.label)
    silent = now - state.alive_at
    if options.notice_after <= 0 or state.told or silent < timedelta(seconds=options.notice_after):
        return state, None
    n = round(options.notice_after)
    detector, said = _stall(state, n)
    return replace(state, told=True, told_as=detector), Finding(detector, "warning", said, n, state.label)


def _alive(state: StallState, at: datetime) -> StallState:
    """A clock that was set back does not make an agent look silent, nor one that was late look alive."""
    return replace(state, alive_at=max(state.alive_at, at))


def _stall(state: StallState, n: int) -> tuple[str, str]:
    """Return the kind of the stall, and the sentence of the original for it."""
    label = state.label
    if state.spoke:
        said = f"{label} has produced no visible output for {n}s. It may be waiting for interactive input."
        return "silent_after_output", said
    if state.active:
        last = f" Last ACP event: {shown(state.last_event)}." if state.last_event else ""
        said = f"{label} has ACP runtime activity but no visible assistant output for {n}s.{last}"
        return "no_output", f"{said} It may be busy with a tool, or have failed before it could say so."
    if state.submitted:
        proxies = f"proxy env: {', '.join(state.proxies) or 'none'}"
        said = f"{label} prompt was submitted but no ACP runtime event arrived for {n}s ({proxies})."
        return "no_runtime_event", f"{said} Check upstream connectivity, credentials and proxies."
    return "nothing_submitted", f"{label} session started but no prompt submission was observed for {n}s."
