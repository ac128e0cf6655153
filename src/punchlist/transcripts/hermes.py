"""Read Hermes' lists: from a session's messages in an export, a snapshot, or its SQLite store.

The list is in the newest result of a `todo` call that is paired with it: the call stands in the nearest assistant
message before, and neither the user nor the system spoke in between. Results of more than 512,000 characters are
passed over. Completed and cancelled items come back too.
"""

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from typing import Any

from punchlist.core.commands import Replace
from punchlist.dialects.hermes import parse
from punchlist.transcripts import steps
from punchlist.transcripts.decoding import (
    call_key,
    decode,
    fields,
    is_said_by_host,
    moment,
    name,
    object_at,
    objects,
    text_of,
)
from punchlist.transcripts.stores import read_rows
from punchlist.transcripts.values import CallOutcome, Origin, TranscriptCall, Written, admit_list, name_once

NAME = "hermes"
TOOLS = ("todo", "todo_list")
"""The tool's name, and the one that newer versions gave it."""
LONGEST_RESULT = 512_000
_STRUCTURED = "\0json:"
TABLES = frozenset({"sessions", "messages"})
COLUMNS: tuple[str, ...] = ("role", "content", "tool_call_id", "tool_calls", "timestamp")
_MESSAGES = """
SELECT role, content, tool_call_id, tool_calls, timestamp FROM messages
WHERE session_id = ? AND active = 1 ORDER BY id DESC
"""
_SESSIONS = "SELECT session_id FROM messages WHERE active = 1 GROUP BY session_id ORDER BY max(id) DESC LIMIT 1000"


def read_facts(message: dict[str, Any]) -> Iterator[steps.Fact]:
    at, content = moment(message.get("timestamp")), message.get("content")
    match message.get("role"):
        case "user":
            if not is_said_by_host(text_of(content)):
                yield steps.UserTurn(at=at)
        case "assistant":
            given = message.get("tool_calls")
            calls = objects(decode(given) if isinstance(given, str) else given)
            for call in calls:
                function = object_at(call, "function")
                sent = function.get("arguments")
                args = decode(sent) if isinstance(sent, str) else sent
                tool = function.get("name")
                yield from steps.read_call(tool, sent if args is None else args, call.get("id"), Origin(at=at))
            if not calls:
                yield steps.TurnEnd(at=at)
        case "tool":
            if (call_id := call_key(message.get("tool_call_id"))) is not None:
                yield CallOutcome(call_id, content, origin=Origin(at=at))
        case _:
            pass


def find_writes(newest_first: Iterable[dict[str, Any]], session: str | None = None) -> Iterator[Written]:
    """Yield every list that was written, newest first, from messages in that order."""
    waiting: dict[str, tuple[Replace, Origin]] = {}
    for message in newest_first:
        match message.get("role"):
            case "tool":
                for fact in read_facts(message):
                    if isinstance(fact, CallOutcome) and (command := read_result(fact.result)) is not None:
                        waiting.setdefault(fact.call_id, (command, fact.origin._replace(session=session)))
            case "assistant":
                calls = _read_todo_calls(message) if waiting else {}
                for call_id, (command, origin) in waiting.items():
                    if call_id in calls:
                        yield Written(command, origin, name(call_id), calls[call_id]._replace(origin=origin))
                waiting.clear()
            case "user" | "system":
                waiting.clear()
            case _:
                pass


def _read_todo_calls(message: dict[str, Any]) -> dict[str | None, TranscriptCall]:
    calls = (fact for fact in read_facts(message) if isinstance(fact, TranscriptCall))
    return {call.call_id: call for call in calls if call.name in TOOLS}


def read_result(content: Any) -> Replace | None:
    """Return the list in a tool's result; a text that is too long is not decoded."""
    if not isinstance(content, str) or len(content) > LONGEST_RESULT or '"todos"' not in content:
        return None
    todos = object_at(decode(content)).get("todos")
    return admit_list(parse("todo", {"todos": todos}), NAME) if isinstance(todos, list) else None


def read_write(call: TranscriptCall, outcome: CallOutcome) -> steps.ListWrite | None:
    """Return the list in the result: the arguments may hold only what changed."""
    if read_result(outcome.result) is None:
        return None
    args = {"todos": object_at(decode(outcome.result)).get("todos")}
    return steps.ListWrite(call_id=outcome.call_id, name=call.name, args=args, dialect=NAME)


STEPS = steps.StepFormat(
    dialect=NAME, read_facts=read_facts, writers=frozenset(TOOLS), read_write=read_write, has_counted_ids=True
)


class _HermesTranscript:
    """Common part of transcripts of Hermes; a subclass finds the lists of its messages, newest first."""

    format = dialect = NAME

    def _find_writes(self, session: str | None) -> Generator[Written]:
        raise NotImplementedError

    def latest(self, *, subagent: str | None = None, session: str | None = None) -> Written | None:
        with closing(self._find_writes(session)) as found:
            return None if subagent else next(found, None)

    def history(self, *, subagent: str | None = None, session: str | None = None) -> Iterator[Written]:
        return name_once([] if subagent else reversed(list(self._find_writes(session))))


class MessageTranscript(_HermesTranscript):
    """Messages in memory, oldest first."""

    is_store = False

    def __init__(self, messages: list[Any], *, session: str | None = None, source: str = "messages") -> None:
        self._messages = [unwrap_content(message) for entry in messages if (message := fields(entry)) is not None]
        self.skipped = len(messages) - len(self._messages)
        self.sessions = () if session is None else (session,)
        self.origin = Origin(session=session)
        self.source = source

    def _find_writes(self, session: str | None) -> Generator[Written]:
        active = (message for message in reversed(self._messages) if message.get("active", 1) in (1, True))
        yield from find_writes(active, self.origin.session)


def unwrap_content(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message as the model saw it: structured content is stored as a text that begins with a NUL."""
    content = message.get("content")
    if isinstance(content, str) and content.startswith(_STRUCTURED):
        return {**message, "content": decode(content.removeprefix(_STRUCTURED))}
    return message


class StoreTranscript(_HermesTranscript):
    """The SQLite store, with its many sessions."""

    is_store = True
    origin = Origin()
    skipped = 0

    def __init__(self, path: str) -> None:
        self.source = path
        self.sessions = tuple(session for (session,) in read_rows(path, _SESSIONS) if isinstance(session, str))

    def _find_writes(self, session: str | None) -> Generator[Written]:
        for own in self.sessions if session is None else (session,):
            with closing(read_rows(self.source, _MESSAGES, (own,))) as rows:
                messages = (unwrap_content(dict(zip(COLUMNS, row, strict=True))) for row in rows)
                yield from find_writes(messages, own)
