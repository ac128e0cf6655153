"""`prune` by age, in transactions that delete so much at most: others write in between."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.board import Retention
from punchlist.errors import InvalidInput
from punchlist.testing import FakeClock


def test_what_is_old_goes_in_slices_and_the_rest_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("punchlist.store.pruning._MOST_DELETED", 10)
    clock = FakeClock()
    with Board.open(tmp_path / "board.db", clock=clock) as board:
        old = board.agent("main", session="old")
        for number in range(15):
            old.call("todo", {"set": ["Paint"]}, call_id=f"c{number}")
            old.tool_started(f"t{number}", "Read", {"path": "a"})
            old.tool_finished(f"t{number}", "ok")
        before = clock.advance(timedelta(days=60).total_seconds())
        recent = board.agent("main", session="recent")
        recent.call("todo", {"set": ["Sweep"]}, call_id="c0")
        told: list[int] = []
        assert board.prune(before, progress=told.append) == 1
        assert told == sorted(told)
        assert len(told) > 5  # 45 events, 15 replies and 15 calls, ten at most at a time
        assert [row.session for row in board.lists()] == ["recent"]
        assert {event.session for event in board.events()} == {"recent"}
        assert [row.id for row in board.sessions()] == ["recent"]
        assert recent.call("todo", {"set": ["Sweep"]}, call_id="c0").text  # its replies are known
        assert board.store.read(lambda tx: tx.value("count_rows")) == 1
        assert board.prune(before) == 0


SECRET = "zebra crossing"


def fill(board: Board, session: str, project: str) -> None:
    """Leave a trace of a session in every place that keeps one."""
    agent = board.agent("main", session=session, project=project)
    agent.call("todo", {"set": [f"{SECRET} of {session}"]}, call_id="c1")
    agent.tool_started("t1", "Bash", {"command": f"echo {SECRET} of {session}"})
    agent.tool_finished("t1", f"{SECRET} of {session}")
    agent.ask(agent.todos.items[0].id, f"May I, {SECRET} of {session}?")
    agent.propose_plan(f"Plan: {SECRET} of {session}")
    own = board.tasks(f"session:{session}", project=project)
    first = own.create(f"{SECRET} of {session}")
    own.create(f"Then, {SECRET} of {session}", blocked_by=[first.id])
    flow = board.flows(agent=agent).create_mirrored("c", f"{SECRET} of {session}")
    board.flows(agent=agent).finish(flow.id)


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    made = [tmp_path / "work" / name for name in ("api", "web")]
    for folder in made:
        folder.mkdir(parents=True)
    return [str(folder) for folder in made]


@pytest.mark.sqlite
def test_a_deleted_session_is_in_none_of_the_files(tmp_path: Path, folders: list[str]) -> None:
    path = tmp_path / "board" / "board.db"
    path.parent.mkdir(mode=0o700)
    with Board.open(path) as board, Board.open(path) as other:
        for session in ("kept", "gone"):
            fill(board, session, folders[0])
        assert list(other.events())  # another program has read the board, and goes on
        assert b"zebra crossing of gone" in bytes_of(path.parent)
        assert board.prune(session="gone") == 1
        assert board.compact()
        assert b"crossing of gone" not in bytes_of(path.parent)
        assert b"zebra crossing of kept" in bytes_of(path.parent)
        assert {event.session for event in other.events() if event.kind != "board.pruned"} == {"kept"}
        assert [row.id for row in other.sessions()] == ["kept"]
    assert b"crossing of gone" not in bytes_of(path.parent)


def test_a_deleted_project_takes_its_tasks_with_it_and_leaves_the_others(tmp_path: Path, folders: list[str]) -> None:
    with Board.open(tmp_path / "board.db") as board:
        for session, folder in zip(("s1", "s2", "s3"), (folders[0], folders[0], folders[1]), strict=True):
            fill(board, session, folder)
            board.tasks(project=folder).create(f"{SECRET} for all")
        before = board.store.last_seq()
        assert board.prune(project=folders[0]) == 2
        assert [row.id for row in board.sessions()] == ["s3"]
        assert [len(board.tasks(project=folder).list()) for folder in folders] == [0, 1]
        assert [flow.goal for flow in board.flows().list()] == [f"{SECRET} of s3"]
        fill(board, "s4", folders[0])  # the project can be used again
        assert board.compact()
        assert board.store.last_seq() > before  # no number of an event comes back
        assert board.prune(project=folders[0]) == 1


def test_a_flow_that_came_after_a_deleted_one_is_no_longer_held_back(tmp_path: Path, folders: list[str]) -> None:
    with Board.open(tmp_path / "board.db") as board:
        one, two = (board.agent("main", session=session, project=folders[0]) for session in ("s1", "s2"))
        first = board.flows(agent=one).create_mirrored("c", "first")
        second = board.flows(agent=two).create_managed("c", "second", after=[first.id])
        board.prune(session="s1")
        assert [flow.id for flow in board.flows().list()] == [second.id]
        assert board.flows(agent=two).start_running(second.id)


def test_age_and_project_narrow_each_other_and_age_leaves_tasks(tmp_path: Path, folders: list[str]) -> None:
    clock = FakeClock()
    with Board.open(tmp_path / "board.db", clock=clock) as board:
        fill(board, "old", folders[0])
        fill(board, "other", folders[1])
        now = clock.advance(timedelta(days=60).total_seconds())
        fill(board, "new", folders[0])
        assert board.prune(now - timedelta(days=30), project=folders[0]) == 1
        assert {row.id for row in board.sessions()} == {"other", "new"}
        assert len(board.tasks("session:old").list()) == 2


def test_a_prune_of_nothing_in_particular_is_refused(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board, pytest.raises(InvalidInput):
        board.prune()


def test_what_is_older_than_the_setting_goes_while_a_screen_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: list[str]
) -> None:
    clock = FakeClock()
    with Board.open(tmp_path / "board.db", clock=clock) as board:
        for number in range(7):
            fill(board, f"old{number}", folders[0])
        clock.advance(timedelta(days=91).total_seconds())
        fill(board, "new", folders[0])
        Retention(board).tick()
        assert len(board.sessions()) == 8  # by default all are kept
        monkeypatch.setenv("PUNCHLIST_RETAIN", "90 d")
        retention = Retention(board)
        retention.tick()
        assert len(board.sessions()) > 1  # a slice at a time
        for _ in range(5):
            retention.tick()
        assert [row.id for row in board.sessions()] == ["new"]
