"""Leftovers come along: a new conversation is offered the open items of the one that ended before it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from punchlist import Agent, Board
from punchlist.agent.leftovers import continue_for_person
from punchlist.hooks.events import answer_event
from punchlist.people.back_channel import find_running
from punchlist.testing import FakeClock
from punchlist_hook import mark_process
from tests.board.test_worktrees import git
from tests.hooks.hosts import Host

NOW = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW)


@pytest.fixture
def board(tmp_path: Path, clock: FakeClock) -> Any:
    with Board.open(tmp_path / "board.db", clock=clock) as opened:
        yield opened


def _leave(board: Board, session: str, *items: str, project: Path) -> Agent:
    """End a session whose first item is done and whose others are open."""
    agent = board.agent("main", session=session, project=project)
    agent.call("todo", {"set": list(items)})
    agent.call("todo", {"done": ["1"]})
    agent.finished()
    return agent


def _texts(agent: Agent) -> dict[str, str]:
    return {item.id: item.content for item in agent.todos.items if item.is_open}


# The offer.


def test_the_first_prompt_of_a_new_conversation_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    Board.open(path).close()
    old = Host(path, tmp_path, session="5f0c1a2b-0000-4000-8000-000000bede30")
    old.hook("UserPromptSubmit", prompt="Fix it")
    old.write_todos("t", **{"Read the code": "completed", "Fix the login": "pending", "Ship it": "pending"})
    old.hook("SessionEnd", reason="clear")
    new = Host(path, tmp_path, session="new-1")
    assert new.hook("SessionStart", source="clear") == {}
    said = new.hook("UserPromptSubmit", prompt="Hello")["hookSpecificOutput"]["additionalContext"]
    assert "an offer, not work to do" in said
    assert "2 open items" in said
    assert "Fix the login" in said
    assert '`todo {"continue": "bede30"}`' in said
    assert "Read the code" not in said
    assert len(said) <= 600
    assert "bede30" not in json.dumps(new.hook("UserPromptSubmit", prompt="And now?"))


def test_a_conversation_that_is_resumed_is_told_nothing(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        _leave(board, "old-1", "Read", "Fix", project=tmp_path)
    new = Host(path, tmp_path, session="new-1")
    new.hook("SessionStart", source="resume")
    assert new.hook("UserPromptSubmit", prompt="Go on") == {}


def test_an_offer_of_many_long_items_has_600_characters_at_most(board: Board, tmp_path: Path) -> None:
    _leave(board, "old-1", *(f"{number} {'ä' * 3_000}" for number in range(200)), project=tmp_path)
    said = board.agent("main", session="new", project=tmp_path).offer_leftovers()
    assert said is not None
    assert len(said) <= 600
    assert "199 open items" in said
    assert said.endswith("</punchlist>")


def test_only_the_newest_session_is_offered(board: Board, tmp_path: Path, clock: FakeClock) -> None:
    for session in ("first", "second", "third"):
        clock.set(clock() + timedelta(hours=1))
        _leave(board, session, "Read", f"Fix {session}", project=tmp_path)
    said = board.agent("main", session="new", project=tmp_path).offer_leftovers()
    assert said is not None
    assert "Fix third" in said
    assert "Fix second" not in said


def test_nothing_is_offered_in_another_worktree(board: Board, tmp_path: Path) -> None:
    repository, other = tmp_path / "api", tmp_path / "fix-login"
    repository.mkdir()
    git(repository, "init", "-q")
    git(repository, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(repository, "worktree", "add", "-q", str(other))
    _leave(board, "old", "Read", "Fix", project=repository)
    assert board.agent("main", session="new", project=other).offer_leftovers() is None
    assert board.agent("main", session="new", project=repository).offer_leftovers() is not None


def test_a_finished_list_is_not_offered(board: Board, tmp_path: Path) -> None:
    _leave(board, "old", "Read", project=tmp_path)
    assert board.agent("main", session="new", project=tmp_path).offer_leftovers() is None


def test_items_are_not_offered_after_14_days(board: Board, tmp_path: Path, clock: FakeClock) -> None:
    _leave(board, "old", "Read", "Fix", project=tmp_path)
    agent = board.agent("main", session="new", project=tmp_path)
    clock.set(clock() + timedelta(days=13, hours=23))
    assert agent.offer_leftovers() is not None
    clock.set(clock() + timedelta(hours=2))
    assert agent.offer_leftovers() is None


@pytest.mark.parametrize(("variable", "value"), [("PUNCHLIST_LEFTOVERS", "off"), ("PUNCHLIST_TODOS", "off")])
def test_a_setting_turns_the_offer_off(
    board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    _leave(board, "old", "Read", "Fix", project=tmp_path)
    monkeypatch.setenv(variable, value)
    assert board.agent("main", session="new", project=tmp_path).offer_leftovers() is None


def test_the_profile_off_is_offered_nothing(board: Board, tmp_path: Path) -> None:
    _leave(board, "old", "Read", "Fix", project=tmp_path)
    assert board.agent("main", session="new", project=tmp_path, profile="off").offer_leftovers() is None


def test_the_offer_is_counted_in_the_ledger(board: Board, tmp_path: Path) -> None:
    _leave(board, "old", "Read", "Fix", project=tmp_path)
    agent = board.agent("main", session="new", project=tmp_path)
    agent.offer_leftovers()
    (cost,) = board.costs(session="new")
    assert cost.cost.tokens > 0


# A session that lives.


@pytest.mark.sqlite
def test_nothing_is_taken_from_a_session_whose_process_runs(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    Board.open(path).close()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as living:
        _tell(path, tmp_path, "old-1", living.pid)
        new = Host(path, tmp_path, session="new-1")
        assert new.hook("UserPromptSubmit", prompt="Hello") == {}
        with Board.open(path) as board:
            agent = board.agent("main", session="new-1", project=tmp_path)
            reply = agent.call("todo", {"continue": "old-1"})
            assert reply.is_error
            assert "still lives" in reply.text
        living.kill()
    with Board.open(path) as board:
        assert board.agent("main", session="new-2", project=tmp_path).offer_leftovers() is not None


def _tell(path: Path, project: Path, session: str, pid: int) -> None:
    host = Host(path, project, session=session)
    body = json.dumps(host.event("UserPromptSubmit", prompt="Fix it")).encode()
    host.run(body, {"CLAUDE_PID": str(pid)})
    todos = [{"content": "Fix the login", "status": "pending", "activeForm": "Fixing"}]
    event = host.event("PostToolUse", tool_name="TodoWrite", tool_input={"todos": todos}, tool_use_id="t")
    host.run(json.dumps(event).encode(), {"CLAUDE_PID": str(pid)})


@pytest.mark.parametrize("process", ["", "77 5 another-boot pid:[1]"], ids=["no process", "in another container"])
def test_an_agent_that_cannot_be_looked_up_lives_while_it_is_heard_of(
    board: Board, tmp_path: Path, clock: FakeClock, process: str
) -> None:
    board.agents_process = process
    board.agent("main", session="old", project=tmp_path).call("todo", {"set": ["Read", "Fix"]})
    agent = board.agent("main", session="new", project=tmp_path)
    assert agent.offer_leftovers() is None
    clock.set(clock() + timedelta(hours=13))
    assert agent.offer_leftovers() is not None


def test_nothing_is_taken_from_a_conversation_in_another_container(board: Board, tmp_path: Path) -> None:
    tell_of(board, tmp_path, "old-1", process=f"{2**22} 5 {'0' * 8} pid:[1]")
    agent = board.agent("main", session="new", project=tmp_path)
    assert agent.offer_leftovers() is None
    assert "still lives" in agent.call("todo", {"continue": "old-1"}).text


def test_a_process_that_has_the_id_of_an_ended_one_is_not_the_old_session(board: Board, tmp_path: Path) -> None:
    pid, start, *place = mark_process(os.getpid()).split(" ")
    tell_of(board, tmp_path, "old-1", process=" ".join((pid, str(int(start) - 1), *place)))
    assert board.store.read(lambda tx: find_running(tx, "old-1", board.now())) is None
    assert board.agent("main", session="new", project=tmp_path).offer_leftovers() is not None


def tell_of(board: Board, project: Path, session: str, *, process: str) -> None:
    """Let a hook tell of a list."""
    todos = [{"content": "Fix the login", "status": "pending", "activeForm": "Fixing"}]
    event = Host(project, project, session=session).event("PostToolUse", tool_name="TodoWrite", tool_use_id="t")
    answer_event(board, "claude-code", {**event, "tool_input": {"todos": todos}}, board.now(), process=process)


_PROGRAM = """
import sys
from punchlist import Board
Board.open(sys.argv[1]).agent("main", session=sys.argv[2], project=sys.argv[3]).call("todo", {"set": ["Read", "Fix"]})
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def run_program(board: Board, session: str, project: Path) -> Generator[subprocess.Popen[bytes]]:
    """Run a program that writes a list and then waits."""
    command = [sys.executable, "-c", _PROGRAM, str(board.store.path), session, str(project)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process
        process.kill()


def test_a_killed_program_leaves_its_items_at_once_and_gets_none(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        with run_program(board, "alive", tmp_path), run_program(board, "old", tmp_path) as old:
            with run_program(board, "dead", tmp_path) as dead:
                dead.kill()
                dead.wait()
            old.kill()
            old.wait()
            done = continue_for_person(board, "old", folder=str(tmp_path), by="ada")
            assert done.into == "alive"
        said = board.agent("main", session="new", project=tmp_path).offer_leftovers()
    assert said is not None


def test_nothing_is_taken_from_a_program_that_runs_however_quiet_it_is(tmp_path: Path) -> None:
    clock = FakeClock(datetime.now(UTC))
    with Board.open(tmp_path / "board.db", clock=clock) as board, run_program(board, "old", tmp_path):
        clock.advance(13 * 3600)
        agent = board.agent("main", session="new", project=tmp_path)
        assert agent.offer_leftovers() is None
        assert "still lives" in agent.call("todo", {"continue": "old"}).text


# Taking over.


def test_after_a_takeover_both_lists_name_the_other_session_in_short(board: Board, tmp_path: Path) -> None:
    old, new = "5f0c1a2b-0000-4000-8000-00000abede30", "5f0c1a2b-0000-4000-8000-000000c0ffee"
    left = _leave(board, old, "Read", "Fix", project=tmp_path)
    board.agent("main", session=new, project=tmp_path).call("todo", {"continue": "bede30"})
    assert left.todos.items[-1].notes == ("continued in session c0ffee",)
    assert [event.data["source"] for event in board.events(0) if event.kind == "list.restored"] == ["session bede30"]


def test_continue_moves_the_open_items_with_all_that_is_known_of_them(board: Board, tmp_path: Path) -> None:
    old = board.agent("main", session="5f0c1a2b-0000-4000-8000-000000bede30", project=tmp_path)
    entries = [{"text": "Read"}, {"text": "Fix", "phase": "Code", "check": "pytest -q"}, {"text": "Ship"}]
    old.call("todo", {"set": entries})
    old.call("todo", {"done": ["1"], "note": [{"id": "2", "text": "see #12"}]})
    old.call("todo", {"block": [{"id": "3", "text": "after the release"}]})
    old.finished()
    agent = board.agent("main", session="new", project=tmp_path)
    reply = agent.call("todo", {"continue": "bede30"})
    assert not reply.is_error
    assert reply.text.startswith("Took over 2 items of session bede30. Done there already: 'Read'.\n")
    assert _texts(agent) == {"2": "Fix", "3": "Ship"}
    fix, ship = agent.todos.items
    assert (fix.status, fix.phase, fix.notes, fix.check and fix.check.command) == (
        "in_progress",
        "Code",
        ("see #12",),
        "pytest -q",
    )
    assert (ship.status, ship.blocker and ship.blocker.reason) == ("blocked", "after the release")
    assert _texts(old) == {}
    assert [item.status for item in old.todos.items] == ["completed", "cancelled", "cancelled"]
    assert old.todos.items[1].notes[-1] == "continued in session new"
    assert agent.call("todo", {"add": [{"text": "Tell"}]}).text.startswith("+ 4 Tell")


def test_ids_that_the_new_list_uses_are_given_anew_and_the_reply_says_which(board: Board, tmp_path: Path) -> None:
    _leave(board, "old", "Read", "Fix", "Ship", "Tell", project=tmp_path)
    agent = board.agent("main", session="new", project=tmp_path)
    agent.call("todo", {"set": ["Look", "Think"]})
    reply = agent.call("todo", {"continue": "old"})
    assert reply.text.startswith("Took over 3 items of session old; 2 is 5 now. Done there already: 'Read'.\n")
    assert _texts(agent) == {"1": "Look", "2": "Think", "5": "Fix", "3": "Ship", "4": "Tell"}
    assert [item.id for item in agent.todos.items if item.status == "in_progress"] == ["1"]
    assert reply.data["total"] == 5


def test_an_id_that_was_removed_from_the_new_list_is_not_given_again(board: Board, tmp_path: Path) -> None:
    _leave(board, "old", "Read", "Fix", project=tmp_path)
    agent = board.agent("main", session="new", project=tmp_path)
    agent.call("todo", {"set": ["Look", "Think"]})
    agent.edit([{"op": "remove", "item": "2"}], by="ada")
    assert "2 is 3 now" in agent.call("todo", {"continue": "old"}).text


def test_the_log_tells_of_the_list_after_a_takeover(board: Board, tmp_path: Path) -> None:
    old = _leave(board, "old", "Read", "Fix", project=tmp_path)
    agent = board.agent("main", session="new", project=tmp_path)
    agent.call("todo", {"set": ["Look"]})
    agent.call("todo", {"continue": "old"})
    for one in (old, agent):
        assert one.at(one.todos.revision) == one.todos
    assert [event.data["source"] for event in board.events(0) if event.kind == "list.restored"] == ["session old"]


def test_of_two_conversations_the_first_that_continues_has_the_items(board: Board, tmp_path: Path) -> None:
    _leave(board, "old", "Read", "Fix", project=tmp_path)
    agents = [board.agent("main", session=f"new-{number}", project=tmp_path) for number in range(8)]
    assert all(agent.offer_leftovers() is not None for agent in agents)
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(agent.call, "todo", {"continue": "old"}) for agent in agents]
        replies = [call.result() for call in calls]
    assert sorted(reply.is_error for reply in replies) == [False] + [True] * 7
    assert [_texts(agent) for agent in agents if _texts(agent)] == [{"2": "Fix"}]
    assert all("has no open items" in reply.text for reply in replies if reply.is_error)


def test_the_same_call_again_gets_the_same_reply(board: Board, tmp_path: Path) -> None:
    _leave(board, "old", "Read", "Fix", project=tmp_path)
    agent = board.agent("main", session="new", project=tmp_path)
    first = agent.call("todo", {"continue": "old"}, call_id="c1")
    assert agent.call("todo", {"continue": "old"}, call_id="c1") == first
    assert len(agent.todos.items) == 1


def test_none_declines_for_every_later_conversation(board: Board, tmp_path: Path, clock: FakeClock) -> None:
    for session in ("first", "second"):
        clock.set(clock() + timedelta(hours=1))
        _leave(board, session, "Read", "Fix", project=tmp_path)
    agent = board.agent("main", session="new", project=tmp_path)
    assert not agent.call("todo", {"continue": "none"}).is_error
    assert agent.todos.items == ()
    assert board.agent("main", session="later", project=tmp_path).offer_leftovers() is None
    _leave(board, "third", "Read", "Fix", project=tmp_path)
    assert board.agent("main", session="later", project=tmp_path).offer_leftovers() is not None


@pytest.mark.parametrize("given", [{"continue": "old", "add": ["x"]}, {"continue": 3}, {"continue": " "}])
def test_continue_stands_alone(board: Board, tmp_path: Path, given: dict[str, Any]) -> None:
    _leave(board, "old", "Read", "Fix", project=tmp_path)
    reply = board.agent("main", session="new", project=tmp_path).call("todo", given)
    assert reply.is_error
    assert "`continue` stands alone" in reply.text


@pytest.mark.parametrize("name", ["nothing", "new"])
def test_an_unknown_session_changes_nothing(board: Board, tmp_path: Path, name: str) -> None:
    agent = board.agent("main", session="new", project=tmp_path)
    agent.call("todo", {"set": ["Look"]})
    reply = agent.call("todo", {"continue": name})
    assert reply.is_error
    assert len(agent.todos.items) == 1


def test_a_session_of_another_project_is_not_continued(board: Board, tmp_path: Path) -> None:
    _leave(board, "old", "Read", "Fix", project=tmp_path / "elsewhere")
    assert board.agent("main", session="new", project=tmp_path).call("todo", {"continue": "old"}).is_error
