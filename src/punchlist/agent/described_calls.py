"""Describe a tool call where it runs: all that a board records of it, without its arguments and its result.

A description needs no transaction, goes to JSON and back, and holds no secrets. `tool_reports` records it, in this
process or on the board of another machine.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeVar, cast, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from punchlist.agent.context import AgentRunner
from punchlist.core.checks.outcome import Outcome as CheckOutcome
from punchlist.core.grounding.observe import background_facts, call_from, end_facts, start_facts
from punchlist.core.grounding.tool_call import ToolCall
from punchlist.core.todo import NamedCheck
from punchlist.detect.guardrail import GuardedResult, count_spawned, read_guarded_result
from punchlist.detect.signatures import Outcome, Reading, Sight, fields, outcome, shorten_id, sight
from punchlist.guidance.tools import classify_call, is_own
from punchlist.settings.project_checks import find_named_checks
from punchlist.text import clean, cut, repair_key
from punchlist.text.hashing import blake2b
from punchlist.text.redaction import MARK, redact
from punchlist.text.tool_values import as_object

EndKind = Literal["tool.finished", "tool.failed"]

_LONGEST: Final = 200
"""Characters of a tool's name or a call's id that are recorded."""

_BEGUN: Final = datetime.min.replace(tzinfo=UTC)
"""Stands for the time of a call that is known to have begun: what its result says does not depend on it."""


class StartedCall(Struct, frozen=True, omit_defaults=True):
    """A call before it runs. `drifts`: it changes something that the list should tell of; `is_ours`: a tool of ours.

    `facts` are the data of `tool.started` without `call_id`. `sight` is for the loop detector; `arguments` (a hash) and
    `spawns` (subagents that it starts) are for the guardrail.
    """

    name: str
    facts: dict[str, Any]
    sight: Sight
    drifts: bool = False
    is_ours: bool = False
    arguments: str = ""
    spawns: int = 0


class EndedCall(Struct, frozen=True, omit_defaults=True):
    """A call that has ended. `facts` are the data of its event, without `call_id`, `name` and the seconds it took.

    `background` is what it adds about a check in the background whose output it read. `outcome` is for the loop
    detector, `guarded` for the guardrail; each is None where that is off.
    """

    name: str
    kind: EndKind
    facts: dict[str, Any]
    background: dict[str, Any] = field(default_factory=dict[str, Any])
    outcome: Outcome | None = None
    guarded: GuardedResult | None = None


Described = TypeVar("Described", StartedCall, EndedCall)


def describe_start(
    agent: AgentRunner, name: str, arguments: Any, *, via: str = "", own: tuple[NamedCheck, ...] = ()
) -> StartedCall:
    """Describe a call that begins. For the loop detector its arguments count as given.

    `own` are checks of items, in addition to those that the project names.
    """
    name = short(name)
    options, read, signer = agent.settings, as_object(arguments), agent.signer
    kind, drifts, touches = classify_call(name, read, options.host)
    if is_own(name, agent.tool_names):
        kind, drifts, touches = "todo", False, False
    watch = options.watch
    if kind == "shell" and (named := (*find_named_checks(agent.place.folder), *own)):
        watch = replace(watch, named=named)
    facts = start_facts(name, read, kind=kind, changes=touches, via=via, watch=watch, signer=signer)
    is_guarded = options.guardrail is not None
    return StartedCall(
        name,
        facts,
        sight(name, arguments, signer),
        drifts,
        is_own(name, agent.offered_names),
        signer.digest(fields(arguments)) if is_guarded else "",
        count_spawned(arguments) if is_guarded else 0,
    )


def describe_end(
    agent: AgentRunner,
    name: str,
    result: Any,
    kind: EndKind = "tool.finished",
    *,
    is_error: bool | None = None,
    exit_code: int | None = None,
    started: StartedCall | ToolCall | None = None,
    reading: Reading | None = None,
    running: StartedCall | ToolCall | None = None,
) -> EndedCall:
    """Describe the end of a call. `started` is its description, or the call as the board knows it; None if unknown.

    `reading` is how the loop detector reads its result, by default as its description says. `running` is the check in
    the background, or the command there that may print a secret, whose output the call read (`background` of both).
    """
    options = agent.settings
    failed = None if is_error is None else bool(is_error)
    if isinstance(started, StartedCall):
        reading = reading or started.sight.way
    started, running = _as_call(started), _as_call(running)
    is_masked = may_be_secret(started) or (running is not None and may_be_secret(running))
    is_open = started is not None and started.started is not None and started.outcome in ("running", "abandoned")
    facts = end_facts(
        result,
        is_error=failed,
        exit_code=exit_code,
        started=started if is_open else None,
        watch=options.watch,
        masked=is_masked,
    )
    background: dict[str, Any] = {}
    if running is not None:
        seen = background_facts(running, result, is_error=failed, exit_code=exit_code, watch=options.watch)
        background = {key: value for key, value in seen.items() if key != "tail" or not is_masked}
    kept, has_failed = MARK if is_masked and result is not None else result, bool(facts["is_error"])
    tool = name if started is None else started.name
    return EndedCall(
        short(name),
        kind,
        facts,
        background,
        outcome(reading or "plain", kept, is_error=has_failed, signer=agent.signer) if options.loops.enabled else None,
        None
        if options.guardrail is None
        else read_guarded_result(tool, kept, failed=has_failed or None, signer=agent.signer),
    )


_START_FACTS: Final = frozenset(
    {"name", "kind", "hash", "program", "changes", "changes_anyway", "reads", "check", "touches", "files", "places"}
    | {"background", "masked", "preview", "words"}
)
_CHECK_FACTS: Final = frozenset({"check", "check_outcome", "tail"})
_END_FACTS: Final = _CHECK_FACTS | {
    *("is_error", "exit_code", "background", "check_ends", "told", "touches", "declined", "places", "result"),
}
_LONGEST_FACT: Final = 2_000
_MOST_FACTS: Final = 512
_DEEPEST: Final = 8


def accept(told: Described) -> Described:
    """Return what another machine says of a call, without what no description holds; raise `ValueError`."""
    return _accept_start(told) if isinstance(told, StartedCall) else _accept_end(told)


def _accept_start(told: StartedCall) -> StartedCall:
    facts = _accept(told.facts, _START_FACTS)
    if not isinstance(facts.get("kind"), str) or "hash" not in facts:
        raise ValueError("the description of a call lacks its kind or hash")
    seen = told.sight
    marks = Sight(shorten_id(seen.tool), shorten_id(seen.key), seen.way, seen.is_poll)
    name = short(told.name)
    return replace(told, name=name, facts={**facts, "name": name}, sight=marks, arguments=told.arguments[:_LONGEST])


def _accept_end(told: EndedCall) -> EndedCall:
    facts, background = _accept(told.facts, _END_FACTS), _accept(told.background, _CHECK_FACTS)
    if not isinstance(facts.get("is_error"), bool):
        raise ValueError("the description of a call does not say if it failed")
    if background and background.get("check_outcome") not in get_args(CheckOutcome):
        raise ValueError("the description of a check in the background lacks its outcome")
    came = told.outcome
    if came is not None:
        came = Outcome(came.hash and came.hash[:_LONGEST], came.unknown_tool and shorten_id(came.unknown_tool), came[2])
    return replace(told, name=short(told.name), facts=facts, background=background, outcome=came)


def _accept(facts: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    room = _MOST_FACTS

    def copy(value: Any, depth: int) -> Any:
        nonlocal room
        room -= 1
        if room < 0 or depth > _DEEPEST:
            raise ValueError("the description of a call is too large")
        if isinstance(value, str):
            return redact(cut(clean(value.replace("\0", "\ufffd")).text, _LONGEST_FACT))
        if isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            return {key: copy(each, depth + 1) for key, each in fields.items() if key.isprintable() and len(key) < 64}
        if isinstance(value, list):
            return [copy(each, depth + 1) for each in cast("list[Any]", value)]
        return value

    return {key: copy(value, 0) for key, value in facts.items() if key in known}


def _as_call(known: StartedCall | ToolCall | None) -> ToolCall | None:
    return call_from("tool.started", known.facts, _BEGUN) if isinstance(known, StartedCall) else known


def may_be_secret(call: ToolCall | None) -> bool:
    """True if nothing of a call's output may be kept. What a call runs is not known before it is reported to begin."""
    return call is None or call.masked or call.started is None


def as_text(value: object) -> str:
    """Return a text, whatever a host may have put there."""
    try:
        return str(value)
    except Exception:
        return type(value).__name__


def short(text: str) -> str:
    """Return a name or id as it is recorded: short and without secrets. Two that differ in a secret still differ."""
    name = repair_key(as_text(text))
    kept = redact(name[:_LONGEST])
    if kept == name:
        return name
    return f"{kept}#{blake2b(name.encode(), digest_size=4).hexdigest()}"
