"""Read plain messages of the Anthropic or OpenAI API: replay the calls of a todo tool of any dialect, our own too.

Such messages hold calls, and results in words for the model; so each list is what the calls up to there make of it. A
call counts if it has a result that is no error. The dialect is the first in the registry that has the tool and
understands the first call of it.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from punchlist.core.apply import apply
from punchlist.core.commands import Edit, Entry, Merge, Replace
from punchlist.core.todo import ListState, TodoList
from punchlist.dialects import dialect, dialects_of
from punchlist.dialects.base import Dialect, Invalid
from punchlist.transcripts.decoding import decode, fields, name, object_at, objects
from punchlist.transcripts.values import MAIN, Origin, TranscriptCall, Written, admit_list, name_once

NAME = "messages"
_OWN = "punchlist"
_NOW = datetime.fromtimestamp(0, UTC)
"""Messages have no times, and the rules for a list need one."""


class ChatTranscript:
    """Messages in memory, oldest first."""

    format = NAME
    is_store = False

    def __init__(self, messages: list[Any], *, session: str | None = None, source: str = "messages") -> None:
        found = [message for entry in messages if (message := fields(entry)) is not None]
        self.skipped = len(messages) - len(found)
        self.sessions = () if session is None else (session,)
        self.origin = Origin(session=session)
        self.source = source
        answered = _find_answered(found)
        self._calls = [call for call in _read_calls(found, self.origin) if call.call_id in answered]
        self._dialect = _find_dialect(self._calls) or dialect(_OWN)
        self.dialect = self._dialect.name

    def latest(self, *, subagent: str | None = None, session: str | None = None) -> Written | None:
        return next(reversed(list(self.history(subagent=subagent, session=session))), None)

    def history(self, *, subagent: str | None = None, session: str | None = None) -> Iterator[Written]:
        return name_once(() if subagent else self._replay())

    def _replay(self) -> Iterator[Written]:
        """Yield the list after each call that changed it."""
        state, policy = ListState(TodoList()), self._dialect.policy
        for call in self._calls:
            command = self._dialect.parse(call.name, call.args) if self._dialect.has_tool(call.name) else None
            if not isinstance(command, Replace | Merge | Edit):
                continue
            applied = apply(state, command, policy, _NOW, by=MAIN)
            whole = None if applied.refused else admit_list(_as_command(applied.state.todos), self.dialect)
            if whole is not None:
                state = applied.state
                yield Written(whole, self.origin, call.call_id, call)


def _read_calls(messages: Iterable[dict[str, Any]], origin: Origin) -> Iterator[TranscriptCall]:
    """Yield the tool calls: `tool_use` of Anthropic, `tool_calls` and `function_call` of OpenAI."""
    for message in messages:
        for part in objects(message.get("content")):
            if part.get("type") == "tool_use":
                yield from _make_call(part.get("id"), part, part.get("input"), origin)
        for call in objects(message.get("tool_calls")):
            function = object_at(call, "function")
            yield from _make_call(call.get("id"), function, function.get("arguments"), origin)
        if message.get("type") == "function_call":
            yield from _make_call(message.get("call_id"), message, message.get("arguments"), origin)


def _make_call(own: Any, named: dict[str, Any], args: Any, origin: Origin) -> Iterator[TranscriptCall]:
    call_id, tool = name(own), name(named.get("name"))
    if call_id is not None and tool is not None:
        yield TranscriptCall(tool, decode(args) if isinstance(args, str) else args, call_id, origin)


def _find_answered(messages: Iterable[dict[str, Any]]) -> set[str]:
    """Return the ids of the calls that have a result, but for errors."""
    found: set[str | None] = set()
    for message in messages:
        results = [part for part in objects(message.get("content")) if part.get("type") == "tool_result"]
        found |= {name(part.get("tool_use_id")) for part in results if not part.get("is_error")}
        if message.get("role") == "tool":
            found.add(name(message.get("tool_call_id")))
        if message.get("type") == "function_call_output":
            found.add(name(message.get("call_id")))
    return {call_id for call_id in found if call_id is not None}


def _find_dialect(calls: Iterable[TranscriptCall]) -> Dialect | None:
    known = [dialect(one) for one in dialects_of("todos")]
    for call in calls:
        for one in known:
            if one.has_tool(call.name) and not isinstance(one.parse(call.name, call.args), Invalid):
                return one
    return None


def _as_command(todos: TodoList) -> Replace:
    """Return the command that writes this list whole."""
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
