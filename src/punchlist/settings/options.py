"""The options of an agent's handle: keywords as a host gives them, and one tree of checked settings."""

from collections.abc import Collection, Mapping
from typing import Any, Literal, TypedDict, cast, get_args

from msgspec import Struct

from punchlist.core.checks.commands import FAMILIES, add_own_patterns
from punchlist.core.commands import Focus
from punchlist.core.grounding.observe import Watch
from punchlist.core.inputs import invalid_option
from punchlist.detect.guardrail import GuardrailOptions, guardrail_options
from punchlist.detect.list_upkeep import StalenessOptions, staleness_options
from punchlist.detect.loops import LoopOptions, loop_options
from punchlist.detect.rounds import RoundOptions, round_options
from punchlist.detect.stalls import StallOptions, stall_options
from punchlist.dialects.base import Dialect, PlanSettings, plan_settings
from punchlist.errors import suggest
from punchlist.guidance.layers import check_names as known_layers
from punchlist.guidance.rules import GuidanceSettings, parse_settings
from punchlist.guidance.tools import OwnTools
from punchlist.settings.environment import own_secrets, stall_timings
from punchlist.settings.table import MOST_PREVIEW, read_setting

Grading = Literal["show", "tell", "require"]


class AgentOptions(TypedDict, total=False):
    """Keywords of a handle, where it differs from its dialect: docs/hosts.md explains each.

    A mapping for `guidance` has fields of `GuidanceSettings`, one for `loop_detection`, `staleness`, `stalls`,
    `guardrail` or `rounds` those of the options of its detector, one for `plan_tools` those of `PlanToolOptions`.
    """

    focus: str | None
    clear_delay: float
    offered: bool | None
    context: str | None
    subagent: bool
    reading_tools: Collection[str]
    changing_tools: Collection[str]
    layers: Collection[str] | None
    guidance: Mapping[str, Any] | None
    plan_tools: bool | Mapping[str, Any]
    grades: str
    loop_detection: bool | Mapping[str, Any]
    staleness: Mapping[str, Any] | None
    stalls: Mapping[str, float] | None
    guardrail: bool | Mapping[str, Any]
    rounds: bool | Mapping[str, int]
    previews: int
    redact: Collection[str]
    checks: Mapping[str, str] | None
    complete_by_subagents: bool
    task_list: str | None


class AgentSettings(Struct, frozen=True, kw_only=True):
    """The options of one handle, checked and with their defaults. None is off, or left to the dialect or the board."""

    focus: Focus | None = None
    clear_delay: float | None = None
    offered: bool | None = None
    context: str | None = None
    subagent: bool = False
    host: OwnTools
    layers: frozenset[str] | None = None
    guidance: GuidanceSettings
    plan_tools: PlanSettings | None = None
    grades: Grading = "show"
    watch: Watch
    loops: LoopOptions
    staleness: StalenessOptions
    stalls: StallOptions | None = None
    guardrail: GuardrailOptions | None = None
    rounds: RoundOptions | None = None
    complete_by_subagents: bool = False
    task_list: str | None = None


def read_options(given: AgentOptions, dialect: Dialect) -> AgentSettings:
    """Return the settings of a handle; raise `ConfigInvalid`, naming the option that is wrong."""
    known = AgentOptions.__annotations__.keys()
    for name in sorted(given.keys() - known):
        raise TypeError(f"an agent has no option `{name}`{suggest(name, known)}")
    layers, timings = given.get("layers"), given.get("stalls")
    guardrail, rounds = given.get("guardrail"), given.get("rounds")
    delay, subagent = given.get("clear_delay"), bool(given.get("subagent"))
    return AgentSettings(
        focus=cast("Focus | None", _one_of("focus", given.get("focus"), (None, *get_args(Focus)))),
        clear_delay=None if delay is None else float(delay),
        offered=given.get("offered"),
        context=given.get("context"),
        subagent=subagent,
        host=OwnTools.from_names(given.get("reading_tools", ()), given.get("changing_tools", ())),
        layers=None if layers is None else known_layers(layers),
        guidance=parse_settings(given.get("guidance")),
        plan_tools=plan_settings(dialect, given.get("plan_tools", False), subagent=subagent),
        grades=cast("Grading", _one_of("grades", given.get("grades", "show"), get_args(Grading))),
        watch=_read_watch(given),
        loops=loop_options(given.get("loop_detection", True)),
        staleness=staleness_options(given.get("staleness") or {}),
        stalls=None if timings is None else stall_options(timings, stall_timings()),
        guardrail=None if guardrail in (None, False) else guardrail_options({} if guardrail is True else guardrail),
        rounds=None if rounds in (None, False) else round_options({} if rounds is True else rounds),
        complete_by_subagents=bool(given.get("complete_by_subagents")),
        task_list=given.get("task_list"),
    )


def _read_watch(given: AgentOptions) -> Watch:
    previews, checks = given.get("previews"), given.get("checks")
    if previews is None:
        previews = read_setting("previews")
    if not isinstance(previews, int) or isinstance(previews, bool) or previews < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid_option("previews", previews, "use a whole number from 0")
    if checks is not None and not isinstance(checks, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid_option("checks", checks, "use a mapping of commands to families")
    for command, family in (checks or {}).items():
        _one_of(f"checks.{command}", family, FAMILIES if command.strip() else ())
    patterns = None if checks is None else add_own_patterns(cast("Any", checks))
    return Watch(min(previews, MOST_PREVIEW), patterns, own_secrets(given.get("redact")))


def _one_of(name: str, value: Any, known: Collection[Any]) -> Any:
    if value not in known:
        words = ", ".join(one for one in known if one)
        raise invalid_option(name, value, f"use one of {words}" if words else "a command is not blank")
    return value
