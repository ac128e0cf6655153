"""The other marker sets: what each writes, reads and loses."""

import pytest

from punchlist.core.todo import Blocker, Phase, Status, TodoList
from punchlist.errors import UnknownName
from punchlist.markdown import MARKERS, dumps, loads
from tests.markdown.lists import BLOCKED, BUSY, DONE, DROPPED, FAILED, PENDING, item, shape, statuses, todo_list

PHASE = Phase("f1", "A")
EVERY = todo_list(
    item("p", PENDING, None, ("a note",)),
    item("i", BUSY),
    item("b", BLOCKED, None, (), Blocker("no key")),
    item("c", DONE),
    item("f", FAILED),
    item("d", DROPPED, PHASE),
    phases=(PHASE,),
    explanation="Ship\nit",
)


@pytest.mark.parametrize(
    ("markers", "text"),
    [
        ("oh-my-pi", "# Todos\n- [ ] p\n  > a note\n- [/] i\n- [/] b\n- [x] c\n- [/] f\n\n# A\n- [-] d\n"),
        (
            "punchlist",
            "- [ ] p\n  > a note\n- [>] i\n- [!] b <!-- blocked: no key -->\n- [x] c\n- [f] f\n\n## A\n- [-] d\n",
        ),
        ("roo", "[ ] p\n[-] i\n[-] b\n[x] c\n[-] f\n"),
        ("augment", "- [ ] p\n- [/] i\n- [/] b\n- [x] c\n- [/] f\n- [-] d\n"),
        ("copilot-cli", "# Ship it\n- [ ] p\n- [>] i\n- [>] b\n- [x] c\n- [>] f\n"),
        ("github", "- [ ] p\n- [ ] i\n- [ ] b\n- [x] c\n- [ ] f\n\n## A\n"),
    ],
)  # fmt: skip
def test_each_set_writes_what_it_can_express(markers: str, text: str) -> None:
    assert dumps(EVERY, markers) == text


@pytest.mark.parametrize("markers", list(MARKERS))
def test_a_set_shows_every_status_as_one_that_it_writes_or_leaves_it_out(markers: str) -> None:
    chosen = MARKERS[markers]
    assert {chosen.policy.shows(status) for status in Status} - {None} == set(chosen.written)


@pytest.mark.parametrize("markers", list(MARKERS))
def test_a_set_reads_its_own_markers_as_they_were_meant(markers: str) -> None:
    chosen = MARKERS[markers]
    assert all(chosen.read[marker] is status for status, marker in chosen.written.items())


@pytest.mark.parametrize("markers", list(MARKERS))
def test_a_set_that_loses_something_says_so(markers: str) -> None:
    chosen = MARKERS[markers]
    assert ("written as" in chosen.description) == (len(chosen.written) < len(Status))
    assert ("cancelled items" in chosen.description) == (Status.CANCELLED not in chosen.written)


@pytest.mark.parametrize("markers", [name for name in MARKERS if name != "oh-my-pi"])
def test_an_empty_list_is_an_empty_text_but_in_oh_my_pi(markers: str) -> None:
    assert dumps(TodoList(), markers) == ""
    assert loads("", markers) == (TodoList(plan_id="p1"), [])


def test_an_unknown_set_is_refused_by_name() -> None:
    for call in (lambda: dumps(TodoList(), "emacs"), lambda: loads("", "emacs")):
        with pytest.raises(UnknownName) as caught:
            call()
        assert caught.value.data == {"what": "marker set", "name": "emacs", "known": ", ".join(MARKERS)}


@pytest.mark.parametrize(
    ("markers", "status"),
    [("oh-my-pi", DROPPED), ("punchlist", DROPPED), ("augment", DROPPED), ("roo", BUSY)],
)
def test_a_dash_in_the_box_means_what_the_set_says(markers: str, status: Status) -> None:
    assert statuses(loads("- [-] a", markers)[0]) == [("a", status)]


@pytest.mark.parametrize("markers", ["copilot-cli", "github"])
def test_a_dash_in_the_box_is_an_error_where_the_set_has_none(markers: str) -> None:
    todos, errors = loads("- [-] a", markers)
    assert not todos.items
    assert errors[0].startswith('Line 1: unknown status marker "[-]" (use [ ], ')


def test_our_own_set_keeps_every_status_and_note_and_blocker() -> None:
    todos = todo_list(
        item("a <!-- blocked: b -->", BLOCKED),
        item("a -->", BLOCKED, None, (), Blocker("x --> y <!-- & &amp; &lt;", "ada")),
        item("&amp; < >", FAILED, PHASE, ("one\n\ntwo\n", "\nthree", "# A\n- [x] b")),
        item("c", BLOCKED, PHASE, (), Blocker("", "bob")),
        phases=(PHASE, Phase("f2", "A")),
    )
    back, errors = loads(dumps(todos, "punchlist"), "punchlist")
    assert (shape(back), errors) == (shape(todos), [])


def test_our_own_set_leaves_the_focus_alone() -> None:
    assert statuses(loads("- [ ] a\n- [ ] b\n", "punchlist")[0]) == [("a", PENDING), ("b", PENDING)]
    assert statuses(loads("- [>] a\n- [>] b\n", "punchlist")[0]) == [("a", BUSY), ("b", BUSY)]


def test_our_own_set_writes_notes_as_paragraphs_apart() -> None:
    todos = todo_list(item("a", notes=("one\n\ntwo", "three")))
    assert dumps(todos, "punchlist") == "- [ ] a\n  > one\n  >\n  > two\n\n  > three\n"


def test_our_own_set_reports_what_it_cannot_read() -> None:
    _, errors = loads("# A\n- [/] a\nprose\n", "punchlist")
    assert errors == [
        'Line 2: unknown status marker "[/]" (use [ ], [>], [!], [x], [f], [-])',
        'Line 3: unrecognized syntax "prose"',
    ]


def test_a_comment_that_is_not_ours_stays_in_the_content() -> None:
    text = "- [!] a <!-- why? -->\n- [x] b <!-- blocked: c -->\n- [!] <!-- blocked: d -->\n"
    todos, errors = loads(text, "punchlist")
    contents = ["a <!-- why? -->", "b <!-- blocked: c -->", "<!-- blocked: d -->"]
    assert ([item.content for item in todos.items], errors) == (contents, [])
    assert shape(loads(dumps(todos, "punchlist"), "punchlist")[0]) == shape(todos)


def test_roo_drops_every_line_that_is_no_item() -> None:
    text = "# Plan\n[ ] a\n-[x] b\n- [ X ] c\n[\t~\t] d\n  [-] e\n[?] f\n* [ ] g\n[] h\n[\t] i\n[x x] j\n[x]k\n> l\n"
    todos, errors = loads(text, "roo")
    assert errors == []
    assert statuses(todos) == [("a", PENDING), ("b", DONE), ("c", DONE), ("d", BUSY), ("e", BUSY)]
    assert todos.phases == ()


def test_augment_reads_four_markers() -> None:
    todos, errors = loads("[ ] a\n- [/] b\n[-] c\n[x] d\n[~] e\n", "augment")
    assert statuses(todos) == [("a", PENDING), ("b", BUSY), ("c", DROPPED), ("d", DONE)]
    assert errors == ['Line 5: unknown status marker "[~]" (use [ ], [/], [-], [x])']


def test_copilot_reads_a_title_numbers_and_indented_lines() -> None:
    text = "## Ship it\n\n- [ ] a\n   more\n\n\tof it\n1. [x] b\n  - [>] c\n12) [~] d\nprose\n  lost\n"
    todos, errors = loads(text, "copilot-cli")
    assert todos.explanation == "Ship it"
    assert statuses(todos) == [("a more of it", PENDING), ("b", DONE), ("c", BUSY), ("d", BUSY)]
    assert errors == ['Line 10: unrecognized syntax "prose"', 'Line 11: unrecognized syntax "lost"']


def test_copilot_needs_no_title() -> None:
    todos, errors = loads("- [ ] a\n", "copilot-cli")
    assert (todos.explanation, errors) == (None, [])


def test_github_reads_boxes_between_prose() -> None:
    text = "Hello.\n\n## Plan\n- [ ] a\n  1. [X] b\n- c\n- [link](x)\n> quote\n-[ ] d\n"
    todos, errors = loads(text, "github")
    assert shape(todos) == [("Plan", [("a", PENDING, (), None), ("b", DONE, (), None)])]
    assert errors == []
