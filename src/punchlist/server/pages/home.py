"""Home: the brief around the agents that run. To do, to look at, at work, checked, ended; the rest is folded."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from punchlist.attach.attachments import list_attached
from punchlist.core.grounding.tool_call import task_of
from punchlist.core.overview import PersonWait
from punchlist.core.programs import ATTACHABLE, AgentProgram
from punchlist.core.report import Brief, ItemReport
from punchlist.logs.programs import is_found
from punchlist.reports.work_reports import LoadedBrief
from punchlist.server.pages.rendering import (
    Values,
    element_id,
    list_path,
    session_path,
    subject_path,
    task_path,
    title_of,
)
from punchlist.terminal.brief import done_words, git_words
from punchlist.terminal.reports import work_words
from punchlist.views.brief_groups import BriefRow, JoinedRow, RowOwner, join_rows, split_name
from punchlist.views.findings import count_words, format_moment
from punchlist.views.now import AgentNow, Roster

_MARKS: Final = {
    "question": ("question", "asks you"),
    "plan": ("plan", "plan to decide"),
    "hung": ("hung", "hung"),
    "red": ("red", "red"),
    "failing": ("red", "failing"),
    "failed": ("red", "failed"),
    "unseen": ("unseen", "claimed, nothing was seen"),
    "work": ("work", "at work"),
    "green": ("green", "green"),
    "confirmed": ("confirmed", "confirmed"),
    "stopped": ("ended", "ended"),
    "idle": ("idle", "idle"),
    "unknown": ("unchecked", "unknown"),
    "gone": ("ended", "ended"),
}
"""The mark of a row and the word for it, by the reason for its place."""

_WAITING: Final = ("wait", "waits for you")
_LOOKING: Final = ("look", "look at it")
_LINKS: Final = {"hung": "See the run", "unseen": "See the items"}
_LONGEST_LABEL: Final = 24

_ROOM: Final = 20
"""Rows that are shown before something is unfolded, so that Home is never taller than 3,000 px, on a phone either."""

_MOST_NEEDS: Final = 8
_MOST_NEEDS_IN_CROWD: Final = 5
_CROWD: Final = 40
"""Sessions from which those that need nobody are grouped by project."""

_BAR_STATES: Final = {
    "look_first": "red",
    "do_now": "wait",
    "at_work": "work",
    "checked": "green",
    "idle": "idle",
    "ended": "idle",
}
"""The part of a project's bar that each group counts for, in the order of the bar."""

_MOST_PROJECTS: Final = 12
_SHOWN_OF_PROJECT: Final = 3
_MOST_ITEMS: Final = 50


class HomeRow(Struct, frozen=True, kw_only=True):
    """A row of the brief as the page shows it; `label` is the beginning of its sentence, up to a colon."""

    of: BriefRow
    id: str
    mark: str
    word: str
    path: str
    owner: RowOwner
    label: str
    text: str
    link: str
    wait: PersonWait | None
    agent: AgentNow | None

    @property
    def words(self) -> str:
        """Everything that a filter looks at."""
        return f"{' '.join(self.owner)} {self.label} {self.text} {self.word}".lower()


class RowGroup(Struct, frozen=True):
    """Rows under one title: those that are shown, and those that are folded."""

    shown: Sequence[HomeRow] = ()
    folded: Sequence[HomeRow] = ()

    @property
    def number(self) -> int:
        return len(self.shown) + len(self.folded)


class ProjectRows(Struct, frozen=True, kw_only=True):
    """A project of a crowd: how many of its sessions are in each state, and the rows of those that need nobody."""

    name: str
    counts: Mapping[str, int]
    parts: Sequence[tuple[str, float, float]]
    """The state, the place and the width of each part of its bar, in percent of the largest project."""
    rows: RowGroup
    green: Sequence[HomeRow]


def load_home(loaded: LoadedBrief, roster: Roster, words: str = "") -> dict[str, Any]:
    """Return Home; with words, only the rows that hold all of them."""
    groups, brief, around = loaded.groups, loaded.brief, loaded.around
    found = {name: _find(map(_make_row, rows), words) for name, rows in join_rows(groups, roster).items()}
    number = sum(map(len, found.values()))
    is_crowd = number > _CROWD
    is_first = not (number or words or around.agents)
    return {
        "at": roster.at,
        "title": f"{number} found for “{words}”" if words else _title(len(found["do_now"]), len(found["look_first"])),
        "facts": _facts(loaded, number, roster.at),
        "until": brief.until,
        "has_news": brief.has_news,
        "words": words,
        "rows": [row for rows in found.values() for row in rows],
        "has_filter": is_crowd or bool(words),
        **_share_room(found, is_crowd=is_crowd),
        "projects": _group_by_project(found) if is_crowd else [],
        "most_projects": _MOST_PROJECTS,
        "not_checked": groups.not_checked,
        "ended": found["ended"],
        "idle": found["idle"],
        "git": [one for one in around.git if one.commits or one.uncommitted.files],
        "git_words": "; ".join(git_words(around.git)),
        "done": [_view_done(entry) for entry in brief.completed[:_MOST_ITEMS]],
        "done_words": done_words(brief),
        "costs": _cost_words(brief, around.tokens),
        "is_first": is_first,
        "programs": _find_programs(roster) if is_first else [],
        "attachable": [] if is_first else _find_attachable(roster),
    }


def _make_row(joined: JoinedRow) -> HomeRow:
    row, wait = joined.of, joined.wait
    mark, word = _MARKS.get(row.kind, _WAITING if wait is not None or row.kind == "permission" else _LOOKING)
    label, colon, text = joined.sentence.partition(": ")
    if row.kind == "work" or not colon or len(label) > _LONGEST_LABEL:
        label, text = "", joined.sentence
    return HomeRow(
        of=row,
        id=element_id(wait or ("row", row.session, row.list, row.project, row.agent)),
        mark=mark,
        word=word,
        path=_find_path(row, wait),
        owner=split_name(row.name),
        label=label,
        text=text,
        link=_LINKS.get(row.kind, "See the failure" if mark == "red" else "See the session"),
        wait=wait,
        agent=joined.agent,
    )


def _find_path(row: BriefRow, wait: PersonWait | None) -> str:
    if row.session:
        return session_path(row.session)
    if wait is not None:
        return subject_path(wait)
    return list_path(row.list) if row.list else "/tasks"


def _view_done(entry: ItemReport) -> Values:
    """Return a completed item, or a task that no session has, with the page that tells more."""
    of = entry.subject
    if of.session:
        return {"entry": entry, "path": session_path(of.session), "place": os.path.basename(entry.folder)}
    tasks, number = task_of(of.item)
    return {"entry": entry, "path": task_path(tasks, number), "place": title_of(tasks)}


def _find(rows: Iterable[HomeRow], words: str) -> list[HomeRow]:
    wanted = words.lower().split()
    return [row for row in rows if all(word in row.words for word in wanted)]


def _share_room(found: Mapping[str, Sequence[HomeRow]], *, is_crowd: bool) -> Values:
    """Return the groups with the rows that are shown: what needs a person first, the others as far as there is room."""
    most = _MOST_NEEDS_IN_CROWD if is_crowd else _MOST_NEEDS
    shared = {name: RowGroup(found[name][:most], found[name][most:]) for name in ("do_now", "look_first")}
    room = _ROOM - sum(len(group.shown) for group in shared.values())
    for name in ("at_work", "checked"):
        shown = 0 if is_crowd else min(room, len(found[name]))
        shared[name] = RowGroup(found[name][:shown], () if is_crowd else found[name][shown:])
        room = max(2, room - shown)
    return shared


def _group_by_project(found: Mapping[str, Sequence[HomeRow]]) -> list[ProjectRows]:
    """Return the projects of a crowd, those with the most to do or to look at first."""
    counts: dict[str, Counter[str]] = {}
    for name, state in _BAR_STATES.items():
        for row in found[name]:
            counts.setdefault(row.owner.project, Counter())[state] += 1
    largest = max((count.total() for count in counts.values()), default=1)
    projects: list[ProjectRows] = []
    for name, count in sorted(counts.items(), key=_order_project):
        rows = [row for row in found["at_work"] if row.owner.project == name]
        green = [row for row in found["checked"] if row.owner.project == name]
        shown = RowGroup(rows[:_SHOWN_OF_PROJECT], rows[_SHOWN_OF_PROJECT:])
        parts = _lay_bar(count, largest)
        projects.append(ProjectRows(name=name, counts=count, parts=parts, rows=shown, green=green))
    return projects


def _order_project(named: tuple[str, Counter[str]]) -> tuple[int, int, str]:
    name, count = named
    return -count["red"] - count["wait"], -count.total(), name


def _lay_bar(count: Counter[str], largest: int) -> list[tuple[str, float, float]]:
    parts: list[tuple[str, float, float]] = []
    place = 0.0
    for state in dict.fromkeys(_BAR_STATES.values()):
        width = round(100 * count[state] / largest, 1)
        if width:
            parts.append((state, round(place, 1), max(0.2, width - 0.3)))
        place += width
    return parts


def _title(waits: int, looks: int) -> str:
    first = f"{waits} wait{'s' if waits == 1 else ''} for you" if waits else "Nothing waits for you"
    return f"{first}, {looks} to look at first" if looks else first


def _facts(loaded: LoadedBrief, sessions: int, now: datetime) -> list[str]:
    since = loaded.around.since
    facts = [f"Since you looked, {format_moment(since, now)}" if since is not None else "So far"]
    facts.append(count_words(sessions, "session"))
    if loaded.brief.completed:
        facts.append(f"{count_words(len(loaded.brief.completed), 'item')} done")
    return facts


def _cost_words(brief: Brief, tokens: int) -> str:
    work = [] if brief.work.is_empty else [", ".join(work_words(brief.work, kinds=False))]
    cost = [f"the todo layer cost about {count_words(tokens, 'token')}"] if tokens else []
    return "; ".join(work + cost)


def _find_programs(roster: Roster) -> list[Values]:
    """Return the agent programs that are installed here, which of them run, and which are attached."""
    running = {row.host for row in roster.agents if row.state != "gone"}
    attached = list_attached()
    return [
        {"program": program, "runs": program.name in running, "is_attached": program in attached}
        for program in ATTACHABLE.values()
        if is_found(program) or program.name in running
    ]


def _find_attachable(roster: Roster) -> list[AgentProgram]:
    """Return the programs of agents that run here unattached."""
    seen = {row.host for row in roster.agents if not row.on_board and row.state != "gone"}
    wanted = [program for program in ATTACHABLE.values() if program.name in seen]
    attached = list_attached() if wanted else []
    return [program for program in wanted if program not in attached]


def find_rows(loaded: LoadedBrief, roster: Roster, words: str) -> list[HomeRow]:
    """Return the rows of Home that hold all the words, in its order."""
    joined = join_rows(loaded.groups, roster)
    return _find((_make_row(row) for rows in joined.values() for row in rows), words)


def find_agent(roster: Roster, session: str) -> AgentNow | None:
    """Return the agent whose work is on this session of the board, or whose host calls it so."""
    return next((row for row in roster.agents if session in (row.list_session, row.session)), None)
