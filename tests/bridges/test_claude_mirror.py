"""Claude Code's list files and a board: adopted, imported, exported, kept in step."""

import json
import logging
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from punchlist import Agent, Board, Status
from punchlist.bridges.claude_files import ClaudeFiles, attach_configured


def _rows(*items: tuple[str, str]) -> list[dict[str, str]]:
    return [{"content": text, "status": status, "activeForm": f"Doing {text}"} for text, status in items]


def _write(agent: Agent, *items: tuple[str, str]) -> None:
    assert not agent.call("TodoWrite", {"todos": _rows(*items)}).is_error


def _put(file: Path, *items: tuple[str, str]) -> None:
    """As Claude Code does it: a new file, renamed into place."""
    new = file.with_suffix(".new")
    new.write_text(json.dumps(_rows(*items)), encoding="utf-8")
    new.rename(file)


def _read(file: Path) -> list[tuple[str, str]]:
    rows: list[dict[str, Any]] = json.loads(file.read_bytes())
    return [(row["content"], row["status"]) for row in rows]


def _agent(board: Board, name: str = "a", session: str = "s") -> Agent:
    return board.agent(name, session=session, dialect="claude-code")


def _texts(agent: Agent) -> list[tuple[str, str]]:
    return [(item.content, item.status.value) for item in agent.todos.items]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "s-agent-a.json"


def test_a_file_is_adopted_at_session_start_with_where_it_came_from(tmp_path: Path, file: Path) -> None:
    _put(file, ("A", "in_progress"), ("B", "pending"))
    with Board.open("memory:") as board:
        ClaudeFiles(tmp_path).attach(board)
        agent = _agent(board)
        assert _texts(agent) == [("A", "in_progress"), ("B", "pending")]
        assert agent.todos.items[0].active_form == "Doing A"
        restored = [event for event in board.events() if event.kind == "list.restored"]
        assert [(event.by, event.data["source"]) for event in restored] == [("claude-code", "s-agent-a.json")]
        _agent(board)
        assert agent.todos.revision == 1


def test_a_list_that_the_board_has_is_not_replaced_at_session_start(tmp_path: Path, file: Path) -> None:
    with Board.open("memory:") as board:
        _write(_agent(board), ("Ours", "pending"))
        _put(file, ("Theirs", "pending"))
        files = ClaudeFiles(tmp_path)
        files.attach(board)
        assert _texts(_agent(board)) == [("Ours", "pending")]
        assert not files.adopt(_agent(board))
        assert _read(file) == [("Theirs", "pending")]


def test_every_change_is_mirrored_whoever_makes_it(tmp_path: Path, file: Path) -> None:
    with Board.open("memory:") as board:
        ClaudeFiles(tmp_path).attach(board)
        agent = _agent(board)
        _write(agent, ("A", "in_progress"), ("B", "pending"))
        assert _read(file) == [("A", "in_progress"), ("B", "pending")]
        agent.edit({"op": "done", "item": "1"}, by="ada")
        assert _read(file)[0] == ("A", "completed")
        agent.undo(by="ada")
        assert _read(file)[0] == ("A", "in_progress")
        agent.edit({"op": "drop", "item": "2"}, by="ada")
        assert _read(file) == [("A", "in_progress")]
        _write(agent, ("A", "completed"))
        assert "A" not in dict(_read(file))


def test_what_a_file_calls_done_is_graded_by_the_work_and_never_confirmed(tmp_path: Path, file: Path) -> None:
    with Board.open("memory:") as board:
        files = ClaudeFiles(tmp_path)
        files.attach(board)
        agent = _agent(board)
        _write(agent, ("A", "in_progress"), ("B", "pending"), ("C", "pending"))
        agent.tool_started("c1", "Bash", {"command": "pytest -q"})
        agent.tool_finished("c1", "3 passed", is_error=False)
        _put(file, ("A", "completed"), ("B", "in_progress"), ("C", "pending"))
        files.export(agent)
        agent.tool_started("c2", "Bash", {"command": "pytest -q"})
        agent.tool_finished("c2", "3 passed", is_error=False)
        _put(file, ("A", "completed"), ("B", "completed"), ("C", "pending"))
        assert files.import_into(agent)
        assert [item.grade for item in agent.todos.items] == ["verified", "verified", None]


def test_after_all_is_completed_the_file_holds_an_empty_list(tmp_path: Path, file: Path) -> None:
    with Board.open("memory:") as board:
        ClaudeFiles(tmp_path).attach(board)
        agent = _agent(board)
        _write(agent, ("A", "in_progress"))
        _write(agent, ("A", "completed"))
        assert file.read_text(encoding="utf-8") == "[]"
        _write(agent, ("B", "pending"))
        assert _read(file) == [("B", "pending")]


def test_each_agent_has_a_file_of_its_own_and_children_too(tmp_path: Path) -> None:
    with Board.open("memory:") as board:
        ClaudeFiles(tmp_path).attach(board)
        main = _agent(board, "main")
        child = main.spawn("explore")
        _write(main, ("A", "pending"))
        _write(child, ("B", "pending"))
        assert _read(tmp_path / "s-agent-main.json") == [("A", "pending")]
        assert _read(tmp_path / "s-agent-explore.json") == [("B", "pending")]


def test_what_claude_code_and_a_person_added_meanwhile_are_both_kept(tmp_path: Path, file: Path) -> None:
    with Board.open("memory:") as board:
        ClaudeFiles(tmp_path).attach(board)
        agent = _agent(board)
        _write(agent, ("A", "pending"), ("B", "pending"))
        _put(file, ("A", "completed"), ("B", "in_progress"), ("C", "pending"))
        agent.edit({"op": "append", "items": ["From Ada"]}, by="ada")
        both = [("A", "completed"), ("B", "in_progress"), ("From Ada", "pending"), ("C", "pending")]
        assert sorted(_texts(agent)) == sorted(both)
        assert _read(file) == _texts(agent)
        assert os.listdir(tmp_path) == [file.name]
        ids = {item.content: item.id for item in agent.todos.items}
        assert (ids["A"], ids["B"]) == ("1", "2")


def test_what_another_process_of_ours_mirrored_is_not_taken_for_a_change_by_somebody_else(
    tmp_path: Path, file: Path
) -> None:
    """Here: another board on the same store, with files of its own memory."""
    path = tmp_path / "board.db"
    folder = tmp_path / "todos"
    with Board.open(path) as one, Board.open(path) as two:
        ClaudeFiles(folder).attach(one)
        ClaudeFiles(folder).attach(two)
        first, second = _agent(one), _agent(two)
        _write(first, ("A", "pending"), ("B", "pending"))
        _write(second, ("A", "in_progress"), ("B", "pending"))
        _write(first, ("A", "completed"), ("B", "pending"))
        _write(second, ("A", "completed"), ("B", "in_progress"))
        assert _texts(first) == [("A", "completed"), ("B", "in_progress")]
        assert _read(folder / file.name) == _texts(first)
        assert os.listdir(folder) == [file.name]
        assert not [event for event in one.events() if event.by == "claude-code"]


def test_a_file_older_than_the_list_on_the_board_is_kept_beside_it(
    tmp_path: Path, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Board.open("memory:") as board:
        agent = _agent(board)
        _write(agent, ("Ours", "pending"))
        _put(file, ("Theirs", "pending"))
        os.utime(file, (1_000_000_000, 1_000_000_000))
        ClaudeFiles(tmp_path).attach(board)
        with caplog.at_level(logging.WARNING, logger="punchlist.bridges.claude_files"):
            agent.edit({"op": "start", "item": "1"}, by="ada")
        assert _read(file) == [("Ours", "in_progress")]
        assert _read(tmp_path / "s-agent-a.json.changed-1") == [("Theirs", "pending")]
        assert "s-agent-a.json.changed-1" in caplog.text


def test_a_newer_file_that_this_process_never_saw_is_the_next_write_of_its_agent(tmp_path: Path, file: Path) -> None:
    with Board.open("memory:") as board:
        agent = _agent(board)
        _write(agent, ("A", "in_progress"), ("B", "pending"))
        _put(file, ("A", "completed"), ("C", "in_progress"))
        ClaudeFiles(tmp_path).attach(board)
        agent.edit({"op": "append", "items": ["From Ada"]}, by="ada")
        now = {("A", "completed"), ("C", "in_progress"), ("From Ada", "pending")}
        assert set(_texts(agent)) == set(_read(file)) == now
        assert [item.content for item in agent.todos.omitted] == ["B"]
        assert os.listdir(tmp_path) == [file.name]
        _put(file, ("A", "completed"), ("C", "completed"))  # Claude Code has not heard of Ada's item
        assert ClaudeFiles(tmp_path).import_folder(board) == 1
        assert set(_texts(agent)) == {("A", "completed"), ("C", "completed"), ("From Ada", "pending")}


def test_a_file_that_is_merely_behind_is_brought_up_to_date(tmp_path: Path, file: Path) -> None:
    with Board.open("memory:") as board:
        agent = _agent(board)
        _write(agent, ("A", "pending"))
        ClaudeFiles(tmp_path).export(agent)
        _write(agent, ("A", "in_progress"))
        ClaudeFiles(tmp_path).export(agent)
        assert _read(file) == [("A", "in_progress")]
        assert os.listdir(tmp_path) == [file.name]


def test_an_empty_or_missing_file_takes_nothing_off_the_board(tmp_path: Path, file: Path) -> None:
    with Board.open("memory:") as board:
        ClaudeFiles(tmp_path).attach(board)
        agent = _agent(board)
        _write(agent, ("A", "pending"), ("B", "pending"))
        _put(file)
        agent.edit({"op": "start", "item": "1"}, by="ada")
        assert _read(file) == [("A", "in_progress"), ("B", "pending")]
        file.unlink()
        agent.edit({"op": "done", "item": "1"}, by="ada")
        assert _read(file) == [("A", "completed"), ("B", "pending")]


def test_an_invalid_file_is_set_aside_by_the_mirror(tmp_path: Path, file: Path) -> None:
    file.write_text("{half", encoding="utf-8")
    with Board.open("memory:") as board:
        ClaudeFiles(tmp_path).attach(board)
        agent = _agent(board)
        assert agent.todos.revision == 0
        _write(agent, ("A", "pending"))
    assert _read(file) == [("A", "pending")]
    assert (tmp_path / "s-agent-a.json.invalid-1").read_text(encoding="utf-8") == "{half"


def test_a_failure_to_mirror_is_logged_and_does_not_fail_the_write(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "todos").touch()
    with Board.open("memory:") as board, caplog.at_level(logging.WARNING, logger="punchlist.bridges.claude_files"):
        ClaudeFiles(tmp_path / "todos").attach(board)
        agent = _agent(board)
        _write(agent, ("A", "pending"))
        assert _texts(agent) == [("A", "pending")]
    assert [record.name for record in caplog.records] == ["punchlist.bridges.claude_files"]


def test_an_agent_whose_name_fits_no_file_works_without_one(tmp_path: Path) -> None:
    with Board.open("memory:") as board:
        ClaudeFiles(tmp_path).attach(board)
        agent = _agent(board, "../x")
        _write(agent, ("A", "pending"))
        assert _texts(agent) == [("A", "pending")]
    assert os.listdir(tmp_path) == []


def test_an_explicit_import_keeps_what_the_file_cannot_express_and_what_people_added(
    tmp_path: Path, file: Path
) -> None:
    with Board.open("memory:") as board:
        agent = board.agent("a", session="s")
        agent.edit([{"op": "append", "items": ["A", "B", "C"], "phase": "One"}], by="a")
        agent.edit([{"op": "note", "item": "1", "text": "careful"}, {"op": "drop", "item": "3"}], by="a")
        agent.edit({"op": "append", "items": ["From Ada"]}, by="ada")
        _put(file, ("A", "in_progress"), ("D", "pending"))
        files = ClaudeFiles(tmp_path)
        assert files.import_into(agent)
        todos = agent.todos
        assert {item.content: item.status for item in todos.items} == {
            "A": Status.IN_PROGRESS,
            "D": Status.PENDING,
            "C": Status.CANCELLED,
            "From Ada": Status.PENDING,
        }
        assert todos.items[0].notes == ("careful",)
        assert [phase.name for phase in todos.phases] == ["One"]
        assert [item.content for item in todos.omitted] == ["B"]
        assert not files.import_into(board.agent("nobody", session="s"))


def test_an_agent_without_a_list_leaves_its_file_alone(tmp_path: Path, file: Path) -> None:
    _put(file, ("A", "pending"))
    with Board.open("memory:") as board:
        ClaudeFiles(tmp_path).export(_agent(board))
    assert _read(file) == [("A", "pending")]


@pytest.mark.parametrize("attached", [False, True])
def test_a_whole_folder_becomes_sessions_and_agents_once(tmp_path: Path, attached: bool) -> None:
    _put(tmp_path / "s1-agent-s1.json", ("A", "pending"))
    _put(tmp_path / "s1-agent-explore.json", ("B", "pending"))
    _put(tmp_path / "s2-agent-main.json", ("C", "in_progress"))
    _put(tmp_path / "s3-agent-s3.json")
    (tmp_path / "s4-agent-s4.json").write_text("no list", encoding="utf-8")
    (tmp_path / "notes.txt").touch()
    with Board.open("memory:") as board:
        files = ClaudeFiles(tmp_path)
        if attached:
            files.attach(board)
        assert files.import_folder(board, project=tmp_path) == 3
        found = {(row.session, row.agent): row.todos.items[0].content for row in board.lists(project=tmp_path)}
        assert found == {("s1", "main"): "A", ("s1", "explore"): "B", ("s2", "main"): "C"}
        assert files.import_folder(board, project=tmp_path) == 0
        assert ClaudeFiles(tmp_path / "missing").import_folder(board) == 0


def test_many_threads_leave_the_file_in_step_with_the_board(tmp_path: Path, file: Path) -> None:
    with Board.open("memory:") as board:
        ClaudeFiles(tmp_path).attach(board)

        def work(number: int) -> None:
            agent = _agent(board)
            for step in range(10):
                agent.edit({"op": "append", "items": [f"{number}/{step}"]}, by=f"person {number}")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(_agent(board).todos.items) == 40
        assert _read(file) == _texts(_agent(board))
    assert os.listdir(tmp_path) == [file.name]


def test_the_setting_names_the_folder_to_keep_in_step(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Board.open("memory:") as board:
        monkeypatch.delenv("PUNCHLIST_CLAUDE_TODOS", raising=False)
        assert attach_configured(board) is None
        monkeypatch.setenv("PUNCHLIST_CLAUDE_TODOS", str(tmp_path))
        assert attach_configured(board) is not None
        _write(_agent(board), ("A", "pending"))
    assert _read(file) == [("A", "pending")]
