"""A transcript, replayed into a board in memory or onto one that knows a part of it."""

from datetime import timedelta
from pathlib import Path

import pytest

from punchlist.board import Board
from punchlist.core.events import Event
from punchlist.core.todo import Status
from punchlist.logs.replay import replay_in_memory, replay_work
from punchlist.transcripts.formats import open_transcript
from tests.transcripts.sessions import START, ClaudeSession, CodexSession
from tests.transcripts.test_activity import claude, codex


def started(board: Board) -> list[Event]:
    return [event for event in board.events() if event.kind == "tool.started"]


def test_a_session_is_on_the_board_at_its_own_times(tmp_path: Path) -> None:
    session = claude()
    board, project = replay_in_memory(str(session.save(tmp_path)))
    with board:
        assert project == session.cwd
        agent = board.agent("main", session=session.session)
        assert [(item.content, item.status) for item in agent.todos.items] == [
            ("Write the form", Status.COMPLETED),
            ("Test it", Status.IN_PROGRESS),
        ]
        events = list(board.events())
        assert all(START <= event.at <= session.clock.now for event in events)
        assert board.now() == session.clock.now
        assert [event.data["name"] for event in started(board)] == ["Edit", "Task", "Grep", "Bash", "Bash"]
        assert {event.data["via"] for event in started(board)} == {"transcript"}


def test_a_subagent_is_a_child_named_by_its_type_and_labelled_by_its_call(tmp_path: Path) -> None:
    board, _ = replay_in_memory(str(claude().save(tmp_path)))
    with board:
        (spawned,) = [event for event in board.events() if event.kind == "agent.spawned"]
        assert (spawned.agent, spawned.data["child"], spawned.data["label"]) == ("main", "Explore", "Look at the tests")
        assert [event.agent for event in started(board)] == ["main", "main", "Explore", "Explore", "main"]
        finished = [event.agent for event in board.events() if event.kind == "agent.finished"]
        assert finished == ["Explore"]


def test_a_rollout_is_replayed_with_its_plan_and_its_subagents(tmp_path: Path) -> None:
    session = codex()
    board, _ = replay_in_memory(str(session.save(tmp_path)))
    with board:
        agent = board.agent("main", session=session.thread)
        assert [item.status for item in agent.todos.items] == [Status.COMPLETED, Status.IN_PROGRESS]
        assert [event.agent for event in started(board)] == ["main", "main", "main", "Ada", "main", "main"]
        ended = [event.data for event in board.events() if event.kind == "tool.finished"]
        assert [data["check_outcome"] for data in ended if "check_outcome" in data] == ["failed", "passed"]


def test_tasks_are_replayed_under_their_own_ids(tmp_path: Path) -> None:
    session = ClaudeSession()
    session.add_task("41", "Paint")
    session.add_task("42", "Sell")
    session.set_task("42", "in_progress")
    session.bash("make test", "ok")
    session.set_task("42", "completed")
    board, _ = replay_in_memory(str(session.save(tmp_path)))
    with board:
        assert [(task.subject, task.status) for task in board.tasks(f"session:{session.session}").list()] == [
            ("Paint", "pending"),
            ("Sell", "completed"),
        ]


def test_gates_of_the_user_are_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "ran"
    monkeypatch.setenv("PUNCHLIST_GATE_CREATE", f"touch {mark}")
    session = ClaudeSession()
    session.add_task("1", "Paint")
    board, _ = replay_in_memory(str(session.save(tmp_path)))
    with board:
        assert len(board.tasks(f"session:{session.session}").list()) == 1
    assert not mark.exists()


def test_the_end_of_a_transcript_leaves_nothing_to_wait_for(tmp_path: Path) -> None:
    session = claude()
    session.begin("Bash", {"command": "sleep 1000"})
    board, _ = replay_in_memory(str(session.save(tmp_path)))
    with board:
        assert [event.kind for event in board.events()][-1] == "turn.ended"
        assert list(board.stalls()) == []


# Onto a board that lasts.


def test_calls_are_put_on_a_board_once(tmp_path: Path) -> None:
    session = claude()
    transcript = open_transcript(session.save(tmp_path))
    with Board.open(tmp_path / "board.db") as board:
        agent = board.agent("main", session=session.session, dialect="claude-code", project="/projects/shop")
        assert replay_work(agent, transcript)[:2] == (5, 5)
        assert [item.status for item in agent.todos.items] == [Status.COMPLETED, Status.IN_PROGRESS]
        before = list(board.events())
        assert replay_work(agent, transcript)[:2] == (5, 0)
        assert list(board.events()) == before


def test_calls_of_a_tool_that_another_program_offered_cost_us_nothing(tmp_path: Path) -> None:
    session = claude()
    board, _ = replay_in_memory(str(session.save(tmp_path)))
    with board:
        assert board.agent("main", session=session.session).todos.items
        assert sum(row.cost.calls.arguments.count for row in board.costs()) == 0


def test_what_a_session_did_since_is_added(tmp_path: Path) -> None:
    session = claude()
    with Board.open("memory:") as board:
        agent = board.agent("main", session=session.session, dialect="claude-code")
        replay_work(agent, open_transcript(session.save(tmp_path)))
        session.todo("x Write the form", "x Test it")
        session.bash("git commit -am 'Log in'", "[main 1a2b3c4] Log in")
        assert replay_work(agent, open_transcript(session.save(tmp_path)))[:2] == (6, 1)
        assert agent.todos.is_finished
        assert started(board)[-1].at > START


def test_a_call_that_a_hook_reported_is_the_same_call(tmp_path: Path) -> None:
    session = ClaudeSession()
    session.bash("pytest -q", "3 passed in 0.1s")
    transcript = open_transcript(session.save(tmp_path))
    args = {"command": "pytest -q", "description": "pytest -q"}
    with Board.open("memory:") as board:
        agent = board.agent("main", session=session.session, dialect="claude-code")
        agent.tool_started("toolu_main_0001", "Bash", args)
        assert replay_work(agent, transcript)[:2] == (1, 0)
        ended = [event.data["check_outcome"] for event in board.events() if event.kind == "tool.finished"]
        assert (len(started(board)), ended) == (1, ["passed"])


def test_a_hook_that_reports_a_restored_call_adds_none(tmp_path: Path) -> None:
    session = ClaudeSession()
    session.bash("pytest -q", "3 passed in 0.1s")
    args = {"command": "pytest -q", "description": "pytest -q"}
    with Board.open("memory:") as board:
        agent = board.agent("main", session=session.session, dialect="claude-code")
        replay_work(agent, open_transcript(session.save(tmp_path)))
        agent.tool_started("toolu_main_0001", "Bash", args)
        agent.tool_finished("toolu_main_0001", "3 passed in 0.1s", is_error=False)
        assert len(started(board)) == 1


def test_a_call_is_the_same_though_its_transcript_tells_the_folder(tmp_path: Path) -> None:
    session = ClaudeSession(str(tmp_path))
    session.bash("cd backend", "")
    session.cwd = str(tmp_path / "backend")
    session.bash("pytest -q", "3 passed in 0.1s")
    with Board.open("memory:") as board:
        agent = board.agent("main", session=session.session, dialect="claude-code", project=tmp_path)
        replay_work(agent, open_transcript(session.save(tmp_path)))
        agent.tool_started("toolu_main_0002", "Bash", {"command": "pytest -q", "description": "pytest -q"})
        assert len(started(board)) == 2


def test_a_later_list_on_the_board_stands(tmp_path: Path) -> None:
    session = claude()
    with Board.open("memory:") as board:
        agent = board.agent("main", session=session.session, dialect="claude-code")
        later = [{"content": "Ship it", "status": "pending", "activeForm": "Shipping"}]
        agent.call("TodoWrite", {"todos": later})
        assert replay_work(agent, open_transcript(session.save(tmp_path)))[:2] == (5, 5)
        assert [item.content for item in agent.todos.items] == ["Ship it"]


def test_times_of_the_future_are_the_present(tmp_path: Path) -> None:
    session = CodexSession()
    session.clock.now += timedelta(days=36500)
    session.shell("make", "ok")
    with Board.open("memory:") as board:
        agent = board.agent("main", session=session.thread, dialect="codex")
        replay_work(agent, open_transcript(session.save(tmp_path)))
        assert all(event.at <= board.now() for event in board.events())
