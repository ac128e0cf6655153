"""Properties of checklists that hold for every list and every text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punchlist.core.todo import Blocker, Phase, Status, TodoItem, TodoList
from punchlist.markdown import MARKERS, dumps, loads
from punchlist.text import clean
from tests.markdown.lists import BLOCKED, BUSY, PENDING, item, shape
from tests.sizes import size
from tests.text.hostile import hostile_texts

examples = settings(max_examples=size(100, 20_000), deadline=None, print_blob=True)

COMMENT = "<!-- blocked: a -->"
PIECES = (
    *"#-*+>[]!xf/~ \t&;:", "- [ ] ", "- [!] a", "# ", "  > ", "<!--", "-->", COMMENT,
    "<!-- waits on: b -->", "--", "&amp;", "&lt;", "&gt", "amp;", "\n", "\r\n", "\n\n", "\u3000", "\ufeff", "1. ",
)  # fmt: skip

texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join)
any_texts = st.lists(texts | hostile_texts, max_size=4).map("\n".join)
lines = texts.map(lambda text: clean(text.replace("\n", " ")).text.strip())
contents = lines.filter(lambda text: bool(text) and "\n" not in text and clean(text).text == text)
notes = st.lists(texts.map(lambda text: clean(text).text).filter(bool), max_size=3).map(tuple)
blockers = st.none() | st.builds(Blocker, contents, st.none() | contents) | st.builds(Blocker, on=contents)


@st.composite
def todo_lists(draw: st.DrawFn, *, statuses: tuple[Status, ...] = tuple(Status)) -> TodoList:
    """Lists with phases, some empty, some of equal names, and items in any order."""
    names = draw(st.lists(contents | st.just("A"), max_size=4))
    phases = tuple(Phase(f"f{number}", name) for number, name in enumerate(names))
    items: list[TodoItem] = []
    for content in draw(st.lists(contents, max_size=6)):
        status = draw(st.sampled_from(statuses))
        phase = draw(st.sampled_from([None, *phases]))
        blocker = draw(blockers) if status is BLOCKED else None
        items.append(item(content, status, phase, draw(notes), blocker))
    return TodoList(items=tuple(items), phases=phases)


def split_notes(found: tuple[str, ...]) -> tuple[str, ...]:
    """Notes as oh-my-pi gives them back: one with an empty line is two."""
    paragraphs: list[list[str]] = []
    for note in found:
        paragraphs.append([])
        for line in note.split("\n"):
            if line:
                paragraphs[-1].append(line)
            else:
                paragraphs.append([])
    return tuple("\n".join(paragraph) for paragraph in paragraphs if paragraph)


@examples
@given(todo_lists())
def test_a_list_comes_back_from_our_own_set_as_it_was(todos: TodoList) -> None:
    back, errors = loads(dumps(todos, "punchlist"), "punchlist")
    assert errors == []
    assert shape(back) == shape(todos)


@examples
@given(todo_lists(statuses=(Status.COMPLETED, Status.CANCELLED)), st.none() | contents, st.lists(contents, max_size=3))
def test_a_list_comes_back_from_oh_my_pi_but_for_split_notes(
    todos: TodoList, busy: str | None, rest: list[str]
) -> None:
    """With one item in progress and the pending ones behind it, so that normalising finds nothing to do."""
    last = Phase("last", "Last")
    added = (item(busy, BUSY, last), *(item(text, PENDING, last) for text in rest)) if busy else ()
    todos = TodoList(items=(*todos.items, *added), phases=(*todos.phases, last))
    back, errors = loads(dumps(todos))
    assert errors == []
    assert shape(back) == [
        (
            "Todos" if name is None else name,
            [(text, status, split_notes(found), None) for text, status, found, _ in kept],
        )
        for name, kept in shape(todos)
    ]


@examples
@given(any_texts, st.sampled_from(list(MARKERS)))
def test_any_text_can_be_read_and_its_list_written(text: str, markers: str) -> None:
    todos, errors = loads(text, markers)
    assert [item.id for item in todos.items] == [str(number + 1) for number in range(len(todos.items))]
    assert all(item.content and "\n" not in item.content for item in todos.items)
    assert all(error.startswith("Line ") for error in errors)
    dumps(todos, markers).encode()


@examples
@given(any_texts)
def test_what_our_own_set_has_read_it_writes_and_reads_again(text: str) -> None:
    todos, _ = loads(text, "punchlist")
    assert loads(dumps(todos, "punchlist"), "punchlist") == (todos, [])


@examples
@given(st.lists(hostile_texts, max_size=5), st.sampled_from(["oh-my-pi", "punchlist", "augment"]))
def test_a_hostile_text_stays_on_its_line(found: list[str], markers: str) -> None:
    todos = TodoList(items=tuple(item(text, Status.COMPLETED) for text in found))
    back, errors = loads(dumps(todos, markers), markers)
    assert (len(back.items), errors) == (len(found), [])
    assert dumps(back, markers) == dumps(todos, markers)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("markers", list(MARKERS))
@pytest.mark.parametrize("piece", ["[", "]", ">", "#", " ", "\t", "- [", "[ ", "&amp;", "-->", COMMENT, "\r", "1"])
def test_a_long_line_is_read_in_linear_time(piece: str, markers: str) -> None:
    """In quadratic time one of these lines takes many minutes."""
    for start in ("", "- [", "- [!] a", "  >", "# "):
        line = start + piece * (size(200_000, 1_000_000) // len(piece)) + "a"
        todos, errors = loads(line, markers)
        assert len(todos.items) + len(todos.phases) + len(errors) <= 2


@pytest.mark.timeout(60)
@pytest.mark.parametrize("markers", list(MARKERS))
@pytest.mark.parametrize("line", ["- [ ] a", "# a", "prose", "  > a", "- [?] a", "  more"])
def test_many_lines_are_read_and_written(line: str, markers: str) -> None:
    count = size(5_000, 100_000)
    todos, errors = loads("- [ ] first\n" + f"{line}\n" * count, markers)
    assert len(todos.items) + len(errors) <= count + 1
    again, _ = loads(dumps(todos, markers), markers)
    assert len(again.items) == len(todos.items)
