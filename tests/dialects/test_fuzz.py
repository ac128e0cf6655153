"""Whatever a model sends: no uncaught exception, no half-written list, a reply that can be sent."""

import json
import random
from typing import Any

import pytest

from punchlist import Agent, Reply, TodoList
from punchlist.dialects import dialect
from punchlist.errors import PunchlistError
from punchlist.text import clean
from tests.dialects.boards import memory_board
from tests.dialects.calls import REAL, call, value
from tests.sizes import size

CALLS = size(50_000, 5_000_000)
SLICE = 2_500
SLICES = CALLS // SLICE


def check_reply(reply: Reply) -> None:
    assert reply.text.encode() or reply.data
    assert json.dumps(reply.data, ensure_ascii=False, allow_nan=False).encode()
    for problem in reply.problems:
        assert json.dumps([problem.code, problem.text, dict(problem.data)], ensure_ascii=False).encode()


def check_list(todos: TodoList) -> None:
    ids = [item.id for item in (*todos.items, *todos.omitted)]
    assert len(ids) == len(set(ids))
    phases = {phase.id for phase in todos.phases}
    for item in todos.items:
        assert item.phase_id is None or item.phase_id in phases
        for text in (item.content, item.active_form or "", item.phase or "", *item.notes):
            assert clean(text).removed == ()


def fuzz_call(rng: random.Random, agent: Agent, before: TodoList, args: Any) -> TodoList:
    """Make a call on a list, and return the list after it."""
    call_id = str(rng.randrange(200)) if rng.random() < 0.1 else None
    reply = agent.call(rng.choice(agent.tools).name, args, call_id=call_id)
    check_reply(reply)
    after = agent.todos
    if reply.is_error and dialect(agent.dialect).policy.atomic:
        assert after == before
    elif after != before:
        assert after.revision == before.revision + 1
        if rng.random() < 0.05:
            assert agent.at(after.revision) == after
        check_list(after)
    return after


@pytest.mark.parametrize("part", range(SLICES))
def test_no_call_breaks_a_list(part: int) -> None:
    name = sorted(REAL)[part % len(REAL)]
    rng = random.Random(f"{name} {part}")  # the parameter is the seed: it replays
    with memory_board() as board:
        for _ in range(SLICE // 250):
            session = str(rng.random())
            agent = board.agent("main", session=session, dialect=name)
            todos = agent.todos
            for _ in range(250):
                if rng.random() < 0.04:
                    todos = edit(rng, agent)
                todos = fuzz_call(rng, agent, todos, call(rng, agent.dialect))


def edit(rng: random.Random, agent: Agent) -> TodoList:
    """Make a person's edit or undo, often a bad one: errors of ours are an answer, others are not. Return the list."""
    verbs = ["init", "append", "start", "done", "drop", "remove", "note", "block", "reword", "restore", "fail", "?"]
    ops = {"op": rng.choice(verbs), "item": rng.choice(["1", "2", "3", None, value(rng)]), "text": "Something"}
    if rng.random() < 0.5:
        ops["items"] = rng.choice([["New one"], "New", value(rng)])
    before = agent.todos
    try:
        if rng.random() < 0.2:
            agent.undo(by="ada")
        else:
            agent.edit(rng.choice([ops, [ops, ops], value(rng)]), by="ada")
    except PunchlistError:
        assert agent.todos == before
    after = agent.todos
    check_list(after)
    return after
