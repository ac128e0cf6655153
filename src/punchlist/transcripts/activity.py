"""Read all that a session did, from its beginning: tool calls, list writes and the user's turns, with their times.

Transcripts of Claude Code and Codex tell this. The subagents of a session are read along with it, in the order of time.
Half-written lines and unknown records are passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from glob import escape, iglob
from hashlib import blake2b
from heapq import merge, nsmallest
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from punchlist.dialects.claude_code import parse
from punchlist.errors import InvalidInput, PunchlistError
from punchlist.text.fingerprints import UNKEYED
from punchlist.transcripts import claude_code, codex, zst
from punchlist.transcripts.decoding import call_key, decode, moment, name, object_at, objects, path, record, text_of
from punchlist.transcripts.reverse import Log
from punchlist.transcripts.tokens import TokenCount, Tokens, read_tokens, without_cached
from punchlist.transcripts.values import MAIN, CallOutcome, Origin, Transcript, TranscriptCall

_MOST_OPEN = 4096
"""Calls of one file whose end is awaited; of more the oldest are given up."""

_MOST_SEEN = 65_536
"""Ids of calls remembered to pass over copies: a resumed session begins with a copy of the one before."""

_MOST_SUBAGENTS = 200
_NO_TIME = datetime.min.replace(tzinfo=UTC)


class CallStart(Struct, frozen=True, kw_only=True):
    """The beginning of a tool call. `cwd` is the folder in which the agent was then."""

    at: datetime | None = None
    agent: str = MAIN
    call_id: str
    name: str
    args: Any = None
    cwd: str | None = None


class CallEnd(Struct, frozen=True, kw_only=True):
    """The end of a tool call. `is_error` and `exit_code` are None where the transcript does not say."""

    at: datetime | None = None
    agent: str = MAIN
    call_id: str
    name: str = ""
    result: Any = None
    is_error: bool | None = None
    exit_code: int | None = None
    subagent: str | None = None
    """The id of the subagent that ended with this call."""


class ListWrite(Struct, frozen=True, kw_only=True):
    """A call that wrote a list or a task, and was accepted. `task` is the id of the task in the transcript.

    `is_told`: the host told of it while it ran, not its transcript, and did not name the call.
    """

    at: datetime | None = None
    agent: str = MAIN
    call_id: str
    name: str
    args: Any
    dialect: str
    task: str | None = None
    is_told: bool = False


class UserTurn(Struct, frozen=True, kw_only=True):
    """A message of the person."""

    at: datetime | None = None
    agent: str = MAIN


class SubagentStart(Struct, frozen=True, kw_only=True):
    """The first sign of a subagent. `call_id` is the call that started it, where that is told; `name` is its type."""

    at: datetime | None = None
    agent: str
    call_id: str | None = None
    name: str | None = None


class TurnEnd(Struct, frozen=True, kw_only=True):
    """The end of the model's turn: it waits for the person."""

    at: datetime | None = None
    agent: str = MAIN


class TokenUse(Struct, frozen=True, kw_only=True):
    """The tokens that an agent has used since its log began. Told at the end of a turn."""

    at: datetime | None = None
    agent: str = MAIN
    tokens: Tokens


Step = CallStart | CallEnd | ListWrite | UserTurn | SubagentStart | TurnEnd | TokenUse


def tell_end(count: TokenCount, at: datetime | None, agent: str) -> Iterator[Step]:
    """Yield the end of a turn, after the tokens that were used if they are news."""
    tokens = count.take_news()
    if tokens is not None:
        yield TokenUse(at=at, agent=agent, tokens=tokens)
    yield TurnEnd(at=at, agent=agent)


_OWN_TOOL: Final = re.compile(r"(?:mcp__(?:plugin_punchlist_)?punchlist__|(?:mcp_)?punchlist_)(\w{1,40})", re.ASCII)
"""Claude Code, Codex and qwen; Gemini CLI (`mcp_punchlist_todo`) and opencode (`punchlist_todo`)."""

_OWN_LIST_TOOL: Final = "todo"


def read_own_tool(tool: str) -> str | None:
    """Return the name of our own tool that a host calls by this name over MCP; None if it is none of ours."""
    found = _OWN_TOOL.fullmatch(tool)
    return None if found is None else found[1]


def read_steps(transcript: Transcript) -> Iterator[Step]:
    """Yield the steps of a session and its subagents, in order. `MAIN` is the agent whose transcript it is."""
    source = transcript.source
    if transcript.format not in (claude_code.FORMAT.name, codex.FORMAT.name) or not os.path.isfile(source):
        problem = f"Tool calls are read from files of Claude Code and Codex; `{source}` is of {transcript.format}."
        raise InvalidInput(problem=problem)
    is_whole = transcript.origin.agent == MAIN
    if transcript.format == codex.FORMAT.name:
        files = [_read_codex(source, MAIN)]
        found = _codex_subagents(source, transcript.origin.session) if is_whole else ()
        files += [_after(begun, _read_codex(file, begun.agent)) for file, begun in found]
    else:
        files = [_read_claude(source, None if is_whole else MAIN)]
        found = _claude_subagents(source) if is_whole else ()
        files += [_after(begun, _read_claude(file, begun.agent)) for file, begun in found]
    steps = _without_copies(merge(*map(_with_times, files), key=_time_of))
    yield from (step for step in steps if not isinstance(step, TurnEnd | TokenUse))


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
            _add(seen, key, None, _MOST_SEEN)
        yield step


def _add(known: dict[Any, Any], key: Any, value: Any, most: int) -> None:
    """Add an entry; where there are too many, the oldest one goes."""
    if len(known) >= most:
        del known[next(iter(known))]
    known[key] = value


def _records(file: str) -> Iterator[dict[str, Any]]:
    """Yield the records of a file, compressed or not."""
    if file.endswith(".zst"):
        for line in zst.read_lines(file):
            if line and (found := record(line)) is not None:
                yield found
        return
    with Log(file) as log:
        for line in log.forwards((b"{",)):
            if line.body is not None and (found := record(line.body)) is not None:
                yield found


class OpenCalls:
    """The calls of one file that have begun and not ended; `agent` is whose file it is, None if its records tell.

    `writers` are the tools that write a list: of these, and of our own, the arguments are kept until the call ends.
    """

    def __init__(self, agent: str | None, writers: frozenset[str], saved: Any = None) -> None:
        self._agent = agent
        self._writers = writers
        self._calls: dict[str, TranscriptCall] = {}
        for call_id, call in object_at(saved).items():
            tool, args, cwd, *own = call
            own_id = own[0] if own else call_id
            self._calls[call_id] = TranscriptCall(tool, args, own_id, Origin(agent or MAIN, None, cwd))

    def save(self) -> dict[str, Any]:
        """Return the calls as JSON values. Of arguments only those are kept that the end of the call needs."""
        return {
            key: [call.name, call.args if self.is_writer(call.name) else None, call.origin.cwd, call.call_id or key]
            for key, call in self._calls.items()
        }

    def begin(self, call: TranscriptCall, key: str | None = None) -> CallStart:
        """Add a call; `key` is the id under which its end is told, if it is another than its own."""
        call_id = call.call_id or make_up_id(call)
        _add(self._calls, key or call_id, call, _MOST_OPEN)
        at, agent, cwd = call.origin.at, self.agent_of(call.origin), call.origin.cwd
        return CallStart(at=at, agent=agent, call_id=call_id, name=call.name, args=call.args, cwd=cwd)

    def end(self, call_id: str) -> TranscriptCall | None:
        return self._calls.pop(call_id, None)

    def agent_of(self, origin: Origin) -> str:
        return self._agent or origin.agent

    def is_writer(self, tool: str) -> bool:
        return tool in self._writers or read_own_tool(tool) is not None


def make_up_id(call: TranscriptCall) -> str:
    """Return an id for a call that has none, the same each time that the transcript is read, without its secrets."""
    said = repr((call.origin.at, call.name, UNKEYED.digest(call.args))).encode("utf-8", "backslashreplace")
    return f"transcript {blake2b(said, digest_size=12).hexdigest()}"


# Claude Code.

_CLAUDE_WRITERS = frozenset({claude_code.TOOL, *claude_code.TOOLS})
_LAUNCHED = "Async agent launched"
"""Beginning of the answer to a call whose subagent goes on in the background."""

_CLAUDE_TOKENS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_CODEX_TOKENS = ("input_tokens", "output_tokens", "cached_input_tokens")
_NOTICE = "<"
"""First character of what the host says in the user's name: a reminder, a notification, the output of a command."""


class ClaudeSteps:
    """Reads the records of one file of Claude Code, in order. `save` returns what to begin with to read on later."""

    def __init__(self, agent: str | None, saved: Mapping[str, Any] | None = None) -> None:
        self._agent = agent
        self._calls = OpenCalls(agent, _CLAUDE_WRITERS, object_at(saved, "calls"))
        self._known = {MAIN, *object_at(saved, "known")}
        self._tokens = TokenCount(object_at(saved, "tokens"))
        self.cwd: str | None = None
        """The folder of the agent, if a record of its own tells it; here each record does."""

    def save(self) -> dict[str, Any]:
        known = dict.fromkeys(sorted(self._known)[:_MOST_SUBAGENTS], 1)
        return {"calls": self._calls.save(), "known": known, "tokens": self._tokens.save()}

    def take(self, found: dict[str, Any]) -> Iterator[Step]:
        """Yield the steps that one more record tells of."""
        if self._agent is None and _is_user_turn(found):
            yield UserTurn(at=moment(found.get("timestamp")))
            return
        for item in claude_code.read_record(found):
            if not isinstance(item, TranscriptCall | CallOutcome):
                continue
            own = self._calls.agent_of(item.origin)
            if self._agent is None and own not in self._known:
                self._known.add(own)
                yield SubagentStart(at=item.origin.at, agent=own, call_id=name(found.get("parent_tool_use_id")))
            if isinstance(item, TranscriptCall):
                begun = self._calls.begin(item)
                if not self._calls.is_writer(item.name):
                    yield begun
            elif (call := self._calls.end(item.call_id)) is not None:
                step = _claude_end(call, item, own)
                if step is not None:
                    yield step
        message = object_at(found, "message")
        if found.get("type") == "assistant" and (usage := object_at(message, "usage")):
            self._tokens.add(message.get("id"), read_tokens(usage, *_CLAUDE_TOKENS))
        if message.get("stop_reason") == "end_turn" and found.get("type") == "assistant":
            own = self._agent or (MAIN if found.get("isSidechain") is not True else None)
            if own is not None:
                yield from tell_end(self._tokens, moment(found.get("timestamp")), own)


def _read_claude(file: str, agent: str | None) -> Iterator[Step]:
    steps = ClaudeSteps(agent)
    for found in _records(file):
        yield from steps.take(found)


def _claude_end(call: TranscriptCall, outcome: CallOutcome, agent: str) -> Step | None:
    at, call_id = outcome.origin.at, outcome.call_id
    own_tool = read_own_tool(call.name)
    if own_tool is not None:
        return None if outcome.is_error else read_own_write(call, own_tool, call_id, agent, at)
    if call.name not in _CLAUDE_WRITERS:
        subagent = name(object_at(outcome.data).get("agentId"))
        return CallEnd(
            at=at,
            agent=agent,
            call_id=call_id,
            name=call.name,
            result=outcome.text,
            is_error=outcome.is_error,
            subagent=None if outcome.text.startswith(_LAUNCHED) else subagent,
        )
    if call.name == claude_code.TOOL:
        args = None if outcome.is_error else _todo_args(call.args)
        dialect, task = "claude-code", None
    else:
        write = claude_code.read_task_write(call, outcome)
        args = None if write is None else call.args
        dialect, task = "claude-tasks", None if write is None else write.task
    if args is None:
        return None
    return ListWrite(at=at, agent=agent, call_id=call_id, name=call.name, args=args, dialect=dialect, task=task)


def read_own_write(call: TranscriptCall, tool: str, call_id: str, agent: str, at: datetime | None) -> ListWrite | None:
    """Return the write of a call of our own list tool; None for our other tools."""
    if tool != _OWN_LIST_TOOL or not object_at(call.args):
        return None
    return ListWrite(at=at, agent=agent, call_id=call_id, name=tool, args=call.args, dialect="punchlist")


def _todo_args(args: Any) -> Any:
    """Return the arguments of a `TodoWrite` in today's shape; None if there is no list in them."""
    command = claude_code.read_todos(args)
    if command is None or parse(claude_code.TOOL, args) == command:
        return None if command is None else args
    todos = [
        {"content": entry.content, "status": entry.status.value, "activeForm": entry.content}
        for entry in command.entries
    ]
    return {"todos": todos}


def is_said_by_host(text: str) -> bool:
    """True for a message in the user's name that the user did not write, or that is empty."""
    return not text.strip() or text.lstrip().startswith(_NOTICE)


def _is_user_turn(found: dict[str, Any]) -> bool:
    if found.get("type") != "user" or found.get("isSidechain") is True or found.get("parent_tool_use_id") is not None:
        return False
    if found.get("isMeta") is True or found.get("isCompactSummary") is True:
        return False
    content = object_at(found, "message").get("content")
    if any(block.get("type") == "tool_result" for block in objects(content)):
        return False
    return not is_said_by_host(text_of(content))


def _claude_subagents(source: str) -> Iterator[tuple[str, SubagentStart]]:
    """Yield the files of a session's subagents, those of workflows too, each with its start."""
    pattern = os.path.join(escape(source.removesuffix(".jsonl")), "subagents", "**", "agent-*.jsonl")
    for file in nsmallest(_MOST_SUBAGENTS, iglob(pattern, recursive=True)):
        own = name(os.path.basename(file).removeprefix("agent-").removesuffix(".jsonl"))
        if own is not None:
            meta = claude_code.read_meta(file)
            told = name(meta.get("agentType"))
            yield file, SubagentStart(agent=own, call_id=call_key(meta.get("toolUseId")), name=told)


# Codex.

_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")


_CODEX_WRITERS = frozenset({codex.TOOL})
_TURN_ENDS = ("task_complete", "turn_complete", "turn_aborted")


class CodexSteps:
    """Reads the records of one rollout, in order. `save` returns what to begin with to read on later."""

    def __init__(self, agent: str, saved: Mapping[str, Any] | None = None) -> None:
        self._agent = agent
        self._calls = OpenCalls(agent, _CODEX_WRITERS, object_at(saved, "calls"))
        self._codes: dict[str, int] = dict(object_at(saved, "codes"))
        self._tokens = TokenCount(object_at(saved, "tokens"))
        self.cwd = path(object_at(saved).get("cwd"))

    def save(self) -> dict[str, Any]:
        return {"calls": self._calls.save(), "codes": self._codes, "cwd": self.cwd, "tokens": self._tokens.save()}

    def take(self, found: dict[str, Any]) -> Iterator[Step]:
        """Yield the steps that one more record tells of."""
        payload, at = object_at(found, "payload"), moment(found.get("timestamp"))
        kind, call_id = payload.get("type"), call_key(payload.get("call_id"))
        if found.get("type") in ("session_meta", "turn_context"):
            self.cwd = path(payload.get("cwd")) or self.cwd
        elif kind == "user_message" and found.get("type") == "event_msg":
            if self._agent == MAIN:
                yield UserTurn(at=at)
        elif kind in _TURN_ENDS and found.get("type") == "event_msg":
            yield from tell_end(self._tokens, at, self._agent)
        elif kind == "token_count" and (total := object_at(payload, "info", "total_token_usage")):
            self._tokens.set_total(without_cached(read_tokens(total, *_CODEX_TOKENS)))
        elif kind == "exec_command_end" and call_id is not None:
            if type(code := payload.get("exit_code")) is int:
                _add(self._codes, call_id, code, _MOST_OPEN)
        elif kind in _CALLS:
            tool, args = _codex_call(payload)
            begun = self._calls.begin(TranscriptCall(tool, args, call_id, Origin(self._agent, None, self.cwd, at)))
            if not self._calls.is_writer(tool):
                yield begun
        elif kind in _OUTPUTS and call_id is not None and (call := self._calls.end(call_id)) is not None:
            step = _codex_end(call, call_id, found, self._codes.pop(call_id, None), at)
            if step is not None:
                yield step


def _read_codex(file: str, agent: str) -> Iterator[Step]:
    steps = CodexSteps(agent)
    for found in _records(file):
        yield from steps.take(found)


def _codex_call(payload: dict[str, Any]) -> tuple[str, Any]:
    """Return the tool of a call, and its arguments."""
    match payload.get("type"):
        case "local_shell_call":
            return "local_shell", payload.get("action")
        case "custom_tool_call":
            return str(payload.get("name")), {"input": payload.get("input")}
        case _:
            given, namespace = payload.get("arguments"), payload.get("namespace")
            read = decode(given) if isinstance(given, str) else given
            tool = str(payload.get("name"))
            if isinstance(namespace, str) and namespace:
                tool = f"{namespace}__{tool}"
            return tool, given if read is None else read


def _codex_end(
    call: TranscriptCall, call_id: str, found: dict[str, Any], code: int | None, at: datetime | None
) -> Step | None:
    agent, own_tool = call.origin.agent, read_own_tool(call.name)
    if own_tool is not None:
        return read_own_write(call, own_tool, call_id, agent, at)
    if call.name != codex.TOOL:
        output = object_at(found, "payload").get("output")
        result = text_of(output) if isinstance(output, list) else output
        return CallEnd(at=at, agent=agent, call_id=call_id, name=call.name, result=result, exit_code=code)
    outcome = next((item for item in codex.read_record(found) if isinstance(item, CallOutcome)), None)
    if codex.read_list(call, outcome) is None:
        return None
    return ListWrite(at=at, agent=agent, call_id=call_id, name=call.name, args=call.args, dialect="codex")


def _codex_subagents(source: str, thread: str | None) -> Iterator[tuple[str, SubagentStart]]:
    """Yield the rollouts of a thread's subagents: later files of the same month that name it as their parent."""
    folder, own = os.path.split(source)
    if thread is None or not own.startswith("rollout-"):
        return
    is_day = os.path.basename(folder).isdigit()
    pattern = os.path.join(escape(os.path.dirname(folder)), "*") if is_day else escape(folder)
    later = (file for file in iglob(os.path.join(pattern, "rollout-*.jsonl*")) if os.path.basename(file) > own)
    for file in nsmallest(_MOST_SUBAGENTS, later, key=os.path.basename):
        first: dict[str, Any] = {}
        with suppress(OSError, PunchlistError):
            first = next(_records(file), first)
        head = codex.read_head([first], (), file).origin
        if head.session == thread and head.agent != MAIN:
            yield file, SubagentStart(agent=head.agent, name=codex.read_nickname(first))
