"""A machine whose wire is cut, or whose processes are killed, goes on, and loses nothing that was acknowledged."""

from __future__ import annotations

import random
from contextlib import ExitStack

import pytest

from tests.sizes import size
from tests.team.hosts import Machine, Server, await_that, end, run
from tests.team.networks import Wire

pytestmark = [pytest.mark.needs("root"), pytest.mark.needs("ip"), pytest.mark.needs("openssl")]

CALLS, KILLS = size(50, 50), size(6, 200)


def call(machine: Machine, number: int, session: str = "s-1") -> None:
    """Tell of a numbered call that began and ended."""
    given = {"tool_name": "Read", "tool_input": {"file_path": f"/{number}"}, "tool_use_id": f"call-{number}"}
    machine.hook(session, "PreToolUse", **given)
    machine.hook(session, "PostToolUse", **given, tool_response="text")


def list_calls(server: Server, session: str = "s-1") -> list[str]:
    return [event["data"]["call_id"] for event in server.events("--session", session, "--kind", "tool.started")]


def list_ends(server: Server, session: str = "s-1") -> list[str]:
    return [event["data"]["call_id"] for event in server.events("--session", session, "--kind", "tool.finished")]


def begin(server: Server, machine: Machine, session: str = "s-1") -> None:
    """Have a conversation on the server's board, and the relay connected."""
    machine.hook(session, "SessionStart", source="startup")
    machine.hook(session, "UserPromptSubmit", prompt="Count")
    await_that(lambda: session in run(server.sandbox, "sessions", "--all"), machine.faults)


@pytest.mark.parametrize("is_killed", [False, True])
def test_calls_while_the_wire_is_cut_arrive_once_and_in_order(
    server: Server, machine: Machine, wire: Wire, stack: ExitStack, is_killed: bool
) -> None:
    machine.attach("claude-code")
    relay = machine.start_relay()
    stack.callback(lambda: end(relay))
    begin(server, machine)
    for number in range(CALLS):
        if number == 10:
            wire.cut()
        if number == 20 and is_killed:
            end(relay)
        if number == 40:
            wire.mend()
            if is_killed:
                relay = machine.start_relay()
        call(machine, number)
    answer, _ = machine.hook("s-1", "Stop", last_assistant_message="Counted.")
    assert "decision" not in answer
    wanted = [f"call-{number}" for number in range(CALLS)]
    await_that(lambda: len(list_ends(server)) >= CALLS, lambda: (list_ends(server), machine.faults()), 30)
    assert list_calls(server) == wanted
    assert list_ends(server) == wanted


def test_server_relay_and_hooks_may_be_killed_at_any_time(server: Server, machine: Machine, stack: ExitStack) -> None:
    rng = random.Random(28)
    machine.attach("claude-code")
    relay = machine.start_relay()
    stack.callback(lambda: end(relay))
    begin(server, machine)
    for number in range(KILLS):
        call(machine, 2 * number)
        match rng.choice(("relay", "server", "hook")):
            case "relay":
                end(relay)
                relay = machine.start_relay()
            case "server":
                server.kill()
                server.start()
            case _:
                given = {"tool_name": "Read", "tool_use_id": f"killed-{number}"}
                machine.kill_hook("s-1", "PreToolUse", 0.2 * rng.random(), **given)
        call(machine, 2 * number + 1)
    wanted = [f"call-{number}" for number in range(2 * KILLS)]
    await_that(lambda: wanted[-1] in list_ends(server), lambda: (list_ends(server), machine.faults()), 180)
    begun = list_calls(server)
    assert len(begun) == len(set(begun))  # also of hooks that were killed, which acknowledged nothing
    assert [one for one in begun if one in wanted] == wanted
    assert list_ends(server) == wanted
