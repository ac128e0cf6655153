"""Fixtures of the tests with several hosts. Every test in this folder gets the marker `team`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.agents.programs import Program
from tests.agents.terminal import Terminal
from tests.team.hosts import Machine, Server
from tests.team.networks import Wire


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("team")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Ends what a test started, last first."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def wire(stack: ExitStack) -> Wire:
    return stack.enter_context(Wire(hosts=2))


@pytest.fixture
def server(wire: Wire, stack: ExitStack, tmp_path: Path) -> Server:
    return stack.enter_context(Server(wire, tmp_path))


@pytest.fixture
def machine(server: Server, wire: Wire, stack: ExitStack, tmp_path: Path) -> Machine:
    """A machine on another host, on which the test goes on from here."""
    machine = Machine(server, 0, tmp_path)
    stack.callback(machine.sandbox.end_processes)
    stack.enter_context(wire.inside(0))
    return machine


@pytest.fixture
def other(server: Server, stack: ExitStack, tmp_path: Path) -> Machine:
    """A machine of another person, on the second host."""
    machine = Machine(server, 1, tmp_path, owner="bob")
    stack.callback(machine.sandbox.end_processes)
    return machine


@pytest.fixture
def open_terminal(stack: ExitStack) -> Callable[..., Terminal]:
    """Open a program in a terminal of its own; more words are its options."""

    def start(program: Program, *options: str) -> Terminal:
        argv = [program.name, *options]
        return stack.enter_context(Terminal(argv, cwd=program.sandbox.project, env=program.env))

    return start
