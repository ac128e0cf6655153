"""A session is handed from the real Claude Code to the real Codex: the list goes on, with its ids."""

import json
from contextlib import ExitStack

from tests.agents.model_api import Call, Say
from tests.agents.programs import ClaudeCode, Codex, Sandbox

TOOL = "mcp__plugin_punchlist_punchlist__todo"


def punchlist(sandbox: Sandbox, *words: str) -> str:
    done = sandbox.run(["punchlist", *words])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_codex_continues_the_list_of_claude_code(sandbox: Sandbox, stack: ExitStack) -> None:
    begun = [[Call(TOOL, {"set": ["paint", "sand"]})], [Call(TOOL, {"done": ["1"]})], [Say("Shall I go on?")]]
    claude = stack.enter_context(ClaudeCode(sandbox, begun))
    codex = stack.enter_context(
        Codex(sandbox, [[Call("todo", {"done": ["2"]}, namespace="mcp__punchlist")], [Say("All done.")]])
    )
    for host in ("claude-code", "codex"):
        punchlist(sandbox, "attach", host, "--yes")
    claude.run("Paint the door")
    (before,) = json.loads(punchlist(sandbox, "todos", "--json"))
    made = json.loads(punchlist(sandbox, "handoff", before["session"], "--to", "codex", "--json"))
    codex.run(made["prompt"], "--dangerously-bypass-hook-trust")
    assert "- 2 [in_progress] sand" in codex.api.main_requests[0].text
    (after,) = json.loads(punchlist(sandbox, "todos", "--json"))
    assert after["session"] == before["session"]
    assert [(item["id"], item["status"]) for item in after["items"]] == [("1", "completed"), ("2", "completed")]
    events = [json.loads(line) for line in punchlist(sandbox, "events", "--json").splitlines()]
    (continued,) = [event for event in events if event["kind"] == "session.continued"]
    assert (continued["data"]["from"], continued["data"]["host"]) == ("claude-code", "codex")
