"""Read the result of a tool, whatever its shape: its text, its exit code, and if the call failed.

Agents put these in different places: a string with the code in its first or last lines, an object with `exit_code`,
`returncode` or `metadata`, a list of content parts, or JSON as text. Without any of these the
outcome of the call is not known. The output of a program, or the content of a file, may look the same: where the host
said how the call went, a text is such output, and an object is the host's own. Never raises; reads a bounded part.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from punchlist.core.checks.summaries import WINDOW
from punchlist.text.patterns import compile_later
from punchlist.text.tool_values import parse_json

_TEXTS: Final = (
    "output", "stdout", "stderr", "aggregated_output", "formatted_output", "content", "text", "result", "llmContent",
    "error", "message",
)  # fmt: skip
_CODES: Final = (
    "exit_code", "exitCode", "exit_status", "exitStatus", "returncode", "return_code", "returnCode", "code", "exit",
)  # fmt: skip
_LOOSE_CODES: Final = frozenset({"code", "exit"})
_HIGHEST: Final = 255
_OF_HTTP: Final = range(200, 227)
"""HTTP status codes that could be exit codes too."""

_FAILURES: Final = frozenset({"error", "failed", "failure", "timeout", "timed_out", "cancelled", "killed", "rejected"})
_SUCCESSES: Final = frozenset({"ok", "success", "succeeded", "passed"})
_ENDED: Final = _SUCCESSES | {"completed", "complete", "done", "finished", "exited"}
"""Meanings of the `status` of a result. With any other one the call has not come to its end, as far as is known."""

_BROKEN_OFF: Final = ("interrupted", "timed_out", "timedOut", "aborted", "cancelled", "killed")
_GOOD_FLAGS: Final = {("success", True), ("ok", True), ("isError", False), ("is_error", False)}
_BAD_FLAGS: Final = {(name, not flag) for name, flag in _GOOD_FLAGS} | {(name, True) for name in _BROKEN_OFF}
_FLAGS: Final = {name for name, _ in _BAD_FLAGS}
_BEHIND: Final = ("backgroundTaskId", "background_task_id", "shellId", "shell_id", "bash_id", "session_id", "sessionId")
"""Names under which a result, or the arguments of a call that reads its output, have a background command."""

_OF_HOSTS: Final = ("stdout", "isError", *_BEHIND[:5])
"""Names that make a JSON text the answer of a host; a name that only an exit code has does too."""

_INNER: Final = ("metadata", "details", "async")
"""Names under which a result has more of what the host says of the call."""

_DEEPEST: Final = 4
_MOST_PARTS: Final = 64
_EDGE: Final = 600
"""Characters at either end of a text in which an exit code is looked for."""

_SHOWING: Final = frozenset({"shell", "read"})
_LONGEST_JSON: Final = 4_194_304
_EXIT: Final = compile_later(
    r"""(?mix) ^[\[(<\s]{0,4} (?: error:\ )? (?:
      exit[ _](?:code|status)\W{1,4} (?:was\ |of\ )? (?P<first>-?\d{1,4})\b
    | (?:the\ )?(?:command|process)\ (?:completed|exited|failed|finished|ended|terminated)(?:\ \w+)?
        \ with\ (?:exit\ )?(?:code|status)\ (?P<second>-?\d{1,4})\b
    | <?(?:returncode|exit_code)>(?P<third>-?\d{1,4})<
)"""
)
_NUMBER: Final = compile_later(r"\s*[+-]?\d{1,9}\s*")
_REFUSED: Final = (
    "Error executing tool '",
    "<tool_use_error>",
    "Error calling tool",
    "MCP error ",
    "The tool use was rejected",
    "The user doesn't want to ",
    "[Request interrupted by user",
    "Command timed out",
)
"""Beginnings of texts that tell of a call which never ran."""


_LEFT_RUNNING: Final = compile_later(
    r"(?i)\b(?:running|started|moved|continues) (?:in|to|with)(?: the)? (?:background|session)\b[^\n]{0,40}?"
    r"\b(?:id|pid)\b\W{0,3}([\w-]{1,64})"
    r"|\bstill running \(session ([\w-]{1,64})"
)
"""`Command running in background with ID: bash_1`, `Process running with session ID 4711`, `(session warm-reef`."""

_CUT_SHORT: Final = compile_later(
    r"(?m)^\s*(?:Exit Code: \(none\)|Signal: (?!0\b|\(none\))\S|(?:bash|shell) tool terminated command"
    r"|User aborted the command|Command was cancelled by user|<tool_output_masked>)"
)
"""Lines of hosts that say that a command did not come to its end, or that its output was taken out, not how it went."""


class ToolResult(NamedTuple):
    """A result as it was read. `failed` is None where nothing says how the call went.

    `runs_on`: it runs on in the background; `background` is the id under which its output can be read later.
    """

    text: str
    exit_code: int | None
    failed: bool | None
    runs_on: bool = False
    background: str = ""


def read_result(result: Any, is_error: bool | None = None, *, coded: bool = False, kind: str = "") -> ToolResult:
    """Read a result. `is_error` is what the host said of it: True is believed, False is looked into.

    None is "not told": then the result has to say so itself, by an exit code or as an object. `coded`: the host gave an
    exit code, and a text beside it says nothing of the call. `kind` is that of the tool: what a program prints, or a
    file holds, is not the tool's own answer where the host said that all went well.
    """
    is_json = isinstance(result, str) and result.lstrip().startswith(("{", "["))
    decoded = parse_json(result, _LONGEST_JSON) if is_json else None
    value = result if decoded is None else decoded
    is_text = isinstance(value, str)
    whole = value if is_text else _text(value, 0) or (result if isinstance(result, str) else "")
    text = whole[-WINDOW:]
    if coded and isinstance(result, str):
        return ToolResult(text, None, is_error, background=_find_background(None, whole))
    if is_error is False and not is_text and isinstance(result, str) and kind in _SHOWING:
        is_text = not _is_of_host(value)
    code = None if is_text else _code(value, 0)
    if code is None and isinstance(result, str) and not (kind == "read" and is_error is False):
        code = _written_code(whole)  # some hosts write it first, before what is cut off here
    said = None if is_text else False if _has_timed_out(value) else _said(value)
    if is_error or (code is not None and code != 0) or said is False or whole.startswith(_REFUSED):
        return ToolResult(text, code, failed=True)
    background = _find_background(value, whole)
    if code is not None:
        return ToolResult(text, code, failed=False, background=background)
    is_cut_short = any(map(_CUT_SHORT.search, (whole[:_EDGE], whole[-_EDGE:])))
    has_end = not is_cut_short and (is_text or not _lacks_code(value))
    told = has_end and (is_error is not None or said is True)
    statuses = set[str]() if is_text else {_status(fields) for fields in _answers(value)}
    runs_on = bool(background) or not statuses <= {"", *_ENDED}
    return ToolResult(text, code, False if told else None, runs_on, background)


def background_id(arguments: Any) -> str:
    """Return the id of the background command whose output a call asks for, as its arguments have it."""
    if not isinstance(arguments, Mapping):
        return ""
    fields = cast("Mapping[Any, Any]", arguments)
    given = (fields.get(name) for name in (*_BEHIND, "task_id", "taskId", "pid"))
    return next((str(one)[:64] for one in given if isinstance(one, str | int) and one is not True and one), "")


def _answers(value: Any, depth: int = 0) -> list[Mapping[Any, Any]]:
    """Return the objects of a result in which the host says how the call went: itself, and its details."""
    if not isinstance(value, Mapping) or depth == _DEEPEST:
        return []
    fields = cast("Mapping[Any, Any]", value)
    return [fields, *(one for name in _INNER if name in fields for one in _answers(fields[name], depth + 1))]


def _find_background(value: Any, text: str) -> str:
    for fields in _answers(value):
        given = next((one for name in _BEHIND if isinstance(one := fields.get(name), str | int) and one), "")
        if given:
            return str(given)[:64]
    found = _LEFT_RUNNING.search(text[:200])
    return "" if found is None else found[1] or found[2]


def _lacks_code(value: Any) -> bool:
    """True if the place of an exit code is there, and empty: the command was ended, or has not ended."""
    places = (fields.get(name, 0) for fields in _answers(value) for name in _CODES if name != "code")
    return any(place is None for place in places)


def exit_code_of(value: Any) -> int | None:
    """Return an exit code, also one given as text or as a whole float; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return int(value) if _NUMBER.fullmatch(value) is not None else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) else None


def _text(value: Any, depth: int) -> str:
    if isinstance(value, str):
        return value
    if depth == _DEEPEST or value is None:
        return ""
    if isinstance(value, Mapping):
        fields = cast("Mapping[Any, Any]", value)
        return "\n".join(found for name in _TEXTS if name in fields and (found := _text(fields[name], depth + 1)))
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        parts = cast("Sequence[Any]", value)[-_MOST_PARTS:]
        return "\n".join(found for part in parts if (found := _text(part, depth + 1)))
    return ""


def _code(value: Any, depth: int, *, strict: bool = False) -> int | None:
    """Return the exit code in an object, of several the first failure. `strict`: only under a name for nothing else."""
    if isinstance(value, list) and depth < _DEEPEST:
        parts = cast("list[Any]", value)[-_MOST_PARTS:]
        codes = [code for part in parts if (code := _code(part, depth + 1, strict=strict)) is not None]
        return next((code for code in codes if code != 0), codes[0] if codes else None)
    if not isinstance(value, Mapping) or depth == _DEEPEST:
        return None
    fields = cast("Mapping[Any, Any]", value)
    for name in _CODES:
        code = exit_code_of(fields.get(name)) if name in fields else None
        if code is None or (name in _LOOSE_CODES and (strict or code > _HIGHEST)):
            continue
        if not (name == "code" and (isinstance(fields[name], str) or code in _OF_HTTP)):  # a text may be any
            return code
    for name in ("metadata", "result", "details", "output", "outcome"):
        code = _code(fields.get(name), depth + 1, strict=strict)
        if code is not None:
            return code
    return None


def _is_of_host(value: Any) -> bool:
    """True if JSON in a text is a host's answer about a call, and not the output of the call."""
    if not isinstance(value, Mapping):
        return False
    return any(name in value for name in _OF_HOSTS) or _code(cast("object", value), 0, strict=True) is not None


def _written_code(text: str) -> int | None:
    """Return the exit code in the first or last lines of a text, where hosts write it."""
    for part in (text[:_EDGE], text[-_EDGE:]) if len(text) > _EDGE else (text,):
        if part.isascii() and "code" not in (lowered := part.lower()) and "status" not in lowered:
            continue
        found = _EXIT.search(part)
        if found is not None:
            return int(found["first"] or found["second"] or found["third"])
    return None


def _said(value: Any) -> bool | None:
    """True if an object says that the call went well; None if it says nothing about that.

    Hermes' rule for failures: `success` or `ok` is false, or there is an `error` and no content.
    """
    answers = _answers(value)
    flags = {(name, flag) for fields in answers for name in _FLAGS if isinstance(flag := fields.get(name), bool)}
    statuses = set(map(_status, answers))
    if flags & _BAD_FLAGS or statuses & _FAILURES:
        return False
    outer: Mapping[Any, Any] = answers[0] if answers else {}
    if outer.get("error") and not any(outer.get(name) for name in ("content", "output", "stdout", "result")):
        return False
    return True if flags & _GOOD_FLAGS or statuses & _SUCCESSES else None


def _has_timed_out(value: Any) -> bool:
    """True if a part of the answer of OpenAI's `shell` tool says so."""
    parts = cast("Mapping[Any, Any]", value).get("output") if isinstance(value, Mapping) else value
    if not isinstance(parts, list):
        return False
    for part in cast("list[Any]", parts)[-_MOST_PARTS:]:
        outcome = cast("dict[Any, Any]", part).get("outcome") if isinstance(part, dict) else None
        if isinstance(outcome, dict) and cast("dict[Any, Any]", outcome).get("type") == "timeout":
            return True
    return False


def _status(fields: Mapping[Any, Any]) -> str:
    status = fields.get("status", fields.get("state"))
    return status.lower() if isinstance(status, str) else ""
