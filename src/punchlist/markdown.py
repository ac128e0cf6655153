"""Write checklists as Markdown text and read them back, by a named set of markers.

Agents disagree about checkboxes: `[-]` is in progress to one and cancelled to another. So the named set decides what a
marker means. No set writes ids, times, parents, priorities, active forms or evidence; its description says what else
it loses. Texts are cleaned in both directions, and a content or a name is one line: line breaks become a space.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from punchlist.core.apply import normalise_focus
from punchlist.core.commands import Policy
from punchlist.core.todo import Blocker, Phase, Status, TodoItem, TodoList
from punchlist.errors import UnknownName
from punchlist.text import clean, repair

# The grammars are JavaScript's: its blanks, its line ends (which `.` does not match), and a `.` of 16 bits.
_BLANKS = "\t\n\v\f\r \xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"
_BLANK = f"[{_BLANKS}]"
_TABS = f"[{_BLANKS.replace(' ', '')}]"
_ENDS = "\n\r\u2028\u2029"
_ANY = f"[^{_ENDS}\U00010000-\U0010ffff]"
_BULLET = "[-*+]"
_NUMBERED = rf"(?:{_BULLET}|[0-9]{{1,9}}[.)]){_BLANK}+"

_NO_TEXT = "(no text)"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNSHOWN = {Status.BLOCKED: Status.IN_PROGRESS, Status.FAILED: Status.IN_PROGRESS}


class MarkerSet(Struct, frozen=True, kw_only=True):
    """The checklist format of one agent."""

    description: str
    written: Mapping[Status, str]
    """The marker of each status, in the order in which an error names them."""
    read: Mapping[str, Status]
    """The status of each text between the brackets."""
    item: str
    """Pattern of a line up to the content; its last group that takes part is the marker."""
    bullet: str = "- "
    """Text before a box."""
    headings: Literal["phases", "title", "none"] = "none"
    heading: str = "# "
    """Text before a phase name or a title."""
    unphased: str | None = None
    """Phase of items that have none."""
    empty: str = ""
    note_break: str | None = None
    """Line between two notes; None: no notes."""
    comments: bool = False
    """A blocker is written after its item."""
    continued: bool = False
    """An indented line continues the item above it."""
    unknown_lines: Literal["error", "ignore"] = "error"
    policy: Policy = field(default_factory=Policy)
    """`policy.shown` maps statuses without a marker to the nearest, or to None: left out."""


_PENDING = {" ": Status.PENDING, "": Status.PENDING}
_COMPLETED = {"x": Status.COMPLETED, "X": Status.COMPLETED}

MARKERS: Mapping[str, MarkerSet] = {
    "oh-my-pi": MarkerSet(
        description="Blocked and failed are written as in progress. A note with an empty line becomes two. Items "
        "without a phase go to the phase Todos. Reading leaves exactly one item in progress, if any is open.",
        written={Status.PENDING: " ", Status.COMPLETED: "x", Status.IN_PROGRESS: "/", Status.CANCELLED: "-"},
        read=_PENDING | _COMPLETED | dict.fromkeys("/>", Status.IN_PROGRESS) | dict.fromkeys("-~", Status.CANCELLED),
        item=rf"{_BULLET}{_BLANK}*\[({_ANY}?)\]{_BLANK}+",
        headings="phases",
        unphased="Todos",
        empty="# Todos\n",
        note_break="  >",
        policy=Policy(dialect="oh-my-pi", focus="first", promote=True, shown=_UNSHOWN),
    ),
    "punchlist": MarkerSet(
        description="Our own: every status, phases, notes, and why an item is blocked and on whom.",
        written={
            Status.PENDING: " ",
            Status.IN_PROGRESS: ">",
            Status.BLOCKED: "!",
            Status.COMPLETED: "x",
            Status.FAILED: "f",
            Status.CANCELLED: "-",
        },
        read=_PENDING
        | _COMPLETED
        | {">": Status.IN_PROGRESS, "!": Status.BLOCKED, "-": Status.CANCELLED}
        | dict.fromkeys("fF", Status.FAILED),
        item=rf"{_BULLET}{_BLANK}*\[({_ANY}?)\]{_BLANK}+",
        headings="phases",
        heading="## ",
        note_break="",
        comments=True,
    ),
    "roo": MarkerSet(
        description="Blocked and failed are written as in progress; cancelled items, phases and notes are left out. "
        "Reading silently drops every line that is no item, as the original does.",
        written={Status.PENDING: " ", Status.IN_PROGRESS: "-", Status.COMPLETED: "x"},
        read={" ": Status.PENDING} | _COMPLETED | dict.fromkeys("-~", Status.IN_PROGRESS),
        # `\[\s*([ xX\-~])\s*\]`, but for the time that it takes over a long run of blanks.
        item=rf"(?:-{_BLANK}*)?\[(?:{_TABS}*+( ){_BLANK}*+|{_BLANK}*+([xX~-]){_BLANK}*+)\]{_BLANK}+",
        bullet="",
        unknown_lines="ignore",
        policy=Policy(dialect="roo", shown=_UNSHOWN | {Status.CANCELLED: None}),
    ),
    "augment": MarkerSet(
        description="Blocked and failed are written as in progress; phases and notes are left out.",
        written={Status.PENDING: " ", Status.IN_PROGRESS: "/", Status.CANCELLED: "-", Status.COMPLETED: "x"},
        read=_PENDING | _COMPLETED | {"/": Status.IN_PROGRESS, "-": Status.CANCELLED},
        item=rf"(?:{_BULLET}{_BLANK}*)?\[({_ANY}?)\]{_BLANK}+",
        policy=Policy(dialect="augment", shown=_UNSHOWN),
    ),
    "copilot-cli": MarkerSet(
        description="Blocked and failed are written as in progress; cancelled items, phases and notes are left out. "
        "The explanation is the title line. An indented line continues the item above it, behind a space.",
        written={Status.PENDING: " ", Status.IN_PROGRESS: ">", Status.COMPLETED: "x"},
        read=_PENDING | _COMPLETED | dict.fromkeys(">~", Status.IN_PROGRESS),
        item=rf"(?:{_NUMBERED})?\[({_ANY}?)\]{_BLANK}+",
        headings="title",
        continued=True,
        policy=Policy(dialect="copilot-cli", shown=_UNSHOWN | {Status.CANCELLED: None}),
    ),
    "github": MarkerSet(
        description="In progress, blocked and failed are written as pending; cancelled items and notes are left out. "
        "Reading ignores prose; a box with another marker is an error.",
        written={Status.PENDING: " ", Status.COMPLETED: "x"},
        read={" ": Status.PENDING} | _COMPLETED,
        item=rf"{_NUMBERED}\[({_ANY})\]{_BLANK}+",
        headings="phases",
        heading="## ",
        unknown_lines="ignore",
        policy=Policy(
            dialect="github",
            shown=dict.fromkeys((Status.IN_PROGRESS, Status.BLOCKED, Status.FAILED), Status.PENDING)
            | {Status.CANCELLED: None},
        ),
    ),
}


def _find_set(name: str) -> MarkerSet:
    if name not in MARKERS:
        raise UnknownName(what="marker set", name=name, known=", ".join(MARKERS))
    return MARKERS[name]


def dumps(todos: TodoList, markers: str = "oh-my-pi") -> str:
    """Write the list as text, phase by phase, items without a phase first. Raises `UnknownName` for an unknown set."""
    chosen = _find_set(markers)
    lines: list[str] = []
    if chosen.headings == "title" and todos.explanation:
        lines.append(chosen.heading + _write_line(todos.explanation))
    for name, items in _group_items(todos):
        if chosen.headings == "phases":
            if lines:
                lines.append("")
            title = chosen.unphased if name is None else name
            if title is not None:
                lines.append(chosen.heading + _write_line(title))
        for item in items:
            lines.extend(_write_item(item, chosen))
    return "\n".join(lines) + "\n" if lines else chosen.empty


def _group_items(todos: TodoList) -> Iterator[tuple[str | None, list[TodoItem]]]:
    """Yield items by phase, in the order of the phases; a phase that only items name comes after them."""
    unphased: list[TodoItem] = []
    groups: dict[str, tuple[str, list[TodoItem]]] = {phase.id: (phase.name, []) for phase in todos.phases}
    ids = {phase.name: phase.id for phase in reversed(todos.phases)}
    for item in todos.items:
        if item.phase_id in groups:
            groups[item.phase_id][1].append(item)
        elif item.phase is None:
            unphased.append(item)
        else:
            key = ids.setdefault(item.phase, f"named {item.phase}")
            groups.setdefault(key, (item.phase, []))[1].append(item)
    if unphased:
        yield None, unphased
    yield from groups.values()


def _write_item(item: TodoItem, chosen: MarkerSet) -> Iterator[str]:
    status = chosen.policy.shows(item.status)
    if status is None:
        return
    content = _write_line(item.content)
    if chosen.comments:
        content = _escape(content, "<(?=!--)") + _write_blocker(item)
    yield f"{chosen.bullet}[{chosen.written[status]}] {content}"
    if chosen.note_break is None:
        return
    notes = [note for raw in item.notes if (note := clean(raw).text)]
    for place, note in enumerate(notes):
        if place:
            yield chosen.note_break
        for line in note.split("\n"):
            yield f"  > {line}" if line else "  >"


def _write_blocker(item: TodoItem) -> str:
    if item.status is not Status.BLOCKED or item.blocker is None:
        return ""
    said = (("blocked", item.blocker.reason), ("waits on", item.blocker.on or ""))
    texts = ((key, _escape(_line(text), "[<>]")) for key, text in said)
    return "".join(f" <!-- {key}: {text} -->" for key, text in texts if text)


def _line(text: str) -> str:
    """Return the text as one clean, trimmed line; a run of line breaks becomes one space."""
    return re.sub("\n+", " ", clean(text).text).strip(_BLANKS)


def _write_line(text: str) -> str:
    return _line(text) or _NO_TEXT


def _escape(text: str, special: str) -> str:
    """Replace what would begin or end a comment by entities, which `_unescape` reverses."""
    entities = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
    return re.sub(f"&(?=(?:amp|lt|gt);)|{special}", lambda found: entities[found[0]], text)


def _unescape(text: str) -> str:
    characters = {"amp": "&", "lt": "<", "gt": ">"}
    return re.sub("&(amp|lt|gt);", lambda found: characters[found[1]], text)


def loads(text: str, markers: str = "oh-my-pi") -> tuple[TodoList, list[str]]:
    """Read a list from text; return it with the lines that could not be read, by number from 1.

    Raises only `UnknownName`, for an unknown set. Items and phases get new numbers and no times.
    """
    reader = _Reader(_find_set(markers))
    for number, line in enumerate(re.split("\r?\n", repair(text)), start=1):
        reader.read(number, line)
    return reader.finish(), reader.errors


def count_indented(text: str, markers: str) -> int:
    """Return how many items of a checklist stand below another one: reading puts all on one level."""
    start = re.compile(_find_set(markers).item)
    lines = (line for line in repair(text).splitlines() if line[:1] in _BLANKS)
    return sum(start.match(line.strip(_BLANKS)) is not None for line in lines)


class _ItemLines(Struct):
    """An item whose lines are being read; `phase` is an index, or None."""

    contents: list[str]
    status: Status
    phase: int | None
    blocker: Blocker | None = None
    notes: list[str] = field(default_factory=list[str])


class _Reader:
    def __init__(self, chosen: MarkerSet) -> None:
        self.errors: list[str] = []
        self._set = chosen
        self._item_start = re.compile(chosen.item)
        self._heading_start = re.compile(f"#{{1,6}}{_BLANK}+")
        self._quote = re.compile(f"{_BLANK}*>{_BLANK}?([^{_ENDS}]*)")
        self._phases: list[str] = []
        self._items: list[_ItemLines] = []
        self._current: _ItemLines | None = None
        self._note: list[str] = []
        self._title: str | None = None

    def read(self, number: int, raw: str) -> None:
        if self._current is not None and self._set.note_break is not None:
            quote = self._quote.fullmatch(raw)
            if quote is not None:
                text = quote[1]
                if text or self._set.note_break == "":
                    self._note.append(text)
                else:
                    self._end_note()
                return
        line = raw.strip(_BLANKS)
        if not line:
            if self._set.note_break == "":
                self._end_note()
        elif not (self._read_heading(line) or self._read_item(number, line) or self._read_other(raw, line)):
            self._leave_item()
            if self._set.unknown_lines == "error":
                self.errors.append(f'Line {number}: unrecognized syntax "{line}"')

    def _end_note(self) -> None:
        if self._note and self._current is not None and (note := clean("\n".join(self._note)).text):
            self._current.notes.append(note)
        self._note = []

    def _leave_item(self) -> None:
        self._end_note()
        self._current = None

    def _read_heading(self, line: str) -> bool:
        start = self._heading_start.match(line) if self._set.headings == "phases" else None
        name = _rest(line, start)
        if not name:
            return False
        self._leave_item()
        self._phases.append(name)
        return True

    def _read_item(self, number: int, line: str) -> bool:
        start = self._item_start.match(line)
        content = _rest(line, start)
        if start is None or not content:
            return False
        self._leave_item()
        if not self._phases and self._set.unphased is not None:
            self._phases.append(self._set.unphased)
        marker = start[start.lastindex or 0]
        status = self._set.read.get(marker)
        if status is None:
            known = ", ".join(f"[{known}]" for known in self._set.written.values())
            self.errors.append(f'Line {number}: unknown status marker "[{marker}]" (use {known})')
            return True
        blocker = None
        if self._set.comments:
            content, blocker = _split_blocker(content) if status is Status.BLOCKED else (content, None)
            content = _unescape(content)
        self._current = _ItemLines([content], status, len(self._phases) - 1 if self._phases else None, blocker)
        self._items.append(self._current)
        return True

    def _read_other(self, raw: str, line: str) -> bool:
        """Read a line that continues the item above it, or the title; False for another line."""
        text = _line(line)
        if self._set.continued and self._current is not None and raw[0] in _BLANKS and text:
            self._current.contents.append(text)
            return True
        if self._set.headings == "title" and self._title is None and not self._items and text:
            self._title = _rest(line, self._heading_start.match(line)) or text
            return True
        return False

    def finish(self) -> TodoList:
        self._leave_item()
        phases = tuple(Phase(f"f{number}", name) for number, name in enumerate(self._phases, start=1))
        todos = TodoList(
            items=tuple(_make_item(number, item, phases) for number, item in enumerate(self._items, start=1)),
            phases=phases,
            plan_id="p1",
            explanation=self._title,
            next_id=len(self._items) + 1,
        )
        todos, _ = normalise_focus(todos, self._set.policy, _EPOCH)
        timeless = (item if item.started_at is None else replace(item, started_at=None) for item in todos.items)
        return replace(todos, items=tuple(timeless))


def _make_item(number: int, reading: _ItemLines, phases: tuple[Phase, ...]) -> TodoItem:
    phase = None if reading.phase is None else phases[reading.phase]
    return TodoItem(
        id=str(number),
        content=" ".join(reading.contents),
        status=reading.status,
        phase_id=phase and phase.id,
        phase=phase and phase.name,
        notes=tuple(reading.notes),
        blocker=reading.blocker,
    )


def _rest(line: str, start: re.Match[str] | None) -> str:
    """Return the clean text after the start of a line; empty without a start, or with a line end within."""
    if start is None:
        return ""
    rest = line[start.end() :]
    return "" if any(end in rest for end in _ENDS) else _line(rest)


def _split_blocker(content: str) -> tuple[str, Blocker | None]:
    """Split a content from the blocker in the comments after it; each key counts once, so the time is linear."""
    said: dict[str, str] = {}
    while content.endswith("-->"):
        start = content.rfind("<!--")
        key, colon, text = content[start + 4 : -3].strip(_BLANKS).partition(":")
        before = content[: max(start, 0)].rstrip(_BLANKS)
        if not (before and colon and key in {"blocked", "waits on"} and key not in said):
            break
        said[key] = _unescape(text.strip(_BLANKS))
        content = before
    if not any(said.values()):
        return content, None
    return content, Blocker(said.get("blocked", ""), said.get("waits on") or None)
