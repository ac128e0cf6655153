"""The line that the board keeps ready for a session: always what its rows say, written only when it changes."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punchlist import Board, PunchlistError
from punchlist.core import commands as do
from punchlist.store import Transaction
from punchlist.store.current_work import load_line
from punchlist.store.sqlite import SqliteStore
from punchlist.testing import FakeClock
from tests.sizes import size

SESSION = "s1"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def board(clock: FakeClock) -> Iterator[Board]:
    with Board.open("memory:", clock=clock) as board:
        yield board


def _kept(board: Board, session: str = SESSION) -> dict[str, Any]:
    """Return the line in the session's row, after checking that it is what the rows of the session say."""

    def read(tx: Transaction) -> tuple[Any, Any]:
        checks = tx.find_checks(session)
        return checks and checks.line, load_line(tx, session, board.now())

    text, line = board.store.read(read)
    kept: dict[str, Any] = json.loads(text or "{}")
    assert kept == json.loads(msgspec.json.encode(line))
    kept.pop("process", None)  # that of the tests
    return kept


def test_a_new_session_has_an_empty_line(board: Board):
    board.agent("main", session=SESSION).assistant_turn(tools_used=[])
    assert _kept(board) == {}


def test_it_names_the_focus_in_its_active_form_and_what_is_next(board: Board):
    agent = board.agent("main", session=SESSION)
    agent.call("todo", {"set": [{"text": "Run tests", "doing": "Running tests"}, "Ship"]})
    started = agent.todos.items[0].started_at
    assert started is not None
    assert _kept(board) == {
        "focus": "Running tests",
        "since": int(started.timestamp()),
        "total": 2,
        "next": "Ship",
    }
    agent.call("todo", {"done": "1"})
    agent.call("todo", {"done": "2"})
    assert _kept(board) == {"done": 2, "total": 2}


def test_a_persons_edit_is_in_it(board: Board):
    agent = board.agent("main", session=SESSION)
    agent.call("todo", {"set": ["Paint"]})
    agent.edit(_append("Dry"), by="ada")
    assert _kept(board)["next"] == "Dry"
    agent.undo(by="ada")
    assert "next" not in _kept(board)


def _append(text: str) -> list[do.Append]:
    return [do.Append((do.Entry(content=text),))]


def test_it_says_what_waits_on_a_person_until_they_have_acted(board: Board):
    agent = board.agent("main", session=SESSION)
    agent.call("todo", {"set": ["Deploy", "Ship"]})
    agent.ask("1", "Which region?")
    assert (_kept(board)["waits"], _kept(board)["wait"]) == (1, "Which region?")
    agent.propose_plan("# Move to eu-west\n1. …")
    assert (_kept(board)["waits"], _kept(board)["wait"]) == (2, "Which region?")
    agent.answer("1", "eu-west", by="ada")
    assert (_kept(board)["waits"], _kept(board)["wait"]) == (1, "plan: Move to eu-west")
    agent.approve_plan(by="ada")
    assert "waits" not in _kept(board)


def test_it_names_the_check_that_makes_the_session_red_until_it_passes(board: Board):
    agent = board.agent("main", session=SESSION)
    agent.tool_started("1", "Bash", {"command": "pytest -q"})
    agent.tool_finished("1", result="1 failed in 0.1s", is_error=True, exit_code=1)
    assert _kept(board) == {"state": "red", "check": "pytest"}
    agent.tool_started("2", "Bash", {"command": "pytest -q"})
    agent.tool_finished("2", result="3 passed in 0.1s", exit_code=0)
    assert _kept(board) == {"state": "green", "check": "pytest"}


def test_subagents_are_named_while_they_are_at_work(board: Board):
    main = board.agent("main", session=SESSION)
    main.call("todo", {"set": ["Paint"]})
    child = main.spawn("explore")
    assert _kept(board)["subagents"] == [["explore", 0, 0]]
    child.call("todo", {"set": ["Look", "Listen"]})
    child.call("todo", {"done": "1"})
    assert _kept(board)["subagents"] == [["explore", 1, 2]]
    for _ in range(4):
        main.spawn("explore")
    assert ([name for name, _, _ in _kept(board)["subagents"]], _kept(board)["more"]) == (
        ["explore", "explore-2", "explore-3"],
        2,
    )
    child.finished("Seen.")
    assert [name for name, _, _ in _kept(board)["subagents"]] == ["explore-2", "explore-3", "explore-4"]
    assert _kept(board)["focus"] == "Paint"


def test_a_pending_item_that_a_subagent_was_started_for_is_the_focus(board: Board):
    main = board.agent("main", session=SESSION)
    main.call("todo", {"set": ["Paint", "Sand"]})
    child = main.spawn("helper")  # for the item in focus
    main.edit([do.Reopen(do.Target(item="1"))], by="ada")
    assert (_kept(board)["focus"], _kept(board)["next"]) == ("Paint", "Sand")
    child.finished("Painted.")
    assert "focus" not in _kept(board)


def test_tasks_are_work_like_items(board: Board):
    agent = board.agent("main", session=SESSION, dialect="claude-tasks")
    for subject in ("Read", "Paint"):
        agent.call("TaskCreate", {"subject": subject, "description": "", "activeForm": f"{subject}ing"})
    assert _kept(board) == {"total": 2, "next": "Read"}
    agent.call("TaskUpdate", {"taskId": "1", "status": "in_progress"})
    assert (_kept(board)["focus"], _kept(board)["next"]) == ("Reading", "Paint")
    board.tasks(f"session:{SESSION}").complete("1")  # by somebody else
    assert (_kept(board)["done"], _kept(board)["total"]) == (1, 2)


def test_a_session_that_is_copied_or_moved_has_its_line(board: Board):
    agent = board.agent("main", session=SESSION)
    agent.call("todo", {"set": ["Paint"]})
    line = _kept(board)
    board.copy_session(SESSION, "copy")
    assert _kept(board, "copy") == line
    board.move_session(SESSION, "moved")
    assert _kept(board, "moved") == line


def test_texts_are_one_safe_line_of_bounded_length(board: Board):
    agent = board.agent("main", session=SESSION)
    agent.call("todo", {"set": ["\x1b[31mred\x1b]0;owned\x07 one\ntwo", "x" * 1000]})
    line = _kept(board)
    assert line["focus"] == "red one two"
    assert len(line["next"]) == 160


def test_a_change_that_shows_nowhere_in_it_does_not_write_it(board: Board):
    agent = board.agent("main", session=SESSION)
    agent.call("todo", {"set": ["Paint"]})
    statements: list[str] = []
    board.store.read(lambda tx: tx.connection.set_trace_callback(statements.append))
    agent.call("todo", {"note": "1", "text": "x"})
    agent.call("todo", {"set": ["Paint"]})
    agent.tool_started("1", "Bash", {"command": "ls"})
    agent.tool_finished("1", result="a", exit_code=0)
    assert not [statement for statement in statements if "line = " in statement]
    agent.call("todo", {"done": "1"})
    assert len([statement for statement in statements if "line = " in statement]) == 1


Step = Callable[[Any, Any], object]
_STEPS: dict[str, Step] = {
    "set": lambda main, _: main.call("todo", {"set": ["a", "b", {"text": "c", "doing": "cc"}]}),
    "done": lambda main, _: main.call("todo", {"done": "1"}),
    "block": lambda main, _: main.call("todo", {"block": "2", "why": "key"}),
    "ask": lambda main, _: main.ask("1", "why?") if main.todos.find("1") else None,
    "propose": lambda main, _: main.propose_plan("a plan"),
    "reject": lambda main, _: main.reject_plan("no", by="ada") if main.plan is not None else None,
    "spawn": lambda main, _: main.spawn("kid"),
    "kid writes": lambda _, kid: kid.call("todo", {"set": ["k"]}),
    "kid ends": lambda _, kid: kid.finished("over"),
    "kid works": lambda _, kid: kid.tool_started(None, "Bash", {"command": "ls"}),
    "main ends": lambda main, _: main.finished("over"),
    "edit": lambda main, _: main.edit(_append("by hand"), by="ada"),
    "fail": lambda main, _: (
        main.tool_started("t", "Bash", {"command": "pytest"}),
        main.tool_finished("t", result="1 failed", is_error=True, exit_code=1),
    ),
    "task": lambda main, _: main.tasks().create("t"),
    "claim": lambda main, _: main.tasks().claim(),
}


@settings(max_examples=size(25, 500), deadline=None)
@given(names=st.lists(st.sampled_from(sorted(_STEPS)), max_size=12))
def test_whatever_happens_the_line_is_what_the_rows_say(names: list[str]):
    with Board.open("memory:", clock=FakeClock()) as board:
        main = board.agent("main", session=SESSION)
        kid = main.spawn("first")
        for name in names:
            with suppress(PunchlistError):  # a step that makes no sense now is refused, and changes nothing
                _STEPS[name](main, kid)
            _kept(board)


def test_a_subagent_that_was_silent_for_a_day_is_not_at_work(board: Board, clock: FakeClock):
    main = board.agent("main", session=SESSION)
    child = main.spawn("explore")
    child.tool_started("1", "Bash", {"command": "ls"})
    main.call("todo", {"set": ["Paint"]})
    assert _kept(board)["subagents"] == [["explore", 0, 0]]
    clock.advance(24 * 3600)
    main.call("todo", {"done": "1"})
    assert "subagents" not in _kept(board)


def test_steps_that_are_committed_together_write_it_too(board: Board):
    def work(tx: Transaction) -> None:
        board.agent("main", session=SESSION).call("todo", {"set": ["Paint"]})
        with suppress(ZeroDivisionError):
            board.store.transact(_fail)

    def _fail(tx: Transaction) -> None:
        tx.connection.execute("UPDATE sessions SET line = '{}' WHERE id = ?", (SESSION,))
        raise ZeroDivisionError

    assert isinstance(board.store, SqliteStore)
    board.store.joined(work)
    assert _kept(board)["focus"] == "Paint"


def test_a_damaged_row_of_another_agent_stops_no_write(board: Board):
    main = board.agent("main", session=SESSION)
    main.call("todo", {"set": ["Paint", "Sand"]})
    main.spawn("explore").call("todo", {"set": ["Look"]})
    damage = "UPDATE agents SET activity = x'00' WHERE name = 'explore'"
    board.store.transact(lambda tx: tx.connection.execute(damage))
    assert not main.call("todo", {"done": "1"}).is_error
    assert main.todos.progress.done == 1
    checks = board.store.read(lambda tx: tx.find_checks(SESSION))
    assert checks is not None
    assert checks.line is None  # the full program looks for itself
