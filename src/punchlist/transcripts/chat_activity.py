"""Read what agents did that keep whole messages: oh-my-pi, OpenClaw, Gemini CLI, qwen and Hermes.

Each reader takes the records of one log in order, as those in `activity` do; `save` returns what to begin with later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, ClassVar, Final

from punchlist.transcripts import hermes, oh_my_pi
from punchlist.transcripts.activity import (
    CallEnd,
    ListWrite,
    OpenCalls,
    Step,
    UserTurn,
    is_said_by_host,
    make_up_id,
    read_own_tool,
    read_own_write,
    tell_end,
)
from punchlist.transcripts.decoding import call_key, decode, moment, name, object_at, objects, path, text_of
from punchlist.transcripts.tokens import TokenCount, read_tokens, without_cached
from punchlist.transcripts.values import MAIN, Origin, TranscriptCall

_OWN: Final = "punchlist"
_COUNTED: Final = re.compile(r"(?:.{0,200}[.:_-])?[0-9]{1,3}")


class MessageSteps:
    """Common part of the readers. `dialect` is that of the list tools named in `writers`."""

    dialect: ClassVar[str]
    writers: ClassVar[frozenset[str]]

    def __init__(self, agent: str, saved: Mapping[str, Any] | None = None) -> None:
        self._agent = agent
        self._calls = OpenCalls(agent, self.writers, object_at(saved, "calls"))
        self._tokens = TokenCount(object_at(saved, "tokens"))
        self.cwd = path(object_at(saved).get("cwd"))

    def save(self) -> dict[str, Any]:
        return {"calls": self._calls.save(), "cwd": self.cwd, "tokens": self._tokens.save()}

    def take(self, found: dict[str, Any]) -> Iterator[Step]:
        """Yield the steps that one more record tells of."""
        raise NotImplementedError

    def _hear(self, text: str, at: datetime | None) -> Iterator[Step]:
        """Yield the user's turn, unless it was the host, or the agent that started a subagent, who spoke."""
        if self._agent == MAIN and not is_said_by_host(text):
            yield UserTurn(at=at)

    def _begin(self, tool: Any, args: Any, call_id: Any, at: datetime | None) -> Iterator[Step]:
        key, known = call_key(call_id), name(tool)
        if key is not None and known is not None:
            origin = Origin(self._agent, None, self.cwd, at)
            begun = self._calls.begin(TranscriptCall(known, args, _make_unique(key, at), origin), key)
            if not self._calls.is_writer(known):
                yield begun

    def _end(
        self, call_id: Any, at: datetime | None, result: Any, *, is_error: bool | None = None, code: Any = None
    ) -> Iterator[Step]:
        key = call_key(call_id)
        call = None if key is None else self._calls.end(key)
        if key is None or call is None:
            return
        key = call.call_id or key
        if not self._calls.is_writer(call.name):
            yield CallEnd(
                at=at,
                agent=self._agent,
                call_id=key,
                name=call.name,
                result=result,
                is_error=is_error,
                exit_code=code if type(code) is int else None,
            )
        elif not is_error:
            own = read_own_tool(call.name)
            if own is not None:
                write = read_own_write(call, own, key, self._agent, at)
            else:
                write = self._read_write(call, key, at, result)
            if write is not None:
                yield write

    def _read_write(self, call: TranscriptCall, call_id: str, at: datetime | None, _result: Any) -> ListWrite | None:
        """Return what a call of a list tool wrote: here, its arguments."""
        return self._write(call_id, at, call.name, object_at(call.args))

    def _write(self, call_id: str, at: datetime | None, tool: str, args: Mapping[str, Any]) -> ListWrite:
        return ListWrite(at=at, agent=self._agent, call_id=call_id, name=tool, args=args, dialect=self.dialect)


def _make_unique(call_id: str, at: datetime | None) -> str:
    """Return an id that is a number (`functions.shell:0`) with the time of its message: it may come again each turn."""
    return call_id if at is None or _COUNTED.fullmatch(call_id) is None else f"{call_id} {at.isoformat()}"


# The session files of pi, from which oh-my-pi and OpenClaw come.


class PiSteps(MessageSteps):
    """Reads entries of a session file: messages with tool calls, and messages that are a tool's result."""

    def take(self, found: dict[str, Any]) -> Iterator[Step]:
        if found.get("type") == "session":
            self.cwd = path(found.get("cwd")) or self.cwd
        message = object_at(found, "message")
        at = moment(found.get("timestamp")) or moment(message.get("timestamp"))
        match message.get("role"):
            case "user":
                yield from self._hear(text_of(message.get("content")), at)
            case "assistant":
                if usage := object_at(message, "usage"):
                    self._tokens.add(found.get("id"), read_tokens(usage, "input", "output", "cacheRead", "cacheWrite"))
                for part in objects(message.get("content")):
                    if part.get("type") == "toolCall":
                        yield from self._begin(part.get("name"), part.get("arguments"), part.get("id"), at)
                if message.get("stopReason") in ("stop", "aborted", "error"):
                    yield from tell_end(self._tokens, at, self._agent)
            case "toolResult":
                is_error = message.get("isError")
                yield from self._end(
                    message.get("toolCallId"),
                    at,
                    {"content": message.get("content"), "details": message.get("details")},
                    is_error=is_error if isinstance(is_error, bool) else None,
                )
            case _:
                pass


class OpenClawSteps(PiSteps):
    dialect = "openclaw"
    writers = frozenset({"update_plan"})


class OhMyPiSteps(PiSteps):
    """Lists are in the results, as phases; a person's edit is an entry of its own."""

    dialect = "oh-my-pi"
    writers = frozenset({"todo_write", "todo"})

    def take(self, found: dict[str, Any]) -> Iterator[Step]:
        yield from super().take(found)
        if found.get("type") == "custom" and found.get("customType") == "user_todo_edit":
            phases, at = object_at(found, "data").get("phases"), moment(found.get("timestamp"))
            origin = Origin(self._agent, None, self.cwd, at)
            call_id = make_up_id(TranscriptCall("user_todo_edit", phases, None, origin))
            write = self._read_phases(call_id, at, phases)
            if write is not None:
                yield write

    def _read_write(self, call: TranscriptCall, call_id: str, at: datetime | None, result: Any) -> ListWrite | None:
        return self._read_phases(call_id, at, object_at(result, "details").get("phases"))

    def _read_phases(self, call_id: str, at: datetime | None, phases: Any) -> ListWrite | None:
        """Return phases as a write of our own tool: the tool's own operations say only what changed."""
        command = oh_my_pi.read_phases(phases)
        if command is None:
            return None
        names = command.phases or ()
        items = [
            {"text": entry.content, "status": str(entry.status), "phase": names[entry.phase_place or 0]}
            for entry in command.entries
        ]
        args = {"set": items, "next": False}
        return ListWrite(at=at, agent=self._agent, call_id=call_id, name="todo", args=args, dialect=_OWN)


# Gemini CLI, and qwen, which comes from it.

_QWEN_TOKENS: Final = ("promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount")
_GEMINI_ENDS: Final = {"success": False, "error": True, "cancelled": True}
"""Meanings of a call's status. A success without an answer says nothing: the shell tool always has one."""


class GeminiSteps(MessageSteps):
    """Reads a chat: a message is written again once its calls have ended, with their results.

    A chat that is resumed begins with its past, which may also be written again later: of messages that are not newer
    than the latest one only calls are taken then, which have ids.
    """

    dialect = "gemini"
    writers = frozenset({"write_todos"})

    def __init__(self, agent: str, saved: Mapping[str, Any] | None = None) -> None:
        super().__init__(agent, saved)
        self._latest = moment(object_at(saved).get("latest"))

    def save(self) -> dict[str, Any]:
        return {**super().save(), "latest": None if self._latest is None else self._latest.isoformat()}

    def take(self, found: dict[str, Any]) -> Iterator[Step]:
        messages, latest = objects(object_at(found, "$set").get("messages")), self._latest
        for message in messages or [found]:
            at = moment(message.get("timestamp"))
            is_past = bool(messages) and latest is not None and (at is None or at <= latest)
            yield from self._take_message(message, at, is_past=is_past)
            if message.get("type") in ("user", "gemini") and at is not None and (not self._latest or at > self._latest):
                self._latest = at

    def _take_message(self, message: dict[str, Any], at: datetime | None, *, is_past: bool) -> Iterator[Step]:
        text = text_of(message.get("content"))
        if message.get("type") == "user" and not is_past:
            yield from self._hear(text, at)
        if message.get("type") != "gemini":
            return
        if not is_past and (used := object_at(message, "tokens")):
            self._tokens.add(message.get("id"), without_cached(read_tokens(used, "input", "output", "cached")))
        calls = objects(message.get("toolCalls"))
        for call in calls:
            yield from self._begin(call.get("name"), call.get("args"), call.get("id"), at)
            is_error = _GEMINI_ENDS.get(str(call.get("status")))
            if is_error is not None:
                ended, result = moment(call.get("timestamp")) or at, _read_responses(call.get("result"))
                told = is_error if result else is_error or None
                yield from self._end(call.get("id"), ended, result, is_error=told)
        if text.strip() and not calls and not is_past:
            yield from tell_end(self._tokens, at, self._agent)


class QwenSteps(MessageSteps):
    dialect = "qwen"
    writers = frozenset({"todo_write"})

    def take(self, found: dict[str, Any]) -> Iterator[Step]:
        at, parts = moment(found.get("timestamp")), objects(object_at(found, "message").get("parts"))
        self.cwd = path(found.get("cwd")) or self.cwd
        match found.get("type"):
            case "user":
                if found.get("subtype") is None:
                    yield from self._hear(text_of(parts), at)
            case "assistant":
                if used := object_at(found, "usageMetadata"):
                    self._tokens.add(found.get("uuid"), without_cached(read_tokens(used, *_QWEN_TOKENS)))
                calls = [call for part in parts if (call := object_at(part, "functionCall"))]
                for call in calls:
                    yield from self._begin(call.get("name"), call.get("args"), call.get("id"), at)
                if not calls:
                    yield from tell_end(self._tokens, at, self._agent)
            case "tool_result":
                is_error = _GEMINI_ENDS.get(str(object_at(found, "toolCallResult").get("status")))
                for part in parts:
                    if answer := object_at(part, "functionResponse"):
                        result = _read_responses([part])
                        told = is_error if result else is_error or None
                        yield from self._end(answer.get("id"), at, result, is_error=told)
            case _:
                pass


def _read_responses(parts: Any) -> str | None:
    """Return the text that the model read."""
    answers = [object_at(part, "functionResponse", "response") for part in objects(parts)]
    found = (answer.get("output", answer.get("error")) for answer in answers)
    texts = [one.removeprefix("<untrusted_context>\n") for one in found if isinstance(one, str)]
    return "\n".join(texts) if texts else None


# Hermes.


class HermesSteps(MessageSteps):
    """Reads the messages of one session, as rows of its store."""

    dialect = hermes.NAME
    writers = frozenset(hermes.TOOLS)

    def take(self, found: dict[str, Any]) -> Iterator[Step]:
        at, content = moment(found.get("timestamp")), found.get("content")
        match found.get("role"):
            case "user":
                yield from self._hear(text_of(content), at)
            case "assistant":
                given = found.get("tool_calls")
                calls = objects(decode(given) if isinstance(given, str) else given)
                for call in calls:
                    function = object_at(call, "function")
                    sent = function.get("arguments")
                    args = decode(sent) if isinstance(sent, str) else sent
                    yield from self._begin(function.get("name"), sent if args is None else args, call.get("id"), at)
                if not calls:
                    yield from tell_end(self._tokens, at, self._agent)
            case "tool":
                yield from self._end(found.get("tool_call_id"), at, content)
            case _:
                pass

    def _read_write(self, call: TranscriptCall, call_id: str, at: datetime | None, result: Any) -> ListWrite | None:
        """Return the list in the result: the arguments may hold only what changed."""
        if hermes.read_result(result) is None:
            return None
        return self._write(call_id, at, call.name, {"todos": object_at(decode(result)).get("todos")})


READERS: Final[Mapping[str, type[MessageSteps]]] = {
    "oh-my-pi": OhMyPiSteps,
    "openclaw": OpenClawSteps,
    "gemini": GeminiSteps,
    "qwen": QwenSteps,
}
"""Readers of logs, by agent."""

__all__ = ["READERS", "HermesSteps", "MessageSteps"]
