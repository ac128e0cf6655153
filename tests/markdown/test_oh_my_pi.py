"""The checklist of oh-my-pi, to the letter."""

import pytest

from punchlist.core.todo import Phase, TodoList
from punchlist.markdown import dumps, loads
from tests.markdown.lists import BLOCKED, BUSY, DONE, DROPPED, FAILED, PENDING, item, statuses, todo_list

FIRST, SECOND = Phase("f1", "Foundation"), Phase("f2", "Verification")


def test_phases_are_written_apart_by_one_blank_line() -> None:
    todos = todo_list(
        item("Done work", DONE, FIRST),
        item("Active work", BUSY, FIRST),
        item("Dropped work", DROPPED, FIRST),
        item("Open work", PENDING, SECOND),
        phases=(FIRST, SECOND),
    )
    assert dumps(todos) == (
        "# Foundation\n- [x] Done work\n- [/] Active work\n- [-] Dropped work\n\n# Verification\n- [ ] Open work\n"
    )


def test_notes_are_quoted_with_a_lone_mark_between_them_and_for_an_empty_line() -> None:
    todos = todo_list(item("a", PENDING, FIRST, ("one\n\ntwo", "second")), phases=(FIRST,))
    assert dumps(todos) == "# Foundation\n- [ ] a\n  > one\n  >\n  > two\n  >\n  > second\n"


def test_an_empty_list_is_a_lone_heading() -> None:
    assert dumps(TodoList()) == "# Todos\n"


def test_an_empty_phase_is_kept() -> None:
    assert dumps(todo_list(phases=(FIRST, SECOND))) == "# Foundation\n\n# Verification\n"
    assert loads("# Foundation\n\n# Verification\n")[0].phases == (FIRST, SECOND)


def test_items_without_a_phase_come_first_under_todos() -> None:
    todos = todo_list(item("a", PENDING, FIRST), item("b"), phases=(FIRST,))
    assert dumps(todos) == "# Todos\n- [ ] b\n\n# Foundation\n- [ ] a\n"


def test_items_are_written_in_the_order_of_their_phases() -> None:
    todos = todo_list(
        item("b", PENDING, SECOND),
        item("a", DONE, FIRST),
        item("c", PENDING, SECOND),
        item("d", PENDING, FIRST),
        phases=(FIRST, SECOND),
    )
    assert dumps(todos) == "# Foundation\n- [x] a\n- [ ] d\n\n# Verification\n- [ ] b\n- [ ] c\n"


def test_a_phase_that_only_an_item_names_is_written_at_the_end() -> None:
    todos = todo_list(
        item("a", DONE, Phase("f9", "Later")), item("b", DONE, Phase("f8", "Foundation")), phases=(FIRST,)
    )
    assert dumps(todos) == "# Foundation\n- [x] b\n\n# Later\n- [x] a\n"


def test_blocked_and_failed_are_written_as_in_progress() -> None:
    todos = todo_list(item("a", BLOCKED), item("b", FAILED))
    assert dumps(todos) == "# Todos\n- [/] a\n- [/] b\n"


def test_a_line_break_cannot_forge_a_line() -> None:
    todos = todo_list(item("a\n- [x] b\r\n# c\u2028d", PENDING, Phase("f1", "A\n# B")), phases=(Phase("f1", "A\n# B"),))
    assert dumps(todos) == "# A # B\n- [ ] a - [x] b # c d\n"


def test_what_a_terminal_would_obey_is_not_written() -> None:
    todos = todo_list(item("\x1b[31mred\x1b[0m\x07", notes=("\x1b]0;title\x07n\u202eote",)))
    assert dumps(todos) == "# Todos\n- [ ] red\n  > note\n"
    assert dumps(todo_list(item("half \ud83d"))).encode() == "# Todos\n- [ ] half \ufffd\n".encode()


def test_a_text_with_nothing_to_see_is_written_as_no_text() -> None:
    blank = Phase("f1", " ")
    assert dumps(todo_list(item("\u200b", PENDING, blank), phases=(blank,))) == "# (no text)\n- [ ] (no text)\n"


@pytest.mark.parametrize(
    ("marker", "status"),
    [
        ("", PENDING), (" ", PENDING), ("x", DONE), ("X", DONE),
        ("/", BUSY), (">", BUSY), ("-", DROPPED), ("~", DROPPED),
    ],
)  # fmt: skip
def test_each_marker_is_read_as_its_status(marker: str, status: str) -> None:
    todos, errors = loads(f"# A\n- [{marker}] a\n- [/] b\n" if status == PENDING else f"# A\n- [{marker}] a\n")
    assert (todos.items[0].status, errors) == (status, [])


def test_an_unknown_marker_is_an_error_and_its_line_skipped() -> None:
    todos, errors = loads("# Phase\n- [?] Mystery\n  > lost\nplain prose  \n- [ ] fine\n")
    assert errors == [
        'Line 2: unknown status marker "[?]" (use [ ], [x], [/], [-])',
        'Line 3: unrecognized syntax "> lost"',
        'Line 4: unrecognized syntax "plain prose"',
    ]
    assert statuses(todos) == [("fine", BUSY)]


@pytest.mark.parametrize(
    "line",
    [
        "1. [ ] numbered", "- [ ]no blank", "####### seven", "#NoSpace", "- [ ]", "#", "- no box", "> nothing above",
        "[ ] no bullet", "- [xx] two", "- [\U0001f600] astral", "- [ ] line\rend", "# line\u2028end", "- [ ] \u200b",
    ],
)  # fmt: skip
def test_anything_else_is_an_error(line: str) -> None:
    todos, errors = loads(f"\r\n{line}\r\n")
    assert errors == [f'Line 2: unrecognized syntax "{line}"']
    assert not todos.items


@pytest.mark.parametrize("bullet", ["- ", "* ", "+ ", "-", "*\t", "  - ", "-\u3000"])
def test_any_bullet_with_or_without_blanks_begins_an_item(bullet: str) -> None:
    todos, errors = loads(f"{bullet}[x]  a b \t\n")
    assert (statuses(todos), errors) == ([("a b", DONE)], [])


@pytest.mark.parametrize("heading", ["# A", "###### A", "  ## A  ", "#\tA", "#\ufeffA"])
def test_a_heading_of_any_level_is_a_phase(heading: str) -> None:
    todos, errors = loads(heading)
    assert ([phase.name for phase in todos.phases], errors) == (["A"], [])


def test_items_before_any_heading_belong_to_todos() -> None:
    todos, errors = loads("- [/] First\n- [/] Second\n# Todos\n- [x] Third\n")
    assert errors == []
    assert todos.phases == (Phase("f1", "Todos"), Phase("f2", "Todos"))
    assert [item.phase_id for item in todos.items] == ["f1", "f1", "f2"]


def test_equal_headings_make_separate_phases() -> None:
    todos, _ = loads("# A\n- [x] a\n# A\n- [x] b\n")
    assert todos.phases == (Phase("f1", "A"), Phase("f2", "A"))
    assert [(item.phase_id, item.phase) for item in todos.items] == [("f1", "A"), ("f2", "A")]


def test_the_first_pending_item_is_put_in_progress_if_none_is() -> None:
    todos, _ = loads("# A\n- [x] a\n- [ ] b\n- [ ] c\n")
    assert statuses(todos) == [("a", DONE), ("b", BUSY), ("c", PENDING)]


def test_only_the_first_item_in_progress_stays_so() -> None:
    todos, _ = loads("# A\n- [ ] a\n- [/] b\n# B\n- [>] c\n")
    assert statuses(todos) == [("a", PENDING), ("b", BUSY), ("c", PENDING)]


def test_an_empty_quote_ends_a_note_and_a_blank_line_does_not() -> None:
    todos, errors = loads("- [x] a\n  > one\n\n> two\n  >\n >three\n  >\n  >\n- [x] b\n  >  four \n")
    assert errors == []
    assert [item.notes for item in todos.items] == [("one\ntwo", "three"), (" four ",)]


def test_a_note_with_an_empty_line_comes_back_as_two() -> None:
    todos, _ = loads(dumps(todo_list(item("a", notes=("one\n\ntwo\n", "", "three")))))
    assert todos.items[0].notes == ("one", "two", "three")


def test_a_read_list_is_numbered_from_one_and_has_no_times() -> None:
    todos, _ = loads("# A\n- [ ] a\n- [x] b\n")
    assert (todos.plan_id, todos.revision, todos.next_id) == ("p1", 0, 3)
    assert [item.id for item in todos.items] == ["1", "2"]
    assert {(item.created_at, item.started_at, item.finished_at) for item in todos.items} == {(None, None, None)}


@pytest.mark.parametrize("text", ["", "\n", " \r\n\t\n", "\ufeff"])
def test_a_blank_text_is_an_empty_list(text: str) -> None:
    assert loads(text) == (TodoList(plan_id="p1"), [])


def test_what_a_terminal_would_obey_is_not_read() -> None:
    todos, errors = loads("# A\x07\n- [ ] \x1b[31mred\n  > n\u202eote\n")
    assert (todos.phases[0].name, todos.items[0].content, todos.items[0].notes, errors) == ("A", "red", ("note",), [])
