"""`punchlist top`: the first screen live on a real terminal, driven by keys."""

import json
import os
import re
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.agent import Agent
from punchlist.core.approval import PlanState
from punchlist.core.todo import Status
from tests.cli.conftest import Run
from tests.cli.terminals import Terminal, open_terminal
from tests.hooks.hosts import Host
from tests.transcripts.sessions import ClaudeSession

ESCAPE, DOWN = "\x1b", "\x1b[B"
SESSION = "9f1d6c1e-0000-4000-8000-000000000001"
"""The session of the log that is written."""

ENTER_SCREEN, LEAVE_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@contextmanager
def top(columns: int = 80, rows: int = 24, *arguments: str, **environment: str) -> Generator[Terminal]:
    """Run `top` until it is quit by its key, which leaves the terminal as it was."""
    with open_terminal(columns, rows, "top", *arguments, **environment) as terminal:
        terminal.wait_for("Punchlist")
        yield terminal
        if terminal.program.poll() is None:
            terminal.press("q")
        end(terminal, 0)


def end(terminal: Terminal, code: int) -> None:
    terminal.wait_until(lambda: terminal.shown.rstrip().endswith(LEAVE_SCREEN), "the old screen")
    assert terminal.wait_for_end() == code
    assert terminal.settings == terminal.before
    assert b"Traceback" not in terminal.shown


def chosen(picture: str) -> str:
    (line,) = [line for line in picture.splitlines() if line.startswith("❯")]
    return " ".join(line.split())


def start(board: Board, name: str, project: Path, *items: str) -> Agent:
    agent = board.agent(name, session=f"s-{name}", project=project)
    agent.call("todo", {"set": [{"text": item} for item in items], "start": "1"})
    return agent


def test_a_question_is_answered_in_place_and_the_agent_appears_at_work(board: Board, project: Path) -> None:
    agent = start(board, "builder", project, "paint", "sand")
    agent.ask("1", "Which \x1b]0;owned\x07\x1b[31mcolour\u202e?")
    with top() as terminal:
        assert "“Which colour?”" in chosen(terminal.wait_for("1 waits for you"))
        terminal.press("\r")
        terminal.wait_for("Which colour? ▏")
        terminal.press("Use réd")
        terminal.wait_for("Use réd▏")
        family = "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"  # one character for a person
        terminal.press(f"{family}\x7f\x7f\x7f\x7fblue\r")
        terminal.wait_for("Answered: paint. project · builder s-builder hears it at its next turn.")
        assert "wait" not in terminal.wait_for("Punchlist  1 at work").splitlines()[0]
        assert b"owned" not in terminal.shown
        assert "\u202e".encode() not in terminal.shown
    answered = [event for event in board.events() if event.kind == "question.answered"]
    assert [(event.by, event.data["answer"]) for event in answered] == [("anna", "Use blue")]


def test_arrows_and_letters_select_and_enter_opens_the_list(board: Board, project: Path) -> None:
    start(board, "one", project, "paint", "sand")
    start(board, "two", project, "cook", "eat")
    with top() as terminal:
        assert "two" in chosen(terminal.wait_for("At work 2"))
        terminal.press(DOWN)
        terminal.wait_until(lambda: "one" in chosen(terminal.picture))
        terminal.press("k\r")
        picture = terminal.wait_until(lambda: "At work 2" not in terminal.picture)
        assert "── 0/2" in picture
        assert "○ eat" in picture
        terminal.press(ESCAPE)
        terminal.wait_for("At work 2")


def test_items_are_added_and_the_one_in_progress_is_marked_done(board: Board, project: Path) -> None:
    agent = start(board, "one", project, "paint", "sand")
    with top() as terminal:
        terminal.wait_for("At work 1")
        terminal.press("a")
        terminal.wait_for("Add to project · one s-one:")
        terminal.press("\x1b[200~buy\nmilk\x1b[201~\r")  # pasted: a line end within is no key
        terminal.wait_for("Added to project · one s-one: buy milk")
        assert "0/3" in terminal.wait_for("0/3")
        terminal.press("d")
        terminal.wait_for("Done: paint?")
        terminal.press("\r")
        terminal.wait_for("Marked completed: paint")
        terminal.wait_for("1/3")
        terminal.press("d")
        terminal.wait_for("has no item in progress")
    assert [(item.content, item.status) for item in agent.todos.items] == [
        ("paint", Status.COMPLETED),
        ("sand", Status.PENDING),
        ("buy milk", Status.PENDING),
    ]
    assert agent.todos.items[0].grade == "confirmed"


def write_editor(folder: Path, program: str) -> str:
    """Return an editor that runs a piece of Python on the text of the file, as `text`."""
    script = folder / "editor.py"
    script.write_text(
        "import pathlib, sys\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "text = file.read_text()\n"
        f"{program}\n"
        "file.write_text(text)\n"
    )
    return f"{sys.executable} {script}"


def test_a_list_is_edited_in_the_persons_editor(board: Board, project: Path, tmp_path: Path) -> None:
    agent = start(board, "one", project, "paint", "sand")
    editor = write_editor(tmp_path, "text = text.replace('sand', 'Sand!') + '- [ ] varnish\\n'")
    with top(EDITOR=editor, VISUAL="") as terminal:
        terminal.wait_for("At work 1")
        terminal.press("e")
        terminal.wait_for("Saved the list: 3 items (project · one s-one)")
        terminal.wait_for("0/3")
        assert terminal.shown.count(ENTER_SCREEN) == 2
    assert [item.content for item in agent.todos.items] == ["paint", "Sand!", "varnish"]


def test_an_edit_that_cannot_be_read_is_mended_in_a_second_one(board: Board, project: Path, tmp_path: Path) -> None:
    agent = start(board, "one", project, "paint")
    mend = "text = text.replace('???', '- [ ] varnish') if '???' in text else text + '???\\n'"
    editor = write_editor(tmp_path, mend)
    with top(EDITOR=editor, VISUAL="") as terminal:
        terminal.wait_for("At work 1")
        terminal.press("e")
        assert "Line 2" in terminal.wait_for("Enter edits it again.")
        assert [item.content for item in agent.todos.items] == ["paint"]
        terminal.press("\r")
        terminal.wait_for("Saved the list: 2 items")
    assert [item.content for item in agent.todos.items] == ["paint", "varnish"]


def test_an_edit_of_a_list_that_moved_on_is_kept_and_named(board: Board, project: Path, tmp_path: Path) -> None:
    agent = start(board, "one", project, "paint")
    editor = write_editor(
        tmp_path,
        "import os, time; open('begun', 'w').close()\n"
        "while not os.path.exists('go'): time.sleep(0.05)\n"
        "text += '- [ ] mine\\n'",
    )
    with top(EDITOR=editor, VISUAL="", TMPDIR=str(tmp_path)) as terminal:
        terminal.wait_for("At work 1")
        terminal.press("e")
        terminal.wait_until(lambda: Path("begun").exists())
        agent.call("todo", {"add": ["theirs"]})
        Path("go").touch()
        terminal.wait_for("The list changed while you were editing")
        assert "--session s-one --agent one" in " ".join(terminal.picture.split())
    (kept,) = tmp_path.glob("punchlist-*/list.todo.md")
    assert "mine" in kept.read_text()
    assert [item.content for item in agent.todos.items] == ["paint", "theirs"]


def test_what_is_done_is_shown_item_by_item_once_the_key_was_pressed(board: Board, project: Path) -> None:
    agent = start(board, "one", project, "paint", "sand", "varnish", "ship")
    agent.call("todo", {"done": ["1", "2", "3"]})
    with top() as terminal:
        assert "paint" not in terminal.wait_for("● 2 done")
        terminal.press("\x14")
        terminal.wait_for("● paint")
    with top() as terminal:
        terminal.wait_for("● paint")


def test_the_person_is_notified_once_they_switched_it_on_and_from_then_on(board: Board, project: Path) -> None:
    agent = start(board, "one", project, "paint", "sand")
    with top() as terminal:
        terminal.wait_for("At work 1")
        terminal.press("n")
        terminal.wait_for("You are notified by bell")
        terminal.wait_for("notifying")
        agent.ask("1", "Which colour?")
        terminal.wait_until(lambda: b"\a" in terminal.shown, "the bell")
    with top() as terminal:
        terminal.wait_for("notifying")
        terminal.press("n")
        terminal.wait_for("You are not notified any more.")


def test_the_groups_are_those_of_the_brief_and_what_was_seen_is_not_shown_again(board: Board, project: Path) -> None:
    for name, result in (("red", "1 failed, 3 passed"), ("green", "4 passed")):
        agent = start(board, name, project, "paint")
        agent.tool_started("c1", "Edit", {"file_path": str(project / "src/door.py")})
        agent.tool_finished("c1", result="ok")
        agent.tool_started("c2", "Bash", {"command": "pytest -q"})
        agent.tool_finished("c2", result=f"{result} in 0.1s", exit_code=int(name == "red"))
        agent.call("todo", {"done": "1"})
        agent.finished()
    start(board, "busy", project, "cook").call("todo", {"add": ["eat"]})
    start(board, "asker", project, "sand").ask("1", "Which grit?")
    with top() as terminal:
        picture = terminal.wait_for("Checked since you looked 1")
        places = [picture.index(f"  {title} 1\n") for title in ("Do now", "Look first", "At work")]
        assert places == sorted(places)
        said = " ".join(picture.split())
        assert "✗ project · red s-red red: pytest, 1 of 4 failed; 1" in said
        assert "✓ project · green s-green 1 of 1 verified, pytest gr" in said
        terminal.press("\t\t")
        terminal.wait_until(lambda: "busy" in chosen(terminal.picture))
        terminal.press("s")
        terminal.wait_until(lambda: "Checked" not in terminal.picture)
        assert "1 waits for you" in terminal.picture


def test_only_the_selected_row_spins_and_it_keeps_its_colours(board: Board, project: Path) -> None:
    start(board, "one", project, "paint")
    start(board, "two", project, "cook")
    with top(120, 12) as terminal:
        picture = terminal.wait_for("At work 2")
        assert re.match("❯ [⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] ", chosen(picture))
        assert len(re.findall("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", picture)) == 1
        assert picture.count("\n  ▸ project") == 1
        assert b"\x1b[7m" not in terminal.shown


def test_a_change_is_taken_back_by_one_key(board: Board, project: Path) -> None:
    agent = start(board, "one", project, "paint", "sand")
    with top() as terminal:
        terminal.wait_for("At work 1")
        terminal.press("abuy milk\r")
        terminal.wait_for("0/3")
        terminal.press("u")
        terminal.wait_for("Took back your last change of project · one s-one.")
        terminal.wait_for("0/2")
    assert [item.content for item in agent.todos.items] == ["paint", "sand"]


def test_done_is_asked_about_the_item_that_it_names(board: Board, project: Path) -> None:
    agent = start(board, "one", project, "paint", "sand", "varnish")
    with top() as terminal:
        terminal.wait_for("At work 1")
        terminal.press("d")
        terminal.wait_for("Done: paint?")
        agent.call("todo", {"done": "1"})
        terminal.press("I looked\r")
        terminal.wait_for("Marked completed: paint")
    assert [item.status for item in agent.todos.items[1:]] == [Status.IN_PROGRESS, Status.PENDING]


def test_an_item_that_looks_done_is_closed_by_one_key(board: Board, project: Path) -> None:
    agent = start(board, "one", project, "paint", "sand")
    agent.tool_started("c1", "Edit", {"file_path": str(project / "src/door.py")})
    agent.tool_finished("c1", result="ok")
    agent.tool_started("c2", "Bash", {"command": "pytest -q"})
    agent.tool_finished("c2", result="3 passed in 0.1s")
    agent.user_turn()
    with top() as terminal:
        terminal.wait_for("“paint” looks done: pytest passed")
        assert agent.todos.items[0].status is Status.IN_PROGRESS
        terminal.press("y")
        terminal.wait_for("Marked completed: paint")
    item = agent.todos.items[0]
    assert (item.status, item.grade, item.evidence[0].text) == (Status.COMPLETED, "confirmed", "pytest -q")


def test_leftovers_of_an_agent_that_ended_are_taken_over_by_one_key(board: Board, project: Path) -> None:
    old = Host(Path(board.store.path), project, session="5f0c1a2b-7a51-4c2e-bede30")
    old.hook("UserPromptSubmit", prompt="Paint")
    old.write_todos("t", paint="completed", sand="pending")
    old.hook("SessionEnd", reason="clear")
    agent = start(board, "main", project, "cook")
    with top() as terminal:
        terminal.wait_for("At work 1")
        terminal.press("G")
        terminal.wait_until(lambda: "claude" in chosen(terminal.picture))
        terminal.press("c")
        terminal.wait_for("Took over 1 item of session bede30")
    assert [item.content for item in agent.todos.items] == ["cook", "sand"]
    assert [event.by for event in board.events() if event.kind == "list.restored"] == ["anna"]


def test_an_agent_at_work_gets_what_the_last_one_left_by_the_same_key(board: Board, project: Path) -> None:
    left = start(board, "main", project, "paint")
    left.finished()
    agent = board.agent("main", session="s-new", project=project)
    agent.call("todo", {"set": ["cook"]})
    with top() as terminal:
        terminal.wait_for("At work 1")
        terminal.press("c")
        terminal.wait_for("Took over 1 item of session s-main; 1 is 2 now.")
    assert [item.content for item in agent.todos.items] == ["cook", "paint"]


def test_a_plan_is_approved_at_the_revision_that_was_read(board: Board, project: Path) -> None:
    agent = board.agent("planner", session="s-1", project=project)
    agent.propose_plan("# Move\n- pack")
    with top() as terminal:
        terminal.wait_for("approve or reject: Move")
        terminal.press("p")
        terminal.wait_for("- pack")
        agent.propose_plan("# Burn\n- burn everything")
        terminal.press("y")
        terminal.wait_until(lambda: "revision" in terminal.picture.splitlines()[-1], "a refusal")
        assert agent.plans[-1].state is PlanState.PROPOSED
        terminal.press(ESCAPE)
        terminal.wait_for("approve or reject: Burn")
        terminal.press("p")
        terminal.wait_for("- burn everything")
        terminal.press("n\r")  # not without a reason
        terminal.wait_for("Reject, because:")
        terminal.press(f"no fire{ESCAPE}")
        terminal.wait_for("y approve")
        terminal.press("y")
        terminal.wait_for("Approved: Burn")
    assert (agent.plans[-1].state, agent.plans[-1].decided_by) == (PlanState.APPROVED, "anna")


def test_a_plan_is_rejected_with_a_reason(board: Board, project: Path) -> None:
    agent = board.agent("planner", session="s-1", project=project)
    agent.propose_plan("# Move\n- pack")
    with top() as terminal:
        terminal.wait_for("approve or reject: Move")
        terminal.press("\r")
        terminal.wait_for("- pack")
        terminal.press("n")
        terminal.wait_for("Reject, because:")
        terminal.press("Tests first\r")
        terminal.wait_for("Rejected: Move")
    assert (agent.plans[-1].state, agent.plans[-1].reason) == (PlanState.REJECTED, "Tests first")


def test_a_blocked_item_goes_on_without_a_note(board: Board, project: Path) -> None:
    agent = start(board, "one", project, "paint", "sand")
    agent.edit({"op": "block", "item": "1", "reason": "the shop is closed", "on": "anna"}, by="one")
    with top() as terminal:
        terminal.wait_for("1 waits for you")
        terminal.press("\r")
        terminal.wait_for("go on; a note, or nothing:")
        terminal.press("\r")
        terminal.wait_for("Unblocked: paint")
    assert agent.todos.items[0].status is not Status.BLOCKED


def test_a_filter_narrows_the_rows_as_it_is_typed_and_escape_shows_all(board: Board, project: Path) -> None:
    for name in ("apple", "pear", "plum"):
        start(board, name, project, f"eat the {name}")
    with top() as terminal:
        terminal.wait_for("At work 3")
        terminal.press("/PE")
        assert "pear" in chosen(terminal.wait_for("At work 1"))
        terminal.press("\r")
        assert "/PE" in terminal.wait_for("enter open")
        terminal.press("/x")
        terminal.wait_for('Nothing matches "PEx".')
        terminal.press(ESCAPE)
        terminal.wait_for("At work 3")


def fits(picture: str, columns: int, rows: int) -> bool:
    lines = picture.splitlines()
    return len(lines) == rows and max(map(len, lines)) <= columns


def test_a_list_stands_next_to_the_agents_once_there_is_room(board: Board, project: Path) -> None:
    start(board, "one", project, *(f"step {number}" for number in range(1, 60)))
    with top(80, 24) as terminal:
        assert "\n    ○ step 2\n" in terminal.wait_for("At work 1")  # with room to spare, below
        terminal.resize(120, 40)
        picture = terminal.wait_for("│ ○ step 2\n")
        assert "\n    ○ step 2\n" not in picture
        assert len(picture.splitlines()) == 40
        assert "more lines: enter" in picture
        terminal.resize(40, 12)
        terminal.wait_until(lambda: fits(terminal.picture, 40, 12), "a picture of the new size")


def test_eighteen_agents_fit_a_small_terminal_in_plain_ascii(board: Board, project: Path) -> None:
    for number in range(30):
        start(board, f"agent{number}", project, "paint")
    with top(80, 24, LANG="C", LC_ALL="C", PYTHONIOENCODING="ascii", NO_COLOR="1") as terminal:
        picture = terminal.wait_for("At work 30")
        assert len(re.findall(r"agent\d+ ", picture)) >= 18
        assert picture.isascii()
        assert not re.search(rb"\x1b\[[0-9;]*m", terminal.shown)
        terminal.press("G")
        terminal.wait_until(lambda: re.search(r"^> .*agent0 ", terminal.picture, re.MULTILINE) is not None)


def write_session(home: Path) -> Path:
    """Write what Claude Code would, were it this process."""
    ticks = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[19]
    told = {"pid": os.getpid(), "sessionId": SESSION, "cwd": str(home), "procStart": ticks, "status": "busy"}
    file = home / ".claude" / "sessions" / f"{os.getpid()}.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(told | {"statusUpdatedAt": int(datetime.now(UTC).timestamp() * 1000)}))
    return file


def write_log(home: Path) -> None:
    session = ClaudeSession()
    session.todo("> Write the form", "Test it")
    folder = home / ".claude" / "projects" / "x"
    folder.mkdir(parents=True)
    session.save(folder)


def test_an_agent_that_is_not_attached_says_how_to_attach_it(home: Path) -> None:
    file = write_session(home)
    with top(200) as terminal:
        terminal.wait_for("no list")
        terminal.press("a")
        terminal.wait_until(lambda: "punchlist attach claude-code" in terminal.picture.splitlines()[-1])
        file.unlink()
        terminal.wait_for("Ended 1")


def test_a_list_that_is_only_watched_is_shown_and_not_changed(home: Path) -> None:
    write_session(home)
    with top(200) as terminal:
        terminal.wait_for("no list")
        write_log(home)
        terminal.wait_for("○ Test it")
        terminal.press("a")
        terminal.wait_for("is read-only")


def test_without_the_watcher_logs_are_not_read(home: Path, board: Board) -> None:
    write_session(home)
    write_log(home)
    with top(200, 24, "--no-watch") as terminal:
        terminal.wait_for("no list")
    assert {event.kind for event in board.events()} <= {"agent.joined", "agent.state"}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_leaves_the_terminal_as_it_was(number: int, code: int) -> None:
    with open_terminal(80, 24, "top") as terminal:
        terminal.wait_for("Punchlist")
        assert terminal.settings != terminal.before
        terminal.program.send_signal(number)
        end(terminal, code)


def test_a_stopped_program_gives_the_terminal_back_and_takes_it_again() -> None:
    with top() as terminal:
        terminal.program.send_signal(signal.SIGTSTP)
        terminal.wait_until(lambda: LEAVE_SCREEN in terminal.shown, "the old screen")

        def is_back() -> bool:
            terminal.program.send_signal(signal.SIGCONT)
            return b"?2026l" in terminal.shown.rpartition(LEAVE_SCREEN)[2]

        terminal.wait_until(is_back)
        assert terminal.shown.count(ENTER_SCREEN) == 2


def test_the_help_lists_the_keys() -> None:
    with top() as terminal:
        terminal.press("?")
        terminal.wait_for("read a plan; then y approves")
        terminal.press(ESCAPE)
        terminal.wait_for("No agent runs")


def test_where_nothing_can_be_drawn_it_says_what_works(run: Run) -> None:
    ran = run("top")
    assert (ran.code, ran.out) == (2, "")
    assert "`punchlist now`" in ran.err


def test_a_row_of_tasks_says_how_to_see_them_and_refuses_what_changes_a_list(board: Board) -> None:
    tasks = board.tasks("archive", by="w1")
    tasks.fail(tasks.create("Copy it").id, "no disk")
    with top(160) as terminal:
        assert "archive · tasks" in chosen(terminal.wait_for("1 to look at first"))
        terminal.wait_for("`punchlist tasks --list archive` shows")
        terminal.press("d")
        terminal.wait_for("This task belongs to no agent's list.")
