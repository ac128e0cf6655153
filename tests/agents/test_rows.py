"""Rows under the prompt of the real Claude Code: its own session's work, up to date, after the person's own line."""

import json
from collections.abc import Callable

from tests.agents.model_api import Call, Request, Say, Script, Turn
from tests.agents.programs import ClaudeCode, Sandbox
from tests.agents.terminal import Terminal

_TOOL = "mcp__plugin_punchlist_punchlist__todo"
Open = Callable[..., Terminal]


def _punchlist(sandbox: Sandbox, *words: str) -> str:
    done = sandbox.run(["punchlist", *words])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _work(*texts: str) -> Script:
    items = [{"text": text, "doing": f"Doing {text}"} for text in texts]
    return [[Call(_TOOL, {"set": items})], [Say("Begun.")]]


def _session_of(sandbox: Sandbox, text: str) -> str:
    lists = json.loads(_punchlist(sandbox, "todos", "--json"))
    return next(row["session"] for row in lists if row["items"][0]["content"] == text)


def test_an_edit_in_another_shell_shows_under_the_prompt(
    claude: Callable[[Script], ClaudeCode], open_terminal: Open
) -> None:
    program = claude(_work("paint", "sand"))
    _punchlist(program.sandbox, "attach", "claude-code", "--yes", "--statusline")
    terminal = open_terminal(program)
    terminal.wait_for_text("❯")
    terminal.submit("go")
    screen = terminal.wait_for_text("Doing paint")
    assert "── 0/2" in screen
    session = _session_of(program.sandbox, "paint")
    _punchlist(program.sandbox, "todo", "append", "varnish", "--session", session)
    terminal.wait_for_text("─── 0/3")
    _punchlist(program.sandbox, "todo", "done", "1", "--session", session)
    terminal.wait_for_text("━── 1/3")


def test_two_sessions_show_their_own_lists(claude: Callable[[Script], ClaudeCode], open_terminal: Open) -> None:
    def answer(request: Request) -> Turn:
        """Write a list once in each conversation, with the text that its person asked for."""
        if "tool_result" in request.text:
            return [Say("Begun.")]
        return [Call(_TOOL, {"set": ["sanding" if "Please sand" in request.text else "painting"]})]

    program = claude(answer)
    _punchlist(program.sandbox, "attach", "claude-code", "--yes", "--statusline")
    terminals = [open_terminal(program), open_terminal(program)]
    for terminal, prompt in zip(terminals, ("Please paint", "Please sand"), strict=True):
        terminal.wait_for_text("❯")
        terminal.submit(prompt)
    for terminal, mine, other in zip(terminals, ("painting", "sanding"), ("sanding", "painting"), strict=True):
        screen = terminal.wait_for_text(f"‖ {mine}")
        assert other not in screen


def test_rows_come_after_the_persons_own_status_line(
    claude: Callable[[Script], ClaudeCode], open_terminal: Open
) -> None:
    program = claude(_work("paint"))
    settings = program.sandbox.home / ".claude" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps({"statusLine": {"type": "command", "command": "echo my own line"}}))
    _punchlist(program.sandbox, "attach", "claude-code", "--yes", "--statusline")
    terminal = open_terminal(program)
    terminal.wait_for_text("my own line")
    terminal.submit("go")
    screen = terminal.wait_for_text("‖ Doing paint")
    assert screen.index("my own line") < screen.index("‖ Doing paint")
