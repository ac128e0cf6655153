"""The options by which an agent is watched: checked when a handle is made, read when the first call is reported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from punchlist.agent.own_secrets import own_secrets
from punchlist.agent.stalling import board_timings
from punchlist.agent.watching import Settings
from punchlist.core.checks import FAMILIES, Family, with_own
from punchlist.core.grounding import Watch
from punchlist.detect.loop_options import loop_options
from punchlist.detect.settings import mapping, refused, whole
from punchlist.detect.staleness import staleness_options
from punchlist.detect.stalls import StallOptions, stall_options
from punchlist.guidance.tools import OwnTools
from punchlist.text.previews import LENGTH

if TYPE_CHECKING:
    from punchlist.agent.handle import AgentOptions
    from punchlist.detect.guardrail_options import GuardrailOptions
    from punchlist.detect.rounds import RoundOptions

GRADINGS = ("show", "tell", "require")
_LONGEST_PREVIEW = 10_000


def check_watching(options: AgentOptions) -> None:
    """Raises `ConfigInvalid` for what cannot be."""
    grades = options.get("grades", "show")
    if grades not in GRADINGS:
        raise refused("grades", grades, f"use one of {', '.join(GRADINGS)}")
    watch_settings(options, OwnTools())


def watch_settings(options: AgentOptions, host: OwnTools) -> Settings:
    """How an agent with these options is watched."""
    previews = min(whole("previews", options.get("previews", LENGTH), least=0), _LONGEST_PREVIEW)
    own = options.get("checks")
    return Settings(
        watch=Watch(previews, None if own is None else with_own(_checks(own)), own_secrets(options)),
        loops=loop_options(options.get("loop_detection", True)),
        staleness=staleness_options(options.get("staleness") or {}),
        host=host,
        stalls=_timings(options.get("stalls")),
        guardrail=_guardrail(options.get("guardrail")),
        rounds=_rounds(options.get("rounds")),
    )


def _guardrail(given: object) -> GuardrailOptions | None:
    """Hermes' guardrail is off unless asked for: true for its defaults, or a mapping."""
    if given is None or given is False:
        return None
    from punchlist.detect.guardrail_options import guardrail_options

    return guardrail_options({} if given is True else given)


def _rounds(given: object) -> RoundOptions | None:
    """The same for rounds."""
    if given is None or given is False:
        return None
    from punchlist.detect.rounds import round_options

    return round_options({} if given is True else given)


def _timings(given: Mapping[str, float] | None) -> StallOptions | None:
    """An agent's own timings; what it leaves open is as on the board."""
    return None if given is None else stall_options(given, board_timings())


def _checks(given: Mapping[str, str]) -> dict[str, Family]:
    found: dict[str, Family] = {}
    for command, family in mapping("checks", given, given).items():
        known: list[Family] = [one for one in FAMILIES if one == family]
        if not known or not command.strip():
            raise refused(f"checks.{command}", family, f"use one of {', '.join(FAMILIES)}")
        found[command] = known[0]
    return found
