"""Describe a tool call when it begins and when it ends, as the data of its events; and read them back.

The arguments and the result themselves are not kept: their hash, a short preview without secrets, the files that an
edit names, the places that they are about, what a command line checks and changes, and how it came out.
"""

import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final, cast, get_args

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.json import encode
from msgspec.structs import replace

from punchlist.core.checks.commands import Check, Patterns
from punchlist.core.checks.outcome import (
    CheckedLine,
    CheckEnd,
    CommandAnalysis,
    Outcome,
    analyse_command,
    find_tool_check,
    judge_ends,
    judge_line,
    read_running_output,
    worst_outcome,
)
from punchlist.core.checks.summaries import is_declined, read_any_summary
from punchlist.core.grounding.evidence import words_of
from punchlist.core.grounding.places import kept_places
from punchlist.core.grounding.results import background_id, exit_code_of, read_result
from punchlist.core.grounding.tool_call import MOST_FILES, CallOutcome, Moment, ToolCall
from punchlist.core.shell.touches import Touch, writes_files
from punchlist.core.shell.wrappers import SHELLS, expand, word_set
from punchlist.core.tables import programs as tables
from punchlist.core.todo import NamedCheck
from punchlist.text import clean, cut, tool_values
from punchlist.text.cleaning import is_plain
from punchlist.text.patterns import compile_later
from punchlist.text.redaction import MARK, redact, secrecy
from punchlist.text.shell import LONGEST, Node, Pipeline, SimpleCommand, parse, walk

_BEHIND: Final = ("run_in_background", "is_background", "background", "runInBackground", "isBackground")
_WORK_FOLDERS: Final = ("workdir", "cwd", "working_directory", "working_dir", "directory", "dir_path")
_LINES: Final = ("command", "cmd", "script")
_MOST_CHECKS: Final = 12
_MAY_SAY_NO: Final = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "diff", "cmp", "test", "[", "[[", "which", "git"})
"""An exit code of 1 of these is an answer, not a failure; of Git only where it compares."""

_NOWHERE: Final = frozenset({"shell", "todo"})
_STRANGERS: Final = frozenset({"unknown", "outbound", "shell"})
"""Kinds of tools that may be checks by their name."""

_NO_READERS: Final = frozenset({"edit", "todo", "delegate"})
"""Kinds of tools that do not read the output of a command in the background, whatever ids they are given."""

_PATCHING: Final = frozenset({"apply_patch", "applypatch", "patch"})
"""Programs whose input, or argument, names the files that they change."""

_CHANGING: Final = frozenset({"made", "tool", "edited", "removed", "away", "undone"})
_COMMIT_HOOK: Final = CheckedLine((Check("git commit", "lint", "git"),))
_ABSENT: Final = compile_later(
    r"(?:cannot remove|can't open file|cannot access) '([^'\n]+)': (?:\[Errno 2\] )?No such file"
)
_HOOK: Final = compile_later(
    r"(?m)^- hook id: |\b(?:pre-commit|commit-msg|pre-push)\b.*\b(?:hook|script)\b|husky|lefthook"
)

_ENDS: Final = frozenset({"tool.finished", "tool.failed"})
_TEXTS: Final = ["name", "kind", "program", "hash", "via", "item", "preview", "words", "result", "tail", "background"]
_FLAGS: Final = ["changes", "changes_anyway", "reads", "declined", "masked"]
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
_PATCHED: Final = compile_later(
    r"^(?:\*\*\* (?:Add File|Update File|Delete File|Move to): |\+\+\+ b/|--- a/)([^\t\n]{1,1000})",
    re.MULTILINE,
)


class Watch(Struct, frozen=True):
    """Options for describing calls. `previews` is the most characters of a preview, 0 for none at all.

    `secrets` finds what is taken out of every text in addition to the secrets that are known anyway. `named` are the
    checks that the project or a person names, and that may verify.
    """

    previews: int = tool_values.LENGTH
    patterns: Patterns | None = None
    secrets: re.Pattern[str] | None = None
    named: tuple[NamedCheck, ...] = ()


DEFAULT: Final = Watch()


def start_facts(
    name: str,
    arguments: Any,
    *,
    kind: str = "unknown",
    changes: bool = False,
    item: str = "",
    via: str = "",
    watch: Watch = DEFAULT,
    signer: tool_values.Signer = tool_values.UNKEYED,
) -> dict[str, Any]:
    """Return the data of `tool.started` without `call_id` and without empty values.

    `kind` and `changes` classify the tool; the checks and changes of a shell line are found here. `item` is the key of
    the item in progress; `via` is the road by which the report came.
    Arguments may be a JSON text, see `as_object`.
    """
    arguments = _action(tool_values.as_object(arguments)) if kind == "shell" else tool_values.as_object(arguments)
    line = tool_values.join_command_lines(tool_values.find_command_lines(arguments)) if kind == "shell" else None
    seen = None if line is None else _analyse(line, arguments, watch)
    check = None if seen is None else seen.check
    if check is None and kind in _STRANGERS:
        check = find_tool_check(name, watch.patterns)
    changes = changes and (check is None if seen is None else seen.changes)
    shown = tool_values.shown_arguments(arguments, watch.previews, own=watch.secrets)
    names_files = kind == "edit" or (kind == "unknown" and changes)
    patched = line if seen is not None and seen.program in _PATCHING else None
    files = () if patched is None else patched_files(patched)
    if not files and names_files:
        files = named_files(arguments)
    touches = _find_edits(name, arguments, files) if kind == "edit" or patched is not None else ()
    if seen is not None and patched is None:
        touches = seen.touches
        if changes and seen.is_whole:
            files = tuple(dict.fromkeys(path for how, path in seen.touches if how in _CHANGING and path != "*"))
    facts: dict[str, Any] = {
        "name": _plain(name, watch),
        "kind": kind,
        "hash": fingerprint(arguments, signer),
        "item": item,
        "via": via,
        "program": "" if seen is None else _plain(seen.program, watch),
        "changes": changes,
        "changes_anyway": changes and seen is not None and seen.may_change_and_fail,
        "reads": kind == "read" or (seen is not None and seen.reads),
        "check": None if check is None else _check_data(check, watch),
        "touches": [[how, redact(_shown(path), watch.secrets)] for how, path in touches],
        "files": [redact(path, watch.secrets) for path in files],
        "places": [] if kind in _NOWHERE else kept_places(arguments, watch.secrets),
        "background": "" if line is not None or kind in _NO_READERS else background_id(arguments),
        "masked": kind not in _NO_READERS and _shows_secret(arguments, kind),
        "preview": shown,
    }
    if kind != "edit":
        facts["words"] = words_of(arguments, () if seen is None else seen.commands, shown, watch.secrets)
    return {key: value for key, value in facts.items() if value}


def end_facts(
    result: Any,
    *,
    is_error: bool | None = None,
    exit_code: int | None = None,
    started: ToolCall | Mapping[str, Any] | None = None,
    watch: Watch = DEFAULT,
    masked: bool = False,
) -> dict[str, Any]:
    """Return the data of `tool.finished` without `call_id` and `name`.

    `started` is the call as it is known, or the facts of its beginning. Without it a check cannot be recognised yet, so
    what the output says is kept until it can (`told`). A call has not failed if nothing says so, but a check in it is
    then judged by its own summary alone. Of a result that is `masked` nothing is kept but how the call came out.
    """
    known = started if isinstance(started, ToolCall) else call_from("tool.started", started or {}, None)
    masked = masked or known.masked
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
    if read.background and (code is None or masked or (known.check is not None and known.check.is_detached)):
        facts["background"] = read.background
    if known.check is not None:
        told = None if (read.failed is None and exit_code is None) or (read.runs_on and not failed) else failed
        if known.check.is_detached and not failed:  # how the start of it went says nothing of its end
            outcome = "failed" if read_running_output(known.check, read.text) == "failed" else "unknown"
        else:
            ends = judge_ends(known.check, read.text, exit_code=code, is_error=told)
            outcome = worst_outcome(known.check, [end.outcome for end in ends])
            if masked:  # a line of the secret may look like a test
                ends = [end._replace(counts=end.counts._replace(failures=())) for end in ends]
            if len(ends) > 1 or known.check.family != "probe" or known.check.checks[0].script:
                facts["check_ends"] = to_builtins(ends)
        if known.told is not None and not read.text:  # it has said how it goes while it ran
            outcome = known.told if known.told != "passed" or outcome == "unknown" else outcome
        facts |= _outcome_facts(known.check, outcome, "" if masked else read.text, watch)
    elif failed and ("committed", "") in known.touches and _is_refused_commit(read.text):
        facts["check"] = _check_data(_COMMIT_HOOK, watch)
        facts["check_outcome"] = "failed"
        facts["tail"] = "" if masked else _read_tail(read.text, watch)
    elif started is None and (says := "failed" if failed else read_any_summary(read.text)) is not None:
        facts["told"] = says
    if failed and known.touches and (absent := [f"/{one}" for one in _ABSENT.findall(read.text)]):
        missing = {path for _, path in known.touches if any(one.endswith(f"/{path}") for one in absent)}
        facts["touches"] = [["missing" if path in missing else how, path] for how, path in known.touches]
    if failed and is_declined(read.text) and code is None:
        facts["declined"] = True
    if not masked and (places := kept_places(result, watch.secrets)):
        facts["places"] = places
    shown = tool_values.preview(read.text, watch.previews, tail=known.check is not None, own=watch.secrets)
    if shown:
        facts["result"] = MARK if masked else shown
    return facts


def background_facts(
    call: ToolCall,
    result: Any,
    *,
    is_error: bool | None = None,
    exit_code: int | None = None,
    watch: Watch = DEFAULT,
) -> dict[str, Any]:
    """Return what a call that read the output of a background check adds to its `tool.finished`; empty if nothing.

    Only an exit code in the output is that of the check: the call itself may go well while the check still runs.
    """
    if call.check is None:
        return {}
    read = read_result(result, None, kind="shell")
    code = read.exit_code if exit_code is None else exit_code
    if code is None or read.runs_on:
        outcome = None if is_error else read_running_output(call.check, read.text)
        outcome = None if outcome == "passed" and read.failed is None else outcome  # it has not ended
    else:
        outcome = judge_line(call.check, read.text, exit_code=code)
    if outcome is None:
        return {}
    return {"check_of": call.id, **_outcome_facts(call.check, outcome, "" if call.masked else read.text, watch)}


def _outcome_facts(check: CheckedLine, outcome: Outcome, output: str, watch: Watch) -> dict[str, Any]:
    tail = _read_tail(output, watch) if outcome == "failed" else ""
    return {"check": describe_check(check), "check_outcome": outcome} | ({"tail": tail} if tail else {})


def _shows_secret(arguments: Any, kind: str) -> bool:
    """True if a call prints a secret: by its command line, or because it is about the files that hold them."""
    values = cast("Iterable[Any]", arguments.values() if isinstance(arguments, Mapping) else (arguments,))
    parts = (cast("list[Any]", value if isinstance(value, list) else [value]) for value in values)
    texts = [text for part in parts for text in part if isinstance(text, str)]
    lines = tool_values.find_command_lines(arguments) or texts if kind == "shell" else ()
    return any(_SECRET_FILE.search(text) for text in texts) or any(map(_prints_secret, lines))


def _find_edits(name: str, arguments: Any, files: Sequence[str]) -> tuple[Touch, ...]:
    """Return what an editing tool does to each file: it removes it, writes it whole, or edits it."""
    fields = cast("dict[str, Any]", arguments if isinstance(arguments, Mapping) else {})
    if "delete" in name.lower() or "remove" in name.lower():
        return tuple(Touch("removed", path) for path in files)
    texts = {key: value for key, value in fields.items() if isinstance(value, str)}
    content = next((texts[key] for key in ("content", "file_text", "contents") if key in texts), "")
    if content and "old_string" not in texts:
        return tuple(Touch("tool" if writes_files(content) else "made", path) for path in files)
    patch = next((texts[key] for key in _PATCHES if key in texts), "")
    removed = {_shown(path) for path in re.findall(r"(?m)^\*\*\* Delete File: (.+)$", patch[:_WINDOW])}
    return tuple(Touch("removed" if path in removed else "edited", path) for path in files)


def _is_refused_commit(output: str) -> bool:
    """True if a commit that failed was refused by a hook, and not for want of something to commit."""
    return _HOOK.search(output) is not None or read_any_summary(output) == "failed"


def _read_tail(output: str, watch: Watch) -> str:
    return tool_values.last_lines(output, own=watch.secrets) if watch.previews else ""


def call_from(event: str, data: Mapping[str, Any], at: datetime | None, order: int = 0) -> ToolCall:
    """Read a call from one runtime event. Values of a wrong type are left out."""
    moment = None if at is None else Moment(at, order)
    ends = event in _ENDS
    failed = event == "tool.failed" or data.get("is_error") is True
    outcome: CallOutcome = "running" if not ends else "failed" if failed else "ok"
    texts: dict[str, Any] = {key: value for key in _TEXTS if isinstance(value := data.get(key), str) and value}
    flags: dict[str, Any] = {key: True for key in _FLAGS if data.get(key) is True}
    call_id, files, check = data.get("call_id"), data.get("files"), data.get("check")
    told = None if "check_of" in data else data.get("check_outcome")
    named = cast("Sequence[Any]", files) if isinstance(files, list | tuple) else ()
    return ToolCall(
        id=call_id if isinstance(call_id, str) else "",
        started=moment if event == "tool.started" else None,
        finished=moment if ends else None,
        outcome=outcome,
        files=tuple([path for path in named if isinstance(path, str)]),
        check=None if check is None else _check_from(check),
        check_outcome=_outcome(told),
        told=_outcome(data.get("told")),
        touches=_read_rows(data.get("touches"), Touch),
        ends=_read_rows(data.get("check_ends"), CheckEnd),
        **texts,
        **flags,
    )


def _read_rows(rows: Any, kind: Any) -> tuple[Any, ...]:
    try:
        return convert(rows, tuple[kind, ...]) if rows else ()
    except ValidationError:
        return ()


def _outcome(told: Any) -> Outcome | None:
    return cast("Outcome", told) if told in get_args(Outcome) else None


def fingerprint(arguments: Any, signer: tool_values.Signer = tool_values.UNKEYED) -> str:
    """Return a short hash of arguments without their secrets, the same whatever the order of their keys."""
    if isinstance(arguments, Mapping):
        fields = cast("Mapping[Any, Any]", arguments)
        lines = {key: tool_values.join_words(fields[key]) for key in _LINES if isinstance(fields.get(key), list)}
        arguments = {**fields, **lines} if lines else fields
    return signer.digest(arguments)


def _action(arguments: Any) -> Any:
    """Return the action of a shell tool: OpenAI's tools have it as an object within their arguments."""
    action = cast("Mapping[Any, Any]", arguments).get("action") if isinstance(arguments, Mapping) else None
    return cast("Any", action if isinstance(action, Mapping) else arguments)


def _analyse(line: str | list[str], arguments: Any, watch: Watch) -> CommandAnalysis:
    seen = analyse_command(line, watch.patterns, watch.named)
    if seen.check is None or not isinstance(arguments, Mapping):
        return seen
    fields = cast("Mapping[Any, Any]", arguments)
    check = replace(seen.check, is_detached=seen.check.is_detached or any(fields.get(key) is True for key in _BEHIND))
    where = next((folder for key in _WORK_FOLDERS if isinstance(folder := fields.get(key), str) and folder), "")
    if where:
        checks = (replace(one, folder=posixpath.normpath(posixpath.join(where, one.folder))) for one in check.checks)
        check = replace(check, checks=tuple(checks))
    return seen._replace(check=check)


def _may_say_no(call: ToolCall) -> bool:
    if call.program == "git":
        return "diff" in call.preview or "grep" in call.preview
    return call.program in _MAY_SAY_NO


def describe_check(check: CheckedLine) -> dict[str, Any]:
    """Return a check as events show it: its name, family and scope."""
    data: dict[str, Any] = {"name": _short(check.name), "family": check.family}
    return data | ({"scope": [_shown(path) for path in check.scope]} if check.scope else {})


def _check_data(check: CheckedLine, watch: Watch) -> dict[str, Any]:
    """Return a check as its start shows it, with what is needed to judge its end. It holds no secrets.

    Texts that the line prints are kept where previews are, and none that a secret is taken out of.
    """
    echoes = check.table.echoes if watch.previews else ()
    kept = tuple(text if redact(text, watch.secrets) == text else "" for text in echoes)
    checks = tuple(_without_secrets(one, watch) for one in check.checks[:_MOST_CHECKS])
    clean_check = replace(check, checks=checks, table=replace(check.table, echoes=kept))
    return describe_check(clean_check) | {"line": json.loads(encode(clean_check))}


def _without_secrets(check: Check, watch: Watch) -> Check:
    return replace(
        check,
        name=_plain(check.name, watch),
        program=_plain(check.program, watch),
        scope=tuple(_shown(redact(path, watch.secrets)) for path in check.scope),
        folder=_shown(redact(check.folder, watch.secrets)),
        script=_shown(redact(check.script, watch.secrets)),
        runs=tuple(_shown(redact(path, watch.secrets)) for path in check.runs),
    )


def _check_from(data: Any) -> CheckedLine | None:
    line = cast("Mapping[str, Any]", data).get("line") if isinstance(data, Mapping) else None
    try:
        return convert(line, CheckedLine)
    except ValidationError:
        return None


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
    """Return the files that a patch in a command line, or among its words, names."""
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


# Command lines that print nothing but a secret: their whole output is masked. Too much rather than too little.

_PRINTS_SECRET: Final = tuple(tuple(row.split()) for row in tables.PRINTS_SECRET.strip().splitlines())

_PROGRAMS: Final = frozenset(name for row in _PRINTS_SECRET for name in row[0].split("|"))
_SECRET_FILE: Final = compile_later(r"/run/[./]*secrets\b")
_RUNS_TEXT: Final = SHELLS | word_set("eval ssh su watch parallel")
"""Programs that run what a word, or their input, says."""

_VARIABLE: Final = compile_later(r"\$\{?!?(?:env:)?(\w+)")
_WRITES: Final = word_set("> >> >| 1> 1>> &> &>>")
_DEEPEST_LINE: Final = 4
"""Lines within lines that are read."""


def _prints_secret(line: str | Sequence[str], depth: int = 0) -> bool:
    """True if a command of a line, or of a line within it, prints a secret. A line too long to be read may do so."""
    if isinstance(line, str) and (len(line) > LONGEST or _SECRET_FILE.search(line) is not None):
        return True
    nodes = [*walk(expand(line)), *(walk(parse(line)) if isinstance(line, str) else [SimpleCommand(tuple(line))])]
    words = [node.words for node in nodes if isinstance(node, SimpleCommand)]
    if any(map(_is_secret, words)):
        return True
    lines = {text for node in nodes for text in _inputs(node)}
    if any(_names_secret(text) for text in lines):
        return True
    if any(not _RUNS_TEXT.isdisjoint(_names(each)) for each in words):
        lines.update(word for each in words for word in each if " " in word)
    return depth < _DEEPEST_LINE and any(_prints_secret(text, depth + 1) for text in lines if text != line)


def _inputs(node: Node) -> list[str]:
    """Return the texts that a command is given in its line and may print."""
    redirects = () if isinstance(node, Pipeline) else node.redirects
    if any(one.operator in _WRITES for one in redirects):
        return []
    return [one.target for one in redirects if "<<" in one.operator]


def _is_secret(words: Sequence[str]) -> bool:
    names = _names(words)
    if not _PROGRAMS.isdisjoint(names) and any(_has_words(row, words) for row in _PRINTS_SECRET):
        return True
    if "printenv" in names:
        return any(secrecy(word) != "none" for word in words[1:])
    return ("echo" in names or "printf" in names) and any(map(_names_secret, words))


def _names_secret(text: str) -> bool:
    return any(secrecy(name) != "none" for name in _VARIABLE.findall(text))


def _names(words: Sequence[str]) -> list[str]:
    return [word.rpartition("/")[2].removesuffix(".exe") for word in words]


def _has_words(row: Sequence[str], words: Sequence[str]) -> bool:
    rest = iter(words)
    return all(any(_is_word(wanted, word) for word in rest) for wanted in row)


def _is_word(wanted: str, word: str) -> bool:
    return any(re.fullmatch(f"-?(?:{wanted})(?:=.*)?", one, re.DOTALL) for one in (word, *_names((word,))))
