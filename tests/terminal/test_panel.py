"""The lists live: a picture that fits."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.core.overview import NO_ACTIVITY, AgentWork, prepare_line, summarise_list
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.store import ListRow
from punchlist.terminal.lists import Frame, bar, frame_lines, list_lines, mark_item
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


def test_a_subagent_stands_below_its_parent_with_what_it_is_at():
    rows = (_row(1, "Up"), _row(2, "Down", "Later", parent=1))
    lines = [plain(line).rstrip() for line in frame_lines(_frame(*rows), Display(columns=60), 40)]
    below = lines.index(" └ agent2  ── 0/2")
    assert lines[below - 2 : below + 3] == [" agent1  ─ 0/1", "   ⠋ Up", " └ agent2  ── 0/2", "     ⠋ Down", ""]


def test_where_the_height_is_short_a_list_shows_what_is_being_done_and_the_next():
    lines = [plain(line).strip() for line in frame_lines(_frame(_row(1, *"abcdefgh")), Display(columns=40), 12)]
    assert lines[lines.index("⠋ a") :][:3] == ["⠋ a", "○ b", "+6 more"]


def test_a_board_without_agents_is_a_picture_too():
    assert plain(frame_lines(_frame(), Display(columns=80), 20)[0]).startswith(" Title")


@given(done=st.integers(0, 50), rest=st.integers(0, 50))
def test_a_bar_is_full_only_when_all_is_done(done: int, rest: int):
    items = tuple(
        TodoItem(id=str(place), content="x", status=Status.COMPLETED if place < done else Status.PENDING)
        for place in range(done + rest)
    )
    full, empty, count = bar(TodoList(items=items), UNICODE)
    assert cells((full, empty)) == min(done + rest, 20)
    assert (not empty.text) == (rest == 0)
    assert count.text == f" {done}/{done + rest}"


@given(texts=st.lists(st.text(max_size=20), max_size=6), columns=st.integers(0, 40))
def test_a_line_is_cut_and_padded_to_the_cell(texts: list[str], columns: int):
    line = tuple(Span(text) for text in texts if text.isprintable())
    assert cells(cut(line, columns, UNICODE)) <= columns
    assert cells(pad(line, columns, UNICODE)) == columns


def test_what_was_never_judged_has_a_dim_mark_of_its_own():
    done = TodoItem(id="1", content="a", status=Status.COMPLETED)
    verified = TodoItem(id="2", content="b", status=Status.COMPLETED, grade="verified")
    for glyphs in (UNICODE, ASCII):
        assert mark_item(done, glyphs).style == "dim"
        assert mark_item(done, glyphs).text not in glyphs.grades.values()
        assert mark_item(verified, glyphs) == Span(glyphs.grades["verified"], "good")


def test_a_completion_that_nothing_bears_out_is_marked_wherever_people_look():
    items = tuple(
        TodoItem(id=grade, content=f"Item {place}", status=Status.COMPLETED, grade=grade)
        for place, grade in enumerate(("verified", "unchecked", "unseen", "failing"))
    )
    todos = TodoList(items=items, revision=1)
    rows = [plain(line) for line in list_lines(todos, Display())]
    assert [row.rpartition(" — ")[2] for row in rows] == ["verified", "unchecked", "unseen", "failing"]
    work = AgentWork(1, "s1", "main", "", None, "", NO_ACTIVITY, summarise_list(todos))
    line = prepare_line([work], state="idle", check="", waits=(), now=_AT)
    assert (line.done, line.total) == (4, 4)
    row = _row(1)._replace(todos=todos)
    shown = "\n".join(plain(line) for line in frame_lines(_frame(row), Display(columns=60), 40))
    assert all(f"— {grade}" in shown for grade in ("verified", "unchecked", "unseen", "failing"))
