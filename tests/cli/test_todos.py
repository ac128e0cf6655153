"""`punchlist todos` and the other commands that only look."""

import json
import os
from pathlib import Path

import pytest

from punchlist import TodoItem
from punchlist.board import Board
from punchlist.core import commands as do
from punchlist.core.commands import Target
from tests.cli.conftest import Run, read_rows


def _write(board: Board, name: str = "main", session: str = "s1", **items: str) -> None:
    todos = [{"content": text, "status": status, "activeForm": f"{text}ing"} for text, status in items.items()]
    board.agent(name, session=session, dialect="claude-code").call("TodoWrite", {"todos": todos})


def test_nothing_tracked_says_what_to_do_first(run: Run):
    ran = run("todos")
    assert ran.code == 0
    assert ran.out.startswith("There are no lists in this project; ")
    assert "punchlist todo append" in ran.out


def test_one_list_is_counted_and_shown_with_its_boxes(run: Run, board: Board):
    with board:
        _write(board, Read="completed", Fix="in_progress", Test="pending")
    assert run("todos").out == "3 items:\n  ● Read\n  ▸ Fixing\n  ○ Test\n"


def test_one_item_is_one_todo(run: Run):
    run("todo", "append", "only")
    assert run("todos").out == "1 item: yours\n  ○ only\n"


@pytest.mark.parametrize(("name", "value"), [("TERM", "dumb"), ("TERM", "linux"), ("LC_ALL", "C"), ("LANG", "POSIX")])
def test_a_terminal_without_such_signs_gets_ascii(
    run: Run, board: Board, monkeypatch: pytest.MonkeyPatch, name: str, value: str
):
    with board:
        _write(board, Read="completed", Fix="in_progress", Test="pending", Wait="pending", Leave="pending")
        agent = board.agent("main", session="s1")
        agent.edit([do.Block(Target(item="4"), "rain"), do.Drop(Target(item="5"))], by="anna")
    monkeypatch.setenv(name, value)
    assert run("todos").out.splitlines()[1:] == [
        "  [o] Read",
        "  [>] Fixing",
        "  [ ] Test",
        "  [!] Wait - waits: rain",
        "  [-] Leave",
        "1 thing waits on you; `punchlist answer` shows it.",
    ]


def test_several_agents_have_a_block_each_and_children_stand_below_their_parent(run: Run, board: Board):
    with board:
        _write(board, Read="completed", Fix="in_progress", Test="pending")
        child = board.agent("main", session="s1").spawn("explore", label="Look around", dialect="claude-code")
        child.call("TodoWrite", {"todos": [{"content": "Dig", "status": "pending", "activeForm": "Digging"}]})
    lines = run("todos").out.splitlines()
    assert lines[0].startswith("project · main s1 · ")
    assert lines[1:] == [
        "  main — Items (1/3)",
        "    ● Read",
        "    ▸ Fixing",
        "    ○ Test",
        "    explore (Look around) — Items (0/1)",
        "      ○ Dig",
    ]


def test_lists_of_other_projects_show_only_with_all(run: Run, board: Board, tmp_path_factory: pytest.TempPathFactory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    with board:
        board.agent("main", session="far", project=elsewhere).edit(do.Append((do.Entry(content="Far"),)), by="anna")
    assert "There are no lists" in run("todos").out
    shown = run("todos", "--all").out
    assert "Far" in shown
    assert str(elsewhere) in shown


def test_session_and_agent_choose_and_limit_cuts(run: Run, board: Board):
    with board:
        _write(board, "main", "s1", One="pending")
        _write(board, "other", "s1", Two="pending")
        _write(board, "main", "s2", Three="pending")
    assert run("todos", "--session", "s2").out == "1 item:\n  ○ Three\n"
    assert run("todos", "--agent", "other").out == "1 item:\n  ○ Two\n"
    assert run("todos", "--limit", "1").out.count("○") == 1


def test_json_holds_every_key_of_every_list(run: Run, board: Board):
    with board:
        _write(board, Read="completed", Fix="in_progress")
    (shown,) = json.loads(run("todos", "--json").out)
    assert shown["session"] == "s1"
    assert shown["progress"] == {"done": 1, "total": 2, "percent": 50}
    assert [item["status"] for item in shown["items"]] == ["completed", "in_progress"]
    assert all(set(item) == set(TodoItem.__struct_fields__) for item in shown["items"])
    assert shown["focus"] == shown["items"][1]["id"]
    assert {"agent", "parent", "label", "project", "mode", "updated_at", "revision", "phases", "omitted"} <= set(shown)


def test_ids_show_when_asked_for(run: Run):
    run("todo", "append", "only")
    assert run("todos", "--ids").out == "1 item: yours\n  ○ 1 only\n"


def test_lines_are_cut_to_the_width_of_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch):
    run("todo", "append", "界" * 100)
    monkeypatch.setenv("COLUMNS", "20")
    row = run("todos").out.splitlines()[1]
    assert row == "  ○ " + "界" * 7 + "…"


def test_colour_is_for_terminals_or_when_forced(run: Run, monkeypatch: pytest.MonkeyPatch):
    run("todo", "append", "only")
    assert "\x1b" not in run("todos").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1m1 item:\x1b[0m" in run("todos").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("todos").out


def test_events_tell_what_happened_oldest_first(run: Run):
    run("todo", "append", "Run tests")
    run("todo", "start", "tests")
    lines = run("events").out.splitlines()
    assert lines[-2].endswith("anna started “Run tests” for main")
    assert lines[-1].endswith("anna edited the list of main")


def test_events_can_be_chosen_by_kind_agent_session_and_number(run: Run, board: Board):
    with board:
        _write(board, "main", "s1", One="pending")
        _write(board, "other", "s2", Two="pending")
    added = [json.loads(line) for line in run("events", "--json", "--kind", "item").out.splitlines()]
    assert [event["kind"] for event in added] == ["item.added", "item.added"]
    assert len(run("events", "--kind", "item.added", "--limit", "1").out.splitlines()) == 1
    assert len(run("events", "--kind", "item.*", "--agent", "other").out.splitlines()) == 1
    assert len(run("events", "--kind", "item", "--session", "s1").out.splitlines()) == 1
    assert run("events", "--after", str(added[-1]["seq"]), "--kind", "item").out == ""
    assert run("events", "--limit", "0").out == ""


def test_the_last_events_are_found_behind_many_others(run: Run, board: Board):
    with board:
        _write(board, "first", "s1", One="pending")
        agent = board.agent("main", session="s2")
        agent.edit(do.Append((do.Entry(content="Item"),)), by="anna")
        for number in range(1200):
            agent.edit(do.Reword(do.Target(item="1"), f"Item {number}"), by="anna")
    assert len(run("events").out.splitlines()) == 50
    assert run("events", "--agent", "first", "--kind", "item").out.rstrip().endswith("first added “One”")


def test_follow_goes_on_where_the_past_ends_and_stops_with_the_board(
    run: Run, board: Board, monkeypatch: pytest.MonkeyPatch
):
    from collections.abc import Iterator

    from punchlist.core.events import Event
    from punchlist.reader import BoardReader

    real = BoardReader.follow

    def follow(self: BoardReader, after: int | str = 0, *, timeout: float | None = None) -> Iterator[Event]:
        Board(self.store).agent("main", session="s1").edit(do.Append((do.Entry(content="Late"),)), by="anna")
        return real(self, after, timeout=0)

    with board:
        _write(board, Early="pending")
    monkeypatch.setattr(BoardReader, "follow", follow)
    lines = run("events", "--follow", "--kind", "item").out.splitlines()
    assert [line.rpartition("  ")[2] for line in lines] == ["main added “Early”", "anna added “Late” for main"]


def test_sessions_are_listed_copied_and_moved(run: Run, board: Board):
    with board:
        _write(board, One="pending")
    assert run("sessions").out.startswith("project · main s1 ")
    assert run("sessions", "copy", "s1", "s2").code == 0
    assert run("sessions", "move", "s1", "s3").code == 0
    assert {row["id"] for row in json.loads(run("sessions", "--json").out)} == {"s2", "s3"}
    assert run("todos", "--session", "s2").out == "1 item:\n  ○ One\n"


def test_a_session_that_is_not_there_or_taken_ends_with_1(run: Run, board: Board):
    with board:
        _write(board, One="pending")
    assert run("sessions", "copy", "nope", "s2").code == 1
    assert run("sessions", "move", "s1", "s1").code == 1


def test_no_sessions_is_said(run: Run):
    assert run("sessions").out.startswith("There are no sessions in this project")


def test_prune_says_how_many_and_a_dry_run_deletes_none(run: Run, board: Board):
    with board:
        _write(board, One="pending")
    assert run("prune", "--older-than", "0h", "--dry-run").out.startswith("Would delete 1 agent ")
    assert run("prune", "--older-than", "12h").out.startswith("Deleted 0 agents ")
    assert run("prune", "--older-than", "0d").out.startswith("Deleted 1 agent ")
    assert "There are no lists" in run("todos", "--all").out


def test_dialects_name_their_tools_and_losses(run: Run):
    shown = run("dialects").out
    assert "claude-code · `TodoWrite`" in shown
    assert "cancelled items are not shown" in shown
    by_name = {entry["name"]: entry for entry in json.loads(run("dialects", "--json").out)}
    assert by_name["claude-code"]["statuses"] == ["pending", "in_progress", "completed"]
    assert by_name["punchlist"]["lossy"] == []


def test_reading_a_board_that_is_not_there_makes_none(run: Run, tmp_path: Path):
    missing = tmp_path / "typo" / "board.db"
    for command in ("todos", "sessions", "events"):
        done = run("--db", str(missing), command)
        assert done.code == 2
        assert f"no board at `{missing}`" in done.err
    assert not missing.parent.exists()


def test_the_lists_of_another_project_are_shown_by_its_folder(run: Run, tmp_path: Path):
    run("todo", "append", "Here")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert "Here" in run("todos", "--project", os.getcwd()).out
    assert "Here" not in run("todos", "--project", str(elsewhere)).out
    assert run("todos", "--project", str(elsewhere), "--all").code == 2


def test_an_item_that_a_subagent_is_at_work_on_is_lit_up_until_that_has_finished(run: Run, board: Board):
    agent = board.agent("main", session="s1")
    agent.call("todo", {"set": ["Explore the code", "Fix the bug"]})
    agent.call("todo", {"start": "2"})
    child = agent.spawn("explore", label="explore the code")
    child.tool_started("c1", "Bash", {"command": "grep -r foo"})
    child.tool_finished("c1", result="a", exit_code=0)
    assert board.helpers("s1") == {"main": {"1": ("explore",)}}
    assert "Explore the code — explore is at it" in run("todos").out
    (listed,) = json.loads(run("todos", "--json").out)
    assert listed["helpers"] == {"1": ["explore"]}
    assert read_rows(run("statusline").out) == ["0/2 · no test ran yet", "▸ Fix the bug", "  1 subagent: explore"]
    # A brief has one row for the session, and names no item beside that of now.
    assert "explore is at it" in run("report").out
    assert "Beside the lists" not in run("report").out
    child.finished("found it")
    assert board.helpers("s1") == {}
    assert "is at it" not in run("todos").out + run("report").out + run("brief").out
    assert read_rows(run("statusline").out) == ["0/2 · no test ran yet", "▸ Fix the bug"]


def test_the_state_of_a_session_is_in_its_head_line(run: Run, board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    for session in ("s1", "0198c2d4-7a51-7c2e-9f1b-2f1de6a0b1c2"):
        agent = board.agent("main", session=session)
        agent.call("todo", {"set": ["Paint", "Sand"]})
        agent.tool_started("c1", "Bash", {"command": "pytest -q"})
        agent.tool_finished("c1", result="1 failed in 0.1s", is_error=True)
    board.agent("main", session="s2").call("todo", {"set": ["Wax"]})
    assert run("todos", "--session", "s1").out.startswith("2 items: session red\n")
    assert run("todos", "--session", "s2").out.startswith("1 item:\n")
    assert "project · main s1 · session red · just now\n" in run("todos").out
    states = {row["session"]: row["session_state"] for row in json.loads(run("todos", "--json").out)}
    assert (states["s1"], states["s2"]) == ("red", "idle")
    assert {row.id: row.state for row in board.sessions()} == states
    assert {row["id"]: row["state"] for row in json.loads(run("sessions", "--json").out)} == states
    assert run("sessions").out.count("session red") == 2
    monkeypatch.setenv("COLUMNS", "40")
    assert run("todos").out.count("session red") == 2


def test_what_a_finished_agent_left_in_progress_is_only_open(run: Run, board: Board):
    agent = board.agent("main", session="s1")
    agent.call("todo", {"set": ["Paint", "Sand"], "start": "1"})
    assert "▸ Paint" in run("todos").out
    agent.finished()
    assert run("todos").out.splitlines() == ["2 items: agent finished", "  ○ Paint", "  ○ Sand"]
    assert read_rows(run("statusline", "--session", "s1").out) == ["0/2"]
    assert json.loads(run("todos", "--json").out)[0]["items"][0]["status"] == "in_progress"


@pytest.mark.usefixtures("person")
def test_every_view_counts_what_waits_on_the_reader(run: Run, board: Board):
    agent = board.agent("main", session="s1")
    agent.call("todo", {"set": ["Deploy", "Sweep"]})
    agent.ask("1", "Which region?")
    assert run("todos").out.splitlines()[-1] == "1 thing waits on you; `punchlist answer` shows it."
    waiting = ["0/2", "◆ waits for you: Which region?", "  answer here, or: punchlist answer"]
    assert read_rows(run("statusline", "--session", "s1").out) == waiting
    flows, tasks = board.flows(agent=agent), board.tasks()
    flows.set_waiting(flows.create_mirrored("post", "Send mail").id, {"kind": "manual"})
    tasks.wait(tasks.create("Ship it").id)
    assert run("todos").out.splitlines()[-1] == "3 things wait on you; `punchlist answer` shows them."
    assert run("tasks", "list").out.splitlines()[-1] == "1 thing waits on you; `punchlist answer` shows it."
    assert run("flows").out.splitlines()[-1] == "1 thing waits on you; `punchlist answer` shows it."
    assert "2 wait on you" in run("sessions").out.splitlines()[0]
    assert [row["waits"] for row in json.loads(run("sessions", "--json").out)] == [2]
    run("answer", "deploy", "eu")
    assert "wait" not in run("todos", "--agent", "nobody").out
    assert run("todos").out.splitlines()[-1] == "2 things wait on you; `punchlist answer` shows them."
