"""Describe a tool call when it begins and when it ends, as the data of its events; and read them back.

The arguments and the result themselves are not kept: their hash, a short preview without secrets, the files that an
edit names, the places that they are about, what a command line checks and changes, and how it came out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from itertools import islice
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.checks import (
    FAMILIES,
    CommandAnalysis,
    CommandCheck,
    Outcome,
    Patterns,
    analyse_command,
    check_outcome,
    outcome_in_output,
    tool_check,
)
from punchlist.core.grounding.evidence import words_of
from punchlist.core.grounding.places import kept_places
from punchlist.core.grounding.results import exit_code_of, read_result
from punchlist.core.grounding.tool_call import MOST_FILES, CallOutcome, Moment, ToolCall
from punchlist.text import clean, cut
from punchlist.text.arguments import as_object
from punchlist.text.cleaning import is_plain
from punchlist.text.previews import LENGTH, join_words, preview, shown_arguments
from punchlist.text.redaction import redact, redact_value

_LINES: Final = ("command", "cmd", "script")
_BEHIND: Final = ("run_in_background", "is_background", "background", "runInBackground", "isBackground")
_MAY_SAY_NO: Final = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "diff", "cmp", "test", "[", "[[", "which", "git"})
"""An exit code of 1 of these is an answer, not a failure; of Git only where it compares."""

_NOWHERE: Final = frozenset({"shell", "todo"})
"""Kinds of tools whose arguments are not about a place."""

_STRANGERS: Final = frozenset({"unknown", "outbound"})
"""Kinds of tools of which no more is known than their name."""

_PATCHING: Final = frozenset({"apply_patch", "applypatch", "patch"})
"""Programs whose input, or argument, names the files that they change."""

_OUTCOMES: Final[tuple[Outcome, ...]] = ("passed", "failed", "empty", "unknown")
_ENDS: Final = frozenset({"tool.finished", "tool.failed"})
_TEXTS: Final = ("call_id", "name", "kind", "program", "hash", "via", "item", "after", "preview", "words", "result")
_LONGEST_NAME: Final = 128
_PATHS: Final = (
    "file_path", "path", "filePath", "filename", "file", "notebook_path", "target_file", "absolute_path",
    "relative_path", "old_path", "new_path", "source", "destination", "source_path", "destination_path",
)  # fmt: skip
_PATH_LISTS: Final = ("paths", "files", "file_paths", "edits", "changes", "replacements")
_PATCHES: Final = ("patch", "input", "diff", "patch_text", "patchText")
_KNOWN: Final = frozenset((*_PATHS, *_PATH_LISTS, *_PATCHES))
_LONGEST_PATH: Final = 240
_WINDOW: Final = 262_144
_PATCHED: Final = re.compile(
    r"^(?:\*\*\* (?:Add File|Update File|Delete File|Move to): |\+\+\+ b/|--- a/)([^\t\n]{1,1000})",
    re.MULTILINE,
)


class Watch(Struct, frozen=True):
    """Options for describing calls. `previews` is the length of previews in characters, 0 for none at all.

    `secrets` finds what is taken out of every text beside the secrets that are known anyway.
    """

    previews: int = LENGTH
    patterns: Patterns | None = None
    secrets: re.Pattern[str] | None = None


DEFAULT: Final = Watch()


def start_facts(
    name: str,
    arguments: Any,
    *,
    kind: str = "unknown",
    changes: bool = False,
    item: str = "",
    after: str = "",
    via: str = "",
    watch: Watch = DEFAULT,
) -> dict[str, Any]:
    """The data of `tool.started` beside `call_id`, without what is empty.

    `kind` and `changes` are what is thought of the tool; of a shell line it is found out here what it checks, and
    whether it changes the work. `item` is the key of the item in focus, `after` that of the one finished last where
    nothing is in focus; `via` is the road by which the report came. Arguments may be a JSON text, see `as_object`.
    """
    arguments = _action(as_object(arguments)) if kind == "shell" else as_object(arguments)
    seen = _looked_at(arguments, watch) if kind == "shell" else None
    check = seen.check if seen is not None else tool_check(name, watch.patterns) if kind in _STRANGERS else None
    changes = changes and (check is None if seen is None else seen.changes)
    shown = shown_arguments(arguments, watch.previews, own=watch.secrets)
    names_files = kind == "edit" or (kind == "unknown" and changes)
    patched = command_line(arguments) if seen is not None and seen.program in _PATCHING else None
    facts: dict[str, Any] = {
        "name": _plain(name, watch),
        "kind": kind,
        "hash": fingerprint(arguments, watch.secrets),
    }
    if item:
        facts["item"] = item
    elif after:
        facts["after"] = after
    if via:
        facts["via"] = via
    if seen is not None:
        facts["program"] = _plain(seen.program, watch)
    if changes:
        facts["changes"] = True
    if check is not None:
        facts["check"] = _check_data(check)
    files = () if patched is None else patched_files(patched)
    if not files and names_files:
        files = named_files(arguments)
    if files:
        facts["files"] = [redact(path, watch.secrets) for path in files]
    if kind not in _NOWHERE and (places := kept_places(arguments, watch.secrets)):
        facts["places"] = places
    facts["preview"] = shown
    if kind != "edit":
        facts["words"] = words_of(arguments, () if seen is None else seen.commands, shown)
    return facts if all(facts.values()) else {key: value for key, value in facts.items() if value}


def end_facts(
    result: Any,
    *,
    is_error: bool | None = None,
    exit_code: int | None = None,
    started: ToolCall | Mapping[str, Any] | None = None,
    watch: Watch = DEFAULT,
) -> dict[str, Any]:
    """The data of `tool.finished` beside `call_id` and `name`.

    `started` is the call as it is known, or the facts of its beginning; without it nobody knows yet whether it was a
    check, and what its output says is kept for then (`told`). A call of which nobody said how it went has not failed,
    but a check in it is only as good as its own summary.
    """
    known = started if isinstance(started, ToolCall) else call_from("tool.started", started or {}, None)
    if exit_code is not None and type(exit_code) is not int:
        exit_code = exit_code_of(exit_code)  # a host may hand on what it got
    read = read_result(result, is_error, coded=exit_code is not None, kind=known.kind)
    code = read.exit_code if exit_code is None else exit_code
    failed = bool(read.failed) or (exit_code is not None and exit_code != 0)
    if failed and code == 1 and known.check is None and _may_say_no(known):
        failed = False
    facts: dict[str, Any] = {"is_error": failed}
    if code is not None:
        facts["exit_code"] = code
    if known.check is not None:
        told = None if (read.failed is None and exit_code is None) or (read.runs_on and not failed) else failed
        outcome = check_outcome(known.check, read.text, exit_code=code, is_error=told)
        if known.told is not None and not read.text:  # it has said how it goes while it ran
            outcome = known.told if known.told != "passed" or outcome == "unknown" else outcome
        facts["check_outcome"] = outcome
    elif started is None and (says := "failed" if failed else outcome_in_output(read.text)) is not None:
        facts["told"] = says
    if places := kept_places(result, watch.secrets):
        facts["places"] = places
    shown = preview(read.text, watch.previews, tail=known.check is not None, own=watch.secrets)
    if shown:
        facts["result"] = shown
    return facts


def call_from(event: str, data: Mapping[str, Any], at: datetime | None, order: int = 0) -> ToolCall:
    """Read a call from one runtime event. Values of a wrong type are left out."""
    moment = None if at is None else Moment(at, order)
    ends = event in _ENDS
    failed = event == "tool.failed" or data.get("is_error") is True
    outcome: CallOutcome = "running" if not ends else "failed" if failed else "ok"
    texts = [value if isinstance(value := data.get(key), str) else "" for key in _TEXTS]
    call_id, name, kind, program, hashed, via, item, after, shown, words, result = texts
    files, check, told = data.get("files"), data.get("check"), data.get("check_outcome")
    named = cast("Sequence[Any]", files) if isinstance(files, list | tuple) else ()
    return ToolCall(
        id=call_id,
        name=name,
        kind=kind or "unknown",
        program=program,
        hash=hashed,
        via=via,
        item=item,
        after=after,
        started=moment if event == "tool.started" else None,
        finished=moment if ends else None,
        outcome=outcome,
        files=tuple([path for path in named if isinstance(path, str)]) if named else (),
        changes=data.get("changes") is True,
        check=None if check is None else _check_from(check),
        check_outcome=_outcome(told),
        told=_outcome(data.get("told")),
        preview=shown,
        words=words,
        result=result,
    )


def _outcome(told: Any) -> Outcome | None:
    return None if told is None else next((outcome for outcome in _OUTCOMES if outcome == told), None)


_HASHED_REDACTED: Final = 8_192
"""Characters of arguments that are redacted before they are hashed. To guess a secret in longer ones, the reader would
have to know all the rest; and to redact megabytes takes seconds."""


def fingerprint(arguments: Any, secrets: re.Pattern[str] | None = None) -> str:
    """Return a short hash of arguments without their secrets, the same whatever the order of their keys.

    A hash of the secrets themselves would tell whoever reads it when a guess is right.
    """
    if isinstance(arguments, Mapping):
        fields = cast("Mapping[Any, Any]", arguments)
        lines = {key: join_words(fields[key]) for key in _LINES if isinstance(fields.get(key), list)}
        arguments = {**fields, **lines} if lines else fields
    try:
        text = _sorted(arguments)
        if len(text) <= _HASHED_REDACTED:
            text = _sorted(redact_value(arguments, secrets))
    except (TypeError, ValueError, RecursionError):
        return ""
    return blake2b(text.encode(), digest_size=8).hexdigest()


def command_line(arguments: Any) -> str | Sequence[str] | None:
    """The line that a shell tool is to run, or its words as Codex sends them."""
    if isinstance(arguments, str):
        return arguments
    if not isinstance(arguments, Mapping):
        return None
    fields = cast("Mapping[Any, Any]", arguments)
    for key in _LINES:
        value = fields.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            words = cast("list[Any]", value)[:1000]
            return [word for word in words if isinstance(word, str)]
    return None


def _action(arguments: Any) -> Any:
    """Return the action of a shell tool: OpenAI's `local_shell` has it as an object within its arguments."""
    fields = cast("Mapping[Any, Any]", arguments if isinstance(arguments, Mapping) else {})
    is_action = isinstance(fields.get("action"), Mapping) and not any(key in fields for key in _LINES)
    return fields["action"] if is_action else cast("Any", arguments)


def _looked_at(arguments: Any, watch: Watch) -> CommandAnalysis | None:
    line = command_line(arguments)
    if line is None:
        return None
    seen = analyse_command(line, watch.patterns)
    if seen.check is not None and isinstance(arguments, Mapping):
        fields = cast("Mapping[Any, Any]", arguments)
        if any(fields.get(key) is True for key in _BEHIND):
            return seen._replace(check=replace(seen.check, zero_counts=False, failure_counts=False, echo=None))
    return seen


def _may_say_no(call: ToolCall) -> bool:
    if call.program == "git":
        return "diff" in call.preview or "grep" in call.preview
    return call.program in _MAY_SAY_NO


def _check_data(check: CommandCheck) -> dict[str, Any]:
    data: dict[str, Any] = {"name": _short(check.name), "family": check.family}
    if check.echo is not None:
        data["echo"] = check.echo
    return data | {
        key: True
        for key, given in (
            ("zero_hides", not check.zero_counts),
            ("failure_hides", not check.failure_counts),
            ("silent", check.silent),
            ("several", check.several),
        )
        if given
    }


def _check_from(data: Any) -> CommandCheck | None:
    if not isinstance(data, Mapping):
        return None
    fields = cast("Mapping[str, Any]", data)
    for family in FAMILIES:
        if family == fields.get("family"):
            return CommandCheck(
                _text(fields, "name"),
                family,
                zero_counts=fields.get("zero_hides") is not True,
                failure_counts=fields.get("failure_hides") is not True,
                silent=fields.get("silent") is True,
                several=fields.get("several") is True,
                echo=_text(fields, "echo") if "echo" in fields else None,
            )
    return None


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


def _short(text: Any) -> str:
    if isinstance(text, str) and len(text) <= _LONGEST_NAME and text.isascii() and text.isprintable():
        return text
    return cut(clean(text[: 4 * _LONGEST_NAME], lines=False).text, _LONGEST_NAME) if isinstance(text, str) else ""


def _plain(text: Any, watch: Watch) -> str:
    """Return a name without secrets: a mistyped command line may begin with one."""
    return redact(_short(text), watch.secrets)


def named_files(arguments: Any) -> tuple[str, ...]:
    """Return the files that the arguments of an edit name: paths as given, cleaned and sorted, each once."""
    return tuple(sorted(set(islice(_files(arguments, 0), MOST_FILES))))


def patched_files(command: str | Sequence[str]) -> tuple[str, ...]:
    """The files that a patch in a command line, or among the words of one, names."""
    words = (command,) if isinstance(command, str) else command
    return tuple(sorted(set(islice((path for word in words for path in _patched(word)), MOST_FILES))))


def _files(arguments: Any, depth: int) -> Iterator[str]:
    if isinstance(arguments, str):
        yield from _patched(arguments)
    if not isinstance(arguments, Mapping):
        return
    fields = cast("Mapping[Any, Any]", arguments)
    if _KNOWN.isdisjoint(fields):
        return
    for key in _PATHS:
        if key in fields and isinstance(value := fields[key], str) and value:
            yield _shown(value)
    for key in _PATCHES:
        if key in fields and isinstance(value := fields[key], str):
            yield from _patched(value)
    for key in _PATH_LISTS if depth < 2 else ():
        if key in fields and isinstance(value := fields[key], list):
            for entry in cast("list[Any]", value)[:MOST_FILES]:
                if isinstance(entry, str) and entry and key != "edits":
                    yield _shown(entry)
                else:
                    yield from _files(entry, depth + 1) if isinstance(entry, Mapping) else ()


def _patched(patch: str) -> Iterator[str]:
    for match in _PATCHED.finditer(patch[:_WINDOW]):
        yield _shown(match[1])


def _shown(path: str) -> str:
    if len(path) <= _LONGEST_PATH and is_plain(path, lines=False):
        return path.strip()
    return cut(clean(path[: 4 * _LONGEST_PATH], lines=False).text.strip(), _LONGEST_PATH)


def _type(value: object) -> str:
    return type(value).__name__


_sorted: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_type).encode
