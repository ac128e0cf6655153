"""Plans of a real Codex that is not attached, with its daemon and without it: from its rollout."""

import json
import signal
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from subprocess import PIPE, Popen
from typing import Any

import pytest

from tests.agents.model_api import PATIENCE, Call, Say, Script
from tests.agents.programs import Codex, Sandbox
from tests.agents.terminal import Terminal
from tests.agents.test_watch import events, watch

FIRST = [("Read the lexer", "in_progress"), ("Fix the loop", "pending")]
SECOND = [("Read the lexer", "completed"), ("Fix the loop", "in_progress")]
_LOOP = "until [ -e go ]; do sleep 0.1; done"


def write_plan(steps: list[tuple[str, str]]) -> Call:
    return Call("update_plan", {"plan": [{"step": step, "status": status} for step, status in steps]})


def play() -> Script:
    wait = Call("exec_command", {"cmd": _LOOP, "yield_time_ms": 30_000})
    return [[write_plan(FIRST)], [wait], [write_plan(SECOND)], [Say("Good morning.")]]


def enable_plans(program: Codex) -> None:
    """Switch the tool on that is off by default since Codex 0.152."""
    program.config.write_text(program.config.read_text() + "\n[tools.update_plan]\nenabled = true\n")


@contextmanager
def running(sandbox: Sandbox, *argv: str) -> Generator[None]:
    """Run a program from its first line on until it is interrupted."""
    with Popen(argv, cwd=sandbox.project, env=sandbox.env, stdout=PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.send_signal(signal.SIGINT)
            print(process.stdout.read().decode())


def wait_for_list(sandbox: Sandbox, wanted: list[tuple[str, str]], seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while True:
        rows = json.loads(sandbox.run(["punchlist", "todos", "--json"]).stdout)
        if [(item["content"], item["status"]) for row in rows for item in row["items"]] == wanted:
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"{rows}")


def list_writes(sandbox: Sandbox) -> list[dict[str, Any]]:
    kinds = ("list.replaced", "list.confirmed", "list.edited", "list.restored", "transcript.write")
    return [event for event in events(sandbox) if event["kind"] in kinds]


@pytest.mark.parametrize("has_daemon", [True, False])
def test_a_plan_is_on_the_board_once_while_it_is_carried_out(
    codex: Callable[[Script], Codex], open_terminal: Callable[..., Terminal], has_daemon: bool
) -> None:
    program = codex(play())
    print(program.version())
    enable_plans(program)
    sandbox = program.sandbox
    if has_daemon:
        program.start_daemon()
    with running(sandbox, "punchlist", "watch"):
        terminal = open_terminal(program, *([] if has_daemon else ["--disable", "daemon_auto_start"]))
        terminal.wait_for_text("›")
        terminal.submit("do it")
        wait_for_list(sandbox, FIRST)
        (sandbox.project / "go").touch()
        wait_for_list(sandbox, SECOND)
        terminal.wait_for_text("Good morning.")
    watch(sandbox)
    assert [event["kind"] for event in list_writes(sandbox)] == ["list.replaced", "list.replaced"]
    wait_for_list(sandbox, SECOND)
