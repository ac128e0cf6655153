"""`punchlist notify` beside real sessions of Claude Code that are not attached: one asks, one finishes."""

import json
import time
from collections.abc import Callable
from typing import Any

from punchlist import Board
from tests.agents.model_api import PATIENCE, Script
from tests.agents.programs import ClaudeCode, Sandbox
from tests.agents.terminal import Terminal
from tests.agents.test_codex_plans import running
from tests.agents.test_now import answer_claude, wait_for_event

_ASKING, _WORKING = (f"0000000{number}-0000-4000-8000-000000000000" for number in range(2))
_OPTIONS = ("--permission-mode", "default", "--allowedTools", "Bash")


def read_notices(sandbox: Sandbox) -> list[dict[str, Any]]:
    file = sandbox.home / "told"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def wait_for_notices(sandbox: Sandbox, wanted: tuple[str, str]) -> None:
    """Wait for a kind of fact of a session."""
    deadline = time.monotonic() + PATIENCE
    while wanted not in [(notice["kind"], notice["session"]) for notice in read_notices(sandbox)]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{read_notices(sandbox)}")


def wait_until_known(sandbox: Sandbox, session: str, state: str) -> None:
    """Wait until `punchlist notify` remembers an agent in a state: only what it has seen begin can end."""
    deadline = time.monotonic() + PATIENCE
    with Board.open(sandbox.home / ".local" / "share" / "punchlist" / "board.db") as board:
        while True:
            memory = board.store.read(lambda tx: tx.notices.load()).memory
            if memory is not None and (session, state) in {(one.session, one.state) for one in memory.agents.values()}:
                return
            if time.monotonic() > deadline:
                raise TimeoutError(f"{memory}")


def test_claude_code(claude: Callable[[Script], ClaudeCode], open_terminal: Callable[..., Terminal]) -> None:
    program = claude(answer_claude)
    print(program.version())
    sandbox = program.sandbox
    settings = sandbox.home / ".config" / "punchlist" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    line = f"(cat; echo) >> {sandbox.home / 'told'}"
    settings.write_text(f"[notify]\ncommand = ['sh', '-c', '{line}']\n")
    with running(sandbox, "punchlist", "notify"), running(sandbox, "punchlist", "notify"):
        asking, working = (open_terminal(program, "--session-id", one, *_OPTIONS) for one in (_ASKING, _WORKING))
        for terminal, prompt in ((asking, "please ask me"), (working, "please be busy")):
            terminal.wait_for_text("❯")
            terminal.submit(prompt)
        wait_for_notices(sandbox, ("waits", _ASKING))
        wait_until_known(sandbox, _WORKING, "busy")
        (sandbox.project / "go").touch()
        wait_for_notices(sandbox, ("finished", _WORKING))
        (sandbox.project / "go").unlink()
        asking.press("Enter", "Good morning.")  # the first answer
        wait_for_event(sandbox, _ASKING, "idle")
    found = read_notices(sandbox)
    print(*found, sep="\n")
    (asked,) = (notice for notice in found if notice["kind"] == "waits")
    assert asked["text"] == "Which region?"
    assert [notice["session"] for notice in found].count(_WORKING) == 1
