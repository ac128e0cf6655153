"""The async board has every name of the synchronous one, with the same parameters."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from tools import write_stubs

import punchlist
from punchlist import aio
from punchlist.flows import Flows

PLAIN = {
    "Board": {"open", "now", "agent", "store", "tasks", "flows", "gate", "gates"},
    "Agent": {"dialect", "layers", "offered", "prompt", "tasks", "flows", "tools", "unjudged_tools"},
    "Tasks": {"within"},
    "Flows": {"within"},
}
"""What is known without asking the store; everything else is awaited or iterated over."""


def _public(kind: type) -> list[str]:
    return sorted(name for name in dir(kind) if not name.startswith("_"))


def _parameters(function: Callable[..., Any]) -> list[tuple[str, object, object]]:
    return [(one.name, one.kind, one.default) for one in inspect.signature(function).parameters.values()]


WITHIN = {"clock", "offers_tools", "agents_process", "is_remote"}
"""Parts of a board that its agents need, and no caller."""

CASES = [
    (there, here, name)
    for there, here in (
        (punchlist.Board, aio.Board),
        (punchlist.Agent, aio.Agent),
        (punchlist.Tasks, aio.Tasks),
        (Flows, aio.Flows),
    )
    for name in _public(there)
    if name not in WITHIN
]


@pytest.mark.parametrize(("there", "here", "name"), CASES, ids=[f"{case[0].__name__}.{case[2]}" for case in CASES])
def test_every_public_name_is_there_and_takes_the_same(there: type, here: type, name: str) -> None:
    ours, theirs = inspect.getattr_static(here, name, None), inspect.getattr_static(there, name)
    assert ours is not None, f"punchlist.aio.{here.__name__} lacks `{name}`"
    plain = name in PLAIN[there.__name__]
    if isinstance(theirs, property):
        assert isinstance(ours, property)
        assert ours.fget is not None
        assert ("Awaitable" in str(inspect.signature(ours.fget).return_annotation)) is not plain
        return
    function = getattr(here, name)
    assert _parameters(function) == _parameters(getattr(there, name))
    assert (inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)) is not plain


def test_every_public_attribute_is_there_too() -> None:
    with punchlist.Board.open("memory:") as board:
        agent = board.agent("main", session="s")
        ours = aio.Board(board.store)
        theirs = ours.agent("main", session="s")
        assert {name for name in vars(board) if not name.startswith("_")} - WITHIN <= set(dir(ours))
        assert {name for name in vars(agent) if not name.startswith("_")} <= set(dir(theirs))
        assert (theirs.name, theirs.session, theirs.profile, theirs.dialect) == ("main", "s", "quiet", "punchlist")
        assert theirs.tools == agent.tools
        assert repr(theirs) == repr(agent)
        tasks = ours.tasks("default")
        assert {name for name in vars(board.tasks("default")) if not name.startswith("_")} <= set(dir(tasks))
        assert (tasks.name, repr(tasks)) == ("default", "Tasks('default')")
        flows = ours.flows(agent=theirs)
        assert {name for name in vars(board.flows()) if not name.startswith("_")} <= set(dir(flows))
        assert repr(flows) == repr(theirs.flows()) == "Flows('agent:main:session:s')"


def test_board_and_agent_are_made_by_the_same_parameters() -> None:
    assert _parameters(punchlist.Board) == _parameters(aio.Board)


def test_the_types_are_those_of_the_synchronous_classes() -> None:
    assert write_stubs.STUB.read_text(encoding="utf-8") == write_stubs.stub(), "run tools/write_stubs.py"
