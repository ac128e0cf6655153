"""The page of a proposed plan: its text as Markdown, what changed since the last revision, and what a decision does."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache
from typing import Final, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from punchlist.board import Board
from punchlist.core.programs import PROGRAMS
from punchlist.errors import PlanMissing
from punchlist.server.pages.rendering import Values
from punchlist.text import for_terminal
from punchlist.views.brief_groups import split_name
from punchlist.views.list_owners import load_session_name
from punchlist.views.now import AgentNow

_ITEM: Final = re.compile(r"\s*(?:(\d{1,9})[.)]|[-*+])\s+(?:\[[^\]]\]\s+)?")
_MARKUP: Final = re.compile(r"[\s|:>*_-]*$|\s*(?:```|~~~)")
"""Lines that hold no words: rules, the lines around code and below the heads of a table."""

_HEADING: Final = re.compile(r"\s{0,3}#{1,6}\s+(.*?)[\s#]*$")
_BOX: Final = re.compile(r"\[([ xX])\] ")
_BLOCKS: Final = frozenset({"paragraph_open", "heading_open", "fence", "code_block", "tr_open"})
_WORD: Final = re.compile(r"\S+\s*")
_ALIKE: Final = 0.3
"""Share of equal words from which one line is a new form of another."""

_MOST_LIKE: Final = 20
_LONGEST_LINE: Final = 2_000
"""Old lines that a new one is compared with, and characters of a line that is: comparing takes their product."""


def load_plan(
    board: Board, session: str, agent: str, revision: int | None = None, seen: AgentNow | None = None
) -> Values:
    """Return a revision of an agent's plan, by default the latest, and all others; raise `PlanMissing` without one.

    `seen` is the agent as its host tells of it.
    """
    plans = [plan for plan in board.agent(agent, session=session).plans if plan.text]
    chosen = next((plan for plan in reversed(plans) if revision in (None, plan.revision)), None)
    if chosen is None:
        raise PlanMissing
    before = next((plan for plan in reversed(plans) if plan.revision < chosen.revision), None)
    own = ("plan", agent, str(chosen.revision))
    project = board.store.read(lambda tx: tx.session_project(session)) or ""
    changes = [] if before is None else list(compare(before.text, chosen.text))
    host = "" if seen is None else seen.host
    return {
        "session": session,
        "name": split_name(load_session_name(board.store, session, agent)),
        "project": project,
        "agent": agent,
        "at": board.now(),
        "plan": chosen,
        # None if there is nothing to decide.
        "wait": next((one for one in board.waits(session=session) if (one.kind, one.agent, one.id) == own), None),
        "steps": len(chosen.todos.items),
        "body": render_markdown(chosen.text, {change.line: change.kind for change in changes}, chosen.title),
        "before": before,
        "changes": changes,
        "counts": Counter(change.kind for change in changes),
        "told": _describe_next(host),
        "revisions": plans,
    }


def _describe_next(host: str) -> str:
    """Return when the agent is told of an approval (see `people/back_channel.py`)."""
    title = PROGRAMS[host].title if host in PROGRAMS else "the agent"
    if host == "codex":
        return f"{title} is told now if it is idle, else at its next turn, and begins"
    if host == "claude-code":
        return f"{title} is told with your next prompt to it, and begins"
    return f"{title} is told at its next turn, and begins"


# What changed.


class PlanChange(NamedTuple):
    """A line that is new, changed or gone; `line` is its number in the text, or that of the line before it."""

    kind: str
    line: int
    place: str
    """The step or the heading that it belongs to."""
    pieces: Sequence[tuple[str, str]]
    """Parts of the line, each with `same`, `ins` or `del`."""


class _Line(NamedTuple):
    number: int
    text: str
    place: str


def compare(before: str, after: str) -> Iterator[PlanChange]:
    """Yield what changed from one text to another, line by line; the number of a step is no change."""
    old, new = list(_read_lines(before)), list(_read_lines(after))
    matcher = SequenceMatcher(None, [line.text for line in old], [line.text for line in new])
    for kind, begin, end, start, stop in matcher.get_opcodes():
        if kind == "equal":
            continue
        gone = old[begin:end]
        for line in new[start:stop]:
            like = next((one for one in gone[:_MOST_LIKE] if _is_alike(one.text, line.text)), None)
            if like is None:
                yield PlanChange("new", line.number, line.place, [("ins", line.text)])
                continue
            gone.remove(like)
            yield PlanChange("changed", line.number, line.place, list(_compare_words(like.text, line.text)))
        for line in gone:
            yield PlanChange("gone", -1, line.place, [("del", line.text)])


def _read_lines(text: str) -> Iterator[_Line]:
    heading = step = ""
    for number, line in enumerate(for_terminal(text, lines=True).splitlines()):
        if found := _HEADING.match(line):
            heading = "" if line.lstrip().startswith("# ") else found[1]  # the title stands above the page
        item = _ITEM.match(line)
        if line.strip() and not line.startswith((" ", "\t")):
            step = f"Step {item[1]}" if item is not None and item[1] else ""
        place = step or heading
        content = found[1] if found else line[item.end() if item is not None else 0 :].strip()
        if not _MARKUP.match(content):
            yield _Line(number, content, place)


def _is_alike(old: str, new: str) -> bool:
    if max(len(old), len(new)) > _LONGEST_LINE:
        return False
    return SequenceMatcher(None, old.split(), new.split()).ratio() >= _ALIKE


def _compare_words(old: str, new: str) -> Iterator[tuple[str, str]]:
    before, after = _WORD.findall(old), _WORD.findall(new)
    for kind, begin, end, start, stop in SequenceMatcher(None, before, after).get_opcodes():
        if kind == "equal":
            yield "same", "".join(after[start:stop])
            continue
        if begin < end:
            yield "del", "".join(before[begin:end])
        if start < stop:
            yield "ins", "".join(after[start:stop])


# Markdown.


@cache
def _parser() -> MarkdownIt:
    """Return a parser of Markdown without HTML and images, whose links lead to other servers or nowhere."""
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    made.validateLink = lambda url: url.lower().startswith(("http://", "https://"))  # pyright: ignore[reportAttributeAccessIssue]
    return made


def render_markdown(text: str, changed: dict[int, str], title: str = "") -> Markup:
    """Return a text as HTML; `changed` says which lines are `new` or `changed`. A heading `title` is left out."""
    parser = _parser()
    tokens = parser.parse(for_terminal(text, lines=True))
    if len(tokens) > 1 and tokens[0].type == "heading_open" and tokens[1].content.strip() == title:
        del tokens[:3]
    for place, token in enumerate(tokens):
        if token.type.startswith("heading_"):
            # Below the headings of the page.
            token.tag = f"h{min(6, max(3, int(token.tag[1]) + 1))}"
        token.attrs.pop("style", None)
        if token.type == "inline":
            _prepare_inline(token)
        if token.type in _BLOCKS and token.map is not None:
            kinds = {changed[line] for line in range(*token.map) if line in changed}
            if kinds:
                _mark_block(tokens, place, "new" if kinds == {"new"} else "changed")
    return Markup(parser.renderer.render(tokens, parser.options, {}))


def _prepare_inline(token: Token) -> None:
    for child in token.children or ():
        if child.type == "link_open":
            child.attrs["rel"] = "noreferrer noopener"
    first = token.children[0] if token.children else None
    if first is not None and (box := _BOX.match(first.content)):
        first.content = f"{'☐' if box[1] == ' ' else '☑'} {first.content[box.end() :]}"


def _mark_block(tokens: list[Token], place: int, kind: str) -> None:
    """Give a block the class of its change, and a word at its end; a paragraph that begins an item, to the item."""
    before, after = tokens[place - 1], tokens[place + 1 : place + 2]
    (before if place and before.type == "list_item_open" else tokens[place]).attrJoin("class", kind)
    if after and after[0].type == "inline" and after[0].children is not None:
        after[0].children.append(Token("html_inline", "", 0, content=f' <span class="tag {kind}">{kind}</span>'))
