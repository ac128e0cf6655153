"""Detect stalled agents by the rules of OpenClaw's relay: no visible output for longer than the limit, reported once.

A stall has one of four kinds, by the agent's last activity: no prompt was submitted, no event came after it, events
came but no output, or output came and then stopped. The caller runs `find_stall` every `poll_every` seconds. Only
visible output ends a stall; any other heartbeat delays the next notice.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.inputs import Seconds, parse_options
from punchlist.detect.findings import Finding, clean_name
from punchlist.text import cut

LONGEST_LABEL = 40


class StallOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Times in seconds: silence until a notice (0 for none), time between checks, time until a relay's watch ends.

    The original gives notice after 60; a model that thinks, or a build, is often silent for longer.
    """

    notice_after: Seconds = 300.0
    poll_every: Seconds = 15.0
    lifetime: Seconds = 6 * 60 * 60.0


DEFAULT = StallOptions()
_LEAST = {"notice_after": 0.0, "poll_every": 0.25, "lifetime": 1.0}


def stall_options(given: object, otherwise: StallOptions = DEFAULT) -> StallOptions:
    """Read the options that a person gave. A time below its minimum becomes that minimum, as in the original."""
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


def start_watch(at: datetime, label: str = "") -> StallState:
    """Return the state of an agent that starts now."""
    words = " ".join(label[:400].split())
    return StallState(at, at, clean_name(cut(words, LONGEST_LABEL)) if words else "ACP child")


def note_prompt(state: StallState, at: datetime, proxies: Iterable[str] = ()) -> StallState:
    """Note that the prompt was sent. `proxies` are the names of proxy variables that were set, never their values."""
    return replace(
        note_hidden_output(state, at), submitted=True, proxies=tuple(sorted(clean_name(name) for name in proxies))[:16]
    )


def note_activity(state: StallState, at: datetime, event: str = "") -> StallState:
    """Note an event of the agent that is not shown."""
    return replace(note_hidden_output(state, at), active=True, last_event=event)


def note_hidden_output(state: StallState, at: datetime) -> StallState:
    """Note output of the agent that is not passed on. A clock that was set back does not make an agent look silent."""
    return replace(state, alive_at=max(state.alive_at, at))


def note_output(state: StallState, at: datetime) -> tuple[StallState, Finding | None]:
    """Note visible output. If a stall was reported, return the finding that it is over."""
    now = replace(note_hidden_output(state, at), spoke=True, told=False, told_as="")
    if not state.told or state.over:
        return now, None
    return now, Finding("resumed", "ok", f"{state.label} resumed output.", subject=state.label)


def end_watch(state: StallState) -> StallState:
    """End the watch of an agent that finished or failed."""
    return replace(state, over=True, told_as="")


def clear_stall(state: StallState, seen: str = "") -> Finding | None:
    """Return the finding that a reported stall is over, by output, a new turn, or the end; None without one."""
    if not state.told_as:
        return None
    return Finding(state.told_as, "ok", seen or f"{state.label} is no longer waited for.", subject=state.label)


def find_stall(state: StallState, now: datetime, options: StallOptions = DEFAULT) -> tuple[StallState, Finding | None]:
    """Return the stall to report now, as a relay does: at the end of its lifetime the watch ends."""
    if not state.over and now - state.started_at >= timedelta(seconds=options.lifetime):
        n = max(1, round(options.lifetime))
        said = f"{state.label} stream relay timed out after {n}s without completion."
        return replace(end_watch(state), told_as="timed_out"), Finding("timed_out", "critical", said, n, state.label)
    return report_silence(state, now, options)


def report_silence(
    state: StallState, now: datetime, options: StallOptions = DEFAULT
) -> tuple[StallState, Finding | None]:
    """Return the stall to report now, if any, however long it lasts. Each stall is reported once."""
    if state.over:
        return state, None
    silent = now - state.alive_at
    if options.notice_after <= 0 or state.told or silent < timedelta(seconds=options.notice_after):
        return state, None
    n = round(options.notice_after)
    detector, said = _describe_stall(state, n)
    return replace(state, told=True, told_as=detector), Finding(detector, "warning", said, n, state.label)


def find_silence(state: StallState, now: datetime, options: StallOptions = DEFAULT) -> Finding | None:
    """Return the stall that lasts, reported or not; None if there is none, or the watch has ended."""
    return report_silence(replace(state, told=False), now, options)[1]


def _describe_stall(state: StallState, n: int) -> tuple[str, str]:
    """Return the kind of the stall, and the original's sentence for it."""
    label = state.label
    if state.spoke:
        said = f"{label} has produced no visible output for {n}s. It may be waiting for interactive input."
        return "silent_after_output", said
    if state.active:
        last = f" Last ACP event: {clean_name(state.last_event)}." if state.last_event else ""
        said = f"{label} has ACP runtime activity but no visible assistant output for {n}s.{last}"
        return "no_output", f"{said} It may be busy with a tool, or have failed before it could say so."
    if state.submitted:
        proxies = f"proxy env: {', '.join(state.proxies) or 'none'}"
        said = f"{label} prompt was submitted but no ACP runtime event arrived for {n}s ({proxies})."
        return "no_runtime_event", f"{said} Check upstream connectivity, credentials and proxies."
    return "nothing_submitted", f"{label} session started but no prompt submission was observed for {n}s."
