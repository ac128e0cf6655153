"""Form messages about the progress of agents, few and short, by the rules of OpenClaw's relay.

`Relay` is one run of one agent: text is gathered for 2.5 seconds and shown as at most 220 characters; silence is
reported once, in the words of `detect.stalls`. It has no clock and does no I/O: times are passed in, and the caller
calls `tick` now and then. `Relays` feeds the events of a board to it, one relay per child of an agent: a child's list
and its reported output are visible progress, its tool calls are heartbeats. `ProgressFeed` does so for all agents of a
board, for people.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from punchlist.agent import Agent
from punchlist.agent.detectors import load_stall_states
from punchlist.board import Board, parse_cursor
from punchlist.core.events import Event
from punchlist.core.todo import Status, TodoList
from punchlist.detect import stalls
from punchlist.detect.stalls import StallOptions, StallState
from punchlist.errors import StoreClosed
from punchlist.projections.followed_lists import Lists, Look, event_text, looking_into, pass_on
from punchlist.settings.environment import stall_timings
from punchlist.text import cut, for_prompt

Kind = Literal["start", "progress", "stall", "resumed", "done", "error", "timeout"]
Log = Callable[[dict[str, Any]], None]

BUFFER: Final = 4_000
SNIPPET: Final = 220

_LONGEST_ERROR: Final = 1_000
_MOST_ITEMS: Final = 256
_SUMMARIES: Final[dict[Kind, str]] = {"start": "Started.", "resumed": "Resumed output."}


class RelayOptions(Struct, frozen=True, kw_only=True):
    """Options of a relay. `flush_after`: seconds, 0 for full snippets only. `commentary`: show asides too.

    Without `stalls` the child's own timings count, where it has some, else the defaults.
    """

    flush_after: float = 2.5
    commentary: bool = False
    stalls: StallOptions | None = None


class Listened(NamedTuple):
    """A child's silence as the board knows it: the state, None if it means nothing, and the timings."""

    state: StallState | None
    options: StallOptions = stalls.DEFAULT


class Notice(NamedTuple):
    """A message to the parent. `context` names run and kind; `summary` is a word for a list of runs, often empty.

    The text is safe to show to a model: one line, with no fence of ours in it.
    """

    kind: Kind
    text: str
    context: str
    at: datetime
    summary: str = ""


class Relay:
    """One run of one child. `child` names its session; `log` gets every step, in the form of OpenClaw's records."""

    def __init__(
        self,
        run: str,
        child: str,
        *,
        at: datetime,
        label: str = "",
        parent: str = "",
        options: RelayOptions | None = None,
        log: Log | None = None,
    ) -> None:
        self.run, self.child, self.parent = run, child, parent
        self._options = RelayOptions() if options is None else options
        self._log = log
        self._agent = label
        self._state: StallState = stalls.start_watch(at, label)
        self._pending = ""
        self._pending_kind = ""
        self._flush_at: datetime | None = None
        self._snapshot = ""
        self._items: dict[str, str] = {}
        self._rested_at: datetime | None = None

    @property
    def label(self) -> str:
        return self._state.label

    @property
    def is_over(self) -> bool:
        return self._state.over

    @property
    def is_prompted(self) -> bool:
        return self._state.submitted

    def started(self, at: datetime) -> list[Notice]:
        child = for_prompt(self.child)
        said = f"Started {self.label} session {child}. Streaming progress updates to parent session."
        return [] if self.is_over else [self._make_notice("start", said, at)]

    # What comes from the child.

    def prompted(self, at: datetime, proxies: Iterable[str] = ()) -> None:
        """Note that the prompt was sent; `proxies` are names of proxy variables that were set."""
        names = list(proxies)
        self._record("acp", at, phase="prompt_submitted", data={"proxyEnvKeys": names})
        self._state = stalls.note_prompt(self._state, at, names)

    def active(self, event: str, at: datetime) -> None:
        """Note an event that is not shown."""
        self._record("acp", at, phase="runtime_event", data={"eventType": event})
        self._state = stalls.note_activity(self._state, at, event)

    def said(self, text: str, at: datetime, *, phase: str = "", replaceable: bool = False) -> list[Notice]:
        """Add a piece of the child's output. Of a replaceable text only the last form is shown, at the end.

        The `phase` is `commentary` for asides, which most parents do not want. Whitespace is no heartbeat, but part of
        the text around it.
        """
        kind, told = f"assistant:{phase or 'unknown'}", {"phase": phase} if phase else {}
        if self.is_over or (not text.strip() and (replaceable or not self._pending or self._pending_kind != kind)):
            return []
        if replaceable:
            self._record("assistant_replaceable_snapshot", at, text=text, **told)
            self._snapshot = text[-BUFFER:]
            self._state = stalls.note_hidden_output(self._state, at)
            return []
        self._record("assistant_delta", at, delta=text, **told)
        if phase == "commentary" and not self._options.commentary:
            self._state = stalls.note_hidden_output(self._state, at)
            return []
        if not text.strip():
            return self._gather(text, at)
        self._snapshot = ""
        return self._show(text, kind, at)

    def preamble(self, item: str, text: str, at: datetime) -> list[Notice]:
        """Add what the child says about its next step: the whole text so far, longer each time or replaced."""
        text = text.strip()
        if self.is_over or not text:
            return []
        self._state = stalls.note_hidden_output(self._state, at)
        before = self._items.get(item, "")
        if not self._options.commentary or not item or text == before:
            return []
        kind = f"item:{item}"
        grows = bool(before) and text.startswith(before)
        if before and not grows and self._pending_kind == kind:
            self._pending = ""
        self._items[item] = text
        if len(self._items) > _MOST_ITEMS:
            del self._items[next(iter(self._items))]
        return self._show(text[len(before) :] if grows else text, kind, at)

    def progressed(self, text: str, at: datetime) -> list[Notice]:
        """Add progress in our own words, such as a change of the child's list."""
        return [] if self.is_over or not text.strip() else self._show(text, "list", at)

    def rested(self, at: datetime) -> None:
        """Note that the child stopped: its silence means nothing until it acts again, in a new turn."""
        self._rested_at = at
        self._state = replace(self._state, active=False, last_event="", spoke=False)

    def ended(self, at: datetime, *, began: datetime | None = None) -> list[Notice]:
        """Close the relay of a finished child; `began` is when it began, if that is known."""
        took = None if began is None or at < began else max(1, int((at - began).total_seconds() + 0.5))
        said = f"{self.label} run completed." if took is None else f"{self.label} run completed in {took}s."
        return self._close("done", said, at, phase="end")

    def failed(self, at: datetime, error: str = "") -> list[Notice]:
        why = for_prompt(cut(" ".join(error[: 4 * _LONGEST_ERROR].split()), _LONGEST_ERROR))
        said = f"{self.label} run failed: {why}" if why else f"{self.label} run failed."
        return self._close("error", said, at, phase="error")

    def tick(self, now: datetime, listened: Listened | None = None) -> list[Notice]:
        """Return what has come due: text gathered long enough, a stall, the end of the relay's own life.

        `listened` is the child's silence as the board knows it.
        """
        if self.is_over:
            return []
        notices = self._flush(now) if self._flush_at is not None and now >= self._flush_at else []
        heard, options = self._combine_states(listened)
        state, finding = stalls.find_stall(heard, now, options)
        self._state = replace(self._state, told=state.told, over=state.over)
        if finding is None:
            return notices
        if finding.detector == "timed_out":
            return [*notices, self._make_notice("timeout", finding.seen, now)]
        summary = finding.seen.removeprefix(f"{self.label} ")
        return [*notices, self._make_notice("stall", finding.seen, now, summary)]

    def _combine_states(self, listened: Listened | None) -> tuple[StallState, StallOptions]:
        own = self._state
        is_telling = self._rested_at is None or own.alive_at > self._rested_at
        options = self._options.stalls or (stall_timings() if listened is None else listened.options)
        if listened is not None:
            is_telling, other = listened.state is not None, listened.state or own
            own = replace(
                own,
                alive_at=max(own.alive_at, other.alive_at),
                submitted=own.submitted or other.submitted,
                proxies=own.proxies or other.proxies,
                active=own.active or other.active,
                last_event=other.last_event or own.last_event,
                spoke=own.spoke or other.spoke,
            )
        return own, options if is_telling else replace(options, notice_after=0)

    # Gathering.

    def _show(self, text: str, kind: str, at: datetime) -> list[Notice]:
        self._state, resumed = stalls.note_output(self._state, at)
        notices = [] if resumed is None else [self._make_notice("resumed", resumed.seen, at)]
        if self._pending and self._pending_kind != kind:
            notices += self._flush(at)
        self._pending_kind = kind
        return notices + self._gather(text, at)

    def _gather(self, text: str, at: datetime) -> list[Notice]:
        self._pending = (self._pending + text)[-BUFFER:]
        if len(self._pending) >= SNIPPET or "\n\n" in self._pending:
            return self._flush(at)
        if self._flush_at is None and self._options.flush_after > 0:
            self._flush_at = at + timedelta(seconds=self._options.flush_after)
        return []

    def _flush(self, at: datetime) -> list[Notice]:
        snippet = for_prompt(cut(" ".join(self._pending.split()), SNIPPET))
        self._pending, self._pending_kind, self._flush_at = "", "", None
        return [self._make_notice("progress", f"{self.label}: {snippet}", at)] if snippet else []

    def _close(self, kind: Kind, said: str, at: datetime, *, phase: str) -> list[Notice]:
        if self.is_over:
            return []
        self._record("lifecycle", at, phase=phase)
        held, self._snapshot = self._snapshot, ""
        notices = self._show(held, "assistant:replaceable", at) if held else []
        notices += [*self._flush(at), self._make_notice(kind, said, at)]
        self._state = stalls.end_watch(self._state)
        return notices

    def _make_notice(self, kind: Kind, text: str, at: datetime, summary: str = "") -> Notice:
        context = f"acp-spawn:{self.run}:{kind}"
        self._record("system_event", at, contextKey=context, text=text)
        return Notice(kind, text, context, at, summary or _SUMMARIES.get(kind, ""))

    def _record(self, kind: str, at: datetime, **fields: Any) -> None:
        if self._log is not None:
            self._log(
                {
                    "ts": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                    "epochMs": int(at.timestamp() * 1000),
                    "runId": self.run,
                    "parentSessionKey": self.parent,
                    "childSessionKey": self.child,
                    "agentId": self._agent,
                    "kind": kind,
                    **fields,
                }
            )


# Silence of children, as the board knows it.


Listen = Callable[[Collection[str]], Mapping[str, Listened]]
"""Returns the silence of these agents as the board knows it, and the timings of each."""

_ASK_EVERY: Final = timedelta(seconds=1)
"""Time between two questions: each reads the board."""


def listening_to(board: Board, session: str) -> Listen:
    """Return a function that asks a board about the silence of a session's agents."""

    def listen(agents: Collection[str]) -> Mapping[str, Listened]:
        found = load_stall_states(board.store, session, agents)
        return {name: Listened(state, options) for name, (state, options) in found.items()}

    return listen


class Polled:
    """Asks every second. Between two questions silence means nothing."""

    def __init__(self, listen: Listen) -> None:
        self._listen = listen
        self._known: dict[str, Listened] = {}
        self._due: datetime | None = None

    def at(self, now: datetime, agents: Collection[str]) -> Mapping[str, Listened]:
        """Return what is known of each of these agents."""
        if self._due is not None and now < self._due and self._known.keys() >= set(agents):
            return self.timings(agents)
        self._known = dict(self._listen(agents))
        self._due = now + _ASK_EVERY
        return self._known

    def timings(self, agents: Collection[str]) -> Mapping[str, Listened]:
        """Return only the timings of these agents, nothing about their silence."""
        if unknown := [name for name in agents if name not in self._known]:
            self._known |= self._listen(unknown)
        return {name: self._known[name]._replace(state=None) for name in agents}


# All children of an agent, from the events of a board.


_LONGEST_ITEM: Final = 60
_MOST_CHILDREN: Final = 1_000
_DEEPEST: Final = 32
"""Generations that are searched for a child: names come from a log, and may form a cycle."""

_STEP: Final = timedelta(seconds=1)
"""Time between two checks while old events are read: there may be many events, and many children."""

_OURS: Final = frozenset({"finding.raised", "finding.cleared", "list.graded"})
"""Events that the board records by itself: the child did nothing."""

_DEAF: Final = Listened(None)


class Relays:
    """All direct children of one agent. Times are those of the events, and of `tick`.

    A caller that starts in the middle of the log passes earlier events to `recall`. `listen` is asked about the silence
    of the children; without it only the events count. With `itself` the agent's own progress is told too, but not its
    silence and end.
    """

    def __init__(
        self,
        session: str,
        agent: str = "main",
        *,
        itself: bool = False,
        options: RelayOptions | None = None,
        look: Look | None = None,
        listen: Listen | None = None,
    ) -> None:
        self.session = session
        self.agent = agent
        self._itself = itself
        self._options = options
        self.lists = Lists(look)
        self._polled = None if listen is None else Polled(listen)
        self._relays: dict[str, tuple[Relay, datetime]] = {}
        """The agents that are relayed, by name, and when each began."""
        self._parents: dict[str, str] = {}

    def recall(self, events: Iterable[Event], until: datetime | None = None) -> None:
        """Read earlier events without reporting them, nor what has come due since, until `until`."""
        due: datetime | None = None
        for event in events:
            self.add(event)
            if due is None or event.at >= due:
                self._hush(event.at)
                due = event.at + _STEP
            until = event.at if until is None else max(until, event.at)
        if until is not None:
            self._hush(until)

    def add(self, event: Event) -> list[Notice]:
        """Return the notices of one event."""
        if event.session != self.session or event.agent is None:
            return []
        if event.kind == "agent.spawned":
            return self._add_child(event, event.agent)
        if self._itself and event.agent == self.agent and self.agent not in self._relays:
            self._relays[self.agent] = (self._make_relay(self.agent, self.agent, event.at), event.at)
        relay, began = self._relays.get(event.agent, (None, event.at))
        if relay is None or relay.is_over:
            return []
        return self._choose(event.agent, self._relay_event(relay, began, event, event.agent))

    def _relay_event(self, relay: Relay, began: datetime, event: Event, name: str) -> list[Notice]:
        found = self.lists.add(event)
        if event.kind in _OURS or not self._is_own(event, name):
            return []
        if not relay.is_prompted:  # prompts are not reported; a child that does something was given one
            relay.prompted(event.at)
        if event.kind == "agent.finished":
            del self._relays[name]
            error = _find_error(event.data)
            return relay.ended(event.at, began=began) if error is None else relay.failed(event.at, error)
        if event.kind == "agent.output":
            return relay.said(f"{event_text(event.data)} ", event.at)
        if found is not None:
            return relay.progressed(describe_delta(compare_lists(found.before, found.shown)), event.at)
        if event.kind == "turn.ended":
            relay.rested(event.at)
        elif event.kind.startswith("tool."):
            relay.active(event.kind, event.at)
        return []

    def tick(self, now: datetime) -> list[Notice]:
        """Return what has come due for any of them."""
        heard = None if self._polled is None else self._polled.at(now, self._relays)
        notices: list[Notice] = []
        for name, (relay, _) in self._relays.items():
            notices += self._choose(name, relay.tick(now, None if heard is None else heard[name]))
        self._forget()
        return notices

    def _choose(self, name: str, notices: list[Notice]) -> list[Notice]:
        """Return the notices about an agent that are told: of the agent itself only its progress."""
        if self._itself and name == self.agent:
            return [notice for notice in notices if notice.kind == "progress"]
        return notices

    def _hush(self, now: datetime) -> None:
        """Drop what has come due; a child that is still silent then is reported again."""
        heard = dict[str, Listened]() if self._polled is None else self._polled.timings(self._relays)
        for name, (relay, _) in self._relays.items():
            relay.tick(now, heard.get(name, _DEAF))
        self._forget()

    def _forget(self) -> None:
        self._relays = {name: entry for name, entry in self._relays.items() if not entry[0].is_over}

    def _is_own(self, event: Event, child: str) -> bool:
        """True if the child or one of its descendants did it, or its own program restored its list."""
        by: str | None = event.by
        for _ in range(_DEEPEST):
            if by == child or by is None:
                break
            by = self._parents.get(by)
        return by == child or event.kind == "list.restored"

    def _add_child(self, event: Event, parent: str) -> list[Notice]:
        child = str(event.data.get("child", ""))
        self._parents[child] = parent
        if parent != self.agent or not child or child in self._relays or len(self._relays) >= _MOST_CHILDREN:
            return []
        relay = self._make_relay(child, str(event.data.get("label") or child), event.at)
        self._relays[child] = (relay, event.at)
        return relay.started(event.at)

    def _make_relay(self, name: str, label: str, at: datetime) -> Relay:
        key = f"{self.session}:{name}"
        return Relay(key, key, at=at, label=label, parent=f"{self.session}:{self.agent}", options=self._options)


class ListDelta(NamedTuple):
    """The changes between two lists of one agent. `just_started` is the active form of the item in progress.

    `total` is without cancelled items. `is_new`: there was no list before, or another plan has begun.
    """

    is_new: bool
    just_completed: tuple[str, ...]
    just_started: str
    completed: int
    total: int


def compare_lists(before: TodoList, after: TodoList) -> ListDelta:
    """Return what was just finished and begun. Items are told apart by their ids, not by their texts."""
    old: dict[str, Status] = {}
    if before.plan_id == after.plan_id:
        old = {item.id: item.status for item in before.items}
    finished: list[str] = []
    started = ""
    for item in after.items:
        if item.status is Status.IN_PROGRESS and old.get(item.id) is not Status.IN_PROGRESS:
            started = item.label
        if item.status is Status.COMPLETED and old.get(item.id, Status.COMPLETED) is not Status.COMPLETED:
            finished.append(item.content)
    done, total, _ = after.progress
    return ListDelta(bool(after.items) and not old, tuple(finished), started, done, total)


def describe_delta(news: ListDelta) -> str:
    """Describe a change of a list, `2/5: finished “Read”, now “Writing”. `; empty if nothing moved."""
    if not (news.is_new or news.just_completed or news.just_started):
        return ""
    parts = [f"finished {_quote(text)}" for text in news.just_completed]
    parts += [f"now {_quote(news.just_started)}"] if news.just_started else []
    progress = f"{news.completed}/{news.total}"
    return f"{progress}: {', '.join(parts)}. " if parts else f"{progress}. "


def relay_children(
    parent: Agent,
    deliver: Callable[[Notice], object],
    *,
    stop: threading.Event,
    after: int | str | None = None,
    options: RelayOptions | None = None,
) -> None:
    """Relay until `stop` is set or the board is closed; run it on a thread of its own. Starts now by default.

    Running children are known, whoever relayed them before. Of their latest output the part that was not due yet is
    delivered; a stall that lasts is reported again.
    """
    board = parent.board
    try:
        cursor = board.store.last_seq() if after is None else parse_cursor(after)
        relays = Relays(
            parent.session,
            parent.name,
            options=options,
            look=looking_into(board),
            listen=listening_to(board, parent.session),
        )
        relays.recall(_read_log(board, parent.session, cursor), board.now() if after is None else None)
    except StoreClosed:
        return
    pass_on(board, relays, deliver, stop=stop, after=cursor)


def _read_log(board: Board, session: str, upto: int) -> Iterator[Event]:
    seen = 0
    while page := board.store.read(lambda tx, seen=seen: tx.log.page(session, None, seen)):
        for event in page:
            if event.seq > upto:
                return
            yield event
            seen = event.seq


def _find_error(data: Mapping[str, Any]) -> str | None:
    """Return why a child failed, empty if unknown; None if it did not."""
    outcome, error = data.get("outcome"), data.get("error")
    if outcome == "cancelled":
        return "cancelled"
    if outcome != "failed" and not error:
        return None
    return str(error or event_text(data))


def _quote(text: str) -> str:
    return f"“{cut(text, _LONGEST_ITEM)}”"


# All agents of a board, for people.


GATHERED: Final = timedelta(seconds=10)
"""Work of one agent and its children within this time is one message, so that a chat is not flooded."""

_LATE: Final = timedelta(minutes=2)
"""Events that are older when they come were read from an old log: they are history."""

_MOST_ROOTS: Final = 200
_MOST_OTHERS: Final = 2_000
_MOST_LINES: Final = 8
_LONGEST_LINE: Final = 500


class AgentProgress(NamedTuple):
    """Progress of a root agent and its children, in lines for people; of many, the last."""

    project: str
    session: str
    agent: str
    lines: tuple[str, ...]


class _GatheredLines:
    """The relays of a root agent and its children, and the lines that were not told yet."""

    def __init__(self, project: str, relays: Relays) -> None:
        self.project = project
        self.relays = relays
        self._lines: list[str] = []
        self._due: datetime | None = None

    def gather(self, notices: list[Notice], now: datetime) -> None:
        # That a child started is said to its parent; people see it in what the child does.
        self._lines += [cut(notice.text, _LONGEST_LINE) for notice in notices if notice.kind != "start"]
        if self._lines and self._due is None:
            self._due = now + GATHERED

    def take_due(self, now: datetime) -> tuple[str, ...]:
        if self._due is None or now < self._due:
            return ()
        lines = tuple(self._lines[-_MOST_LINES:])
        self._lines, self._due = [], None
        return lines


class ProgressFeed:
    """Messages about the progress of all agents of a board, for `lists.pass_on`. Recalls nothing of before.

    `is_root` says if an agent of a session was started by no other agent.
    """

    def __init__(self, look: Look, is_root: Callable[[str, str], bool], now: Callable[[], datetime]) -> None:
        self._look = look
        self._is_root = is_root
        self._now = now
        self._roots: dict[tuple[str, str], _GatheredLines] = {}
        self._others: dict[tuple[str, str], None] = {}
        """Agents that others started, so that the board is asked once."""

    def add(self, event: Event) -> list[AgentProgress]:
        if event.session is None or event.agent is None or self._now() - event.at > _LATE:
            return []
        self._find_root(event.project or "", event.session, event.agent)
        for (session, _), root in self._roots.items():
            if session == event.session:
                root.gather(root.relays.add(event), event.at)
        return []

    def tick(self, now: datetime) -> list[AgentProgress]:
        found: list[AgentProgress] = []
        for (session, agent), root in self._roots.items():
            root.gather(root.relays.tick(now), now)
            if lines := root.take_due(now):
                found.append(AgentProgress(root.project, session, agent, lines))
        return found

    def _find_root(self, project: str, session: str, agent: str) -> None:
        """Follow the agent of an event, if it is a root agent; the one that was heard of first makes way."""
        key = (session, agent)
        if key in self._roots or key in self._others:
            return
        if self._is_root(session, agent):
            self._roots[key] = _GatheredLines(project, Relays(session, agent, itself=True, look=self._look))
        else:
            self._others[key] = None
        for known, most in ((self._roots, _MOST_ROOTS), (self._others, _MOST_OTHERS)):
            if len(known) > most:
                del known[next(iter(known))]
