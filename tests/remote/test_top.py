"""`punchlist top --server`: the agents of a team's board, live; a person answers, decides and edits by their token."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.agent import Agent
from punchlist.core.approval import PlanState
from tests.cli.terminals import Terminal, open_terminal
from tests.remote.conftest import Served
from tests.server.conftest import make_token


@pytest.fixture
def agent(served: Served, tmp_path: Path) -> Generator[Agent]:
    """An agent of another machine, at work on the board of the server."""
    with Board.open(served.path) as board:
        agent = board.agent(session=f"s-{tmp_path.name}", project=str(tmp_path))
        agent.call("todo", {"set": ["Fix the login", "Test the login"], "start": "1"})
        yield agent


@contextmanager
def top(served: Served, token: str, *arguments: str) -> Generator[Terminal]:
    words = ("top", "--server", served.url, *arguments)
    with open_terminal(140, 30, *words, PUNCHLIST_TOKEN=token) as terminal:
        terminal.wait_for("Punchlist")
        yield terminal
        terminal.press("q")
        assert terminal.wait_for_end() == 0
        assert b"Traceback" not in terminal.shown


def test_a_person_answers_decides_and_edits_on_the_board_of_a_server(
    served: Served, agent: Agent, tmp_path: Path
) -> None:
    with Board.open(served.path) as board:
        token = make_token(board, "ada", "edit", person=True)
    with top(served, token, "--project", str(tmp_path)) as terminal:
        terminal.wait_for(f"live from {served.url.removeprefix('http://')}")
        assert "Test the login" in terminal.wait_for("Test the login")  # the list of the selected agent
        agent.ask("1", "Which region?")  # what happens there is shown here
        terminal.wait_for("1 waits for you")
        terminal.press("\r")
        terminal.wait_for("Which region? ▏")
        terminal.press("eu-west\r")
        terminal.wait_for("Answered: Fix the login. Its agent hears it at once if it is idle")
        terminal.press("a")
        terminal.wait_for("Add to")
        terminal.press("Tell the team\r")
        terminal.wait_for("Added to")
        terminal.wait_for("0/3")
        agent.enter_plan_mode()
        agent.propose_plan("# Ship it\n1. Build\n2. Send")
        terminal.wait_for("approve or reject: Ship it")
        terminal.press("p")
        terminal.wait_for("y approve")
        terminal.press("y")
        terminal.wait_for("Approved: Ship it")
    assert [item.content for item in agent.todos.items][-1] == "Tell the team"
    assert agent.plan is not None
    assert (agent.plan.state, agent.plan.decided_by) == (PlanState.APPROVED, "ada")
    events = [one for one in agent.board.events() if one.session == agent.session]
    (answered,) = [one for one in events if one.kind == "question.answered"]
    assert (answered.by, answered.data["answer"], answered.data["person"]) == ("ada", "eu-west", True)


def test_keys_of_the_machine_of_the_board_say_so_and_seen_is_of_the_token(
    served: Served, agent: Agent, tmp_path: Path
) -> None:
    with top(served, served.token, "--project", str(tmp_path)) as terminal:
        terminal.wait_for("Test the login")
        for key, command in (("e", "todo edit"), ("c", "todo continue"), ("n", "notify")):
            terminal.press(key)
            terminal.wait_for(f"`punchlist {command}` is not possible over HTTP; do it on the machine of the board")
        terminal.press("s")
        terminal.wait_for("Seen: what is new from now on is shown.")
    mark = f"brief laptop {tmp_path}"
    with Board.open(served.path) as board:
        assert board.store.read(lambda tx: tx.log.mark(mark)) > 0


def test_a_token_that_may_only_look_changes_nothing(served: Served, agent: Agent, tmp_path: Path) -> None:
    with Board.open(served.path) as board:
        token = make_token(board, "eve", "look")
    before = agent.todos
    with top(served, token, "--project", str(tmp_path)) as terminal:
        terminal.wait_for("Test the login")
        terminal.press("a")
        terminal.wait_for("Add to")
        terminal.press("Mine\r")
        terminal.wait_for("check the token and its scope")
        terminal.press("\x1b")
    assert agent.todos == before
