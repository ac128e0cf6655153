"""Hermes' `todo` to the letter. The rules are those of manifest.toml, section hermes."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist import Agent, Board, Reply
from tests.dialects.boards import last_kind, lines, memory_board, todo, write

WORDS = {"> ": "in_progress", "x ": "completed", "- ": "cancelled", "  ": "pending"}
MARK = "… [truncated]"


@pytest.fixture
def board() -> Iterator[Board]:
    with memory_board() as board:
        yield board


@pytest.fixture
def agent(board: Board) -> Agent:
    return board.agent("main", session="s", dialect="hermes")


def items(*rows: str) -> list[dict[str, str]]:
    """`"1 > Paint"` is the item of id 1, in progress."""
    return [{"id": row[0], "content": row[4:], "status": WORDS[row[2:4]]} for row in rows]


def sent(agent: Agent, todos: Any, **more: Any) -> Reply:
    return agent.call("todo", {"todos": todos, **more})


def rows(reply: Reply) -> list[str]:
    marks = {word: mark for mark, word in WORDS.items()}
    return [f"{row['id']} {marks[row['status']]}{row['content']}" for row in reply.data["todos"]]


# The tool.


@pytest.mark.requirement("hermes.one-tool", "hermes.schema")
def test_nothing_is_required_but_every_field_of_an_item_is(agent: Agent) -> None:
    (tool,) = agent.tools
    schema = tool.input_schema
    assert (tool.name, schema["required"], tool.annotations["emoji"]) == ("todo", [], "📋")
    assert schema["properties"]["merge"] == {"type": "boolean", "default": False}
    fields = schema["properties"]["todos"]["items"]
    assert fields["required"] == ["id", "content", "status"]
    assert fields["properties"]["status"]["enum"] == ["pending", "in_progress", "completed", "cancelled"]


# Reading and replacing.


@pytest.mark.requirement("hermes.reply", "hermes.summary", "hermes.unicode")
def test_the_reply_is_the_whole_list_with_its_counts_as_json(agent: Agent) -> None:
    reply = sent(agent, items("1 x a", "2 > Wände", "3   c", "4 - d", "5   e"))
    assert reply.data["summary"] == {"total": 5, "pending": 2, "in_progress": 1, "completed": 1, "cancelled": 1}
    assert list(reply.data) == ["todos", "summary"]
    assert list(reply.data["summary"]) == ["total", "pending", "in_progress", "completed", "cancelled"]
    assert list(reply.data["todos"][0]) == ["id", "content", "status"]
    assert reply.text == json.dumps(reply.data, ensure_ascii=False)
    assert "Wände" in reply.text


@pytest.mark.requirement("hermes.read")
@pytest.mark.parametrize("args", [None, {}, {"todos": None}, {"merge": True}])
def test_without_todos_the_list_is_read(agent: Agent, args: Any) -> None:
    written = sent(agent, items("1 > a", "2   b"))
    before = agent.todos
    assert agent.call("todo", args).data == written.data
    assert agent.todos == before


@pytest.mark.requirement("hermes.read")
def test_an_empty_list_reads_as_such(agent: Agent) -> None:
    empty = {"total": 0, "pending": 0, "in_progress": 0, "completed": 0, "cancelled": 0}
    assert agent.call("todo", {}).data == {"todos": [], "summary": empty}


@pytest.mark.requirement("hermes.replace")
def test_a_write_replaces_the_list_and_a_finished_one_stays(agent: Agent) -> None:
    sent(agent, items("1 > a", "2   b"))
    assert rows(sent(agent, items("2 x b", "3 - c"))) == ["2 x b", "3 - c"]
    assert lines(agent.todos) == ["2 x b", "3 - c"]
    assert sent(agent, []).data["todos"] == []


@pytest.mark.requirement("hermes.several-in-progress")
def test_two_items_in_progress_are_kept(agent: Agent) -> None:
    assert rows(sent(agent, items("1 > a", "2 > b"))) == ["1 > a", "2 > b"]
    assert lines(agent.todos) == ["1 > a", "2 > b"]


@pytest.mark.requirement("hermes.dedupe")
def test_a_doubled_id_keeps_its_last_item_in_its_last_place(agent: Agent) -> None:
    assert rows(sent(agent, items("1   a", "2   b", "1 x c"))) == ["2   b", "1 x c"]
    no_ids = [{"content": "a"}, {"id": " ", "content": "b"}, {"id": "", "content": "c"}]
    assert rows(sent(agent, no_ids)) == ["?   c"]


NORMALISED: list[tuple[Any, dict[str, str]]] = [
    ({}, {"id": "?", "content": "(no description)", "status": "pending"}),
    ({"id": " 7 ", "content": " a\n", "status": " COMPLETED "}, {"id": "7", "content": "a", "status": "completed"}),
    ({"id": 7, "content": 3.5, "status": "done", "x": 1}, {"id": "7", "content": "3.5", "status": "pending"}),
    ({"id": None, "content": ["a"], "status": None}, {"id": "None", "content": "['a']", "status": "pending"}),
    ({"id": "a", "content": " \t"}, {"id": "a", "content": "(no description)", "status": "pending"}),
    ("Paint", {"id": "?", "content": "(invalid item)", "status": "pending"}),
    (None, {"id": "?", "content": "(invalid item)", "status": "pending"}),
]


@pytest.mark.requirement("hermes.normalised", "hermes.invalid-item")
@pytest.mark.parametrize(("given", "kept"), NORMALISED)
def test_a_broken_item_is_mended_with_placeholders(agent: Agent, given: Any, kept: dict[str, str]) -> None:
    assert sent(agent, [given]).data["todos"] == [kept]
    assert agent.call("todo", {}).data["todos"] == [kept]


@pytest.mark.requirement("hermes.invalid-item")
def test_every_item_that_is_no_object_is_kept(agent: Agent) -> None:
    assert rows(sent(agent, ["a", 1, {"content": "b"}])) == ["?   (invalid item)", "?   (invalid item)", "?   b"]


@pytest.mark.requirement("hermes.content-cap")
def test_a_long_content_is_cut_to_four_thousand_characters_with_the_mark(agent: Agent) -> None:
    assert sent(agent, [{"id": "1", "content": "ä" * 4000}]).data["todos"][0]["content"] == "ä" * 4000
    cut = sent(agent, [{"id": "1", "content": " " + "ä" * 4001}]).data["todos"][0]["content"]
    assert cut == "ä" * (4000 - len(MARK)) + MARK
    assert agent.todos.items[0].content == cut
    merged = sent(agent, [{"id": "1", "content": "x" * 200_000 + "\ud800"}], merge=True)
    assert merged.data["todos"][0]["content"] == "x" * (4000 - len(MARK)) + MARK
    assert sent(agent, [{"id": "1", "content": "\ud800" * 200_000}]).text.encode()


@pytest.mark.requirement("hermes.count-cap")
def test_the_first_256_items_are_kept(agent: Agent) -> None:
    many = [{"id": str(number), "content": f"item {number}", "status": "pending"} for number in range(300)]
    reply = sent(agent, many)
    assert (reply.data["summary"]["total"], reply.data["todos"][-1]["id"]) == (256, "255")
    assert len(agent.todos.items) == 256
    patches = [*many[250:], {"id": "0", "status": "completed"}]
    reply = sent(agent, patches, merge=True)
    assert (reply.is_error, reply.data["summary"]["total"], reply.data["summary"]["completed"]) == (False, 256, 1)


@pytest.mark.requirement("hermes.count-cap", "hermes.order")
def test_the_order_is_mended_before_the_list_is_cut(agent: Agent) -> None:
    many = [{"id": str(number), "content": f"item {number}", "status": "pending"} for number in range(299)]
    reply = sent(agent, [*many, {"id": "299", "content": "now", "status": "in_progress"}])
    assert reply.data["todos"][0]["id"] == "299"


# The order rule.


@pytest.mark.requirement("hermes.order")
@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (("1   a", "2 > b"), ["2 > b", "1   a"]),
        (("1 x a", "2   b", "3 - c", "4 > d", "5 > e"), ["1 x a", "4 > d", "2   b", "3 - c", "5 > e"]),
        (("1 > a", "2   b", "3 > c"), ["1 > a", "2   b", "3 > c"]),
        (("1 x a", "2 > b", "3   c"), ["1 x a", "2 > b", "3   c"]),
        (("1   a", "2   b"), ["1   a", "2   b"]),
    ],
)
def test_the_first_item_in_progress_moves_before_the_first_pending_one(
    agent: Agent, given: tuple[str, ...], kept: list[str]
) -> None:
    assert rows(sent(agent, items(*given))) == kept
    assert rows(agent.call("todo", {})) == kept


# Merging.


@pytest.fixture
def begun(agent: Agent) -> Agent:
    sent(agent, items("1 x a", "2 > b", "3   c"))
    return agent


MERGES: list[tuple[list[Any], list[str]]] = [
    ([{"id": "3", "status": "completed"}], ["1 x a", "2 > b", "3 x c"]),
    ([{"id": " 3 ", "content": " C ", "status": "done"}], ["1 x a", "2 > b", "3   C"]),
    ([{"id": "3", "content": "", "status": ""}], ["1 x a", "2 > b", "3   c"]),
    ([{"id": 3, "status": "CANCELLED"}], ["1 x a", "2 > b", "3 - c"]),
    ([{"content": "lost"}, {"id": " ", "status": "completed"}, "x", None], ["1 x a", "2 > b", "3   c"]),
    ([{"id": "4"}], ["1 x a", "2 > b", "3   c", "4   (no description)"]),
    ([{"id": "4", "content": "d", "status": "?"}], ["1 x a", "2 > b", "3   c", "4   d"]),
    ([{"id": "2", "status": "completed"}, {"id": "4", "content": "d", "status": "in_progress"}],
     ["1 x a", "2 x b", "4 > d", "3   c"]),
    ([{"id": "3", "content": "C"}, {"id": "3", "status": "completed"}], ["1 x a", "2 > b", "3 x c"]),
]  # fmt: skip


@pytest.mark.requirement("hermes.merge", "hermes.merge-dedupe", "hermes.order")
@pytest.mark.parametrize(("patches", "kept"), MERGES)
def test_merge_changes_what_is_named_and_appends_the_unknown(begun: Agent, patches: Any, kept: list[str]) -> None:
    assert rows(sent(begun, patches, merge=True)) == kept
    assert rows(begun.call("todo", {})) == kept


@pytest.mark.requirement("hermes.merge")
def test_merge_keeps_our_ids(begun: Agent) -> None:
    sent(begun, [{"id": "9", "content": "new"}, {"id": "2", "content": "other words entirely"}], merge=True)
    assert [(item.id, item.aliases["hermes"]) for item in begun.todos.items][:3] == [("1", "1"), ("2", "2"), ("3", "3")]


# Errors.


@pytest.mark.requirement("hermes.json-string")
def test_todos_may_be_a_json_string(agent: Agent) -> None:
    assert rows(sent(agent, json.dumps(items("1 > a")))) == ["1 > a"]
    assert rows(sent(agent, ' [{"id": 1, "status": "completed"}] ', merge=True)) == ["1 x a"]


UNPARSEABLE = "todos must be a list of objects, got unparseable string"
NO_LISTS: list[tuple[Any, str]] = [
    *((3, "int"), (True, "bool"), ({}, "dict"), (1.5, "float")),
    *(("5", "int"), ("{}", "dict"), ("null", "NoneType"), ('"a"', "str")),
]
ERRORS: list[tuple[Any, str]] = [
    *((text, UNPARSEABLE) for text in ("", "a", "[1", "[" * 10**5, "{'a': 1}")),
    *((value, f"todos must be a list, got {kind}") for value, kind in NO_LISTS),
]


@pytest.mark.requirement("hermes.errors", "hermes.refused-changes-nothing")
@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize(("todos", "said"), ERRORS)
def test_what_is_no_list_is_refused_by_its_type(board: Board, begun: Agent, todos: Any, said: str, merge: bool) -> None:
    before = begun.todos
    reply = sent(begun, todos, merge=merge)
    assert (reply.text, reply.data, reply.is_error) == (json.dumps({"error": said}), {"error": said}, True)
    assert (begun.todos, last_kind(board)) == (before, "list.refused")


@pytest.mark.requirement("hermes.plan-mode")
def test_the_tool_may_be_used_in_plan_mode(agent: Agent) -> None:
    agent.enter_plan_mode()
    assert not sent(agent, items("1 > a")).is_error


# Lists that others began.


@pytest.mark.requirement("hermes.other-ids")
def test_a_list_that_others_began_shows_our_ids_and_takes_them(board: Board, agent: Agent) -> None:
    todo(board.agent("main", session="s"), set=["Paint", "Sweep"], block={"2": "no broom"})
    assert rows(agent.call("todo", {})) == ["1 > Paint", "2 > Sweep"]
    assert rows(sent(agent, [{"id": "1", "status": "completed"}], merge=True)) == ["1 x Paint", "2 > Sweep"]
    assert lines(agent.todos) == ["1 x Paint", "2 ! Sweep"]
    assert rows(sent(agent, items("1 x Paint", "2 > Sweep", "3   Dust")))[2] == "3   Dust"
    assert lines(agent.todos) == ["1 x Paint", "2 ! Sweep", "3   Dust"]


@pytest.mark.requirement("hermes.other-ids")
def test_ids_come_back_after_another_dialect_wrote_the_list(board: Board, agent: Agent) -> None:
    sent(agent, [{"id": "alpha", "content": "Paint"}, {"id": "beta", "content": "Sweep", "status": "cancelled"}])
    write(board.agent("main", session="s", dialect="claude-code"), "> Paint", "Dust")
    assert [(row["id"], row["status"]) for row in agent.call("todo", {}).data["todos"]] == [
        ("alpha", "in_progress"),
        ("beta", "cancelled"),
        ("3", "pending"),
    ]


class Model:
    """The contract once more, as simply as it can be said."""

    def __init__(self) -> None:
        self.rows: list[dict[str, str]] = []

    def write(self, todos: list[dict[str, str]], merge: bool) -> list[dict[str, str]]:
        last = {entry["id"]: entry for entry in todos}
        todos = [entry for entry in todos if last[entry["id"]] is entry]
        if not merge:
            self.rows = []
        for entry in todos:
            known = next((row for row in self.rows if row["id"] == entry["id"]), None)
            if known is None:
                content, status = entry.get("content") or "(no description)", entry.get("status", "pending")
                self.rows.append({"id": entry["id"], "content": content, "status": status})
            else:
                known.update({key: value for key, value in entry.items() if value})
        words = [row["status"] for row in self.rows]
        if "in_progress" in words and "pending" in words[: words.index("in_progress")]:
            self.rows.insert(words.index("pending"), self.rows.pop(words.index("in_progress")))
        return self.rows


entries = st.fixed_dictionaries(
    {"id": st.sampled_from("abcdef")},
    optional={"content": st.sampled_from(["", "Paint", "Sweep", "Dust"]), "status": st.sampled_from([*WORDS.values()])},
)


@pytest.mark.requirement("hermes.replace", "hermes.merge", "hermes.dedupe", "hermes.merge-dedupe", "hermes.order")
@given(st.lists(st.tuples(st.lists(entries, max_size=6), st.booleans()), max_size=6))
def test_any_calls_leave_the_list_that_the_contract_says(calls: list[tuple[list[dict[str, str]], bool]]) -> None:
    with memory_board() as board:
        agent, model = board.agent("main", session="s", dialect="hermes"), Model()
        for todos, merge in calls:
            expected = model.write(todos, merge)
            assert sent(agent, todos, merge=merge).data["todos"] == expected
            assert agent.call("todo", {}).data["todos"] == expected
