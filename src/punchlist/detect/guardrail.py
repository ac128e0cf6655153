"""Guard against tool loops by Hermes' rules: count failures and repeated reads per turn; cap searches and subagents.

`before` decides if a call may run; `after` judges its result. A turn begins with a new `GuardrailState`. Codes,
thresholds and the object that replaces a blocked result are Hermes'; the words are ours.
"""

from collections.abc import Mapping
from typing import Any, Literal, cast

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from punchlist.core.inputs import Count, CountOrOff, parse_options
from punchlist.detect.findings import Finding, Level, clean_name, with_entry, without_entry
from punchlist.detect.signatures import CHARACTERS, fields, is_refusal, shorten_id
from punchlist.text.tool_values import UNKEYED, Signer, parse_json

Action = Literal["allow", "warn", "block", "halt"]

_MOST = 256
"""Signatures and tools that a state counts; the oldest go first."""

_CONTROLS = ("list", "steer", "stop")
_LEVELS: Mapping[Action, Level] = {"allow": "ok", "warn": "warning", "block": "critical", "halt": "critical"}


IDEMPOTENT = frozenset(
    {"read_file", "search_files", "web_search", "web_extract", "session_search", "skill_view", "skills_list"}
    | {"browser_snapshot", "browser_console", "browser_get_images"}
    | {"mcp_filesystem_read_file", "mcp_filesystem_read_text_file", "mcp_filesystem_read_multiple_files"}
    | {"mcp_filesystem_list_directory", "mcp_filesystem_list_directory_with_sizes", "mcp_filesystem_directory_tree"}
    | {"mcp_filesystem_get_file_info", "mcp_filesystem_search_files"}
)
"""Tools that only read: the same answer to the same question is no progress."""

MUTATING = frozenset(
    {"terminal", "execute_code", "write_file", "patch", "todo", "todo_list", "memory", "skill_manage"}
    | {"browser_click", "browser_type", "browser_press", "browser_scroll", "browser_navigate"}
    | {"send_message", "cronjob", "cronjob_manage", "delegate_task", "process", "process_manage"}
)
"""Tools that change something: repeating them is never taken for a loop of reads."""


class WarnAfter(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    exact_failure: Count = 2
    same_tool_failure: Count = 3
    idempotent_no_progress: Count = 2


class HardStopAfter(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    exact_failure: Count = 5
    same_tool_failure: Count = 8
    idempotent_no_progress: Count = 5


class LoopCaps(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The most calls of a turn; 0 is no cap."""

    max_web_searches: CountOrOff = 50
    max_subagents: CountOrOff = 50


class GuardrailOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When the guardrail warns, and when it stops a call, in Hermes' form."""

    warnings_enabled: bool = True
    hard_stop_enabled: bool = False
    warn_after: WarnAfter = WarnAfter()
    hard_stop_after: HardStopAfter = HardStopAfter()
    loop_caps: LoopCaps = LoopCaps()
    idempotent_tools: frozenset[str] = IDEMPOTENT
    mutating_tools: frozenset[str] = MUTATING

    def is_idempotent(self, tool: str, *, reads: bool = False) -> bool:
        """True if a tool only looks something up, as its name says or the caller knows."""
        return (reads or tool in self.idempotent_tools) and tool not in self.mutating_tools


DEFAULT = GuardrailOptions()


def guardrail_options(given: object) -> GuardrailOptions:
    """Return the options in Hermes' form: two switches, and sections `warn_after`, `hard_stop_after`, `loop_caps`."""
    return parse_options(GuardrailOptions, given, "tool_loop_guardrails", hidden=("idempotent_tools", "mutating_tools"))


class Signature(Struct, frozen=True):
    """A call without its arguments' values: the tool, and the hash of its arguments without their secrets."""

    tool_name: str
    args_hash: str


class Decision(Struct, frozen=True):
    """The decision on a call. `block` comes before it, `halt` after it; both end the turn."""

    action: Action
    code: str
    message: str
    tool_name: str
    count: int
    signature: Signature

    @property
    def allows(self) -> bool:
        return self.action in ("allow", "warn")

    def result(self) -> dict[str, Any]:
        """Return the result of a blocked call; as JSON it is the text of the tool message."""
        return {"error": self.message, "guardrail": to_builtins(self)}

    def finding(self) -> Finding | None:
        if self.action == "allow":
            return None
        return Finding(self.code, _LEVELS[self.action], self.message, self.count, clean_name(self.tool_name))


class GuardrailState(Struct, frozen=True):
    """The counts of this turn. `failures` and `repeats` are by signature, `failing` by tool."""

    failures: Mapping[str, int] = field(default_factory=dict[str, int])
    failing: Mapping[str, int] = field(default_factory=dict[str, int])
    repeats: Mapping[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    searches: int = 0
    subagents: int = 0


def signature(tool: str, args: object, signer: Signer = UNKEYED) -> Signature:
    """Return the signature of a call. Arguments that are not an object count as none."""
    return Signature(shorten_id(tool), signer.digest(fields(args)))


class GuardedResult(Struct, frozen=True, omit_defaults=True):
    """A result as the guardrail reads it: its hash, and if it is missing, a refusal of ours, or reads as a failure."""

    digest: str = ""
    is_missing: bool = False
    is_refusal: bool = False
    has_failed: bool = False


def read_guarded_result(
    tool: str, result: object, *, failed: bool | None = None, signer: Signer = UNKEYED
) -> GuardedResult:
    """Read the result of a call. Without `failed` the result itself says if it is one, as in Hermes."""
    data = parse_json(result, CHARACTERS) if isinstance(result, str) else None
    has_failed = looks_failed(tool, result) if failed is None else failed
    return GuardedResult(
        signer.digest(result if data is None else data), result is None, is_refusal(result), has_failed
    )


def before(
    state: GuardrailState,
    name: str | Signature,
    args: object = None,
    *,
    spawns: int | None = None,
    reads: bool = False,
    options: GuardrailOptions = DEFAULT,
    signer: Signer = UNKEYED,
) -> tuple[GuardrailState, Decision]:
    """Decide if a call may run. Caps hold always; repeated calls are blocked only with `hard_stop_enabled`.

    The call is given by its tool and arguments, or by its signature and the subagents that it `spawns`.
    `reads`: the call only looks something up, although its tool is none of Hermes'.
    """
    mark = signature(name, args, signer) if isinstance(name, str) else name
    caps, searches, subagents = options.loop_caps, state.searches, state.subagents
    if mark.tool_name == "web_search":
        if 0 < caps.max_web_searches <= searches:
            return state, _decide("block", "loop_web_search_cap", mark, searches, caps.max_web_searches)
        state = replace(state, searches=searches + 1)
    elif mark.tool_name == "delegate_task" and (spawned := count_spawned(args) if spawns is None else spawns):
        if 0 < caps.max_subagents <= subagents:
            return state, _decide("block", "loop_subagent_cap", mark, subagents, caps.max_subagents)
        state = replace(state, subagents=subagents + spawned)
    if options.hard_stop_enabled:
        key = _key(mark)
        failed = state.failures.get(key, 0)
        if failed >= options.hard_stop_after.exact_failure:
            return state, _decide("block", "repeated_exact_failure_block", mark, failed)
        _, repeated = state.repeats.get(key, ("", 0))
        is_over = repeated >= options.hard_stop_after.idempotent_no_progress
        if is_over and options.is_idempotent(mark.tool_name, reads=reads):
            return state, _decide("block", "idempotent_no_progress_block", mark, repeated)
    return state, _allow(mark)


def after(
    state: GuardrailState,
    name: str | Signature,
    args: object = None,
    result: object = None,
    *,
    failed: bool | None = None,
    reads: bool = False,
    options: GuardrailOptions = DEFAULT,
    signer: Signer = UNKEYED,
) -> tuple[GuardrailState, Decision]:
    """Judge a call that ran, given by its tool and arguments or by its signature.

    `result` may have been read before. A call whose result is a refusal of ours did not run, and does not count.
    """
    mark = signature(name, args, signer) if isinstance(name, str) else name
    if not isinstance(result, GuardedResult):
        result = read_guarded_result(mark.tool_name, result, failed=failed, signer=signer)
    if result.is_refusal:
        return state, _allow(mark)
    key, tool = _key(mark), mark.tool_name
    if result.has_failed:
        return _after_failure(state, mark, options)
    last, count = state.repeats.get(key, ("", 0))
    state = replace(
        state,
        failures=without_entry(state.failures, key),
        failing=without_entry(state.failing, tool),
        repeats=without_entry(state.repeats, key),
    )
    if not options.is_idempotent(tool, reads=reads):
        return state, _allow(mark)
    count = count + 1 if last == result.digest else 1
    state = replace(state, repeats=with_entry(state.repeats, key, (result.digest, count), _MOST))
    if options.warnings_enabled and count >= options.warn_after.idempotent_no_progress:
        return state, _decide("warn", "idempotent_no_progress_warning", mark, count)
    return state, _allow(mark, count)


def _after_failure(
    state: GuardrailState, mark: Signature, options: GuardrailOptions
) -> tuple[GuardrailState, Decision]:
    key, tool = _key(mark), mark.tool_name
    exact, same = state.failures.get(key, 0) + 1, state.failing.get(tool, 0) + 1
    state = replace(
        state,
        failures=with_entry(state.failures, key, exact, _MOST),
        failing=with_entry(state.failing, tool, same, _MOST),
        repeats=without_entry(state.repeats, key),
    )
    if options.hard_stop_enabled and same >= options.hard_stop_after.same_tool_failure:
        return state, _decide("halt", "same_tool_failure_halt", mark, same)
    if options.warnings_enabled and exact >= options.warn_after.exact_failure:
        return state, _decide("warn", "repeated_exact_failure_warning", mark, exact)
    if options.warnings_enabled and same >= options.warn_after.same_tool_failure:
        return state, _decide("warn", "same_tool_failure_warning", mark, same)
    return state, _allow(mark, exact)


def looks_failed(tool: str, result: object) -> bool:
    """True if a result reads as a failure: an exit code for `terminal`, else the signs that Hermes looks for."""
    if not isinstance(result, str):
        return False
    if tool == "terminal":
        code = fields(parse_json(result, CHARACTERS)).get("exit_code")
        return code is not None and code != 0
    head = result[:500].lower()
    return '"error"' in head or '"failed"' in head or result.startswith("Error")


def count_spawned(args: object) -> int:
    """Count the subagents that a delegation starts: one for each of its tasks; steering those that run starts none."""
    given = fields(args)
    action = given.get("action")
    if isinstance(action, str) and action[:20].strip().lower() in _CONTROLS:
        return 0
    tasks = given.get("tasks")
    return len(cast("list[Any]", tasks)) if isinstance(tasks, list) and tasks else 1


def _allow(mark: Signature, count: int = 0) -> Decision:
    return Decision("allow", "allow", "", mark.tool_name, count, mark)


def _decide(action: Action, code: str, mark: Signature, count: int, cap: int = 0) -> Decision:
    message = _WORDS[code].format(tool=clean_name(mark.tool_name), count=count, cap=cap)
    return Decision(action, code, message, mark.tool_name, count, mark)


def _key(mark: Signature) -> str:
    return f"{mark.tool_name}:{mark.args_hash}"


_WORDS: Mapping[str, str] = {
    "repeated_exact_failure_warning": (
        "{tool} failed {count} times with the same arguments. "
        "Read what it says, and change something before the next try."
    ),
    "repeated_exact_failure_block": (
        "{tool} was not run: with the same arguments it failed {count} times. Try another way, or say what is missing."
    ),
    "same_tool_failure_warning": (
        "{tool} failed {count} times in this turn. Find out why before the next try: "
        "look at its last answer, check what it was given, or use another tool."
    ),
    "same_tool_failure_halt": "{tool} failed {count} times in this turn, so the turn stops here. Choose another way.",
    "idempotent_no_progress_warning": (
        "{tool} gave the same answer {count} times. Work with that answer, or ask something else."
    ),
    "idempotent_no_progress_block": (
        "{tool} was not run: it gave the same answer {count} times. Work with that answer, or ask something else."
    ),
    "loop_web_search_cap": (
        "{tool} was not run: this turn has made {count} web searches, and {cap} are allowed. "
        "Answer with what was found."
    ),
    "loop_subagent_cap": (
        "{tool} was not run: this turn has started {count} subagents, and {cap} are allowed. "
        "Finish with what they bring."
    ),
}
