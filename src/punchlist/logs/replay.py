"""Find agents' transcripts, and replay them: into a board in memory, to be reported on, or onto a board that has not
seen their tool calls.

A log that is watched is replayed step by step, as it grows (`source`). What the board knows already, because hooks or
an MCP server told of it, is passed over, whichever came first. Tool calls, list writes and the user's turns go the way
of a live session, at the times that the transcript tells. Subagents are children of the session's agent.
"""

from __future__ import annotations

import glob
import heapq
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Final, NamedTuple

from punchlist.agent import Agent
from punchlist.agent.calls import RECORDED, describe_late_write
from punchlist.agent.described_calls import short
from punchlist.agent.tool_reports import TRANSCRIPT
from punchlist.board import Board
from punchlist.core.commands import Replace
from punchlist.core.events import Draft, json_time
from punchlist.core.grounding.tool_call import ToolCall, given_id
from punchlist.core.programs import PROGRAMS
from punchlist.dialects import dialect as dialect_named
from punchlist.errors import PunchlistError
from punchlist.logs.programs import find_home
from punchlist.settings.environment import find_project, project_of
from punchlist.settings.options import AgentOptions
from punchlist.store import Transaction
from punchlist.store.hosts import Conversation
from punchlist.store.records import AgentRow
from punchlist.tasks.gates import Gate
from punchlist.text import clean, cut
from punchlist.text.redaction import redact
from punchlist.transcripts.decoding import object_at
from punchlist.transcripts.formats import LINES, LOGS, open_transcript, read_steps
from punchlist.transcripts.log_files import read_first
from punchlist.transcripts.steps import (
    CallEnd,
    CallStart,
    ListWrite,
    Step,
    SubagentStart,
    Tokens,
    TokenUse,
    TurnEnd,
    UserTurn,
    add_bounded,
)
from punchlist.transcripts.values import MAIN, Transcript

_CLAUDE: Final = "claude-code"
_TASKS: Final = "claude-tasks"
_LOOKED_AT: Final = 200
"""Of files that name their project only inside, at most so many are opened, newest first."""
OWN: Final = "punchlist"
_PLAN_TOOL: Final = "ExitPlanMode"
_LOOKING: Final = ("TaskList", "TaskGet")
"""Native tools that only show tasks: hooks do not report them either."""

_DELEGATING: Final = ("Task", "Agent", "spawn_agent")
_FOLDERS: Final = frozenset({"cwd", "workdir", "working_directory"})
_MOST_DELEGATIONS: Final = 1000
_LONGEST_LABEL: Final = 200
_LONGEST_REASON: Final = 8_000
_OPTIONS: Final[AgentOptions] = {
    "offered": True,
    "loop_detection": False,  # what the model should have been told then is of no use now
    "staleness": {"stale_calls": 0, "churn_writes": 0, "bounces": 0, "storm_calls": 0},
}


class ReplayClock:
    """Shows the time of the step that is replayed: never earlier than the step before, nor later than `latest`."""

    def __init__(self, latest: Callable[[], datetime] | None = None) -> None:
        self._now: datetime | None = None
        self._latest = latest

    def __call__(self) -> datetime:
        return self._now or datetime.now(UTC)

    def move_to(self, at: datetime | None) -> None:
        if at is not None and (self._now is None or at > self._now):
            self._now = at if self._latest is None else min(at, self._latest())


class ReplayBoard(Board):
    """A board that asks no gates, because to judge the past must not run the user's commands, and counts no costs."""

    offers_tools = False

    @property
    def gates(self) -> tuple[Gate, ...]:
        return ()


def replay_in_memory(path: str) -> tuple[Board, str]:
    """Replay a transcript into a new board in memory; return the board, for the caller to close, and its project."""
    transcript = open_transcript(path)
    steps = read_steps(transcript)
    begin: list[Step] = []
    for step in steps:
        begin.append(step)
        if isinstance(step, CallStart):
            break
    # The project is where the session began; it may have gone into a folder of it later.
    folders = [step.cwd for step in begin if isinstance(step, CallStart) and step.cwd is not None]
    project = folders[0] if folders else transcript.origin.cwd
    clock = ReplayClock()
    board = ReplayBoard.open("memory:", clock=clock)
    try:
        session = transcript.origin.session or "transcript"
        replay = Replay(board, clock, session=session, project=project, dialect=transcript.dialect)
        replay.run(chain(begin, steps))
    except BaseException:
        board.close()
        raise
    return board, replay.folder


class ReplayedCalls(NamedTuple):
    """Numbers of tool calls that a transcript tells of, of those that were new, and of task calls that were new.

    `has_list`: the agent's list on the board is the one that the transcript ends with.
    """

    seen: int
    new: int
    tasks: int
    has_list: bool


def replay_work(agent: Agent, transcript: Transcript, *, label: str | None = None) -> ReplayedCalls:
    """Put the tool calls of a transcript on an agent's board, and the list writes between them, at their own times.

    Calls that the board knows are left as they are, and so is a list that was written later. `label` is for an agent
    that is not on the board yet.
    """
    began = agent.board.now()
    clock = ReplayClock(latest=lambda: began)
    board = ReplayBoard(agent.board.store, clock=clock)
    replay = Replay(
        board,
        clock,
        session=agent.session,
        project=agent.folder,
        dialect=transcript.dialect,
        name=agent.name,
        task_list=agent.task_list,
        label=label,
    )
    replay.run(read_steps(transcript))
    return ReplayedCalls(replay.seen, replay.new, replay.tasks, replay.has_list)


def open_replay(tx: Transaction, board: Board, *, host: str, session: str, folder: str, source: str) -> Replay:
    """Return the replay of a log that is watched. Where a session began is its project, wherever it goes later."""
    clock = ReplayClock(latest=board.now)
    return Replay(
        ReplayBoard(board.store, clock=clock),
        clock,
        session=session,
        project=tx.session_folder(session) or folder,
        dialect=host,
        source=source,
    )


def mark_watched(agent: Agent, source: str, format: str, *, at: datetime) -> None:
    """Note that an agent is known from its log alone, unless it is heard of already: its list is read-only here."""

    def note(tx: Transaction) -> None:
        row = _join_board(tx, agent, at)
        activity = tx.overviews.load_activity(row.number)
        if activity.state == "new" and not activity.copy_of:
            copied = Draft("agent.copied", {"source": source, "format": format})
            tx.add_events(row, [copied], by=agent.name, at=at)

    agent.board.store.transact(note)


def _join_board(tx: Transaction, agent: Agent, at: datetime, label: str | None = None) -> AgentRow:
    """Return the row of an agent; one that the board does not know joins it."""
    row = tx.agent(agent.session, agent.name)
    if row is None:
        row = tx.add_agent(agent.session, agent.name, project=find_project(agent.folder), at=at, label=label)
        tx.add_events(row, [Draft("agent.joined", {"project": row.project})], by=agent.name, at=at)
    return row


class Replay:
    """Hands each step to the agent that took it.

    `source` is the log that is watched. `is_attached`: the host itself tells the board of turns, plans and subagents.
    `is_served`: our MCP server has answered the calls of our own tool.
    `read_before` is the time up to which the log was read before: turns and plans have no id by which they are known.
    """

    def __init__(
        self,
        board: Board,
        clock: ReplayClock,
        *,
        session: str,
        project: str | None,
        dialect: str,
        name: str = MAIN,
        task_list: str | None = None,
        label: str | None = None,
        source: str = "",
    ) -> None:
        self._source = source
        self.is_attached = self.is_served = False
        self.read_before: datetime | None = None
        self._board = board
        self._clock = clock
        self._options: AgentOptions = {**_OPTIONS, "task_list": task_list or f"session:{session}"}
        self._main = board.agent(
            name, session=session, dialect=dialect, profile="off", project=project, **self._options
        )
        self.session = session
        self.folder = self._main.folder
        self._agents = {MAIN: self._main}
        self._delegations: dict[str, Mapping[str, Any]] = {}
        """Arguments of the calls that start subagents, by call id."""
        self._label = label
        self.seen = self.new = self.tasks = 0
        self.has_list = False
        self._is_marked = False
        self._is_new = False
        """True if a call was recorded since the last turn: only then is there a turn to end."""

    def meet(self, conversation: Conversation | None, read_before: datetime | None) -> None:
        """Go by what the board knows of the conversation, and up to when the log was read before."""
        self.is_served = conversation is not None
        self.is_attached = conversation is not None and conversation.event != ""
        self.read_before = read_before

    def run(self, steps: Iterable[Step]) -> None:
        """Replay the steps of a session that is over."""
        for step in steps:
            self.take(step)
        if self._is_new:
            for agent in self._agents.values():
                agent.about_to_stop()  # nothing is awaited of a session that is over

    def take(self, step: Step) -> None:
        """Replay one step."""
        self._clock.move_to(step.at)
        if self._label is not None:
            self._join(self._label)
            self._label = None
        match step:
            case CallStart():
                self._start(step)
            case CallEnd():
                self._end(step)
            case ListWrite():
                self._write(step)
            case SubagentStart():
                self._agents[step.agent] = self._spawn(step)
            case UserTurn():
                if self._is_new or (self._source and self._is_news(step)):
                    self._main.user_turn(step.text)
                    self._is_new = False
            case TurnEnd():
                agent = self._agent(step.agent)
                if self._source and self._is_news(step):
                    agent.about_to_stop()
            case TokenUse():
                if self._source:
                    self._note_tokens(self._agent(step.agent), step.tokens)

    def _is_news(self, step: Step) -> bool:
        """True if only the log tells of a turn or a plan, and tells it for the first time."""
        is_again = self.read_before is not None and (step.at is None or step.at < self.read_before)
        return not self.is_attached and not is_again

    def _mark_watched(self, agent: Agent) -> Agent:
        if self._source and not self.is_attached:
            mark_watched(agent, self._source, self._main.dialect, at=self._board.now())
        return agent

    def _join(self, label: str) -> None:
        agent, now = self._main, self._board.now()
        shown = cut(redact(clean(label, lines=False).text), _LONGEST_LABEL)

        self._board.store.transact(lambda tx: _join_board(tx, agent, now, shown))

    def _agent(self, key: str) -> Agent:
        if not self._is_marked:
            self._is_marked = True
            self._mark_watched(self._main)
        if key not in self._agents:
            self._agents[key] = self._spawn(SubagentStart(agent=key))
        return self._agents[key]

    def _spawn(self, step: SubagentStart) -> Agent:
        """Start a child for a subagent, labelled as the call that started it; where none is named, the latest one."""
        args: Mapping[str, Any] = {}
        for call_id in (step.call_id, step.agent, next(reversed(self._delegations), None)):
            if call_id in self._delegations:
                args = self._delegations[call_id]
                break
        kind, label = step.name or args.get("subagent_type"), args.get("description", args.get("message"))
        name = kind if isinstance(kind, str) and kind.isprintable() and kind.strip() else f"agent-{step.agent}"
        self._agent(MAIN)
        child = self._main.spawn(name[:190], id=step.agent, label=label if isinstance(label, str) else None)
        return self._mark_watched(child)

    def _note_tokens(self, agent: Agent, tokens: Tokens) -> None:
        """Record the tokens that an agent has used; a log that is read again begins with less than is known."""
        now = self._board.now()

        def note(tx: Transaction) -> None:
            row = tx.agent(agent.session, agent.name)
            known = None if row is None else tx.overviews.load_activity(row.number).tokens
            if row is not None and (known is None or sum(tokens) > known.input + known.output + known.cached):
                tx.add_events(row, [Draft("agent.usage", tokens._asdict())], by=agent.name, at=now)

        self._board.store.transact(note)

    # Tool calls.

    def _start(self, step: CallStart) -> None:
        agent = self._agent(step.agent)
        if step.agent == MAIN and step.name in _DELEGATING:
            add_bounded(self._delegations, step.call_id, object_at(step.args), _MOST_DELEGATIONS)
        self.seen += 1
        if self._source and step.name in _LOOKING:
            return
        if self._source and step.name == _PLAN_TOOL:
            self._propose(agent, step)
        elif self._find_call(agent, step.call_id) is None:
            agent.tool_started(step.call_id, step.name, self._place(step), via=TRANSCRIPT)
            self.new += 1
            self._is_new = True

    def _place(self, step: CallStart) -> Any:
        """Return the arguments of a call; a shell line that names no folder is given the one in which it ran."""
        args = object_at(step.args)
        if step.cwd is None or "command" not in args or not _FOLDERS.isdisjoint(args) or step.cwd == self.folder:
            return step.args
        return {**args, "cwd": step.cwd}

    def _end(self, step: CallEnd) -> None:
        agent = self._agent(step.agent)
        if self._source and step.name in (*_LOOKING, _PLAN_TOOL):
            if step.name == _PLAN_TOOL:
                self._decide(agent, step)
            return
        if step.subagent is not None:
            self._finish_subagent(step.subagent)
        known = self._find_call(agent, step.call_id)
        is_worse = bool(step.exit_code) and known is not None and known.outcome == "ok"  # hooks may not know the code
        if known is None or known.finished is None or known.outcome == "abandoned" or is_worse:
            agent.tool_finished(
                step.call_id, step.result, is_error=step.is_error, exit_code=step.exit_code, name=step.name
            )

    def _finish_subagent(self, key: str) -> None:
        if not self._source:
            if key in self._agents and self._is_new:
                self._agents[key].finished()
            return

        def is_known(tx: Transaction) -> bool:
            row = tx.agent(self._main.session, self._main.name)
            name = None if row is None else tx.find_spawned(row.session, row.number, key)
            child = None if name is None else tx.agent(self._main.session, name)
            return child is not None and tx.overviews.load_activity(child.number).state != "finished"

        if not self.is_attached and self._board.store.read(is_known):
            self._agent(key).finished()

    def _find_call(self, agent: Agent, call_id: str) -> ToolCall | None:
        """Return the call if the board knows it already, by this agent or, as some hosts report it, the main one."""
        key = given_id(short(call_id))

        names = (agent.name, self._main.name)
        found = self._board.store.read(lambda tx: tx.tool_calls.find_of_either(agent.session, names, key))
        return None if found is None else found.call

    # Plans, which Claude Code puts before the person by a tool of its own.

    def _propose(self, agent: Agent, step: CallStart) -> None:
        plan = object_at(step.args).get("plan")
        if isinstance(plan, str) and plan.strip() and self._is_news(step):
            with suppress(PunchlistError):
                agent.propose_plan(plan)

    def _decide(self, agent: Agent, step: CallEnd) -> None:
        if self._is_news(step) and agent.plan is not None and agent.plan.waits(self._board.now()):
            with suppress(PunchlistError):
                if step.is_error:
                    agent.reject_plan(cut(str(step.result), _LONGEST_REASON) or "declined", by="user", person=True)
                else:
                    agent.approve_plan(by="user", person=True)

    # Lists and tasks.

    def _write(self, step: ListWrite) -> None:
        agent = self._agent(step.agent)
        if self._source and self._find_write(agent, step)[0]:
            return
        if self.is_served and step.dialect == OWN:
            return  # perhaps for a session that it knew better
        if step.dialect == _TASKS:
            self.tasks += self._main.restore_tasks(_as_records(step), _CLAUDE)
            return
        is_known, is_late = self._find_write(agent, step)
        if not is_known and not is_late:
            self._handle(agent, step.dialect).call(step.name, step.args, call_id=step.call_id)
        elif not is_known and self._source:
            self._note_late(agent, step)
        if step.agent == MAIN:
            self.has_list = not is_late

    def _find_write(self, agent: Agent, step: ListWrite) -> tuple[bool, bool]:
        """Tell if the board knows a write, and if the list there was written later."""

        def find(tx: Transaction) -> tuple[bool, bool]:
            row = tx.agent(agent.session, agent.name)
            if row is None:
                return False, False
            last = tx.history.last_write(row)
            is_late = last is not None and (step.at is None or step.at < last.at)
            main = row if agent.name == self._main.name else tx.agent(agent.session, self._main.name)
            rows = [row] if main is None else [row, main]  # a host may not say that it was a subagent
            return any(tx.call(one, step.call_id) is not None for one in rows), is_late

        return self._board.store.read(find)

    def _handle(self, agent: Agent, dialect: str) -> Agent:
        if dialect == agent.dialect:
            return agent
        return self._board.agent(
            agent.name, session=agent.session, dialect=dialect, profile="off", project=agent.folder, **self._options
        )

    def _note_late(self, agent: Agent, step: ListWrite) -> None:
        """Record a write that is older than the list as history."""
        command = dialect_named(step.dialect).parse(step.name, step.args)
        if not isinstance(command, Replace):
            return
        note, now = describe_late_write(command, source=self._source, call_id=step.call_id), self._board.now()

        def work(tx: Transaction) -> None:
            row = tx.agent(agent.session, agent.name)
            if row is not None:
                tx.add_events(row, [note], by=agent.name, at=now)
                tx.save_call(row, step.call_id, RECORDED, at=now)

        self._board.store.transact(work)


def _as_records(step: ListWrite) -> list[dict[str, Any]]:
    """Return the records of a task call and its result, from which a task is restored under its own id."""
    call = {"type": "tool_use", "id": step.call_id, "name": step.name, "input": step.args}
    result = {"type": "tool_result", "tool_use_id": step.call_id, "content": ""}
    at = None if step.at is None else json_time(step.at)
    data = {"success": True, "task": {"id": step.task}}
    return [
        {"type": "assistant", "timestamp": at, "message": {"content": [call]}},
        {"type": "user", "timestamp": at, "message": {"content": [result]}, "toolUseResult": data},
    ]


# Where transcripts are: the newest of a project, or that of a session by its id. Hermes and qwen do not say which
# project a conversation belongs to, so theirs are found by session id, never as the newest of a project.


class FoundTranscript(NamedTuple):
    """A transcript: its file, and the session within it if it holds several."""

    path: str
    format: str
    session: str | None
    changed: float


def find_newest(folder: str) -> FoundTranscript | None:
    """Return the newest transcript of the folder's project."""
    project = project_of(folder)
    found = [_find_newest_of_claude(project, os.path.realpath(folder))]
    for program in PROGRAMS.values():
        if program.store and program.is_project_told:
            found.append(_find_newest_in_store(program.name, find_home(program.name, program.store), project))
        elif program.name in LINES and program.name != _CLAUDE:
            pattern = find_home(program.name, program.file.format(session=""))
            found.append(_find_newest_file(program.name, pattern, project))
    return max(filter(None, found), key=lambda place: place.changed, default=None)


def find_session(session: str) -> FoundTranscript | None:
    """Return the transcript of a session, by its id."""
    if not re.fullmatch(r"[\w.-]{1,200}", session) or session.startswith("."):
        return None
    for program in PROGRAMS.values():
        pattern = find_home(program.name, program.file.format(session=session))
        for path in _sort_by_time(glob.iglob(pattern) if program.file else ()):
            return FoundTranscript(path, program.name, None, _modified_at(path))
    for program in PROGRAMS.values():
        path = find_home(program.name, program.store)
        if os.path.isfile(path):
            with suppress(PunchlistError):
                if session in open_transcript(path, program.name).sessions:
                    return FoundTranscript(path, program.name, session, _modified_at(path))
    return None


def list_subagents(path: str) -> Iterator[tuple[str, str]]:
    """Yield ids and files of the subagents of a Claude Code transcript, oldest first."""
    folder = os.path.join(path.removesuffix(".jsonl"), "subagents")
    for file in reversed(_sort_by_time(glob.iglob(os.path.join(glob.escape(folder), "agent-*.jsonl")))):
        yield os.path.basename(file).removeprefix("agent-").removesuffix(".jsonl"), file


def subagent_name(path: str, format: str, own: str) -> str:
    """Return a subagent's name: its type or nickname if it has one, else its id."""
    told = LOGS[format].read_start(path, own).name if format in LOGS else None
    return told or f"agent-{own}"[:200]


def _find_newest_of_claude(project: str, folder: str) -> FoundTranscript | None:
    """Return the newest transcript of Claude Code, which names a folder after the project; others say it inside."""
    names = {re.sub(r"[^A-Za-z0-9]", "-", one) for one in (project, folder)}
    files = [file for one in names for file in glob.iglob(find_home(_CLAUDE, "projects", glob.escape(one), "*.jsonl"))]
    own = [file for file in _sort_by_time(files) if not os.path.basename(file).startswith("agent-")]
    return FoundTranscript(own[0], _CLAUDE, None, _modified_at(own[0])) if own else None


def _find_newest_file(format: str, pattern: str, project: str) -> FoundTranscript | None:
    """Return the newest of these files that is about the project and no subagent's."""
    for path in _sort_by_time(glob.iglob(pattern)):
        with suppress(PunchlistError):
            if path.endswith(".zst"):  # of a compressed file only the head is read
                origin = LINES[format].read_head(read_first(path), (), path).origin
            else:
                origin = open_transcript(path, format).origin
            if origin.agent == MAIN and _is_within(origin.cwd, project):
                return FoundTranscript(path, format, None, _modified_at(path))
    return None


def _find_newest_in_store(format: str, path: str, project: str) -> FoundTranscript | None:
    if not os.path.isfile(path):
        return None
    with suppress(PunchlistError):
        store = open_transcript(path, format)
        for session in store.sessions[:_LOOKED_AT]:
            written = store.latest(session=session)
            if written is not None and _is_within(written.origin.cwd, project):
                at = written.origin.at
                return FoundTranscript(path, format, session, _modified_at(path) if at is None else at.timestamp())
    return None


def _is_within(folder: str | None, project: str) -> bool:
    return folder is not None and project_of(folder) == project


def _sort_by_time(files: Iterable[str]) -> list[str]:
    return heapq.nlargest(_LOOKED_AT, files, key=_modified_at)


def _modified_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
