"""Apply a hook event of a host to the board, and return the answer for the host.

A host tells of its prompts, tool calls, subagents and stops. These are the calls of the public handle of an agent; no
rule of the board is repeated here. An event is data: unknown names are passed over, and no path in it is opened.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from punchlist.agent import Agent
from punchlist.agent.context import LONGEST_ID, check_name, note_dropped
from punchlist.agent.described_calls import EndedCall, StartedCall
from punchlist.agent.processes import find_processes
from punchlist.agent.turns import end_left_turn
from punchlist.board import Board
from punchlist.conversations.bindings import (
    NEWS,
    check_conversation,
    continue_session,
    is_message,
    mark_arguments,
    name_agent_call,
    name_host_call,
    note_seen,
    note_turn,
    rename_call,
)
from punchlist.core.approval import PlanState
from punchlist.core.events import Draft, Event
from punchlist.core.task import Task
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.errors import GateRefused, StoreBusy, StoreFull, StoreUnavailable
from punchlist.guidance.words import Injection
from punchlist.settings.environment import Project, find_project
from punchlist.settings.options import AgentOptions
from punchlist.settings.table import read_setting
from punchlist.store import Transaction
from punchlist.store.hosts import Conversation
from punchlist.store.records import RowDamaged
from punchlist.tasks.gates import Gate, ask_gates
from punchlist.text import cut, for_terminal
from punchlist.text.hashing import blake2b
from punchlist.text.patterns import compile_later
from punchlist.views.list_owners import MAIN
from punchlist_hook import TASK_NOTIFICATION, TASK_WRITERS, is_own_call, log_error
from punchlist_statusline import ENDED

NATIVE: Final[Mapping[str, str]] = {
    "TodoWrite": "claude-code",
    "TaskCreate": "claude-tasks",
    "TaskUpdate": "claude-tasks",
    "TaskList": "claude-tasks",
    "TaskGet": "claude-tasks",
    "update_plan": "codex",
    "write_todos": "gemini",
    "todowrite": "opencode",
}
"""Todo tools of the hosts themselves: their calls are applied to the list, in their dialect."""

_TASK_FIELDS: Final = ("subject", "description", "activeForm", "status", "taskId")
"""Fields of a native task call that are applied. The board might refuse owners and blockers that the host let pass."""

DELEGATING: Final = ("Task", "Agent")
_RESTORING: Final = ("resume", "compact")
"""Sources of a `SessionStart` after which the model may not know its open items."""

PASSING: Final = (StoreBusy, StoreFull, StoreUnavailable)
"""Faults of the moment, not of an event."""

_UNATTENDED: Final = ("bypassPermissions", "dontAsk", "auto")
"""Permission modes in which the host itself, and no person, may have agreed to a plan, unless a person attends."""

_BUSY: Final = frozenset({"UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PreCompact"})
_ANSWERING: Final = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop"})
"""Events after which it is known that the model has answered the last request."""

_IDLE: Final = frozenset({"SessionStart", "Stop", "StopFailure"})
_TURNLESS: Final = frozenset({"SessionStart", "StopFailure", "SessionEnd"})
"""Events after which no turn goes on, though the model did not end it: clocks stop."""

_AFTER_DIALOG: Final = frozenset({"UserPromptSubmit", "PreToolUse", "Stop"})
"""Events that the main agent's conversation does not come to while the host shows a plan."""

_EXIT: Final = compile_later(r"(?:Error: )?Exit code (\d{1,3})\b")
_MONITOR: Final = compile_later(r"punchlist_hook\.py'? monitor\b")
_LONGEST_REASON: Final = 8_000
_MOST_CHANGES: Final = 100
_MOST_DONE: Final = 3
_LONGEST_ITEM: Final = 60
_MARKS: Final = dict(zip(Status, "○▸!✓✗–", strict=True))
_AHEAD: Final = (Status.PENDING, Status.IN_PROGRESS)

SHOW_LIST: Final = "/punchlist:todos"
"""The command of our plugin that shows the list: answered here, it costs no request to the model."""

_ONE_LIST: Final = "This session keeps one list, with the tool `todo` of Punchlist: use that tool for this."
"""Refuses a list of the host's own where the model has our tool: it would be a second one."""


class _EventBoard(Board):
    """The board at the time of an event. Its gates are not asked again: the host has done what it tells of."""

    @property
    def gates(self) -> tuple[Gate, ...]:
        return ()

    def log_fault(self, problem: str) -> None:
        """Log a fault of a step where `punchlist doctor` looks for it: the handles of agents raise none.

        One of the moment is raised: the event stays in the inbox until a better one.
        """
        error = sys.exc_info()[1]
        if isinstance(error, PASSING):
            raise error
        if self.store.durable:
            log_error(self.store.files, f"{problem}: {type(error).__name__}: {error}")


class Source(Struct, frozen=True):
    """The machine of a team that an event came from: the place there, and the tool call as it was described there.

    `is_late`: nobody waits for the answer any more. `dropped` lines were lost on that machine before this one.
    """

    name: str
    place: Project
    call: StartedCall | EndedCall | None = None
    is_late: bool = False
    dropped: int = 0


class HookEvent(Struct, frozen=True):
    """An event with the fields that every host gives."""

    board: Board
    host: str
    name: str
    conversation: str
    session: str
    fields: Mapping[str, Any]
    at: datetime
    known: Conversation | None
    """The conversation as it was before this event; None at its first one."""
    attended: bool | None = None
    """True if a person sits at the host, None if it does not say so."""
    process: str = ""
    """The mark of the host's process (`mark_process`)."""
    other_window: str = ""
    """The mark of another process that has the same conversation open; empty if there is none."""
    source: Source | None = None
    """The other machine that it came from. Nothing that comes from one is a person's."""

    @property
    def is_second_window(self) -> bool:
        """True if a window opens or closes and the conversation goes on in another one."""
        return self.name in ("SessionStart", "SessionEnd") and self.other_window != ""

    def text(self, key: str) -> str:
        """Return a field that is a text; empty if it is none."""
        value = self.fields.get(key)
        return value.replace("\0", "\ufffd") if isinstance(value, str) else ""  # PostgreSQL takes no NUL

    @property
    def machine(self) -> str:
        return "" if self.source is None else self.source.place.machine

    @property
    def place(self) -> Project:
        return find_project(self.text("cwd") or None) if self.source is None else self.source.place

    def name_call(self, call_id: str) -> str:
        return name_host_call(self.machine, call_id)

    def agent(self, dialect: str = "punchlist") -> Agent:
        """Return the agent that the event is about: that of the conversation, or its subagent."""
        main = self.main(dialect)
        spawn_id = self.text("agent_id")
        if not spawn_id:
            return main
        name = _short_name(self.text("agent_type"))
        return main.spawn(name, id=spawn_id)

    def main(self, dialect: str = "punchlist") -> Agent:
        tries, profile = read_setting("stop_tries"), read_setting("profile")
        options: AgentOptions = {} if tries is None else {"guidance": {"stop_tries": tries}}
        return self.board.agent(
            MAIN, session=self.session, dialect=dialect, profile=profile, project=self.place, **options
        )


def is_report(payload: Mapping[str, Any]) -> bool:
    """True for an event that only reports on a tool call, which need not survive a power loss at once."""
    name, tool = payload.get("hook_event_name"), str(payload.get("tool_name"))
    return name in ("PreToolUse", "PostToolUse", "PostToolUseFailure") and tool not in NATIVE and tool != "ExitPlanMode"


def is_described(host: str, payload: Mapping[str, Any]) -> bool:
    """True for an event about a tool call that comes from another machine described, see `described_calls`.

    Calls of lists and plans come as they are: these are what the board keeps.
    """
    return is_report(payload) and not is_own_call(host, payload)


def answer_event(
    board: Board,
    host: str,
    payload: Mapping[str, Any],
    at: datetime,
    *,
    process: str = "",
    attended: bool | None = None,
    source: Source | None = None,
) -> dict[str, Any]:
    """Apply an event that happened at this time; return the answer, empty for none.

    Raise `PunchlistError` for an event that lacks what every event has, or is about another machine's session.
    """
    event = replace(read_event(board, host, payload, at, process, source), attended=attended)
    event.board.agents_process = process
    if source is not None and source.dropped:
        note_dropped(event.agent()._runner, source.dropped)  # pyright: ignore[reportPrivateUsage]
    if event.name in _AFTER_DIALOG and not event.text("agent_id"):
        _withdraw_plan(event, "declined in Claude Code")
    is_answer = event.name in _ANSWERING and not event.text("agent_id")
    if is_answer and event.known is not None and event.known.told_upto:
        note_seen(event.board, event.known)
    is_turnless = event.name in _TURNLESS and event.text("source") != "compact" and not event.is_second_window
    if is_turnless and not event.text("agent_id"):
        end_left_turn(event.main()._runner)  # pyright: ignore[reportPrivateUsage]
    answers = _LATE_ANSWERS if source is not None and source.is_late else _ANSWERS
    answer = answers[event.name](event) if event.name in answers else {}
    save_state(event, answer)
    return answer


def read_event(
    board: Board, host: str, payload: Mapping[str, Any], at: datetime, process: str, source: Source | None = None
) -> HookEvent:
    name, conversation = payload.get("hook_event_name"), payload.get("session_id")
    check_name("host", host)
    check_name("event", cast("str", name))
    check_name("session", cast("str", conversation))
    known_as = str(conversation)
    place = None if source is None else source.place
    if place is not None:
        board.store.read(lambda tx: check_conversation(tx, place.machine, host, known_as))
    if name == "UserPromptSubmit":
        continue_session(board, host, known_as, payload, at, place=place)

    def read(tx: Transaction) -> tuple[Conversation | None, str, datetime, str]:
        known = tx.hosts.find_conversation(host, known_as)
        session = known_as if known is None else known.session
        row = tx.agent(session, MAIN)
        last = None if row is None else tx.log.last_time(row.number)
        moment = at if last is None else max(at, last)  # a list that was written since is not older than this
        other = ""
        if known is not None and known.state != "ended":
            with suppress(RowDamaged):  # the step that needs the row says so
                looks = find_processes(tx, known, moment)
                other = next((one for one, look in looks.items() if look == "runs" and one != process), "")
        return known, session, moment, other

    known, session, moment, other = board.store.read(read)
    at_moment = _EventBoard(board.store, clock=lambda: moment)
    who = host, str(name), known_as, session
    return HookEvent(at_moment, *who, payload, moment, known, process=process, other_window=other, source=source)


def save_state(event: HookEvent, answer: Mapping[str, Any]) -> None:
    """Record what the conversation does now. A subagent in the background says nothing about it."""

    def work(tx: Transaction) -> None:
        known = tx.hosts.find_conversation(event.host, event.conversation)
        if known is None:
            who = event.host, event.conversation, event.conversation
            known = Conversation(*who, event.place.key, "", "idle", "", event.at, event.at, machine=event.machine)
        state = known.state
        if event.name == "SessionEnd":
            state = state if event.is_second_window else "ended"
            _note_ended(tx, event)
        elif not event.text("agent_id") and not event.is_second_window:
            is_refused = event.name == "UserPromptSubmit" and "decision" in answer
            if (event.name in _BUSY and not is_refused) or (event.name == "Stop" and answer):
                state = "busy"
            elif event.name in _IDLE:
                state = "idle"
        _note_attached(tx, event)
        begins = _is_persons(event) or event.text("source") in _RESTORING
        tx.hosts.save_conversation(
            known._replace(
                process=event.other_window or event.process or known.process,
                state=state,
                event=event.name,
                since=known.since if state == known.state else event.at,
                seen_at=max(known.seen_at, event.at),
                is_begun=known.is_begun or begins,
            )
        )

    event.board.store.transact(work)


def _note_ended(tx: Transaction, event: HookEvent) -> None:
    """Note that the conversation ended, though its process may live on, unless another one has its session now."""
    row = tx.agent(event.session, MAIN)
    memory = None if row is None else tx.memory.load(row.number)
    if row is not None and memory is not None and memory.process == event.board.agents_process:
        tx.memory.save(row.number, replace(memory, process=ENDED))
        tx.marked[row.session] = event.at


def _note_attached(tx: Transaction, event: HookEvent) -> None:
    """Record that an agent is heard of which was only watched so far: its list may be changed from now on."""
    row = tx.agent(event.session, MAIN)
    if row is not None and tx.overviews.load_activity(row.number).copy_of:
        tx.add_events(row, [Draft("agent.attached", {"host": event.host})], by=event.host, at=event.at)


# Conversations.


def _start_session(event: HookEvent) -> dict[str, Any]:
    """Give a model its open items where it may have lost them; else say nothing."""
    source = event.text("source")
    if source not in _RESTORING:
        return {}
    if source == "resume":
        _note_call(event, f"{event.conversation} resumed", MAIN)
    if event.source is not None and event.source.is_late:
        return {}
    text = event.main().open_work("resumed" if source == "resume" else "compacted")
    rows = "" if text is None else text.split("\n", 2)[-1]  # the first two lines say why it is told
    mark = blake2b(rows.encode(errors="replace"), digest_size=8).hexdigest() if rows else None

    def is_news(tx: Transaction) -> bool:
        told, is_unread = tx.hosts.find_told(event.host, event.conversation)
        # A history that is resumed still holds what was told. A compaction keeps only what waits for the next request.
        if mark is not None and mark == told and (source == "resume" or is_unread):
            return False
        tx.hosts.save_told(event.host, event.conversation, mark)
        return True

    return _context(event, text) if event.board.store.transact(is_news) else {}


def _take_prompt(event: HookEvent) -> dict[str, Any]:
    """Note that the person spoke; tell the model what happened since its last turn.

    A prompt that the host wrote, such as the line of our monitor, is not the person's: no approval comes with it.
    """
    agent, prompt = event.main(), event.text("prompt")
    if prompt.strip() == SHOW_LIST:
        return {"decision": "block", "reason": _show_list(agent.todos)}
    is_person = _is_persons(event)
    event.board.store.transact(lambda tx: tx.hosts.mark_read(event.host, event.conversation))
    _follow_plan_mode(event, agent)
    said = agent.assistant_turn(hold_approvals=not is_person)
    if is_person:
        agent.user_turn(prompt)
    text = "\n\n".join(one.text for one in said)
    _note_news(event, said)
    is_first = event.known is None or (not event.known.is_begun and event.session == event.conversation)
    offer = agent.offer_leftovers() if is_first and is_person else None
    return _context(event, "\n\n".join(filter(None, ("" if is_message(prompt, text) else text, offer))))


def _take_late_prompt(event: HookEvent) -> dict[str, Any]:
    if _is_persons(event):
        event.main().user_turn(event.text("prompt"))
    return {}


def _is_persons(event: HookEvent) -> bool:
    """True for a prompt that the host did not write itself, and that reaches the model."""
    prompt = event.text("prompt")
    is_ours = prompt.startswith(TASK_NOTIFICATION) or prompt.strip() == SHOW_LIST
    return event.name == "UserPromptSubmit" and not is_ours


def _note_news(event: HookEvent, said: Sequence[Injection]) -> None:
    """Record a turn that begins with news for the model, or that was begun because of some."""
    told = any(one.kind in NEWS for one in said)
    if event.known is not None and (told or (event.known.sent_upto and event.name == "UserPromptSubmit")):
        note_turn(event.board, event.known, told=told)


def _stop(event: HookEvent) -> dict[str, Any]:
    """Let the model stop, or give the reason why it should go on."""
    if event.name == "SubagentStop" and not _is_known(event):
        return {}  # Claude Code's own helper that compacts a conversation was never started as a subagent
    agent = event.agent()
    _follow_plan_mode(event, agent)
    last = event.text("last_assistant_message")
    said = agent.about_to_stop(last, background=count_background(event))
    if said is not None:
        if not event.text("agent_id"):
            _note_news(event, [said])
        if event.host == "claude-code":
            return _context(event, said.text)  # it shows a block as an error of the hook
        return {"decision": "block", "reason": said.text}
    if event.name == "SubagentStop":
        agent.finished(last)
    return {}


def _is_known(event: HookEvent) -> bool:
    def read(tx: Transaction) -> bool:
        main = tx.agent(event.session, MAIN)
        return main is not None and tx.find_spawned(event.session, main.number, event.text("agent_id")) is not None

    return event.board.store.read(read)


def count_background(event: HookEvent) -> int:
    """Return how much of the agent's work still runs elsewhere; our own monitor is no work."""
    tasks = event.fields.get("background_tasks")
    if not isinstance(tasks, list) or event.name == "SubagentStop":
        return 0
    return sum(_is_work(task) for task in cast("list[Any]", tasks))


def _is_work(task: Any) -> bool:
    fields = cast("dict[str, Any]", task) if isinstance(task, dict) else {"status": ""}
    is_monitor = _MONITOR.search(str(fields.get("command", ""))) is not None
    return fields.get("status") in (None, "running") and not is_monitor


def _compact(event: HookEvent) -> dict[str, Any]:
    event.agent().compacted()
    return {}


def _follow_plan_mode(event: HookEvent, agent: Agent) -> None:
    """Switch plan mode on and off as the host does: nobody is told to go on with a plan that waits."""
    wanted, mode = event.text("permission_mode"), agent.plan_mode
    if wanted == "plan" and mode is None:
        agent.enter_plan_mode(by=event.host)
    elif wanted and wanted != "plan" and mode is not None and mode.by == event.host:
        agent.exit_plan_mode(by=event.host)


# Tool calls.


def _begin_call(event: HookEvent) -> dict[str, Any]:
    """Record that a call begins. One of our own tools is tied to its conversation, for the server that answers it."""
    tool, given = event.text("tool_name"), event.fields.get("tool_input")
    call_id = event.text("tool_use_id")[:LONGEST_ID]
    agent = event.agent()
    denied = refuse_native_list(event)
    if is_own_call(event.host, event.fields):
        note_own_call(event, agent.name)
    elif denied:
        return denied
    elif tool == "ExitPlanMode":
        plan = _find_plan(given)
        if plan.strip():
            agent.propose_plan(plan, by=event.host)  # its author on the board is the host, by which it is known
    elif tool not in NATIVE:
        if tool in DELEGATING and call_id:
            _note_call(event, name_agent_call(event.session, agent.name, call_id), agent.name, given)
        if event.source is None:
            agent.tool_started(call_id or None, tool, given)
        elif isinstance(event.source.call, StartedCall):
            agent.record_start(call_id or None, event.source.call)
    return {}


def refuse_native_list(event: HookEvent) -> dict[str, Any]:
    """Return the answer that refuses a call of a tool of the host's own in favour of ours; empty for any other."""
    if event.name != "PreToolUse" or event.text("tool_name") not in TASK_WRITERS:
        return {}
    if not read_setting("todos") or "punchlist" not in read_setting("dialect"):
        return {}
    denied = {"permissionDecision": "deny", "permissionDecisionReason": _ONE_LIST}
    return {"hookSpecificOutput": {"hookEventName": event.name, **denied}}


def note_own_call(event: HookEvent, agent: str = MAIN) -> None:
    """Tie a call of our own tool to its conversation, for the server that answers it or passes it on.

    By its id, and by that of its agent: another conversation or subagent may use the same id at the same time.
    """
    call_id = event.text("tool_use_id")[:LONGEST_ID]
    if call_id:
        mark = mark_arguments(event.fields.get("tool_input"))
        _note_call(event, call_id, agent)
        _note_call(event, name_agent_call(event.session, agent, call_id), agent, mark=mark)


def _note_call(event: HookEvent, key: str, agent: str, given: Any = None, *, mark: str | None = None) -> None:
    """Note a call: one that starts a subagent with its label, one of our own tool with the mark of its arguments."""
    arguments = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    label, spawns = arguments.get("description"), arguments.get("subagent_type")
    event.board.store.transact(
        lambda tx: tx.hosts.add_call(
            event.name_call(key),
            event.host,
            event.conversation,
            agent,
            at=event.at,
            spawns=_short_name(spawns) if isinstance(label, str) else None,
            label=cut(label, 200) if isinstance(label, str) else mark,
        )
    )


def _end_call(event: HookEvent) -> dict[str, Any]:
    """Record that a call went well, as far as the host knows; apply those of native todo tools."""
    tool, result = event.text("tool_name"), event.fields.get("tool_response")
    call_id = event.text("tool_use_id")[:LONGEST_ID] or None
    if is_own_call(event.host, event.fields):
        return _show_change(event, call_id or "")
    if tool in NATIVE:
        _apply_native(event, tool, call_id, result)
    elif tool == "ExitPlanMode":
        _approve_plan(event)
    elif event.source is not None:
        _record_described(event, call_id)
    else:
        is_error = False if event.host == "claude-code" else None  # it alone has another event for failures
        event.agent().tool_finished(call_id, result, is_error=is_error, name=tool)
    return {}


def _fail_call(event: HookEvent) -> dict[str, Any]:
    """Record that a call failed. A command that ran to its end says so by its exit code."""
    tool, error = event.text("tool_name"), event.text("error")
    call_id = event.text("tool_use_id")[:LONGEST_ID] or None
    if tool in NATIVE or is_own_call(event.host, event.fields):
        return {}
    if tool == "ExitPlanMode":
        _withdraw_plan(event, cut(error, _LONGEST_REASON) or "the call failed")
        return {}
    if event.source is not None:
        return _record_described(event, call_id)
    agent = event.agent()
    code = read_exit_code(event)
    if code is not None:
        agent.tool_finished(call_id, error, is_error=True, exit_code=code, name=tool)
    else:
        agent.tool_failed(call_id, error, name=tool)
    return {}


def _record_described(event: HookEvent, call_id: str | None) -> dict[str, Any]:
    call = None if event.source is None else event.source.call
    if isinstance(call, EndedCall):
        event.agent().record_end(call_id, call)
    return {}


def read_exit_code(event: HookEvent) -> int | None:
    """Return the exit code of a command that failed; None for a call that did not run to its end."""
    code = _EXIT.match(event.text("error"))
    return None if code is None or event.fields.get("is_interrupt") is True else int(code[1])


def _apply_native(event: HookEvent, tool: str, call_id: str | None, result: Any) -> None:
    """Apply a call of the host's own todo tool, which the host has answered already."""
    given = event.fields.get("tool_input")
    answered = cast("dict[str, Any]", result) if isinstance(result, dict) else {}
    if answered.get("success") is False or answered.get("error"):
        return
    dialect = NATIVE[tool]
    if dialect == "claude-tasks":
        if not isinstance(given, dict) or tool in ("TaskList", "TaskGet"):
            return
        fields = cast("dict[str, Any]", given)
        given = {key: fields[key] for key in _TASK_FIELDS if key in fields}
    agent = event.agent(dialect)
    agent.call(tool, given, call_id=None if call_id is None else _name_native(event, agent.name, call_id))


def _name_native(event: HookEvent, agent: str, call_id: str) -> str:
    """Return the id under which a native call is kept: another one if a hook told of this id before.

    The ids of some models begin again in each run. A log that told of the id in this run told of this call.
    """

    def work(tx: Transaction) -> bool:
        key = event.name_call(f"{event.conversation} {agent} {call_id}")
        resumed = tx.hosts.find_call(event.name_call(f"{event.conversation} resumed"))
        is_used = tx.hosts.find_call(key) is not None
        tx.hosts.add_call(key, event.host, event.conversation, agent, at=event.at)
        is_old = resumed is not None and tx.hosts.has_earlier_call(event.session, agent, call_id, resumed.at)
        return is_used or is_old

    return rename_call(call_id, event.at) if event.board.store.transact(work) else call_id


# What the person sees of a change, in the conversation; the model does not.


def _show_change(event: HookEvent, call_id: str) -> dict[str, Any]:
    """Return the line, or the list, that the host shows under a call that changed the list; nothing for another."""
    form, agent = read_setting("conversation"), event.agent()

    def read(tx: Transaction) -> list[Event]:
        own = event.name_call(name_agent_call(event.session, agent.name, call_id))
        row, told = tx.agent(event.session, agent.name), tx.hosts.find_call(own)
        if row is None or told is None:
            return []
        latest = tx.log.latest([row.number], _MOST_CHANGES)
        return [one for one in latest if one.at >= told.at and one.kind.startswith("item.")]

    todos, changes = agent.todos, event.board.store.read(read)
    if form == "off" or not changes or not todos.items:
        return {}
    if form == "list":
        return {"systemMessage": _show_list(todos)}
    changed = {str(one.data.get("id")) for one in changes}
    shown = [item for item in todos.items if item.id in changed and item.status not in _AHEAD][-_MOST_DONE:]
    if todos.focus is not None:
        shown.append(todos.focus)
    done, total, _ = todos.progress
    return {"systemMessage": " · ".join([*map(_show_item, shown), f"{done}/{total}"])}


def _show_list(todos: TodoList) -> str:
    if not todos.items:
        return "There is no todo list in this session yet."
    done, total, _ = todos.progress
    return "\n".join([f"Todos {done}/{total}", *map(_show_item, todos.items)])


def _show_item(item: TodoItem) -> str:
    return f"{_MARKS[item.status]} {for_terminal(cut(item.content, _LONGEST_ITEM))}"


# Plans.


def _find_plan(given: Any) -> str:
    plan = cast("dict[str, Any]", given).get("plan") if isinstance(given, dict) else None
    return plan if isinstance(plan, str) else ""


def _approve_plan(event: HookEvent) -> None:
    """Approve the plan that the host shows no longer: the call went through."""
    agent = event.agent()
    plan, shown = agent.plan, _find_plan(event.fields.get("tool_response"))
    if plan is not None and plan.decided_by == event.host and plan.state is PlanState.REJECTED and shown.strip():
        plan = agent.propose_plan(shown, by=event.host)  # a call beside it made it look declined
    if plan is None or not plan.waits(event.at):
        return
    person = event.attended if event.source is None else False
    if person is None:
        person = event.text("permission_mode") not in _UNATTENDED
    agent.plan_reply(agent.approve_plan(by="user" if person else event.host, person=person))


def _withdraw_plan(event: HookEvent, reason: str) -> None:
    """Reject the plan that the host showed and shows no longer, in its name: it does not say who ended the dialog.

    Claude Code sends no event for a plan that the person declines. The model knows by the result of its call.
    """
    agent = event.main()
    plan = agent.plan
    if plan is not None and plan.created_by == event.host and plan.waits(event.at):
        agent.plan_reply(agent.reject_plan(reason, by=event.host))


# Subagents and gates.


def _start_subagent(event: HookEvent) -> dict[str, Any]:
    kind = _short_name(event.text("agent_type"))
    if not event.text("agent_id"):
        return {}
    label = event.board.store.transact(lambda tx: tx.hosts.take_label(event.host, event.conversation, kind))
    event.main().spawn(kind, id=event.text("agent_id"), label=label)
    return {}


def _short_name(kind: Any) -> str:
    name = "".join(one for one in str(kind or "") if one.isprintable()).strip()[:60]
    return name or "subagent"


def ask_task_gates(board: Board, payload: Mapping[str, Any]) -> dict[str, Any] | None:
    """Ask the gates of the board about a native task that is to be created or completed; None if they let it pass."""
    name, session, task_id = (payload.get(key) for key in ("hook_event_name", "session_id", "task_id"))
    if name not in ("TaskCreated", "TaskCompleted"):
        return None
    subject, description = (str(payload.get(key) or "") for key in ("task_subject", "task_description"))
    task = Task(list=f"session:{session}", id=str(task_id), subject=subject, description=description)
    try:
        ask_gates(board.gates, "create" if name == "TaskCreated" else "complete", task)
    except GateRefused as refused:
        return {"decision": "block", "reason": str(refused)}
    return None


def _context(event: HookEvent, text: str | None) -> dict[str, Any]:
    if not text:
        return {}
    return {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}}


_ANSWERS: Final = {
    "SessionStart": _start_session,
    "UserPromptSubmit": _take_prompt,
    "PreToolUse": _begin_call,
    "PostToolUse": _end_call,
    "PostToolUseFailure": _fail_call,
    "SubagentStart": _start_subagent,
    "SubagentStop": _stop,
    "Stop": _stop,
    "PreCompact": _compact,
}
"""The function that answers each event; of other events only the state of the conversation is recorded."""

_LATE_ANSWERS: Final = {
    **{name: answer for name, answer in _ANSWERS.items() if answer is not _stop},
    "UserPromptSubmit": _take_late_prompt,
}
"""The same for events whose hook waits no more: the model is told nothing by them."""
