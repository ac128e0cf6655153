"""Agents that fell silent, in words for people; what the relay says of them on the wire stays as it is there."""

from __future__ import annotations

from datetime import timedelta
from typing import Final, NamedTuple

from punchlist.surfaces.report_words import span


class Silent(NamedTuple):
    """An agent that has fallen silent: which of the stalls it is, and for how long if that is known."""

    session: str
    agent: str
    detector: str
    silent: timedelta | None = None


_SAID: Final = {
    "nothing_submitted": "was started{for}, and was given nothing to do",
    "no_runtime_event": "was given something to do{for}, and nothing has come from it since",
    "no_output": "has shown no sign of life{for}, and has said nothing yet; perhaps a tool still runs",
    "silent_after_output": "has shown no sign of life{for}; perhaps it waits for an answer",
    "timed_out": "has come to no end, and is no longer waited for",
}
_AGO: Final = frozenset({"nothing_submitted", "no_runtime_event"})


def silence_words(who: str, silent: Silent) -> str:
    """What is the matter with an agent of that name, as a sentence."""
    said = _SAID.get(silent.detector, "has shown no sign of life{for}")
    long = "" if silent.silent is None else span(silent.silent)
    when = "" if not long else f" {long} ago" if silent.detector in _AGO else f" for {long}"
    return f"{who} {said.replace('{for}', when)}."
