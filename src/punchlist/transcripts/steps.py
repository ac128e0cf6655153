"""Read a log from its beginning, record by record: make steps of the facts in it, and pair calls with their ends.

The decoder of a format returns the facts in one record; `lines` finds lists by it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.commands import Replace
from punchlist.transcripts.decoding import call_key, moment, name, object_at, path
from punchlist.transcripts.values import MAIN, CallOutcome, ListFact, Origin, TranscriptCall, Written, name_write

MOST_SUBAGENTS: Final = 200
_MOST_OPEN: Final = 4096
"""Calls of one log whose end is awaited; of more the oldest are given up."""

_MOST_TOKENS: Final = 10**15
_COUNTED: Final = re.compile(r"(?:.{0,200}[.:_-])?[0-9]{1,3}")
_OWN: Final = "punchlist"
_OWN_LIST_TOOL: Final = "todo"
_OWN_TOOL: Final = re.compile(r"(?:mcp__(?:plugin_punchlist_)?punchlist__|(?:mcp_)?punchlist_)(\w{1,40})", re.ASCII)
"""Claude Code, Codex and qwen; Gemini CLI (`mcp_punchlist_todo`) and opencode (`punchlist_todo`)."""


class Tokens(NamedTuple):
    """Tokens that the model read for the first time, wrote, and read from the cache of its host."""

    input: int = 0
    output: int = 0
    cached: int = 0


class TokenCount:
    """The tokens of one log so far. `save` returns what to begin with to read on later."""

    def __init__(self, saved: Any = None) -> None:
        given = object_at(saved)
        self._total = read_tokens(given, "input", "output", "cached")
        self._told = bool(given.get("told"))
        self._message = given.get("message")
        self._last = read_tokens(object_at(given, "last"), "input", "output", "cached")

    def save(self) -> dict[str, Any]:
        return {**self._total._asdict(), "told": self._told, "message": self._message, "last": self._last._asdict()}

    def add(self, message: Any, used: Tokens) -> None:
        """Count what a message took. The same one may be told several times, at last in full."""
        before = self._last if message is not None and message == self._message else Tokens()
        self._message, self._last = message, used
        self.set_total(Tokens(*(total - old + new for total, old, new in zip(self._total, before, used, strict=True))))

    def set_total(self, total: Tokens) -> None:
        if total != self._total:
            self._total, self._told = total, False

    def take_news(self) -> Tokens | None:
        """Return the total if it has changed since it was last taken."""
        if self._told or not any(self._total):
            return None
        self._told = True
        return self._total


def read_tokens(given: Mapping[str, Any], input: str, output: str, cached: str, *more: str) -> Tokens:
    """Return tokens by the names of their fields; `more` are other tokens that were read for the first time."""
    fresh = sum(_number(given.get(name)) for name in (input, *more))
    return Tokens(fresh, _number(given.get(output)), _number(given.get(cached)))


def without_cached(tokens: Tokens) -> Tokens:
    """Return tokens of a host that counts those from its cache as read, too."""
    return tokens._replace(input=max(0, tokens.input - tokens.cached))


def _number(value: Any) -> int:
    return min(value, _MOST_TOKENS) if type(value) is int and value > 0 else 0


class FolderChange(NamedTuple):
    """The folder in which the agent works from here on."""

    cwd: str


class ExitCode(NamedTuple):
    """The exit code of the command that a call ran. It comes before the call's outcome."""

    call_id: str
    code: int


class TurnStart(NamedTuple):
    """The beginning of the model's turn."""

    at: datetime | None


class TokenReport(NamedTuple):
    """The tokens of a message, which may be told several times, at last in full; or all so far (`is_total`)."""

    message: Any
    tokens: Tokens
    is_total: bool = False


class MessageTime(NamedTuple):
    """The time of the message whose facts follow.

    `is_again`: the record tells the past of the chat once more. Of messages that are not newer than the latest one only
    calls are taken then, which have ids.
    """

    at: datetime | None
    is_again: bool


class _StepBase(Struct, frozen=True, kw_only=True):
    at: datetime | None = None
    agent: str = MAIN


class CallStart(_StepBase, frozen=True, kw_only=True):
    """The beginning of a tool call. `cwd` is the folder in which the agent was then."""

    call_id: str
    name: str
    args: Any = None
    cwd: str | None = None


class CallEnd(_StepBase, frozen=True, kw_only=True):
    """The end of a tool call. `is_error` and `exit_code` are None where the transcript does not say."""

    call_id: str
    name: str = ""
    result: Any = None
    is_error: bool | None = None
    exit_code: int | None = None
    subagent: str | None = None
    """The id of the subagent that ended with this call."""


class ListWrite(_StepBase, frozen=True, kw_only=True):
    """A call that wrote a list or a task, and was accepted. `task` is the id of the task in the transcript."""

    call_id: str
    name: str
    args: Any
    dialect: str
    task: str | None = None


class UserTurn(_StepBase, frozen=True, kw_only=True):
    """A message of the person; its text, where a format has it, becomes the title of a session."""

    text: str = ""


class SubagentStart(Struct, frozen=True, kw_only=True):
    """The first sign of a subagent. `call_id` is the call that started it, where that is told; `name` is its type."""

    at: datetime | None = None
    agent: str
    call_id: str | None = None
    name: str | None = None


class TurnEnd(_StepBase, frozen=True, kw_only=True):
    """The end of the model's turn: it waits for the person."""


class TokenUse(_StepBase, frozen=True, kw_only=True):
    """The tokens that an agent has used since its log began. Told at the end of a turn."""

    tokens: Tokens


Fact = ListFact | FolderChange | ExitCode | TurnStart | TokenReport | MessageTime | UserTurn | SubagentStart | TurnEnd
Step = CallStart | CallEnd | ListWrite | UserTurn | SubagentStart | TurnEnd | TokenUse


class StepFormat(Struct, frozen=True, kw_only=True):
    """One format of logs that tell what an agent did. Its functions take records of any shape and never raise."""

    dialect: str
    read_facts: Callable[[dict[str, Any]], Iterable[Fact]]
    """The facts in a record, in the order in which they happened."""
    writers: frozenset[str] = frozenset()
    """The tools that write a list or a task."""
    logs: tuple[str, ...] = ()
    """Patterns of the paths of its logs, within their folder. Groups `session` and `agent` tell whose a log is."""
    read_owner: Callable[[dict[str, Any]], Origin] | None = None
    """Agent and session of a log by its first record. Where the path has the session, the record's is the subagent."""
    folder_file: str = ""
    """The file, in the folder of a project among the logs, that names the project's folder."""
    read_write: Callable[[TranscriptCall, CallOutcome], ListWrite | None] | None = None
    """Returns the list that a call of one of them wrote, None if none; by default the one in its arguments."""
    has_counted_ids: bool = False
    """True if calls may be numbered anew in each turn."""
    read_start: Callable[[str, str], SubagentStart] = lambda _, agent: SubagentStart(agent=agent)
    """The start of the subagent whose log it is, by its path and the agent's id: its type and call, where told."""
    find_subagents: Callable[[str, str | None], Iterable[tuple[str, SubagentStart]]] | None = None
    """The logs of a session's subagents, each with its start, by the path and the id of the session."""


class StepReader:
    """Reads the records of one log, in order. `save` returns what to begin with to read on later.

    `agent` is the subagent whose log it is; None: the session's own log, whose records tell whose they are.
    """

    def __init__(self, form: StepFormat, agent: str | None, saved: Mapping[str, Any] | None = None) -> None:
        given = object_at(saved)
        self._form = form
        self._agent = agent
        self._calls: dict[str, TranscriptCall] = {}
        """Calls that have begun and not ended, by the ids under which their ends are told."""
        for key, (tool, args, cwd, *own) in object_at(given, "calls").items():
            self._calls[key] = TranscriptCall(tool, args, own[0] if own else key, Origin(cwd=cwd))
        self._codes: dict[str, int] = dict(object_at(given, "codes"))
        self._known = {MAIN, *object_at(given, "known")}
        self._tokens = TokenCount(object_at(given, "tokens"))
        self._latest = moment(given.get("latest"))
        self.cwd = path(given.get("cwd"))
        """The folder of the agent, if a record of its own tells it."""

    def save(self) -> dict[str, Any]:
        """Return the state as JSON values. Of arguments only those are kept that the end of a call needs."""
        calls = {
            key: [call.name, call.args if self._is_writer(call.name) else None, call.origin.cwd, call.call_id]
            for key, call in self._calls.items()
        }
        return {
            "calls": calls,
            "codes": self._codes,
            "known": dict.fromkeys(sorted(self._known)[:MOST_SUBAGENTS], 1),
            "tokens": self._tokens.save(),
            "latest": None if self._latest is None else self._latest.isoformat(),
            "cwd": self.cwd,
        }

    def take(self, record: dict[str, Any]) -> Iterator[Step]:
        """Yield the steps that one more record tells of."""
        before, is_past = self._latest, False
        for fact in self._form.read_facts(record):
            match fact:
                case TranscriptCall():
                    yield from self._begin(fact)
                case CallOutcome():
                    yield from self._end(fact)
                case Written():
                    write = make_own_write(fact.command, name_write(fact))
                    yield replace(write, at=fact.origin.at, agent=self._agent or MAIN)
                case SubagentStart() if self._agent is None and fact.agent not in self._known:
                    self._known.add(fact.agent)
                    yield fact
                case FolderChange():
                    self.cwd = fact.cwd
                case ExitCode():
                    add_bounded(self._codes, fact.call_id, fact.code, _MOST_OPEN)
                case MessageTime():
                    is_past = fact.is_again and before is not None and (fact.at is None or fact.at <= before)
                    if fact.at is not None and (self._latest is None or fact.at > self._latest):
                        self._latest = fact.at
                case TokenReport() if not is_past:
                    if fact.is_total:
                        self._tokens.set_total(fact.tokens)
                    else:
                        self._tokens.add(fact.message, fact.tokens)
                case UserTurn() if not is_past and self._agent is None:
                    yield fact
                case TurnEnd() if not is_past and (self._agent is not None or fact.agent == MAIN):
                    yield from self._end_turn(replace(fact, agent=self._agent or MAIN))
                case _:
                    pass

    def _begin(self, call: TranscriptCall) -> Iterator[Step]:
        call_id, origin = call.call_id, call.origin
        if self._form.has_counted_ids and origin.at is not None and _COUNTED.fullmatch(call_id) is not None:
            call_id = f"{call_id} {origin.at.isoformat()}"  # a number (`functions.shell:0`) may come again each turn
        cwd = origin.cwd or self.cwd
        add_bounded(self._calls, call.call_id, call._replace(call_id=call_id, origin=Origin(cwd=cwd)), _MOST_OPEN)
        if not self._is_writer(call.name):
            agent = self._agent or origin.agent
            yield CallStart(at=origin.at, agent=agent, call_id=call_id, name=call.name, args=call.args, cwd=cwd)

    def _end(self, outcome: CallOutcome) -> Iterator[Step]:
        call, code = self._calls.pop(outcome.call_id, None), self._codes.pop(outcome.call_id, None)
        if call is None:
            return
        at, agent, call_id = outcome.origin.at, self._agent or outcome.origin.agent, call.call_id
        if not self._is_writer(call.name):
            yield CallEnd(
                at=at,
                agent=agent,
                call_id=call_id,
                name=call.name,
                result=outcome.result,
                is_error=outcome.is_error,
                exit_code=code,
                subagent=outcome.subagent,
            )
        elif not outcome.is_error and (write := self._read_write(call, outcome)) is not None:
            yield replace(write, at=at, agent=agent, call_id=call_id)

    def _is_writer(self, tool: str) -> bool:
        return tool in self._form.writers or read_own_tool(tool) is not None

    def _read_write(self, call: TranscriptCall, outcome: CallOutcome) -> ListWrite | None:
        if read_own_tool(call.name) is not None:
            # The write of a call of our own list tool; None for our other tools.
            if read_own_tool(call.name) != _OWN_LIST_TOOL or not object_at(call.args):
                return None
            return ListWrite(call_id=outcome.call_id, name=_OWN_LIST_TOOL, args=call.args, dialect=_OWN)
        if self._form.read_write is not None:
            return self._form.read_write(call, outcome)
        args = object_at(call.args)
        return ListWrite(call_id=outcome.call_id, name=call.name, args=args, dialect=self._form.dialect)

    def _end_turn(self, end: TurnEnd) -> Iterator[Step]:
        """Yield the end of a turn, after the tokens that were used if they are news."""
        tokens = self._tokens.take_news()
        if tokens is not None:
            yield TokenUse(at=end.at, agent=end.agent, tokens=tokens)
        yield end


def add_bounded(known: dict[Any, Any], key: Any, value: Any, most: int) -> None:
    """Add an entry; where there are too many, the oldest one goes."""
    if len(known) >= most:
        del known[next(iter(known))]
    known[key] = value


# For formats.


def read_call(tool: Any, args: Any, call_id: Any, origin: Origin) -> Iterator[TranscriptCall]:
    """Yield a call, if it has a name and an id."""
    known, key = name(tool), call_key(call_id)
    if known is not None and key is not None:
        yield TranscriptCall(known, args, key, origin)


def read_own_tool(tool: str) -> str | None:
    """Return the name of our own tool that a host calls by this name over MCP; None if it is none of ours."""
    found = _OWN_TOOL.fullmatch(tool)
    return None if found is None else found[1]


def make_own_write(command: Replace, call_id: str) -> ListWrite:
    """Return a whole list as a write of our own tool, for a tool whose arguments say only what changed."""
    names = command.phases or ()
    items = [
        {"text": entry.content, "status": str(entry.status), "phase": names[entry.phase_place or 0]}
        for entry in command.entries
    ]
    return ListWrite(call_id=call_id, name=_OWN_LIST_TOOL, args={"set": items, "next": False}, dialect=_OWN)
