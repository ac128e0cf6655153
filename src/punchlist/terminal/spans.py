"""Build lines of styled text, and the words for counts and times that every surface shares.

Every text from a board was written by a model: it goes through `safe_line` on its way to a terminal.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeVar

from msgspec import Struct

from punchlist.text import fit, for_terminal, width

Style = Literal["plain", "dim", "bold", "focus", "good", "warning", "bad", "struck", "accent"]
_T = TypeVar("_T")


class Span(Struct, frozen=True):
    text: str
    style: Style = "plain"


Line = tuple[Span, ...]


class Glyphs(Struct, frozen=True):
    """The signs of one character set. `boxes` has one per status, `grades` one per grade: ● is done and not judged."""

    boxes: dict[str, str]
    grades: dict[str, str]
    ellipsis: str
    quotes: tuple[str, str]
    dot: str
    dash: str
    arrow: str
    pause: str
    branch: str
    full: str
    empty: str
    edge: str
    spinner: str


_QUOTES = (ord("“"), ord("”"))
_BOXES = ("pending", "in_progress", "blocked", "completed", "failed", "cancelled")
_GRADES = ("verified", "failing", "unchecked", "unseen", "confirmed")
UNICODE = Glyphs(
    boxes=dict(zip(_BOXES, "○▸⊘●✗⊟", strict=True)),
    grades=dict(zip(_GRADES, "✓✗?·★", strict=True)),
    ellipsis="…",
    quotes=("“", "”"),
    dot="·",
    dash="—",
    arrow="▸",
    pause="‖",
    branch="└",
    full="━",
    empty="─",
    edge="│",
    spinner="⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏",
)
ASCII = Glyphs(
    boxes=dict(zip(_BOXES, ("[ ]", "[>]", "[!]", "[o]", "[f]", "[-]"), strict=True)),
    grades=dict(zip(_GRADES, ("[x]", "[f]", "[?]", "[.]", "[*]"), strict=True)),
    ellipsis="...",
    quotes=('"', '"'),
    dot="-",
    dash="-",
    arrow=">",
    pause="[=]",
    branch="\\",
    full="#",
    empty=".",
    edge="|",
    spinner="|/-\\",
)


class Display(Struct, frozen=True):
    """The abilities of the reader's terminal; `columns` is None where lines may be of any length."""

    glyphs: Glyphs = UNICODE
    columns: int | None = None

    def cut(self, line: Line) -> Line:
        return cut(line, self.columns, self.glyphs)


def show_name(name: str, glyphs: Glyphs) -> str:
    """Return the name of an agent as a terminal shows it."""
    return safe_line(name).replace(" · ", f" {glyphs.dot} ")


def safe_line(text: str) -> str:
    """Return a text from a board as one line that is safe for a terminal."""
    return for_terminal(text)


def safe_sentence(text: str, glyphs: Glyphs) -> str:
    """Return a sentence about an agent as one safe line, with the quotation marks of the terminal."""
    return safe_line(text).translate(dict(zip(_QUOTES, glyphs.quotes, strict=True)))


def quote(text: str, glyphs: Glyphs) -> str:
    return f"{glyphs.quotes[0]}{safe_line(text)}{glyphs.quotes[1]}"


def cells(line: Iterable[Span]) -> int:
    return sum(width(span.text) for span in line)


def plain(line: Iterable[Span]) -> str:
    return "".join(span.text for span in line)


def plain_text(lines: Iterable[Line]) -> str:
    """Return lines as a text without styles, for a file or a program."""
    return "".join(f"{plain(line).rstrip()}\n" for line in lines)


def cut(line: Line, columns: int | None, glyphs: Glyphs) -> Line:
    """Return the line, cut by cells to fit; the sign of the cut has the style of the span that it cuts."""
    if columns is None or cells(line) <= columns:
        return line
    kept: list[Span] = []
    room = columns
    for span in line:
        wide = width(span.text)
        if wide < room:
            kept.append(span)
            room -= wide
            continue
        # One cell more than there is room for, so that the cut shows even where the span itself would just fit.
        text = span.text if wide > room else span.text + " "
        kept.append(Span(fit(text, room, glyphs.ellipsis), span.style))
        break
    return tuple(kept)


def pad(line: Line, columns: int, glyphs: Glyphs) -> Line:
    """Return the line, cut or filled with spaces to exactly this many cells."""
    short = cut(line, columns, glyphs)
    return (*short, Span(" " * (columns - cells(short))))


def pack(parts: Iterable[str], columns: int, between: str) -> Iterator[str]:
    """Pack short texts into as few lines as they take, of so many cells at most; 0 for one line of any length.

    A part is only broken if it is wider than a line. At the end of a line `between` is left out, but for its comma.
    """
    line, comma = "", between.rstrip() if between.startswith(",") else ""
    for part in parts:
        longer = f"{line}{between}{part}" if line else part
        if not columns or width(longer) + len(comma) <= columns:
            line = longer
            continue
        if line:
            yield line + comma
        *full, line = _break_text(part, columns - len(comma))
        yield from full
    if line:
        yield line


def _break_text(text: str, columns: int) -> list[str]:
    """Break a text between its words, and within those that are too wide themselves."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if width(longer) <= columns:
            lines[-1] = longer
            continue
        rest = word
        while width(rest) > columns and (head := fit(rest, columns, "")):
            lines.append(head)
            rest = rest[len(head) :]
        lines.append(rest)
    return [line for line in lines if line] or [""]


def walk_tree(
    rows: Sequence[_T], key: Callable[[_T], object], parent: Callable[[_T], object]
) -> Iterator[tuple[int, _T]]:
    """Yield rows with their depth, children after their parent; a row whose parent is not among them is at the top."""
    known = {key(row) for row in rows}
    children: dict[object, list[_T]] = {}
    for row in rows:
        above = parent(row)
        children.setdefault(above if above in known else None, []).append(row)
    waiting = [(0, row) for row in reversed(children.get(None, []))]
    while waiting:
        depth, row = waiting.pop()
        yield depth, row
        waiting.extend((depth + 1, child) for child in reversed(children.get(key(row), [])))
