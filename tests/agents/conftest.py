"""Fixtures of the tests that run real agents. Every test in this folder gets the marker `agents`."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.agents.model_api import Script
from tests.agents.programs import ClaudeCode, Codex, Program, Sandbox, make_sandbox
from tests.agents.terminal import Terminal


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("agents")


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    """A fresh home and git project."""
    return make_sandbox(tmp_path)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Ends what a test started, last first."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def claude(sandbox: Sandbox, stack: ExitStack) -> Callable[[Script], ClaudeCode]:
    """Start a stand-in that plays a script, and return Claude Code set up to use it."""
    return lambda script: stack.enter_context(ClaudeCode(sandbox, script))


@pytest.fixture
def codex(sandbox: Sandbox, stack: ExitStack) -> Callable[[Script], Codex]:
    """Start a stand-in that plays a script, and return Codex set up to use it."""
    return lambda script: stack.enter_context(Codex(sandbox, script))


@pytest.fixture
def open_terminal(stack: ExitStack) -> Callable[..., Terminal]:
    """Open a program in a terminal of its own; more words are its options."""

    def start(program: Program, *options: str, cols: int = 120, rows: int = 40) -> Terminal:
        argv = [program.name, *options]
        return stack.enter_context(Terminal(argv, cwd=program.sandbox.project, env=program.env, cols=cols, rows=rows))

    return start
