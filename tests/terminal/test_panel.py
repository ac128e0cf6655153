"""The live panel: cards that fit."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.core.overview import NO_ACTIVITY, AgentWork, prepare_line, summarise_list
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.store import ListRow
from punchlist.terminal.lists import Frame, bar, frame_lines, list_lines
from punchlist.terminal.spans import ASCII, UNICODE, Display, Glyphs, Span, cells, cut, pad, plain

_AT = datetime(2026, 1, 1, tzinfo=UTC)


def _row(number: int, *texts: str, parent: int | None = None) -> ListRow:
    items = tuple(
        TodoItem(id=str(place), content=text, status=Status.IN_PROGRESS if place == 0 else Status.PENDING)
        for place, text in enumerate(texts)
    )
    return ListRow(number, "s", f"agent{number}", parent, None, "/p", "execute", _AT, TodoList(items=items, revision=1))


def _frame(*rows: ListRow) -> Frame:
    return Frame("Title", "0:01", "A caption of some length, said in a few words.", rows, [(Span("news"),)] * 30, {})


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
@pytest.mark.parametrize("columns", [20, 40, 79, 100, 200])
@pytest.mark.parametrize("height", [4, 12, 23, 60])
def test_a_picture_is_never_larger_than_the_terminal(glyphs: Glyphs, columns: int, height: int):
    rows = [_row(1, "One 界界界界界界界界界界界", "Two"), _row(2, "Three" * 20, parent=1), _row(3), _row(4, "Four")]
    lines = frame_lines(_frame(*rows), Display(glyphs, columns), height)
    assert len(lines) <= height
    assert max(cells(line) for line in lines) <= columns


def test_cards_stand_side_by_side_where_there_is_room_and_below_each_other_where_not():
    rows = [_row(number, "Item") for number in (1, 2, 3)]
    wide = [plain(line) for line in frame_lines(_frame(*rows), Display(columns=90), 40)]
    slim = [plain(line) for line in frame_lines(_frame(*rows), Display(columns=40), 40)]
    assert sum("╭" in line for line in wide) == 1
    assert sum("╭" in line for line in slim) == 3


def test_a_child_is_in_the_card_of_its_parent():
    lines = [
        plain(line) for line in frame_lines(_frame(_row(1, "Up"), _row(2, "Down", parent=1)), Display(columns=40), 40)
    ]
    assert sum("╭" in line for line in lines) == 1
    assert any("└ agent2 0/1" in line for line in lines)


def test_where_the_height_is_short_a_card_shows_only_what_is_being_done():
    lines = [plain(line) for line in frame_lines(_frame(_row(1, *"abcdefgh")), Display(columns=40), 12)]
    assert any(" a " in line for line in lines)
    assert not any("○" in line for line in lines)


def test_a_board_without_agents_is_a_picture_too():
    assert plain(frame_lines(_frame(), Display(columns=80), 20)[0]).startswith(" Title")


@given(done=st.integers(0, 50), rest=st.integers(0, 50), wide=st.integers(8, 80))
def test_a_bar_is_full_only_when_all_is_done(done: int, rest: int, wide: int):
    items = tuple(
        TodoItem(id=str(place), content="x", status=Status.COMPLETED if place < done else Status.PENDING)
        for place in range(done + rest)
    )
    line = bar(TodoList(items=items), UNICODE, wide)
    assert cells(line) <= max(wide, 7)
    assert (UNICODE.empty not in plain(line)) == (rest == 0 and done > 0)


@given(texts=st.lists(st.text(max_size=20), max_size=6), columns=st.integers(0, 40))
def test_a_line_is_cut_and_padded_to_the_cell(texts: list[str], columns: int):
    line = tuple(Span(text) for text in texts if text.isprintable())
    assert cells(cut(line, columns, UNICODE)) <= columns
    assert cells(pad(line, columns, UNICODE)) == columns


def test_a_completion_that_nothing_bears_out_is_marked_wherever_people_look():
    items = tuple(
        TodoItem(id=grade, content=f"Item {place}", status=Status.COMPLETED, grade=grade)
        for place, grade in enumerate(("verified", "unchecked", "unseen", "failing"))
    )
    todos = TodoList(items=items, revision=1)
    rows = [plain(line) for line in list_lines(todos, Display())]
    assert [row.rpartition(" — ")[2] for row in rows] == ["verified", "unchecked", "unseen", "failing"]
    work = AgentWork(1, "main", None, NO_ACTIVITY, summarise_list(todos))
    line = prepare_line([work], state="idle", check="", waits=(), now=_AT)
    assert (line.done, line.total, line.doubtful) == (4, 4, 2)
    row = _row(1)._replace(todos=todos)
    shown = "\n".join(plain(line) for line in frame_lines(_frame(row), Display(columns=60), 40))
    assert [grade for grade in ("verified", "unchecked", "unseen", "failing") if grade in shown] == [
        "unseen",
        "failing",
    ]
