"""Join what is known of the state of agents now, by their hosts and by our hooks; define what a person is told of it.

An agent may be seen by several roads. It is one row, by its host and the host's own id of the conversation.
"""

import posixpath
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple, get_args

from msgspec import Struct
from msgspec.structs import replace

from punchlist.text.shell import drop_cd

PresenceState = Literal["busy", "waiting", "idle", "unknown", "gone"]
"""`decide_state` decides it, for every surface; `unknown` is an agent that cannot be looked up."""

ProcessLook = Literal["runs", "ended", "elsewhere", "unreachable", "none"]
"""The result of a look at the process of an agent.

`elsewhere` is in another machine or pid namespace, `unreachable` on a machine of the team that is not heard of now.
"""

Road = Literal["hooks", "files", "host"]

_ROADS: Final[tuple[Road, ...]] = ("hooks", "files", "host")
"""Roads by which an agent is seen, the most trusted last: the host itself knows best."""

_LEAST_ALIVE: Final = {"gone": 0, "unknown": 1}

_PATH: Final = re.compile(r'"(?:file_?[pP]ath|path|notebook_path|absolute_path)": ?"([^"]+)"')
"""The file in the preview of a call's arguments, which are JSON."""

HEARTBEAT_SECONDS: Final = 600.0
"""An agent whose process cannot be looked up is not known of any more so long after its last heartbeat."""

GONE_SHOWN: Final = timedelta(hours=12)
"""An agent whose process ended is shown for so long after its last change of state."""

NO_WORDS: Final = "input needed"
"""Shown where a host says that it waits on the person, and not for what."""


class Presence(Struct, frozen=True, kw_only=True):
    """An agent as its host, or our hooks, know it now."""

    host: str
    session: str
    """The host's own id of the conversation."""
    state: PresenceState
    process: ProcessLook = "none"
    since: datetime | None = None
    """Begin of the state; of a process that is gone, the last that is known of it."""
    heard_at: datetime | None = None
    """The last heartbeat, where no process can be looked up."""
    project: str = ""
    folder: str = ""
    """The root of its worktree."""
    waits_for: str = ""
    title: str = ""
    pid: int | None = None
    doing: str = ""
    """The tool call that runs, or the last one."""
    list_session: str = ""
    """The session of the board that a handoff bound the conversation to; empty for the one of its own id."""
    road: Road = "host"
    machine: str = ""
    """The name of the machine of the team on which it runs; empty for this one."""

    @property
    def board_session(self) -> str:
        """The session of the board that the conversation belongs to."""
        return self.list_session or self.session


def decide_state(
    said: PresenceState, process: ProcessLook, quiet: float, *, is_hung: bool = False, is_asked: bool = False
) -> PresenceState:
    """Return the state of an agent by what was noted of it, and a look at its process: the rule of every surface.

    `said` is its state by its host, by hooks or by its own events, `quiet` the seconds since its last heartbeat.
    `is_hung`: a call ran when it fell silent. `is_asked`: it did nothing since it put something before a person.
    """
    if said == "gone" or process == "ended":
        return "gone"
    if process == "unreachable":
        return "unknown"
    if process != "runs" and quiet > HEARTBEAT_SECONDS and not is_hung:
        return "unknown"
    return "waiting" if is_asked else said


def join_roads(found: Iterable[Presence]) -> list[Presence]:
    """Return one entry per agent: of a living process before a dead one, by the most trusted road, else the latest.

    What the chosen entry does not know is taken from the others.
    """
    agents: dict[tuple[str, str], list[Presence]] = {}
    for one in found:
        agents.setdefault((one.host, one.session), []).append(one)
    return [_join(sorted(roads, key=_trust, reverse=True)) for roads in agents.values()]


def _trust(one: Presence) -> tuple[bool, bool, int, float]:
    is_gone = one.state == "gone" or one.process == "ended"
    # The process that hooks noted is elsewhere, so that other roads looked for it in the wrong place.
    since = 0.0 if one.since is None else one.since.timestamp()
    return one.process == "elsewhere", not is_gone, _ROADS.index(one.road), since


def _join(roads: Sequence[Presence]) -> Presence:
    joined = roads[0]
    for other in roads[1:]:
        joined = replace(
            joined,
            project=joined.project or other.project,
            folder=joined.folder or other.folder,
            title=joined.title or other.title,
            pid=joined.pid or other.pid,
            doing=joined.doing or other.doing,
            list_session=joined.list_session or other.list_session,
        )
    return joined


def choose_living(found: Iterable[Presence]) -> list[Presence]:
    """Return one agent per session of the board: of the conversations that share it, the living one, the latest."""
    order = sorted(found, key=lambda one: 0.0 if one.since is None else one.since.timestamp())
    order.sort(key=lambda one: _LEAST_ALIVE.get(one.state, 2))
    return list({one.board_session: one for one in order}.values())


def find_missing(before: Iterable[Presence], after: Iterable[Presence], at: datetime) -> list[Presence]:
    """Return the agents that were seen before and are not seen now, each as gone since this time."""
    known = {one.board_session for one in after}
    return [
        replace(one, state="gone", since=at, waits_for="", doing="")
        for one in before
        if one.state != "gone" and one.board_session not in known
    ]


def describe_call(name: str, preview: str) -> str:
    """Return a tool call in a few words, by the preview of its arguments: a command line, `Edit README.md`, a name."""
    if preview and not preview.startswith("{"):
        return drop_cd(preview)
    name = name.rpartition("__")[2] if name.startswith("mcp__") else name
    path = _PATH.search(preview)
    return f"{name} {posixpath.basename(path[1]) or path[1]}" if path else name


# Records of what a person is told of agents, and of what was seen before. `views/notices.py` finds the news.

FactKind = Literal["waits", "finished", "stalled", "red"]
NoticeKind = Literal["waits", "finished", "stalled", "red", "progress", "summary", "test"]

FACT_KINDS: Final[tuple[FactKind, ...]] = get_args(FactKind)


class PersonNotice(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message to a person. `title` and `text` are clean: no control character is left in them.

    `at` is when the fact began; `answer` is the name by which `punchlist answer` finds what waits.
    """

    kind: NoticeKind
    title: str
    text: str = ""
    at: datetime | None = None
    project: str = ""
    host: str = ""
    session: str = ""
    agent: str = ""
    answer: str = ""
    subject: str = ""
    """Its subject, in the memory of what was told."""


class SeenAgent(Struct, frozen=True, omit_defaults=True):
    """An agent as it was last seen, and the latest begin of each kind of fact that is known of it."""

    name: str
    project: str = ""
    host: str = ""
    session: str = ""
    agent: str = ""
    state: PresenceState = "idle"
    since: datetime | None = None
    waits_for: str = ""
    """The cause of its wait by its host; empty if the board knows that."""
    busy_since: datetime | None = None
    finished_since: datetime | None = None
    """Begin of the work whose end is known."""
    waited_since: datetime | None = None
    silent_since: datetime | None = None
    is_hung: bool = False
    """It hung, and was told of: a person who has looked at it knows that it does not go on."""
    is_red: bool = False
    red_at: datetime | None = None
    missing_since: datetime | None = None


class NoticeMemory(NamedTuple):
    """Agents and waits that were seen before. Nothing is news that was so before `began`, the first look."""

    began: datetime
    agents: Mapping[str, SeenAgent]
    waits: Collection[str]


class News(NamedTuple):
    """The facts to tell, and what has to be remembered: the agents that changed, and the waits that are new."""

    facts: Sequence[PersonNotice]
    agents: Mapping[str, SeenAgent]
    waits: Collection[str]
