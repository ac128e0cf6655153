"""Clones of one repository on two hosts are one project, and a machine whose wire is cut is not gone."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack

import pytest

from punchlist import Board, aio
from punchlist.errors import ServerRefused, TaskTaken
from tests.agents.model_api import Call, Say
from tests.agents.programs import ClaudeCode
from tests.team.hosts import PROJECT, Machine, Server, await_that, end, run
from tests.team.networks import Wire
from tests.team.test_wire import call, list_ends

pytestmark = [pytest.mark.needs("root"), pytest.mark.needs("ip"), pytest.mark.needs("openssl")]

TASKS = f"project:repo://{PROJECT}"


def test_tasks_of_one_clone_are_claimed_on_the_other(
    server: Server, machine: Machine, other: Machine, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
    monkeypatch.setenv("PUNCHLIST_TOKEN", machine.token)
    with Board.open(server.url) as board:
        mine = board.tasks(TASKS).create("Ship it")
        board.tasks(TASKS).create("Tell everyone")

    async def work() -> None:
        async with aio.Board.open(server.url) as board:
            tasks = board.tasks(TASKS)
            claimed = await tasks.claim("worker-1")
            assert claimed is not None
            assert claimed.subject == mine.subject
            done = await tasks.complete(claimed.id, fence=claimed.fence)
            assert done.status == "completed"
            await tasks.claim("worker-1")

    monkeypatch.setenv("PUNCHLIST_TOKEN", other.token)
    with wire.inside(1):
        asyncio.run(work())
    monkeypatch.setenv("PUNCHLIST_TOKEN", machine.token)
    with Board.open(server.url) as board:
        tasks = board.tasks(TASKS)
        assert [task.status for task in tasks.list()] == ["completed", "in_progress"]
        with pytest.raises(TaskTaken):
            tasks.claim("worker-2", id="2")
        with pytest.raises(ServerRefused, match="only the tasks that it has claimed"):
            tasks.complete("2", fence=1)


def test_attach_refuses_a_token_that_is_not_for_the_project(server: Server, machine: Machine) -> None:
    words = ["punchlist", "attach", "claude-code", "--server", server.url, "--yes"]
    for more, token, said in (
        ((), "wrong", "unknown or was revoked"),
        (("--project", "https://git.example.org/hidden"), machine.token, "was not made for git.example.org/hidden"),
    ):
        done = machine.sandbox.run([*words, *more], text=f"{token}\n")
        assert done.returncode != 0
        assert said in done.stderr
    assert "Team board" not in run(machine.sandbox, "status")
    assert not list(machine.sandbox.home.glob(".claude/skills/punchlist/*"))


def test_a_renewed_token_is_taken_by_the_relay_that_runs(server: Server, machine: Machine, stack: ExitStack) -> None:
    machine.attach("claude-code")
    stack.callback(end, machine.start_relay())
    machine.hook("s-1", "SessionStart", source="startup")
    await_that(lambda: "s-1" in run(server.sandbox, "sessions", "--all"), machine.faults)
    machine.token = run(server.sandbox, "token", "renew", machine.name).strip()
    call(machine, 1)
    machine.attach("claude-code")
    await_that(lambda: list_ends(server) == ["call-1"], lambda: (machine.faults(), run(machine.sandbox, "status")))


def test_a_machine_whose_wire_is_cut_is_unreachable_and_comes_back(
    server: Server, machine: Machine, wire: Wire, stack: ExitStack
) -> None:
    machine.attach("claude-code")
    stack.callback(end, machine.start_relay())
    machine.hook("s-1", "SessionStart", source="startup")
    machine.hook("s-1", "UserPromptSubmit", prompt="Paint the door")

    def states() -> list[tuple[str, str]]:
        agents = json.loads(run(server.sandbox, "now", "--json"))["agents"]
        return [(agent["state"], agent["machine"]) for agent in agents]

    await_that(lambda: states() == [("busy", "laptop-0")], states)
    wire.cut()
    await_that(lambda: states() == [("unknown", "laptop-0")], states)
    assert "machine laptop-0 unreachable since" in run(server.sandbox, "now")
    wire.mend()
    await_that(lambda: states() == [("busy", "laptop-0")], states)


TOOL = "mcp__plugin_punchlist_punchlist__todo"


@pytest.mark.agents
def test_a_session_of_one_machine_is_handed_to_an_agent_on_the_other(
    server: Server, machine: Machine, other: Machine, wire: Wire, stack: ExitStack
) -> None:
    machine.attach("claude-code")
    begun = [[Call(TOOL, {"set": ["paint", "sand"]})], [Call(TOOL, {"done": ["1"]})], [Say("Shall I go on?")]]
    first = stack.enter_context(ClaudeCode(machine.sandbox, begun))
    first.run("Paint the door")
    (before,) = json.loads(run(server.sandbox, "todos", "--all", "--json"))
    made = json.loads(run(server.sandbox, "handoff", before["session"], "--to", "claude-code", "--json"))
    with wire.inside(1):
        other.attach("claude-code")
        second = stack.enter_context(ClaudeCode(other.sandbox, [[Call(TOOL, {"done": ["2"]})], [Say("All done.")]]))
        second.run(made["prompt"])
    (after,) = json.loads(run(server.sandbox, "todos", "--all", "--json"))
    assert after["session"] == before["session"]
    assert [(item["id"], item["status"]) for item in after["items"]] == [("1", "completed"), ("2", "completed")], (
        second.api.main_requests[-1].text,
        other.faults(),
    )
