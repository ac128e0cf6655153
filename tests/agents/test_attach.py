"""Attach and detach with the real agents: they accept our files, load them, and keep nothing of ours afterwards."""

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agents.model_api import Call, Say, Script
from tests.agents.programs import PROGRAMS, ClaudeCode, Codex, Sandbox
from tests.agents.terminal import Terminal

HOSTS = {"claude-code": "claude", "codex": "codex", "gemini": "gemini", "opencode": "opencode"}


def hash_files(home: Path) -> dict[str, str]:
    files = sorted(path for path in home.rglob("*") if path.is_file())
    return {str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def find_mentions(home: Path) -> list[str]:
    """Return the files of a home that mention us by content or name, but for the board and the agents' own logs."""
    names = {str(path.relative_to(home)): path for path in home.rglob("*") if path.is_file()}
    return [
        name
        for name, path in names.items()
        if not name.startswith((".local/share/punchlist/", ".cache/claude-cli-nodejs/", ".codex/logs_"))
        and (b"punchlist" in path.read_bytes() or "punchlist" in name)
    ]


def punchlist(sandbox: Sandbox, *words: str) -> str:
    """Run a command of ours in the sandbox and return what it printed; it has to succeed."""
    done = sandbox.run(["punchlist", *words])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("host", HOSTS)
def test_detach_leaves_every_file_as_it_was_when_no_agent_ran(sandbox: Sandbox, host: str) -> None:
    with PROGRAMS[HOSTS[host]](sandbox):
        before = hash_files(sandbox.home)
        rows = ["--statusline"] if host == "claude-code" else []
        punchlist(sandbox, "attach", host, "--yes", *rows)
        assert hash_files(sandbox.home) != before
        punchlist(sandbox, "detach", host, "--yes")
        assert hash_files(sandbox.home) == before


def test_claude_code_accepts_and_enables_the_plugin(claude: Callable[[Script], ClaudeCode]) -> None:
    program = claude([])
    sandbox = program.sandbox
    print(program.version())
    punchlist(sandbox, "attach", "claude-code", "--yes")
    folder = sandbox.home / ".claude" / "skills" / "punchlist"
    checked = sandbox.run(["claude", "plugin", "validate", "--strict", str(folder)], env=program.variables)
    assert checked.returncode == 0, checked.stdout
    listed = sandbox.run(["claude", "plugin", "list", "--json"], env=program.variables)
    (plugin,) = json.loads(listed.stdout)
    assert (plugin["id"], plugin["enabled"], "errors" in plugin) == ("punchlist@skills-dir", True, False)
    servers = sandbox.run(["claude", "mcp", "list"], env=program.variables)
    assert "plugin:punchlist:punchlist" in servers.stdout
    assert "Connected" in servers.stdout
    punchlist(sandbox, "detach", "claude-code", "--yes")
    assert find_mentions(sandbox.home) == []


def test_claude_code_finds_the_plugin_where_its_own_variable_says(claude: Callable[[Script], ClaudeCode]) -> None:
    program = claude([])
    moved = {"CLAUDE_CONFIG_DIR": str(program.sandbox.home / "elsewhere")}
    done = program.sandbox.run(["punchlist", "attach", "claude-code", "--yes"], env=moved)
    assert done.returncode == 0, done.stderr
    listed = program.sandbox.run(["claude", "plugin", "list", "--json"], env=program.variables | moved)
    assert [plugin["enabled"] for plugin in json.loads(listed.stdout)] == [True]


def test_codex_loads_the_server_and_keeps_nothing_after_detach(codex: Callable[[Script], Codex]) -> None:
    program = codex([])
    sandbox = program.sandbox
    print(program.version())
    before = program.config.read_bytes()
    punchlist(sandbox, "attach", "codex", "--yes")
    listed = sandbox.run(["codex", "mcp", "list", "--json"], env=program.variables)
    (server,) = json.loads(listed.stdout)
    assert (server["name"], server["enabled"]) == ("punchlist", True)
    sandbox.run(["codex", "mcp", "add", "other", "--", "/bin/true"], env=program.variables)
    punchlist(sandbox, "detach", "codex", "--yes")
    assert find_mentions(sandbox.home) == []
    sandbox.run(["codex", "mcp", "remove", "other"], env=program.variables)
    assert program.config.read_bytes().split() == before.split()


def test_status_sees_that_codex_trusts_our_hooks(codex: Callable[[Script], Codex]) -> None:
    program = codex([])
    punchlist(program.sandbox, "attach", "codex", "--yes")
    assert "/hooks" in punchlist(program.sandbox, "status")
    listed = _ask_app_server(program, "hooks/list", {"cwds": [str(program.sandbox.project)]})
    hooks = listed["data"][0]["hooks"]
    assert {hook["trustStatus"] for hook in hooks} == {"untrusted"}
    states = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in hooks}
    edit = {"keyPath": "hooks.state", "value": states, "mergeStrategy": "upsert"}
    _ask_app_server(program, "config/batchWrite", {"edits": [edit]})
    assert "/hooks" not in punchlist(program.sandbox, "status")
    punchlist(program.sandbox, "detach", "codex", "--yes")
    assert b"hooks" not in program.config.read_bytes()


def _ask_app_server(program: Codex, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send one request to Codex' own server and return its result."""
    with subprocess.Popen(
        ["codex", "app-server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=program.env,
        text=True,
    ) as server:
        assert server.stdin
        assert server.stdout
        hello = {"clientInfo": {"name": "test", "version": "1"}}
        reply: dict[str, Any] = {}
        for number, (name, value) in enumerate([("initialize", hello), (method, params)]):
            server.stdin.write(json.dumps({"id": number, "method": name, "params": value}) + "\n")
            server.stdin.flush()
            while (reply := json.loads(server.stdout.readline())).get("id") != number:
                pass
        server.kill()
    return reply["result"]


# The name under which a model sees our tool, and the option without which a tool that writes is not offered.
TOOLS = {
    "claude-code": ("mcp__plugin_punchlist_punchlist__todo", ()),
    "codex": ("mcp__punchlist", ()),
    "gemini": ("mcp_punchlist_todo", ("--yolo",)),
    "opencode": ("punchlist_todo", ()),
}


@pytest.mark.parametrize("host", HOSTS)
def test_our_tool_is_in_the_first_request(sandbox: Sandbox, host: str) -> None:
    tool, options = TOOLS[host]
    with PROGRAMS[HOSTS[host]](sandbox) as program:
        punchlist(sandbox, "attach", host, "--yes")
        program.run("Hello", *options)
        offered = program.api.main_requests[0].tools
        assert {tool, re.sub("todo$", "task", tool)} <= set(offered)


# Codex runs hooks that nobody trusted with this option only.
HOOKED = {"claude-code": (), "codex": ("--dangerously-bypass-hook-trust",)}


@pytest.mark.parametrize("host", HOOKED)
def test_the_hooks_of_an_attached_agent_are_heard(sandbox: Sandbox, host: str) -> None:
    with PROGRAMS[HOSTS[host]](sandbox) as program:
        punchlist(sandbox, "attach", host, "--yes")
        program.run("Hello", *HOOKED[host])
        found = json.loads(sandbox.run(["punchlist", "doctor", "--json"]).stdout)["findings"]
    (heard,) = [finding["text"] for finding in found if finding["name"] == "hooks"]
    assert heard.startswith(f"last heard of {host}: ")
    assert [finding for finding in found if finding["name"] == "hook faults"] == []


def test_a_person_trusts_the_hooks_in_codex_itself(
    codex: Callable[[Script], Codex], open_terminal: Callable[..., Terminal]
) -> None:
    program = codex([])
    before = program.config.read_bytes()
    punchlist(program.sandbox, "attach", "codex", "--yes")
    terminal = open_terminal(program)
    terminal.wait_for(lambda screen: "Trust all" in screen)
    terminal.press("Down", "› 2. Trust all")
    terminal.press("Enter", "Ask Codex")
    assert "Codex 0.166.0: attached; " in punchlist(program.sandbox, "status")
    assert "up to date" in punchlist(program.sandbox, "attach", "codex", "--yes")
    assert b"hooks.state" in program.config.read_bytes()
    punchlist(program.sandbox, "detach", "codex", "--yes")
    left = program.config.read_bytes()  # Codex added a table of its own meanwhile
    assert left.startswith(before)
    assert b"[hooks" not in left


def test_the_commands_of_the_plugin_show_and_change_the_list(claude: Callable[[Script], ClaudeCode]) -> None:
    program = claude([])
    punchlist(program.sandbox, "attach", "claude-code", "--yes")
    program.run("/punchlist:todo append Paint the door")
    (todos,) = json.loads(punchlist(program.sandbox, "todos", "--json"))
    assert [item["content"] for item in todos["items"]] == ["Paint the door"]
    before = len(program.api.main_requests)
    program.run("/punchlist:todos", "--resume", todos["session"])
    assert len(program.api.main_requests) == before  # our hook shows the list, and the model is not asked


def test_a_project_folder_cannot_put_its_own_code_in_the_place_of_ours(claude: Callable[[Script], ClaudeCode]) -> None:
    program = claude([[Call("mcp__plugin_punchlist_punchlist__todo", {"add": [{"text": "Paint the door"}]})]])
    trap = f"open({str(program.sandbox.home / 'trapped')!r}, 'w')\n"
    for name in ("punchlist", "punchlist_hook", "punchlist_statusline", "msgspec", "json", "sqlite3", "sitecustomize"):
        (program.sandbox.project / f"{name}.py").write_text(trap, encoding="utf-8")
    punchlist(program.sandbox, "attach", "claude-code", "--yes")
    variables = {"PYTHONPATH": str(program.sandbox.project), "PYTHONSTARTUP": str(program.sandbox.project / "json.py")}
    done = program.sandbox.run(program.headless("Go"), env=program.variables | variables)
    assert done.returncode == 0
    assert not (program.sandbox.home / "trapped").exists()
    (todos,) = json.loads(punchlist(program.sandbox, "todos", "--json"))
    assert [item["content"] for item in todos["items"]] == ["Paint the door"]


def test_rows_stand_under_the_prompt_after_the_status_line_of_the_person(
    claude: Callable[[Script], ClaudeCode], open_terminal: Callable[..., Terminal]
) -> None:
    program = claude([[Call(TOOLS["claude-code"][0], {"add": [{"text": "Paint the door"}]})], [Say("Begun.")]])
    settings = program.sandbox.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"statusLine": {"type": "command", "command": "echo my own line"}}', encoding="utf-8")
    punchlist(program.sandbox, "attach", "claude-code", "--yes", "--statusline")
    terminal = open_terminal(program)
    terminal.wait_for(lambda screen: "my own line" in screen)
    terminal.submit("Begin")
    screen = terminal.wait_for(lambda screen: "─ 0/1" in screen.partition("my own line")[2])
    print(screen)
    punchlist(program.sandbox, "detach", "claude-code", "--yes")
    assert settings.read_text() == '{"statusLine": {"type": "command", "command": "echo my own line"}}'


def test_codex_loads_the_folder_as_a_portable_plugin(codex: Callable[[Script], Codex]) -> None:
    program = codex([])
    sandbox = program.sandbox
    punchlist(sandbox, "attach", "claude-code", "--yes", "--force")
    market = sandbox.home / "market"
    shutil.copytree(sandbox.home / ".claude" / "skills" / "punchlist", market / "plugins" / "punchlist")
    for own in (".claude-plugin", "hooks", "commands"):  # what Codex reads where the portable manifest is not alone
        shutil.rmtree(market / "plugins" / "punchlist" / own)
    listed = {"name": "punchlist", "source": {"source": "local", "path": "./plugins/punchlist"}}
    policy = {"installation": "AVAILABLE", "authentication": "ON_INSTALL"}
    catalogue = market / ".agents" / "plugins" / "marketplace.json"
    catalogue.parent.mkdir(parents=True)
    plugins = [{**listed, "policy": policy, "category": "Productivity"}]
    catalogue.write_text(json.dumps({"name": "local", "interface": {"displayName": "Local"}, "plugins": plugins}))
    sandbox.run(["codex", "plugin", "marketplace", "add", str(market)], env=program.variables)
    added = sandbox.run(["codex", "plugin", "add", "punchlist@local"], env=program.variables)
    assert added.returncode == 0, added.stderr
    program.run("Hello")
    assert "mcp__punchlist" in program.api.main_requests[0].tools


def test_claude_code_accepts_the_marketplace_and_its_plugin(claude: Callable[[Script], ClaudeCode]) -> None:
    program = claude([])
    root = Path(__file__).parents[2]
    for folder in (root, root / "plugins" / "claude-code"):
        checked = program.sandbox.run(["claude", "plugin", "validate", "--strict", str(folder)], env=program.variables)
        assert checked.returncode == 0, checked.stdout
    for words in (["marketplace", "add", str(root)], ["install", "punchlist@punchlist"]):
        done = program.sandbox.run(["claude", "plugin", *words], env=program.variables)
        assert done.returncode == 0, done.stdout
    listed = program.sandbox.run(["claude", "plugin", "list", "--json"], env=program.variables)
    (plugin,) = json.loads(listed.stdout)
    assert (plugin["id"], plugin["enabled"], "errors" in plugin) == ("punchlist@punchlist", True, False)
