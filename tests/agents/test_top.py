"""`punchlist top` under tmux, driven by keys: on a board, and next to a real agent that it wakes."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.core.approval import PlanState
from tests.agents.model_api import Call, Say, Script
from tests.agents.programs import ClaudeCode, Sandbox
from tests.agents.terminal import Terminal
from tests.agents.test_back_channel import ASK, SET, TOOL, punchlist, wait_until_idle


def open_top(stack: ExitStack, sandbox: Sandbox, cols: int, rows: int, **variables: str) -> Terminal:
    env = sandbox.env | variables
    return stack.enter_context(Terminal(["punchlist", "top"], cwd=sandbox.project, env=env, cols=cols, rows=rows))


@pytest.mark.parametrize(("cols", "rows"), [(80, 24), (120, 40), (40, 12)])
def test_a_person_answers_edits_and_approves_at_every_size(
    stack: ExitStack, sandbox: Sandbox, tmp_path: Path, cols: int, rows: int
) -> None:
    file = sandbox.home / ".local" / "share" / "punchlist" / "board.db"
    file.parent.mkdir(parents=True)
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "- [ ] varnish" >> "$1"\n')
    editor.chmod(0o755)
    with Board.open(file) as board:
        painter = board.agent("painter", session="s-1", project=sandbox.project)
        painter.call("todo", {"set": ["paint", "sand"], "start": "1"})
        painter.ask("1", "Which colour?")
        planner = board.agent("planner", session="s-2", project=sandbox.project)
        planner.propose_plan("# Move\n- pack")
        terminal = open_top(stack, sandbox, cols, rows, EDITOR=str(editor))
        terminal.wait_for(lambda screen: "2 wait for you" in screen and "approve" in screen)
        assert all(len(line) <= cols for line in terminal.screen().splitlines())
        terminal.press("Enter", "Which colour? ▏")
        terminal.submit("Use blue")
        terminal.wait_for(lambda screen: "Answered: paint" in screen and "❯ ◆" in screen)  # the plan is selected by now
        terminal.send("p")
        terminal.wait_for_text("y approve")  # a wide screen shows the plan before it is opened, too
        terminal.send("y")
        terminal.wait_for_text("Approved: Move")
        terminal.wait_for(lambda screen: "for you" not in screen)
        terminal.press("/", "filter: ▏")
        terminal.submit("painter")
        terminal.send("e")
        terminal.wait_for_text("Saved the list: 3 items")
        terminal.send("q")
        terminal.wait_for(lambda _: not terminal.is_running)
        assert [item.content for item in painter.todos.items] == ["paint", "sand", "varnish"]
        answers = [event.data["answer"] for event in board.events() if event.kind == "question.answered"]
        assert answers == ["Use blue"]
        assert planner.plans[-1].state is PlanState.APPROVED


def test_an_answer_from_the_screen_wakes_idle_claude_code(
    claude: Callable[[Script], ClaudeCode], stack: ExitStack, open_terminal: Callable[..., Terminal]
) -> None:
    program = claude([[Call(TOOL, SET)], [Call(TOOL, ASK)], [Say("Which grit?")], [Say("Thank you.")], [Say("Fine.")]])
    punchlist(program.sandbox, "attach", "claude-code", "--yes")
    terminal = open_terminal(program)
    terminal.wait_for_text("❯")
    terminal.submit("go")
    terminal.wait_for_text("requests your input")
    terminal.press("Escape", "● Which grit?")
    wait_until_idle(program.sandbox)
    before = len(program.api.main_requests)
    screen = open_top(stack, program.sandbox, 80, 24)
    screen.wait_for_text("“Which grit?”")
    screen.press("Enter", "Which grit? ▏")
    screen.submit("Use grit 120")
    screen.wait_for_text("hears it now.")
    program.api.wait_for(lambda requests: any("Use grit 120" in one.text for one in requests))
    assert program.api.main_requests[before].text.count("Use grit 120") == 1
    terminal.wait_for_text("Thank you.")
    wait_until_idle(program.sandbox, turns=2)  # else the edit is told at the end of this one
    screen.press("a", "Add to")
    screen.submit("varnish")
    screen.wait_for_text("Added to")
    terminal.submit("go on")  # an edit costs no turn of its own: it comes with the next one
    program.api.wait_for(lambda requests: any("varnish" in one.text for one in requests))
    assert "go on" in next(one.text for one in program.api.main_requests if "varnish" in one.text)
