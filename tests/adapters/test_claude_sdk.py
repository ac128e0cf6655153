"""The Claude Agent SDK, with the CLI that it brings, against a scripted model API on loopback."""

import asyncio
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

from punchlist import Board
from punchlist.adapters.claude_sdk import options
from punchlist.errors import InvalidInput
from tests.adapters.proof import run_page
from tests.agents.model_api import AnthropicApi, Call, Say, Turn

pytestmark = pytest.mark.adapters

TODO = "mcp__plugin_punchlist_punchlist__todo"
TESTS = """\
#!/bin/sh
n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n
if [ $n = 0 ]; then %s; echo "E assert 2 == 5"; echo "1 failed in 0.02s"; exit 1; fi
echo "1 passed in 0.02s"
"""


def bash(command: str) -> Call:
    return Call("Bash", {"command": command, "description": "run"})


STORY: list[Turn] = [
    [Call(TODO, {"add": ["Fix the sum", "Write the changelog"], "start": "1"})],
    [bash("./pytest -q")],
    [bash("sed -i s/a/b/ shop.py")],
    [bash("./pytest -q")],
    [Call(TODO, {"done": ["1"]})],
    [Say("All done.")],
    [Say("Really done now.")],
]


@pytest.fixture
def folder(tmp_path: Path, own_home: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    (work / "shop.py").write_text("a\n", encoding="utf-8")
    punchlist = shlex.join([sys.executable, "-m", "punchlist"])
    edit = f"{punchlist} todo append Tell ada >/dev/null"
    (work / "pytest").write_text(TESTS % edit, encoding="utf-8")
    (work / "pytest").chmod(0o755)
    return work


def environment(api: AnthropicApi) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": api.url,
        "ANTHROPIC_API_KEY": "sk-x",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
        "NO_PROXY": "*",
    }


def run(api: AnthropicApi, folder: Path, prompt: str, **more: Any) -> ResultMessage:
    async def converse() -> list[Any]:
        given = options(allowed_tools=["Bash"])
        wanted = ClaudeAgentOptions(cwd=folder, env=environment(api), max_turns=20, **given, **more)
        return [message async for message in query(prompt=prompt, options=wanted)]

    last = asyncio.run(converse())[-1]
    assert isinstance(last, ResultMessage)
    return last


def test_a_list_is_made_checked_and_graded_and_a_stop_is_asked_about_once(folder: Path) -> None:
    with AnthropicApi(STORY) as api:
        done = run(api, folder, "Fix the total of a basket.")
        requests = api.main_requests
    with Board.open() as board:
        items = board.agent("main", session=done.session_id).todos.items
        assert [(item.content, item.status.value) for item in items] == [
            ("Fix the sum", "completed"),
            ("Write the changelog", "in_progress"),
            ("Tell ada", "pending"),
        ]
        assert items[0].grade == "verified"
        assert board.report(session=done.session_id).state == "green"
        assert [event.data["name"] for event in board.events() if event.kind == "tool.finished"].count("Bash") >= 2
    assert ["Tell ada" in request.text for request in requests].index(True) == 5, "with its next call of our tool"
    assert len(requests) == len(STORY)
    assert "still open. Continue" in requests[-1].text
    assert done.result == "Really done now."


def test_a_conversation_that_is_resumed_in_a_new_process_has_its_list(folder: Path) -> None:
    with AnthropicApi([STORY[0], [Say("Which one first, ada?")]]) as api:
        first = run(api, folder, "Plan it.")
    with AnthropicApi([[Call(TODO, {})], [Say("Which one first, ada?")]]) as api:
        again = run(api, folder, "What is open?", resume=first.session_id)
        assert "Write the changelog" in api.main_requests[-1].text
    assert again.session_id == first.session_id


def test_the_plugin_is_written_once_and_keeps_the_users_own_options(own_home: Path) -> None:
    mine = {"type": "local", "path": "/mine"}
    first = options(plugins=[mine], allowed_tools=["Read"])
    (plugin,) = [one for one in first["plugins"] if one != mine]
    manifest = os.path.join(plugin["path"], ".claude-plugin", "plugin.json")
    before = os.stat(manifest)
    assert options(plugins=[mine], allowed_tools=["Read"]) == first
    assert os.stat(manifest).st_ino == before.st_ino
    assert first["allowed_tools"][:2] == ["Read", TODO]


def test_a_board_in_memory_is_refused() -> None:
    with pytest.raises(InvalidInput):
        options("memory:")


def test_the_page_runs_as_it_stands(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with AnthropicApi([STORY[0], [Say("Which one first, ada?")]]) as api:
        for name, value in environment(api).items():
            monkeypatch.setenv(name, value)
        run_page("claude-sdk")
    with Board.open() as board:
        assert [row.todos.progress.total for row in board.lists()] == [2]
