"""Open transcripts of every known format. The format is guessed only where there is one answer."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from heapq import merge
from itertools import chain, islice
from typing import Any, cast

from msgspec.structs import replace

from punchlist.errors import InvalidInput, PunchlistError, TranscriptError, TranscriptUnknown, UnknownName
from punchlist.transcripts import chats, claude_code, codex, gemini, oh_my_pi, openclaw, stores
from punchlist.transcripts.decoding import decode, fields, name, record
from punchlist.transcripts.lines import LineFormat, LineTranscript, hold_records, read_file, select_lines
from punchlist.transcripts.log_files import COMPRESSED, Log, read_first, read_records
from punchlist.transcripts.steps import (
    CallEnd,
    CallStart,
    ListWrite,
    Step,
    StepFormat,
    StepReader,
    SubagentStart,
    TokenUse,
    TurnEnd,
    add_bounded,
)
from punchlist.transcripts.stores import OPENCODE, QWEN
from punchlist.transcripts.values import MAIN, Origin, Transcript, TranscriptCall, Written, hold_states

LINES: Mapping[str, LineFormat] = {
    form.dialect: form for form in (claude_code.FORMAT, codex.FORMAT, oh_my_pi.FORMAT, openclaw.FORMAT)
}
LOGS: Mapping[str, StepFormat] = {
    form.dialect: form
    for form in (
        claude_code.FORMAT,
        codex.FORMAT,
        gemini.STEPS,
        gemini.QWEN_STEPS,
        oh_my_pi.FORMAT,
        openclaw.STEPS,
        chats.STEPS,
        stores.OPENCODE_STEPS,
    )
}
"""Formats of logs that tell what an agent did, by agent."""

_CHATS = (chats.NAME, chats.MESSAGES)
FORMATS = (*LINES, *_CHATS, OPENCODE, QWEN)
"""The names that `format` takes."""

_LARGEST_DOCUMENT = 64 * 1024 * 1024
_STORES = {openclaw.LEDGER_TABLES: openclaw.FORMAT.dialect, chats.TABLES: chats.NAME, stores.OPENCODE_TABLES: OPENCODE}
_HINTS = (
    (re.compile(r"\.acp-stream\.jsonl$"), "openclaw"),
    (re.compile(r"(^|/)rollout-[^/]*\.jsonl(\.zst)?$"), "codex"),
    (re.compile(r"(^|/)(projects/[^/]+/[^/]+|subagents/agent-[^/]+)\.jsonl$"), "claude-code"),
)
"""Formats by the name of a file, for one whose lines tell nothing."""


def open_transcript(source: Any, format: str | None = None) -> Transcript:
    """Open the transcript at a path, or in records: objects or JSON lines, oldest first, or a whole export.

    Raises `TranscriptUnknown` where `format` is not given and not plain to see, `TranscriptError` where a file cannot
    be read.
    """
    if format is not None and format not in FORMATS:
        raise UnknownName(what="transcript format", name=format, known=", ".join(FORMATS))
    if isinstance(source, str | os.PathLike):
        path: str = os.path.expanduser(os.fspath(cast("str | os.PathLike[str]", source)))
        try:
            return _open_file(path, format)
        except OSError as error:
            raise TranscriptError(path=path, problem=error.strerror or str(error)) from error
    if isinstance(source, Mapping):
        return _open_document(cast("Any", source), "records", format, None)
    if not isinstance(source, Iterable) or isinstance(source, bytes):
        raise InvalidInput(problem="A transcript is a path, or its records as objects or lines of JSON, oldest first.")
    return _open_records(list(cast("Iterable[Any]", source)), format)


def _open_file(path: str, format: str | None) -> Transcript:
    if stores.is_store(path):
        return _open_store(path, format)
    if path.endswith(COMPRESSED):
        form = LINES.get(format or "") or LINES[_guess_format(read_first(path), path)]
        return hold_records(select_lines(path, form), form, path)
    if os.path.isdir(path):
        raise TranscriptError(path=path, problem="it is a folder; name a file in it")
    if (form := LINES.get(format or "")) is not None and not path.endswith(".json"):
        return read_file(path, form)
    with Log(path) as log:
        first, last = log.edges()
        is_lines = not first or path.endswith(".jsonl") or record(first[0]) is not None
        is_document = path.endswith(".json") or not is_lines
        if is_document and log.size > _LARGEST_DOCUMENT:
            raise TranscriptError(path=path, problem="one value of more than 64 MB is too much to read")
        whole = log.read(0, log.size) if is_document else None
        if not log.size:
            return _open_records([], format, path)
    if whole is not None and (value := decode(whole)) is not None:
        at = datetime.fromtimestamp(os.stat(path).st_mtime, UTC)
        return _open_document(value, path, format, at)
    samples = [entry for line in (*first[:20], *last[-20:]) if (entry := record(line)) is not None]
    chosen = format or _guess_format(samples, path)
    if chosen in LINES:
        return read_file(path, LINES[chosen])
    if chosen in _CHATS:
        with open(path, "rb") as file:
            return _open_messages([record(line) for line in file if line.strip()], format, None, path)
    raise TranscriptUnknown(path=path, problem=f"it is no file of {chosen}", known=", ".join(FORMATS))


def _open_store(path: str, format: str | None) -> Transcript:
    found = stores.list_tables(path)
    kinds = [kind for tables, kind in _STORES.items() if tables <= found]
    kind = format or (kinds[0] if len(kinds) == 1 else None)
    if kind is None or kind not in kinds:
        problem = "its tables are those of no store" if not kinds else "its tables are those of several stores"
        raise TranscriptUnknown(path=path, problem=problem, known=", ".join(_STORES.values()))
    if kind == chats.NAME:
        return chats.read_store(path)
    if kind == OPENCODE:
        return hold_states(stores.read_opencode_store(path), kind, path)
    return openclaw.read_ledger_store(path)


def _open_document(value: Any, source: str, format: str | None, at: datetime | None) -> Transcript:
    """Open a whole JSON value: an export, a ledger, a list of a session, or an array of records."""
    given = fields(value) or {}
    stem = name(os.path.basename(source).removesuffix(".json"))
    match format or _find_kind(value):
        case chats.NAME | chats.MESSAGES if isinstance(given.get("messages"), list):
            session = name(given.get("session_id")) or name(given.get("id"))
            return _open_messages(given["messages"], format, session, source)
        case "openclaw" if openclaw.is_ledger(value):
            return openclaw.read_ledger(value, source)
        case stores.QWEN:
            whole = given or {"todos": value}
            return _make_state(stores.read_qwen(whole), name(given.get("sessionId")) or stem, QWEN, source, at)
        case stores.OPENCODE:
            return _make_state(stores.read_opencode(value), stem, OPENCODE, source, at)
        case _:
            return _open_records(cast("list[Any]", value) if isinstance(value, list) else [value], format, source)


def _find_kind(value: Any) -> str | None:
    given = fields(value) or {}
    if isinstance(given.get("messages"), list):
        return chats.NAME
    if openclaw.is_ledger(value):
        return openclaw.FORMAT.dialect
    return QWEN if stores.is_qwen(value) else OPENCODE if stores.is_opencode(value) else None


def _make_state(command: Any, session: str | None, format: str, source: str, at: datetime | None) -> Transcript:
    own = session or "default"
    states = {} if command is None else {own: Written(command, Origin(MAIN, own, None, at))}
    return hold_states(states, format, source, skipped=int(command is None))


def _open_records(records: list[Any], format: str | None, source: str = "records") -> Transcript:
    if not records:
        return hold_records((), LINES[format or ""] if format in LINES else claude_code.FORMAT, source)
    samples = [
        found
        for entry in chain(records[:20], records[-20:])
        if (found := record(entry) if isinstance(entry, str | bytes) else fields(entry)) is not None
    ]
    chosen = format or _guess_format(samples, source)
    if chosen in _CHATS:
        found = [record(entry) if isinstance(entry, str | bytes) else entry for entry in records]
        return _open_messages(found, format, None, source)
    if chosen in LINES:
        return hold_records(records, LINES[chosen], source)
    return _open_document(records, source, chosen, None)  # a list, not records: qwen's or opencode's


def _open_messages(found: list[Any], format: str | None, session: str | None, source: str) -> Transcript:
    """Open messages of a chat: Hermes' if they have lists as it writes them, else those of any program."""
    if format != chats.MESSAGES:
        chat = chats.read_messages(found, session, source)
        if format == chats.NAME or chat.latest() is not None:
            return chat
    return chats.replay_messages(found, session, source)


def _guess_format(samples: list[dict[str, Any]], path: str) -> str:
    """Return the format of these records, else that of the file name; or raise `TranscriptUnknown`."""
    kinds = {form.dialect for form in LINES.values() if any(form.is_own(sample) for sample in samples)}
    roles = ("user", "assistant", "tool", "system")
    if any(sample.get("role") in roles and "type" not in sample for sample in samples):  # a message of a chat
        kinds.add(chats.NAME)
    if not kinds:
        kinds = {kind for pattern, kind in _HINTS if not samples and pattern.search(path)}
    if len(kinds) == 1:
        return kinds.pop()
    nothing = "its lines tell nothing" if samples else "no line of it can be read"
    problem = f"it could be {' or '.join(sorted(kinds))}" if kinds else nothing
    raise TranscriptUnknown(path=path, problem=problem, known=", ".join(FORMATS))


_MOST_EARLIER = 32
"""Calls returned at most: one that is reported late by another road is among the last."""


def list_sessions(transcript: Transcript) -> list[str]:
    """Return the ids under which the conversation went on, latest first; none for a store of several."""
    if isinstance(transcript, LineTranscript):
        return list(dict.fromkeys(transcript.lineage()))
    return [] if transcript.is_store else list(transcript.sessions)


def list_earlier_calls(transcript: Transcript, *, subagent: str | None = None) -> list[TranscriptCall]:
    """Return calls with an id up to the list that `latest` found, newest first; perhaps none."""
    if isinstance(transcript, LineTranscript):
        found = transcript.before(subagent=subagent)
    elif not transcript.is_store:
        writes = reversed(list(transcript.history(subagent=subagent)))
        found = (write.call for write in writes if write.call is not None)
    else:
        return []
    return list(islice(found, _MOST_EARLIER))


# All that a session did, from its beginning: tool calls, list writes and the user's turns, with their times.

_MOST_COPIED = 65_536
"""Ids of calls remembered to pass over copies: a resumed session begins with a copy of the one before."""

_NO_TIME = datetime.min.replace(tzinfo=UTC)


def read_steps(transcript: Transcript) -> Iterator[Step]:
    """Yield the steps of a session and its subagents, in order. `MAIN` is the agent whose transcript it is."""
    source, form = transcript.source, LOGS.get(transcript.format)
    if form is None or form.find_subagents is None or not os.path.isfile(source):
        problem = f"Tool calls are read from files of Claude Code and Codex; `{source}` is of {transcript.format}."
        raise InvalidInput(problem=problem)
    if transcript.origin.agent == MAIN:
        files = [_read_file(source, StepReader(form, None))]
        for file, begun in form.find_subagents(source, transcript.origin.session):
            files.append(_after(begun, _read_file(file, StepReader(form, begun.agent))))
    else:
        files = [_read_file(source, StepReader(form, MAIN))]
    steps = _without_copies(merge(*map(_with_times, files), key=_time_of))
    yield from (step for step in steps if not isinstance(step, TurnEnd | TokenUse))


def _read_file(file: str, reader: StepReader) -> Iterator[Step]:
    for found in read_records(file):
        yield from reader.take(found)


def _after(begun: SubagentStart, steps: Iterator[Step]) -> Iterator[Step]:
    """Yield the start of a subagent at the time of its first step, then its steps as far as they can be read."""
    with suppress(OSError, PunchlistError):
        for step in steps:
            yield replace(begun, at=step.at)
            yield step
            yield from steps


def _with_times(steps: Iterable[Step]) -> Iterator[Step]:
    """Give each step without a time, or with an earlier one, that of the step before: files are merged by time."""
    last: datetime | None = None
    for step in steps:
        if step.at is not None and (last is None or step.at >= last):
            last = step.at
            yield step
        else:
            yield replace(step, at=last)


def _time_of(step: Step) -> datetime:
    return step.at or _NO_TIME


def _without_copies(steps: Iterable[Step]) -> Iterator[Step]:
    seen: dict[tuple[type[Step], str], None] = {}
    for step in steps:
        if isinstance(step, CallStart | CallEnd | ListWrite):
            key = (type(step), step.call_id)
            if key in seen:
                continue
            add_bounded(seen, key, None, _MOST_COPIED)
        yield step
