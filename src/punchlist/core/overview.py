"""Fold events into read models: the activity of each agent, the history of each item, the line of each session.

Two rules are here for every command and view: `find_waits` (what waits on a person) and `is_under_way`.

The store keeps these values as rows and changes them in the transaction that appends the events. Folding the whole
log gives the same values: `doctor` rebuilds the rows that way.
"""

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, Literal, NamedTuple, cast

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.approval import Plan, Question
from punchlist.core.events import REPORTS, TURN_ENDS, decode_item, with_fields
from punchlist.core.programs import name_session
from punchlist.core.task import FLOWS, Task, TaskStatus
from punchlist.core.todo import Blocker, Status, TodoItem, TodoList
from punchlist.text import cut, for_terminal

STALLS: Final = frozenset({"nothing_submitted", "no_runtime_event", "no_output", "silent_after_output", "timed_out"})
"""Detectors of silence, which output ends, and the end of a turn."""

WATCHED: Final = timedelta(hours=6)
"""A silence is repeated for so long; after that its end does not matter."""

_RESUMED: Final = "resumed"
_OVER: Final = "timed_out"

SIGNS_OF_AGENT: Final = (
    REPORTS
    | TURN_ENDS
    | {"agent.output", "agent.attached"}
    | {f"list.{deed}" for deed in ("replaced", "merged", "edited", "restored", "confirmed", "refused")}
    | {f"task.{deed}" for deed in ("created", "changed", "claimed", "started", "released", "completed", "deleted")}
)
"""Events that only a program with a handle on the agent causes: a copied list is the agent's own from then on.

Those that were read from the agent's log are marked as `watched`, and mean nothing of the kind.
"""

AgentState = Literal["new", "working", "idle", "finished"]


# Items.


class Stint(NamedTuple):
    """A time in which something was in progress; `end` is None while it lasts."""

    start: datetime
    end: datetime | None = None


def extend_stints(stints: tuple[Stint, ...], status: Status | None, at: datetime) -> tuple[Stint, ...]:
    """Return the stints after a change of status; None if the item is no longer there."""
    lasting = stints[-1] if stints and stints[-1].end is None else None
    if status is Status.IN_PROGRESS:
        return stints if lasting is not None else (*stints, Stint(at))
    if lasting is None:
        return stints
    return (*stints[:-1], Stint(lasting.start, max(at, lasting.start)))


class KeptItem(Struct, frozen=True, omit_defaults=True):
    """An item, also once its list has it no more. `first` and `touched` are events; `is_gone`: it left while open."""

    item: TodoItem
    first: int
    touched: int
    is_gone: bool = False
    stints: tuple[Stint, ...] = ()


def find_item_id(kind: str, data: Mapping[str, Any]) -> str:
    """Return the id of the item that an event is about; empty if it is about none."""
    if not kind.startswith("item."):
        return ""
    given: Any = data.get("item")
    found: Any = data.get("id")
    if not found and isinstance(given, Mapping):
        found = cast("Mapping[str, Any]", given).get("id")
    return found if isinstance(found, str) else ""


def fold_item(known: KeptItem | None, kind: str, data: Mapping[str, Any], at: datetime, seq: int) -> KeptItem | None:
    """Return an item after one more of its events; None if the log does not tell what it is."""
    left = kind in ("item.removed", "item.omitted")
    try:
        if data.get("item"):
            item = decode_item(data["item"])
        elif known is None:
            return None
        else:
            item = with_fields(known.item, data.get("set", {}))
    except (LookupError, TypeError, ValueError):
        return known  # of a later version
    if known is None or not known.first:
        known = KeptItem(item, seq, seq)
    stints = extend_stints(known.stints, None if left else item.status, at)
    return replace(known, item=item, touched=seq, is_gone=left and item.is_open, stints=stints)


def as_new(kept: KeptItem) -> KeptItem:
    """Return an item that comes back under another plan: what it is, without what happened to it under the old one."""
    return replace(kept, first=0, stints=())


# Agents.


class CompletingWrite(NamedTuple):
    """The position and the time of a write that completed items or tasks."""

    position: int
    at: datetime


class OpenFinding(Struct, frozen=True):
    """A finding that holds. `seq` is its event, `first` the one from which on it held."""

    detector: str
    seen: str
    subject: str
    at: datetime
    seq: int
    first: int


class LastCall(Struct, frozen=True):
    """The latest tool call that was reported of an agent."""

    name: str
    preview: str = ""
    outcome: Literal["running", "ok", "failed"] = "running"
    at: datetime | None = None


class TokenTotal(Struct, frozen=True):
    """Tokens that an agent has read for the first time, written, and read from the cache of its host."""

    input: int = 0
    output: int = 0
    cached: int = 0


class Activity(Struct, frozen=True, omit_defaults=True):
    """The activity of one agent, from its events; its list is kept apart.

    `rests`: its turn is over, and it has begun no call since. `heard` is the last report on a tool call, `ended` the
    last end of a turn. `copy_of` is the transcript from which its list was copied, until the agent itself is heard of;
    `copy_format` is whose transcript that is.
    """

    plan_id: str = "p0"
    state: AgentState = "new"
    rests: bool = False
    heard: int = 0
    ended: int = 0
    findings: tuple[OpenFinding, ...] = ()
    last_call: LastCall | None = None
    copy_of: str = ""
    copy_format: str = ""
    host_state: str = ""
    """The state that its host was last seen to give it, with what it waited for then: busy, waiting, idle or gone."""
    waits_for: str = ""
    host: str = ""
    """The host that told its state, and when that was recorded."""
    host_at: datetime | None = None
    host_place: str = ""
    """The boot and the pid namespace in which that was seen."""
    tokens: TokenTotal | None = None
    """None where no log tells of them."""
    seq: int = 0
    at: datetime | None = None
    written: int = 0
    """The last event of its list, but for a grade."""

    @property
    def program(self) -> str:
        """The program that runs it, by its log or its host; empty if neither tells."""
        return self.copy_format or self.host

    @property
    def is_live(self) -> bool:
        """True if the agent may go on: it has not finished, and is known from more than a copy of its log."""
        return self.state != "finished" and not self.copy_of

    @property
    def is_state_only(self) -> bool:
        """True if nothing is known of the agent but what its host said of its state."""
        return self.state == "new" and bool(self.host_state) and not self.copy_of

    @property
    def awaits_permission(self) -> bool:
        """True if its host was last seen to show the person a dialog, and no call was reported since."""
        last = None if self.last_call is None else self.last_call.at
        seen = self.host_at
        return self.host_state == "waiting" and (last is None or seen is None or last <= seen)

    def find_news(self, after: int, now: datetime) -> tuple[OpenFinding, ...]:
        """Return the findings after the event `after`, and earlier ones that still matter."""
        return tuple(one for one in self.findings if one.seq > after or self._matters(one, after, now))

    def _matters(self, one: OpenFinding, after: int, now: datetime) -> bool:
        """True if a known finding is worth repeating: a lasting silence, or an agent still in the same turn."""
        if one.detector in STALLS:
            return one.detector != _OVER and now - one.at < WATCHED
        return self.heard > after and self.ended < one.seq


NO_ACTIVITY: Final = Activity()


def fold_activity(
    known: Activity, kind: str, data: Mapping[str, Any], at: datetime, seq: int, *, own: bool = False
) -> Activity:
    """Return the activity of an agent after one more of its events; `own` ones it caused itself."""
    known = replace(known, seq=seq, at=at)
    if kind.startswith("list.") and kind != "list.graded":
        known = replace(known, written=seq)
    if kind == "agent.state":
        names = ("state", "waits_for", "host", "place")
        state, waits_for, host, place = (str(data.get(name, "")) for name in names)
        return replace(known, host_state=state, waits_for=waits_for, host=host, host_at=at, host_place=place)
    if kind == "agent.usage":
        told = (data.get(name) for name in ("input", "output", "cached"))
        return replace(known, tokens=TokenTotal(*(one if isinstance(one, int) else 0 for one in told)))
    if kind == "agent.copied":
        source, whose = data.get("source") or "a transcript", data.get("format") or ""
        return replace(known, copy_of=str(source), copy_format=str(whose))
    if kind in SIGNS_OF_AGENT and not data.get("watched"):
        known = replace(known, copy_of="", copy_format="")
    if kind in REPORTS:
        return _add_report(known, kind, data, at, seq)
    if kind in TURN_ENDS:
        is_turn = kind == "turn.ended"
        # An agent that has finished is neither stalled nor looping; the end of a turn ends silences only.
        findings = _without_stalls(known.findings) if is_turn else ()
        return replace(known, state="idle" if is_turn else "finished", rests=True, ended=seq, findings=findings)
    if kind in ("finding.raised", "finding.cleared"):
        return replace(known, findings=_fold_findings(known.findings, kind, data, at, seq))
    if kind == "plan.started" and isinstance(plan := data.get("plan_id"), str):
        return replace(known, plan_id=plan)
    if kind.startswith("list.") or kind in SIGNS_OF_AGENT:
        if known.state == "finished" and own:
            return replace(known, state="working", rests=False)
        return replace(known, state="working" if known.state == "new" else known.state)
    return known


def _add_report(known: Activity, kind: str, data: Mapping[str, Any], at: datetime, seq: int) -> Activity:
    call = known.last_call
    name = str(data.get("name") or ("" if call is None else call.name))
    if kind == "tool.started":
        call = LastCall(name, str(data.get("preview", "")), "running", at)
        return replace(known, state="working", rests=False, heard=seq, last_call=call)
    if kind == "tool.updated":
        return replace(known, heard=seq)
    failed = kind == "tool.failed" or bool(data.get("is_error"))
    preview = call.preview if call is not None and call.name == name else ""
    return replace(known, heard=seq, last_call=LastCall(name, preview, "failed" if failed else "ok", at))


def _fold_findings(
    known: tuple[OpenFinding, ...], kind: str, data: Mapping[str, Any], at: datetime, seq: int
) -> tuple[OpenFinding, ...]:
    detector, seen, subject = (str(data.get(name, "")) for name in ("detector", "seen", "subject"))
    if kind == "finding.cleared":
        if detector == _RESUMED:
            return _without_stalls(known)
        return tuple(one for one in known if (one.detector, one.subject) != (detector, subject))
    if detector in STALLS:
        known = _without_stalls(known)  # one silence, however far it has come
    found = OpenFinding(detector, seen, subject, at, seq, seq)
    for place, one in enumerate(known):
        if (one.detector, one.subject) == (detector, subject):
            return (*known[:place], replace(found, first=one.first), *known[place + 1 :])
    return (*known, found)


def _without_stalls(known: tuple[OpenFinding, ...]) -> tuple[OpenFinding, ...]:
    return tuple(one for one in known if one.detector not in STALLS)


# Lists, and the row for a person.


class ListSummary(Struct, frozen=True, omit_defaults=True):
    """A list in numbers, and its focus begun at `since`; `next`, `blocked` and `failed` are the first of their kind."""

    focus: str | None = None
    counts: Mapping[str, int] = {}
    grades: Mapping[str, int] = {}
    since: datetime | None = None
    next: str | None = None
    blocked: str | None = None
    failed: str | None = None
    check: str | None = None
    """The check that its focus carries."""
    focus_id: str = ""


def summarise_list(todos: TodoList, focus: TodoItem | None = None) -> ListSummary:
    """Count the items of a list, and name the first of each kind; `focus` is its focus, if it is another one."""
    focus = focus or todos.focus
    first: dict[Status, str] = {}
    for item in todos.items:
        if item is not focus:
            first.setdefault(item.status, item.content)
    counts = Counter([item.status.value for item in todos.items])
    grades = Counter([item.grade for item in todos.items if item.grade is not None])
    return ListSummary(
        focus=None if focus is None else focus.label,
        counts=dict(counts),
        grades=dict(grades),
        since=None if focus is None else focus.started_at,
        next=first.get(Status.PENDING),
        blocked=first.get(Status.BLOCKED),
        failed=first.get(Status.FAILED),
        check=None if focus is None or focus.check is None else focus.check.command,
        focus_id="" if focus is None or focus.status is not Status.IN_PROGRESS else focus.id,
    )


# What waits on a person, and what is under way.


class Owner(NamedTuple):
    """The agent that something belongs to; of a task of no agent, its list's project and session, and its owner."""

    project: str
    session: str
    agent: str
    host: str = ""


class PersonWait(Struct, frozen=True, kw_only=True):
    """Work that goes on once a person has acted.

    `id` is that of the item, the task or the flow, or the revision of the plan. `title` names it; `text` is the
    question, the plan, or why an item is blocked; `on` is the person, if named. `list` is the list of a task.
    """

    kind: Literal["question", "plan", "item", "task", "flow"]
    project: str
    session: str
    agent: str
    id: str
    title: str
    text: str = ""
    on: str = ""
    since: datetime | None = None
    list: str = ""
    host: str = ""
    """The program that runs the agent; empty if that is not known."""

    @property
    def key(self) -> tuple[str, ...]:
        """The values that no other wait has together."""
        return self.kind, self.session, self.agent, self.list, self.id

    @property
    def owner(self) -> str:
        """The agent that waits, as every surface calls it; the list of a task that no agent has."""
        return name_session(self.project, self.session, self.agent, self.host) or self.list

    @property
    def name(self) -> str:
        """The name by which `punchlist answer` finds it."""
        if self.kind in ("plan", "task", "flow"):
            return f"{self.kind}-{self.id[:_SHORT_ID]}"
        return self.id

    @property
    def answers(self) -> tuple[str, ...]:
        """The words that follow its name in a command that resolves it."""
        if self.kind == "plan":
            return ("approve", "reject REASON")
        return ("TEXT",) if self.kind == "question" else ("[TEXT]",)


_SHORT_ID: Final = 8
"""Characters of a flow's id: so many tell flows apart, as a rule."""


def find_waits(
    owner: Owner,
    now: datetime,
    *,
    todos: TodoList | None = None,
    questions: Iterable[Question] = (),
    plans: Iterable[Plan] = (),
    tasks: Iterable[Task] = (),
    agents: Container[str] = (),
    blocked_at: Mapping[str, datetime] | None = None,
) -> Iterator[PersonWait]:
    """Yield all that waits on a person, of one owner: questions, plans, blocked items, tasks and flows.

    A question waits while its item is open on the present list, a plan until it is decided or expires, a task or a
    flow if it was set waiting for a person. A blocked item waits on a person unless it only comes after other items, or
    waits on one of `agents`. `blocked_at` says since when, by the item's id.
    """
    todos = todos or TodoList()
    make = partial(PersonWait, project=owner.project, session=owner.session, agent=owner.agent, host=owner.host)
    asking: set[str] = set()
    for asked in questions:
        item = todos.find(asked.item) if asked.plan_id == todos.plan_id else None
        if item is not None and item.is_open:
            asking.add(item.id)
            by_id = make(kind="question", id=item.id, title=item.content)
            yield replace(by_id, text=asked.question, on=asked.of, since=asked.asked_at)
    for plan in plans:
        if plan.waits(now):
            yield make(kind="plan", id=str(plan.revision), title=plan.title, text=plan.text, since=plan.proposed_at)
    for item in todos.items:
        if item.id not in asking and _is_blocked_on_person(item, agents):
            blocker, since = item.blocker or Blocker(), (blocked_at or {}).get(item.id)
            by_id = make(kind="item", id=item.id, title=item.content)
            yield replace(by_id, text=blocker.reason, on=blocker.on or "", since=since)
    for task in tasks:
        if task.status is not TaskStatus.WAITING or task.wait is None or task.wait.kind != "manual":
            continue
        if task.list == FLOWS:
            yield make(kind="flow", id=str(task.metadata["flow"]), title=task.subject, since=task.wait.since)
        else:
            yield make(kind="task", id=task.id, title=task.subject, since=task.wait.since, list=task.list)


def _is_blocked_on_person(item: TodoItem, agents: Container[str]) -> bool:
    if item.status is not Status.BLOCKED or item.blocker is None:
        return item.status is Status.BLOCKED
    return not item.blocker.is_order and (item.blocker.on is None or item.blocker.on not in agents)


def is_under_way(status: Status, state: AgentState, helpers: Collection[str] = ()) -> bool:
    """True if work on an item goes on: its agent has it in progress and has not finished, or subagents are at it."""
    if helpers and status is Status.PENDING:
        return True
    return status is Status.IN_PROGRESS and (state != "finished" or bool(helpers))


def show_left_open(todos: TodoList, state: AgentState, helped: Mapping[str, Collection[str]]) -> TodoList:
    """Return a list as people see it: an item in progress that is not under way is only open, and no more."""

    def show(item: TodoItem) -> TodoItem:
        if item.status is not Status.IN_PROGRESS or is_under_way(item.status, state, helped.get(item.id, ())):
            return item
        return replace(item, status=Status.PENDING)

    return todos if state != "finished" else replace(todos, items=tuple(map(show, todos.items)))


class AgentOverview(Struct, frozen=True, kw_only=True):
    """The row of one agent, for a person who looks at all. `session_state`: red, unchecked, green or idle."""

    project: str
    worktree: str = ""
    """The name of its worktree; empty in the first checkout."""
    session: str
    agent: str
    state: AgentState
    focus: str | None = None
    counts: Mapping[str, int] = {}
    grades: Mapping[str, int] = {}
    last_call: LastCall | None = None
    waits: tuple[PersonWait, ...] = ()
    findings: tuple[OpenFinding, ...] = ()
    session_state: str = "idle"
    at: datetime | None = None


# The line of a session: the few facts about its work that a status line shows. The store keeps it as JSON in the
# session's row; the program that prints it (`punchlist_statusline.py`) imports nothing of the package.

_LONGEST_TEXT: Final = 160
"""Characters of a text; a status line is rarely wider."""

_MOST_SUBAGENTS: Final = 3
"""Subagents that are named; the others are counted."""


class AgentWork(Struct, frozen=True):
    """An agent: its activity, and its items and tasks in short. `parent` is None for a root agent.

    `started_for` is the key of the item that its parent started it for.
    """

    number: int
    session: str
    agent: str
    project: str
    parent: int | None
    started_for: str
    activity: Activity
    list: ListSummary
    session_state: str = "idle"
    folder: str = ""


class Offer(Struct, frozen=True, omit_defaults=True):
    """An item that looks done. `check` is the check that is green, `proof` the command line that ran it."""

    plan: str
    item: str
    text: str
    check: str
    proof: str = ""


class SubagentLine(NamedTuple):
    name: str
    done: int
    total: int


class SessionLine(Struct, frozen=True, omit_defaults=True):
    """The values of a session that its status line shows. Every text is one line, safe for a terminal."""

    focus: str = ""
    since: int = 0
    """When work on it began, in seconds since 1970."""
    done: int = 0
    total: int = 0
    next: str = ""
    blocked: str = ""
    failed: str = ""
    state: str = ""
    check: str = ""
    """The check program by which it has that state."""
    changes: int = 0
    """Code changes since that check, of a session that is not checked."""
    waits: int = 0
    wait: str = ""
    """The one that waits longest."""
    subagents: tuple[SubagentLine, ...] = ()
    """Subagents at work, the oldest first."""
    more: int = 0
    """Subagents at work that are not named."""
    focus_check: str = ""
    """The check that the item in progress carries."""
    offer: Offer | None = None
    """The item in progress, if it looks done."""
    process: str = ""
    """The process of the agent that has the item in progress."""
    stopped: int = 0
    """When that agent stopped to wait for a prompt, in seconds since 1970; 0 while it is at work."""


NO_LINE: Final = SessionLine()


def prepare_line(
    agents: Sequence[AgentWork],
    *,
    state: str,
    check: str,
    waits: Sequence[PersonWait],
    now: datetime,
    changes: int = 0,
    offer: Offer | None = None,
    process: str = "",
    stopped_at: datetime | None = None,
) -> SessionLine:
    """Return the line of a session: the work of its root agent, and what its other agents, checks and people do.

    `agents` come oldest first; of what `waits` on a person, what waits longest. `process` and `stopped_at` are those
    of the agent that is shown.
    """
    shown = find_shown_agent(agents)
    work = ListSummary() if shown is None else shown.list
    busy = [
        agent for agent in agents if agent is not shown and agent.parent is not None and is_at_work(agent.activity, now)
    ]
    done, total = _progress(work)
    if shown is not None and not is_under_way(Status.IN_PROGRESS, shown.activity.state):
        work = replace(work, focus=None, since=None, check=None, next=work.focus or work.next)
    return SessionLine(
        focus=_line(work.focus),
        since=0 if work.since is None else int(work.since.timestamp()),
        done=done,
        total=total,
        next=_line(work.next),
        blocked=_line(work.blocked),
        failed=_line(work.failed),
        state="" if state == "idle" else state,
        check="" if state == "idle" else _line(check),
        changes=changes,
        waits=len(waits),
        wait=_line(name_wait(waits[0])) if waits else "",
        subagents=tuple(SubagentLine(_line(one.agent), *_progress(one.list)) for one in busy[:_MOST_SUBAGENTS]),
        more=len(busy[_MOST_SUBAGENTS:]),
        focus_check=_line(work.check),
        offer=offer,
        process=process if work.focus else "",
        stopped=0 if stopped_at is None or not work.focus else int(stopped_at.timestamp()),
    )


def find_shown_agent(agents: Sequence[AgentWork]) -> AgentWork | None:
    """Return the agent whose work is shown: the first root agent with any, at work before others; else a subagent."""
    having = [agent for agent in agents if agent.list.counts]
    roots = [agent for agent in having if agent.parent is None]
    at_work = [agent for agent in roots if agent.activity.state != "finished"]
    others = [agent for agent in having if agent.parent is not None and agent.activity.state != "finished"]
    return next(iter((*at_work, *roots, *others)), None)


def is_at_work(activity: Activity, now: datetime) -> bool:
    """True unless a subagent has finished, ended its turn, or was silent for so long that it must be gone."""
    if activity.rests or activity.state == "finished":
        return False
    return activity.at is None or now - activity.at < WATCHED


def name_wait(wait: PersonWait) -> str:
    """Return what waits on a person in a few words: the question itself, the title of the plan, the blocked item."""
    if wait.kind == "question":
        return wait.text
    if wait.kind == "plan":
        return f"plan: {wait.title}"
    return f"{wait.title}: {wait.text}" if wait.text else wait.title


def _progress(work: ListSummary) -> tuple[int, int]:
    counts = work.counts
    return counts.get("completed", 0), sum(counts.values()) - counts.get("cancelled", 0)


def _line(text: str | None) -> str:
    return cut(for_terminal(text), _LONGEST_TEXT) if text else ""
