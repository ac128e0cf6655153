"""Read chats: Hermes' messages in an export, a snapshot or its SQLite store, and those of the Anthropic or OpenAI API.

Hermes' list is in the newest result of a `todo` call that is paired with it: the call stands in the nearest assistant
message before, and neither the user nor the system spoke in between. Results of more than 512,000 characters are
passed over. Completed and cancelled items come back too.

Messages of other programs hold calls, and results in words for the model; so each list is what the calls up to there
make of it. A call counts if it has a result that is no error. The dialect, our own among them, is the first in the
registry that has the tool and understands the first call of it.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from punchlist.core.apply import apply
from punchlist.core.commands import Edit, Entry, Merge, Replace
from punchlist.core.todo import ListState, TodoList
from punchlist.dialects import dialect, dialects_of
from punchlist.dialects.base import Dialect, Invalid
from punchlist.dialects.hermes import parse
from punchlist.transcripts import steps
from punchlist.transcripts.decoding import (
    call_key,
    decode,
    decode_args,
    fields,
    is_said_by_host,
    moment,
    name,
    object_at,
    objects,
    text_of,
)
from punchlist.transcripts.stores import read_rows
from punchlist.transcripts.values import MAIN, CallOutcome, ListTranscript, Origin, TranscriptCall, Written, admit_list

NAME = "hermes"
MESSAGES = "messages"
_OWN = "punchlist"
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
                yield steps.UserTurn(at=at, text=text_of(content))
        case "assistant":
            given = message.get("tool_calls")
            calls = objects(decode(given) if isinstance(given, str) else given)
            for call in calls:
                function = object_at(call, "function")
                args = decode_args(function.get("arguments"))
                yield from steps.read_call(function.get("name"), args, call.get("id"), Origin(at=at))
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


def read_messages(messages: list[Any], session: str | None, source: str) -> ListTranscript:
    """Return the lists in messages of Hermes, oldest first."""
    found = [unwrap_content(message) for entry in messages if (message := fields(entry)) is not None]
    active = [message for message in reversed(found) if message.get("active", 1) in (1, True)]
    return ListTranscript(
        NAME,
        source,
        lambda _: find_writes(active, session),
        session=session,
        skipped=len(messages) - len(found),
    )


def unwrap_content(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message as the model saw it: structured content is stored as a text that begins with a NUL."""
    content = message.get("content")
    if isinstance(content, str) and content.startswith(_STRUCTURED):
        return {**message, "content": decode(content.removeprefix(_STRUCTURED))}
    return message


def read_store(path: str) -> ListTranscript:
    """Return the lists in Hermes' SQLite store, with its many sessions."""
    sessions = [session for (session,) in read_rows(path, _SESSIONS) if isinstance(session, str)]

    def find(session: str | None) -> Iterator[Written]:
        for own in sessions if session is None else (session,):
            with closing(read_rows(path, _MESSAGES, (own,))) as rows:
                messages = (unwrap_content(dict(zip(COLUMNS, row, strict=True))) for row in rows)
                yield from find_writes(messages, own)

    return ListTranscript(NAME, path, find, stored=sessions)


# Messages of any program.


_NOW = datetime.fromtimestamp(0, UTC)
"""Messages have no times, and the rules for a list need one."""


def replay_messages(messages: list[Any], session: str | None, source: str) -> ListTranscript:
    """Return the lists that the calls in these messages make, oldest first, by the rules of their dialect."""
    found = [message for entry in messages if (message := fields(entry)) is not None]
    origin, answered = Origin(session=session), _find_answered(found)
    calls = [call for call in _read_calls(found, origin) if call.call_id in answered]
    known = _find_dialect(calls) or dialect(_OWN)
    return ListTranscript(
        MESSAGES,
        source,
        lambda _: reversed(list(_replay(calls, known, origin))),
        dialect=known.name,
        session=session,
        skipped=len(messages) - len(found),
    )


def _replay(calls: Iterable[TranscriptCall], known: Dialect, origin: Origin) -> Iterator[Written]:
    """Yield the list after each call that changed it."""
    state = ListState(TodoList())
    for call in calls:
        command = known.parse(call.name, call.args) if known.has_tool(call.name) else None
        if not isinstance(command, Replace | Merge | Edit):
            continue
        applied = apply(state, command, known.policy, _NOW, by=MAIN)
        whole = None if applied.refused else admit_list(_as_command(applied.state.todos), known.name)
        if whole is not None:
            state = applied.state
            yield Written(whole, origin, name(call.call_id), call)


def _read_calls(messages: Iterable[dict[str, Any]], origin: Origin) -> Iterator[TranscriptCall]:
    """Yield the tool calls: `tool_use` of Anthropic, `tool_calls` and `function_call` of OpenAI."""
    for message in messages:
        for part in objects(message.get("content")):
            if part.get("type") == "tool_use":
                yield from steps.read_call(part.get("name"), part.get("input"), part.get("id"), origin)
        for call in objects(message.get("tool_calls")):
            function = object_at(call, "function")
            args = decode_args(function.get("arguments"))
            yield from steps.read_call(function.get("name"), args, call.get("id"), origin)
        if message.get("type") == "function_call":
            args = decode_args(message.get("arguments"))
            yield from steps.read_call(message.get("name"), args, message.get("call_id"), origin)


def _find_answered(messages: Iterable[dict[str, Any]]) -> set[Any]:
    """Return the ids of the calls that have a result, but for errors."""
    found = set[Any]()
    for message in messages:
        results = [part for part in objects(message.get("content")) if part.get("type") == "tool_result"]
        found |= {call_key(part.get("tool_use_id")) for part in results if not part.get("is_error")}
        if message.get("role") == "tool":
            found.add(call_key(message.get("tool_call_id")))
        if message.get("type") == "function_call_output":
            found.add(call_key(message.get("call_id")))
    return found


def _find_dialect(calls: Iterable[TranscriptCall]) -> Dialect | None:
    known = [dialect(one) for one in dialects_of("todos")]
    for call in calls:
        for one in known:
            if one.has_tool(call.name) and not isinstance(one.parse(call.name, call.args), Invalid):
                return one
    return None


def _as_command(todos: TodoList) -> Replace:
    places = {phase.id: place for place, phase in enumerate(todos.phases)}
    entries = tuple(
        Entry(
            item.content,
            item.status,
            active_form=item.active_form,
            phase_place=places.get(item.phase_id or ""),
            notes=item.notes or None,
            priority=item.priority,
            blocker=item.blocker,
        )
        for item in todos.items
    )
    return Replace(entries, todos.explanation, tuple(phase.name for phase in todos.phases) or None)
