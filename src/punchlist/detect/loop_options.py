"""The settings of loop detection: OpenClaw's, with its defaults, and three of our own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from punchlist.detect.settings import flag, mapping, refused, whole

DETECTORS = ("generic_repeat", "known_poll_no_progress", "ping_pong")
"""Those that can be switched off. `unknown_tool_repeat` and `global_circuit_breaker` cannot."""

_NAME = "loop_detection"


class LoopOptions(Struct, frozen=True, kw_only=True):
    """When a repeated call is a loop.

    Ours beside the original's: `count_blocked` (a call judged critical counts as one more repetition, so that a
    blocked loop reaches the global breaker), `tell_model` (a warning is for the model too, once), `error_threshold`
    (so many failures in a row, of whatever tools, are a warning; 0 for none). `compaction_window` is the number of
    calls that the guard watches after a compaction; 0 for none.
    """

    enabled: bool = True
    history_size: int = 30
    warning_threshold: int = 10
    critical_threshold: int = 20
    global_threshold: int = 30
    unknown_tool_threshold: int = 10
    count_blocked: bool = False
    tell_model: bool = False
    error_threshold: int = 0
    compaction_window: int = 3
    detectors: frozenset[str] = frozenset(DETECTORS)


DEFAULT = LoopOptions()
OFF = LoopOptions(enabled=False)

_THRESHOLDS = ("warning_threshold", "critical_threshold", "global_threshold")
_COUNTS = ("history_size", *_THRESHOLDS, "unknown_tool_threshold")
_OFF_AT_ZERO = ("error_threshold", "compaction_window")
_FLAGS = ("count_blocked", "tell_model")


def loop_options(given: object = True) -> LoopOptions:
    """The options that a person gave: true, false, or a mapping; `ConfigInvalid` names what is wrong with it.

    Thresholds rise from warning to critical to global: two that are given have to, else the later one is moved up.
    """
    if isinstance(given, bool):
        return DEFAULT if given else OFF
    options = mapping(_NAME, given, (*_COUNTS, *_OFF_AT_ZERO, *_FLAGS, "detectors"))
    found: dict[str, Any] = {
        **{name: whole(f"{_NAME}.{name}", options[name]) for name in _COUNTS if name in options},
        **{name: whole(f"{_NAME}.{name}", options[name], least=0) for name in _OFF_AT_ZERO if name in options},
        **{name: flag(f"{_NAME}.{name}", options[name]) for name in _FLAGS if name in options},
    }
    if "detectors" in options:
        found["detectors"] = _detectors(options["detectors"])
    return LoopOptions(**{**found, **_risen(found)})


def _detectors(given: object) -> frozenset[str]:
    wanted = mapping(f"{_NAME}.detectors", given, DETECTORS)
    off = {name for name, value in wanted.items() if not flag(f"{_NAME}.detectors.{name}", value)}
    return frozenset(DETECTORS) - off


def _risen(found: Mapping[str, Any]) -> dict[str, Any]:
    """Thresholds that would not be above the one before them, moved up; two that were both given may not be so."""
    moved: dict[str, Any] = {}
    below = found.get(_THRESHOLDS[0], DEFAULT.warning_threshold)
    below_name = _THRESHOLDS[0]
    for name in _THRESHOLDS[1:]:
        value = found.get(name, getattr(DEFAULT, name))
        if value <= below:
            if name in found and below_name in found:
                raise refused(f"{_NAME}.{name}", value, f"it has to be above `{below_name}`, which is {below}")
            value = below + 1
            moved[name] = value
        below, below_name = value, name
    return moved
