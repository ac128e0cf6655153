"""The last lines of a check that fails: they stand in the session's state and in the report of an item."""

from punchlist import Board
from tests.board.work import Session

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF"
OUTPUT = f"""{"." * 5000}
E       assert total() == 100
E         TOKEN={SECRET}

tests/test_cart.py:31: AssertionError
\x1b[31mFAILED\x1b[0m tests/test_cart.py::test_total - {"long " * 100}
1 failed, 3 passed in 0.1s
"""


def tail_of(session: Session) -> list[str]:
    (check,) = session.report().checks
    return check.tail.splitlines()


def test_a_check_that_fails_leaves_its_last_lines_without_secrets_escapes_and_blank_lines() -> None:
    session = Session()
    session.write("> Add", "Test")
    session.edit().fail(result=OUTPUT)
    session.write("x Add", "> Test")
    lines = tail_of(session)
    assert lines[0] == "E       assert total() == 100"
    assert lines[-1] == "1 failed, 3 passed in 0.1s"
    assert lines[3].startswith("FAILED tests/test_cart.py::test_total - long long")
    assert max(map(len, lines)) <= 160
    assert SECRET not in "\n".join(lines)
    entry = session.entries["Add"]
    assert entry.grade == "failing"
    assert entry.check is not None
    assert entry.check.tail.splitlines() == lines
    assert not any(SECRET in str(event.data) for event in session.board.events())


def test_only_a_few_lines_are_kept() -> None:
    session = Session().fail(result="".join(f"line {number}\n" for number in range(10_000)) + "1 failed in 0.1s")
    assert tail_of(session) == [*(f"line {number}" for number in range(9_993, 10_000)), "1 failed in 0.1s"]


def test_a_check_that_passes_leaves_no_lines() -> None:
    assert tail_of(Session().fail().run()) == []


def test_no_lines_are_kept_where_previews_are_off() -> None:
    assert tail_of(Session(previews=0).fail(result=OUTPUT)) == []


def test_the_lines_of_a_background_check_are_those_that_another_call_read() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        agent.tool_started("c1", "Bash", {"command": "pytest -q", "run_in_background": True})
        agent.tool_finished("c1", "Command running in background with ID: bash_1", is_error=False)
        agent.tool_started("c2", "BashOutput", {"bash_id": "bash_1"})
        agent.tool_finished("c2", {"exit_code": 1, "stdout": "E  assert 1 == 2\n1 failed in 0.1s"}, is_error=False)
        (check,) = board.report(session="s1").checks
        assert check.tail.splitlines() == ["E  assert 1 == 2", "1 failed in 0.1s"]
