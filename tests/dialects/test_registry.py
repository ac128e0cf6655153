"""What every dialect has in common, and how little a new one needs."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from punchlist import Agent
from punchlist.cli.dialects import describe_dialect
from punchlist.core.commands import Query
from punchlist.core.todo import Status
from punchlist.dialects import REGISTRY, dialect, dialects_of, repair
from punchlist.dialects.base import Dialect, Invalid, Tool
from punchlist.errors import UnknownName
from tests.dialects.boards import lines, memory_board, todo
from tests.dialects.calls import good_calls

NAMES = sorted(REGISTRY)
TOOLS = [(name, tool) for name in NAMES for tool in dialect(name).tools]
IDS = [f"{name}.{tool.name}" for name, tool in TOOLS]
TODO_TOOLS = [(name, tool) for name, tool in TOOLS if name in dialects_of("todos")]
TODO_IDS = [f"{name}.{tool.name}" for name, tool in TODO_TOOLS]

TINY = '''
"""`jot`: one line a call, at the end of the list."""

from punchlist.core.commands import Append, Edit, Entry, Policy
from punchlist.dialects.base import Dialect, Invalid, Reply, Tool


def parse(_tool, args):
    line = args.get("line") if isinstance(args, dict) else None
    return Edit((Append((Entry(line),)),)) if isinstance(line, str) else Invalid("a line, please")


def render(result):
    return Reply(f"{len(result.after.items)} lines", problems=result.problems)


DIALECT = Dialect(
    tools=(Tool("jot", "Adds a line.", {"type": "object"}),),
    policy=Policy(dialect="tiny"),
    parse=parse,
    render=render,
    statuses=("pending",),
    lossy=("everything but pending",),
)
'''


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A dialect of one file and one line in the registry, gone again afterwards."""
    (tmp_path / "tiny_dialect.py").write_text(TINY)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setitem(REGISTRY, "tiny", "tiny_dialect")
    yield "tiny"
    sys.modules.pop("tiny_dialect", None)
    dialect.cache_clear()


def test_a_new_dialect_is_one_file_and_one_line(tiny: str) -> None:
    with memory_board() as board:
        todo(board.agent("main", session="s"), set=["Paint"])
        agent = board.agent("main", session="s", dialect=tiny)
        assert agent.call("jot", {"line": "Sweep"}).text == "2 lines"
        assert agent.call("jot", {}).is_error
        assert agent.call("todo", {}).is_error
        assert lines(agent.todos) == ["1 > Paint", "2   Sweep"]


def test_a_dialect_that_is_not_registered_is_unknown() -> None:
    with memory_board() as board, pytest.raises(UnknownName):
        board.agent("main", session="s", dialect="tiny")


@pytest.mark.parametrize(("name", "tool"), TODO_TOOLS, ids=TODO_IDS)
def test_a_description_is_short(name: str, tool: Tool) -> None:
    assert 0 < len(tool.description) <= 300, name


@pytest.mark.parametrize(("name", "tool"), TOOLS, ids=IDS)
def test_no_description_presses_or_asks_for_secrecy(name: str, tool: Tool) -> None:
    said = tool.description.casefold()
    assert "very frequently" not in said, name
    assert "mention" not in said, name
    shouted = {"ALWAYS", "NEVER", "MUST", "VERY", "IMPORTANT", "CRITICAL", "IMMEDIATELY"}
    assert not shouted & set(tool.description.split()), name


def check_schema(schema: Any, path: str = "$") -> None:
    """The shape that a JSON Schema has, in the words that our tools use."""
    assert isinstance(schema, dict), path
    given = cast("dict[str, Any]", schema)
    known = {
        *("type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "default"),
        *("description", "minItems", "maxItems", "minLength", "maxLength", "uniqueItems"),
    }
    assert set(given) <= known, path
    types = {"object", "array", "string", "number", "integer", "boolean", "null"}
    kinds: Any = given.get("type", [])
    assert set(cast("list[str]", kinds if isinstance(kinds, list) else [kinds])) <= types, path
    properties = cast("dict[str, Any]", given.get("properties", {}))
    assert set(given.get("required", [])) <= set(properties), path
    assert len(set(given.get("enum", ()))) == len(given.get("enum", ())), path
    for key, part in properties.items():
        check_schema(part, f"{path}.{key}")
    for index, part in enumerate(given.get("anyOf", [])):
        check_schema(part, f"{path}|{index}")
    for key in ("items", "additionalProperties"):
        if isinstance(given.get(key), dict):
            check_schema(given[key], f"{path}.{key}")


@pytest.mark.parametrize(("name", "tool"), TOOLS, ids=IDS)
def test_a_schema_is_one_and_survives_json(name: str, tool: Tool) -> None:
    assert json.loads(json.dumps(tool.input_schema)) == tool.input_schema
    assert tool.input_schema["type"] == "object"
    check_schema(tool.input_schema, name)


@pytest.mark.parametrize(("name", "tool"), TODO_TOOLS, ids=TODO_IDS)
def test_good_calls_are_accepted_in_turn(name: str, tool: Tool) -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect=name)
        for example in good_calls(name, tool):
            reply = agent.call(tool.name, example)
            assert not reply.is_error, reply.text
        assert any(not isinstance(dialect(name).parse(tool.name, example), Query) for example in good_calls(name, tool))


@pytest.mark.parametrize("name", NAMES)
def test_a_dialect_says_what_it_is(name: str) -> None:
    known: Dialect = dialect(name)
    assert known.name == name == known.policy.dialect
    assert known.refused_in_plan_mode is None or known.refused_in_plan_mode.strip()
    assert all(isinstance(tool.annotations, Mapping) for tool in known.tools)  # pyright: ignore[reportUnnecessaryIsInstance]
    assert known.repairs <= repair.ALL
    assert bool(known.lossy) is (name != "punchlist")
    assert known.statuses
    assert len({tool.name for tool in known.tools}) == len(known.tools)
    assert set(known.policy.shown) <= set(Status)
    assert __import__(REGISTRY[name], fromlist=["DIALECT"]).__doc__


DEEP = 50_000


def garbage(name: str, tool: Tool) -> Iterator[Any]:
    """Arguments of the wrong type, without their fields, huge or deep."""
    yield from ("x" * 10_000_000, ["x"], 7, True)
    deep: Any = []
    for _ in range(DEEP):
        deep = [deep]
    yield deep
    required = [key for key in tool.input_schema.get("required", ()) if key != "merge"]
    listed = next(iter(tool.input_schema["properties"]))
    for key in required or [listed]:
        rest = {other: value for other, value in good_calls(name, tool)[0].items() if other != key}
        if required:
            yield rest
        yield from ({**rest, key: value} for value in (7, {"a": deep}, deep))


@pytest.mark.parametrize(("name", "tool"), TODO_TOOLS, ids=TODO_IDS)
def test_garbage_gets_the_dialects_own_error_and_leaves_the_list_alone(name: str, tool: Tool) -> None:
    with memory_board() as board:
        todo(board.agent("main", session="s"), set=["Paint", "Sweep"])
        agent = board.agent("main", session="s", dialect=name)
        before = agent.todos
        for args in garbage(name, tool):
            given = cast("dict[str, Any]", args) if isinstance(args, dict) else {}
            if name == "hermes" and isinstance(given.get("todos"), list):
                continue  # its contract: a broken item becomes a placeholder
            check_refused(agent, tool, args)
        assert agent.todos == before


def check_refused(agent: Agent, tool: Tool, args: Any) -> None:
    """Refused; or, by a dialect whose original takes anything for a read, answered without a change."""
    parsed = dialect(agent.dialect).parse(tool.name, args)
    reply = agent.call(tool.name, args)
    assert len(reply.text.encode()) < 20_000
    if isinstance(parsed, Query):
        assert agent.dialect == "hermes"
    else:
        assert isinstance(parsed, Invalid)
        assert reply.is_error
        assert reply.text == parsed.text


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("called", ["", "nothing", "TODO", "\ud800", "x" * 100_000])
def test_an_unknown_tool_name_is_an_error_reply(name: str, called: str) -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect=name)
        reply = agent.call(called, {})
        assert reply.is_error
        assert reply.problems[0].code == "unknown_tool"
        assert agent.tools[0].name in reply.text
        assert len(reply.text.encode()) < 1000


@pytest.mark.parametrize("name", NAMES)
def test_the_command_and_the_page_say_the_same_about_a_dialect(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "dialects.md").read_text(encoding="utf-8")
    said = describe_dialect(dialect(name))
    assert set(said) == {"statuses", "limits", "focus", "plan mode", "offered", "repairs", "lossy"}
    assert f"\n## {name}\n" in page
    for what, text in said.items():
        assert f"| {what} | {text} |" in page


def test_a_name_of_ten_megabytes_is_refused_without_being_repeated() -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect="oh-my-pi")
        reply = agent.call("todo_write", {"ops": [{"op": "start", "task": "e\u0301" * 5_000_000}]})
        assert reply.is_error
        assert len(reply.text) < 1000
