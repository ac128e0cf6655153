"""Input that is made to break things: refused fast, and the list is as it was."""

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest

from punchlist import Agent
from punchlist.dialects import REGISTRY
from punchlist.dialects import dialect as dialect_named
from tests.dialects.boards import memory_board
from tests.dialects.calls import good_calls
from tests.sizes import size

DEPTH = 100_000
MANY = size(50_000, 1_000_000)
LARGE = size(500_000, 10_000_000)


@pytest.fixture(params=sorted(REGISTRY))
def agent(request: pytest.FixtureRequest) -> Iterator[Agent]:
    """An agent of each dialect, with a list."""
    with memory_board() as board:
        board.agent("main", session="s").call("todo", {"set": ["Paint", "Sweep"]})
        yield board.agent("main", session="s", dialect=request.param)


def deep_list() -> list[Any]:
    deep: list[Any] = []
    for _ in range(DEPTH):
        deep = [deep]
    return deep


def deep_object() -> dict[str, Any]:
    deep: dict[str, Any] = {}
    for _ in range(DEPTH):
        deep = {"text": deep}
    return deep


def cyclic_list() -> list[Any]:
    cycle: list[Any] = []
    cycle.append(cycle)
    return cycle


def cyclic_object() -> dict[str, Any]:
    cycle: dict[str, Any] = {}
    cycle["text"] = cycle["content"] = cycle
    return cycle


def bomb(name: str) -> Any:
    """The bomb of that name. Made when it is needed: some are large."""
    match name:
        case "a deep list":
            return deep_list()
        case "a deep object":
            return deep_object()
        case "a list within itself":
            return cyclic_list()
        case "an object within itself":
            return cyclic_object()
        case "deep json lists":
            return "[" * DEPTH + "]" * DEPTH
        case "deep json objects":
            return '{"text":' * DEPTH + "1" + "}" * DEPTH
        case "unclosed json":
            return '[{"text":' * DEPTH
        case "a huge integer":
            return 10**10_000
        case "a huge json integer":
            return "[1" + "0" * 100_000 + "]"
        case "a huge json float":
            return "[1e99999, -1e99999, NaN, Infinity]"
        case "not a number":
            return float("nan")
        case "infinity":
            return [float("inf"), float("-inf")]
        case "many keys":
            return {f"key{number}": number for number in range(MANY)}
        case "many items":
            return list(range(MANY))
        case "doubled json keys":
            return "{" + ",".join(['"text":"a"'] * 10_000) + "}"
        case "megabytes":
            return "x" * LARGE
        case "megabytes of marks":
            return "e\u0301\u200d" * (LARGE // 3)
        case "megabytes of blanks":
            return " " * LARGE + "["
        case "keys that are no strings":
            return {1: "x", None: "y", (1, 2): "z", 10**5000: "w", 1.5: "v"}
        case "lone surrogates":
            return {"\ud800": "\udc00", "text": "\ud800" * 1000, "status": "\udfff"}
        case _:
            raise AssertionError(name)


BOMBS = (
    *("a deep list", "a deep object", "a list within itself", "an object within itself", "deep json lists"),
    *("deep json objects", "unclosed json", "a huge integer", "a huge json integer", "a huge json float", "infinity"),
    *("not a number", "many keys", "many items", "doubled json keys", "megabytes", "lone surrogates"),
    *("megabytes of marks", "megabytes of blanks", "keys that are no strings"),
)


def places(dialect: str, dangerous: Any) -> list[Any]:
    """The bomb as the arguments, and in every place within them."""
    if dialect == "punchlist":
        return [dangerous, *_places_of_our_own(dangerous)]
    example = good_calls(dialect, dialect_named(dialect).tools[0])[0]
    return [dangerous, {**example, "extra": dangerous}, *_within(example, dangerous)]


def _within(value: Any, dangerous: Any) -> Iterator[Any]:
    """The value with the bomb in one place after another; of a list, in its first entry only."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        for key, part in fields.items():
            yield {**fields, key: dangerous}
            yield from ({**fields, key: broken} for broken in _within(part, dangerous))
    elif isinstance(value, list):
        first, *rest = cast("list[Any]", value)
        yield [dangerous, *rest]
        yield from ([broken, *rest] for broken in _within(first, dangerous))


def _places_of_our_own(dangerous: Any) -> Iterator[Any]:
    verbs = ("set", "add", "start", "done", "drop", "block", "note", "next", "view", "extra")
    fields = ("text", "doing", "status", "phase", "id", "priority", "reason")
    yield from ({verb: dangerous} for verb in verbs)
    yield from ({verb: [dangerous]} for verb in verbs)
    yield from ({verb: {"1": dangerous}} for verb in verbs)
    yield {"note": {"id": dangerous, "text": "x"}}
    yield {"done": "1", "evidence": dangerous}
    yield {"done": "1", "evidence": {"text": "x", "kind": dangerous}}
    yield from ({"add": [{"text": "x", field: dangerous}]} for field in fields)


HUGE = ("many keys", "many items", "megabytes", "megabytes of marks", "megabytes of blanks")


def check(agent: Agent, args: Any, call_id: str | None = None) -> None:
    before = agent.todos
    reply = agent.call(agent.tools[0].name, args, call_id=call_id)
    assert json.dumps([reply.text, reply.data], ensure_ascii=False).encode()
    if reply.is_error:
        assert agent.todos == before or not dialect_named(agent.dialect).policy.atomic
        assert len(reply.text) < 20_000
    else:
        assert agent.todos.revision - before.revision in {0, 1}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_answered_and_breaks_no_list(agent: Agent, name: str) -> None:
    for args in places(agent.dialect, bomb(name)):
        check(agent, args)


@pytest.mark.parametrize("name", sorted(set(BOMBS) - set(HUGE)))
def test_a_bomb_with_a_call_id_is_answered_too(agent: Agent, name: str) -> None:
    for number, args in enumerate(places(agent.dialect, bomb(name))):
        check(agent, args, call_id=str(number))


@pytest.mark.parametrize("name", ["megabytes", "megabytes of marks"])
def test_our_own_list_does_not_swell(name: str) -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s")
        agent.call("todo", {"set": ["Paint"]})
        for args in places("punchlist", bomb(name)):
            agent.call("todo", args)
        assert len(repr(agent.todos)) < 100_000


@pytest.mark.parametrize("call_id", ["", "\ud800", "x" * 1_000_000, "\x00", "' OR 1=1 --"])
def test_any_call_id_replays(agent: Agent, call_id: str) -> None:
    args = good_calls(agent.dialect, agent.tools[0])[-1]
    first = agent.call(agent.tools[0].name, args, call_id=call_id)
    assert agent.call(agent.tools[0].name, args, call_id=call_id) == first


@pytest.mark.parametrize("name", ["", "\ud800", "x" * 1_000_000, "todo\n", "TodoWrite "])
def test_any_tool_name_is_answered(agent: Agent, name: str) -> None:
    reply = agent.call(name, {})
    assert reply.is_error
    assert len(reply.text.encode()) < 1000
