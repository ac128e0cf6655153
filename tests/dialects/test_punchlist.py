"""Our own tool, `todo`: what its verbs do. The rules are those of manifest.toml, section punchlist."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

from punchlist import Agent, Board
from punchlist.core.todo import Blocker, Evidence
from tests.dialects.boards import last_kind, lines, memory_board, todo


@pytest.fixture
def board() -> Iterator[Board]:
    with memory_board() as board:
        yield board


@pytest.fixture
def agent(board: Board) -> Agent:
    """An agent with a list of three, the first in progress."""
    agent = board.agent("main", session="s")
    todo(agent, set=["Paint", "Sweep", "Lock up"])
    return agent


# The tool.


@pytest.mark.requirement("punchlist.one-tool", "punchlist.short-description")
def test_there_is_one_tool_with_a_short_description(agent: Agent) -> None:
    assert [tool.name for tool in agent.tools] == ["todo"]
    assert len(agent.tools[0].description) <= 300


@pytest.mark.requirement("punchlist.schema")
def test_the_schema_names_every_verb_and_allows_no_other(agent: Agent) -> None:
    schema = agent.tools[0].input_schema
    verbs = {"set", "add", "start", "done", "drop", "reword", "block", "note", "ask", "plan"}
    verbs |= {"evidence", "continue", "next", "view"}
    assert (set(schema["properties"]), schema["additionalProperties"]) == (verbs, False)


def test_only_an_item_has_two_types_and_the_examples_fit_the_schema(agent: Agent) -> None:
    def check(schema: Any) -> None:
        if "anyOf" in schema:  # a text, or an object with more
            assert [one["type"] for one in schema["anyOf"]] == ["string", "object"]
            return check(schema["anyOf"][1])
        assert isinstance(schema["type"], str)
        assert not schema.keys() & {"anyOf", "oneOf", "allOf"}
        assert schema["type"] != "object" or schema["properties"]
        for part in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])):
            check(part)
        return None

    (tool,) = agent.tools
    check(tool.input_schema)
    assert all(_fits(example, tool.input_schema) for example in tool.examples)


def _fits(value: Any, schema: Any) -> bool:
    if "anyOf" in schema:
        return any(_fits(value, one) for one in schema["anyOf"])
    match schema["type"]:
        case "object":
            known = cast("dict[str, Any]", schema["properties"])
            fields = isinstance(value, dict) and set(schema["required"]) <= value.keys() <= known.keys()
            return fields and all(_fits(part, known[key]) for key, part in cast("dict[str, Any]", value).items())
        case "array":
            return isinstance(value, list) and all(_fits(part, schema["items"]) for part in cast("list[Any]", value))
        case kind:
            return isinstance(value, {"string": str, "boolean": bool}[kind])


@pytest.mark.parametrize("form", [{"2": "Broom"}, [{"id": "2", "text": "Broom"}], {"id": 2, "text": "Broom"}])
def test_texts_by_id_come_as_a_list_or_an_object(agent: Agent, form: Any) -> None:
    todo(agent, reword=form)
    assert lines(agent.todos)[1] == "2   Broom"
    todo(agent, note=form)
    assert agent.todos.items[1].notes == ("Broom",)
    todo(agent, block=form)
    assert agent.todos.items[1].blocker == Blocker("Broom")


@pytest.mark.requirement("punchlist.examples")
def test_its_examples_work_one_after_the_other(board: Board) -> None:
    agent = board.agent("new", session="s")
    for example in agent.tools[0].examples:
        assert not agent.call("todo", example).is_error


# The verbs.


@pytest.mark.requirement("punchlist.view")
@pytest.mark.parametrize("args", [None, {}, {"view": True}, {"done": None}])
def test_no_arguments_show_the_list_and_change_nothing(agent: Agent, args: Any) -> None:
    before = agent.todos
    reply = agent.call("todo", args)
    assert reply.text == "1 [>] Paint\n2 [ ] Sweep\n3 [ ] Lock up\n0/3 done"
    assert agent.todos == before


@pytest.mark.requirement("punchlist.view")
def test_an_empty_list_says_how_to_begin(board: Board) -> None:
    assert "`set`" in board.agent("new", session="s").call("todo", {}).text


@pytest.mark.requirement("punchlist.set-list", "punchlist.set-keeps-ids")
def test_set_writes_the_whole_list(agent: Agent) -> None:
    todo(agent, set=["Sweep", {"text": "Paint", "status": "completed"}, {"text": "Check", "doing": "Checking"}])
    assert lines(agent.todos) == ["2 > Sweep", "1 x Paint", "4   Check"]
    assert agent.todos.items[2].active_form == "Checking"
    assert [gone.content for gone in agent.todos.omitted] == ["Lock up"]


@pytest.mark.requirement("punchlist.set-keeps-ids")
def test_an_item_may_be_named_by_id_in_set(agent: Agent) -> None:
    todo(agent, set=[{"id": 3, "text": "Something new"}, {"id": "#1", "text": "Sweep"}])
    assert lines(agent.todos) == ["3   Something new", "1 > Sweep"]


@pytest.mark.requirement("punchlist.set-texts")
def test_set_gives_new_texts_by_id(agent: Agent) -> None:
    todo(agent, set={"2": "Sweep the floor"})
    assert lines(agent.todos) == ["1 > Paint", "2   Sweep the floor", "3   Lock up"]


@pytest.mark.requirement("punchlist.add")
def test_add_appends_items(agent: Agent) -> None:
    todo(agent, add=["Check", {"text": "Hand over", "phase": "End"}])
    assert lines(agent.todos)[3:] == ["4   Check", "5   Hand over"]
    assert agent.todos.items[4].phase == "End"


@pytest.mark.requirement("punchlist.start")
def test_start_puts_an_item_in_progress(agent: Agent) -> None:
    todo(agent, start="3")
    assert lines(agent.todos) == ["1   Paint", "2   Sweep", "3 > Lock up"]


@pytest.mark.requirement("punchlist.done", "punchlist.done-moves-on")
def test_done_finishes_an_item_and_moves_on(agent: Agent) -> None:
    todo(agent, done="1")
    assert lines(agent.todos) == ["1 x Paint", "2 > Sweep", "3   Lock up"]
    todo(agent, done=["2", "3"])
    assert agent.todos.is_finished


@pytest.mark.requirement("punchlist.done-moves-on")
def test_finishing_what_is_not_in_focus_moves_nothing(agent: Agent) -> None:
    todo(agent, done="2")
    assert lines(agent.todos) == ["1 > Paint", "2 x Sweep", "3   Lock up"]


@pytest.mark.requirement("punchlist.next-false")
def test_next_false_starts_nothing(board: Board, agent: Agent) -> None:
    todo(agent, done="1", next=False)
    assert lines(agent.todos) == ["1 x Paint", "2   Sweep", "3   Lock up"]
    other = board.agent("other", session="s")
    todo(other, set=["a", "b"], next=False)
    assert other.todos.focus is None


@pytest.mark.requirement("punchlist.done-and-start")
def test_done_and_start_in_one_call(agent: Agent) -> None:
    todo(agent, done="1", start="3")
    assert lines(agent.todos) == ["1 x Paint", "2   Sweep", "3 > Lock up"]


@pytest.mark.requirement("punchlist.drop")
def test_drop_cancels(agent: Agent) -> None:
    todo(agent, drop=["1", "3"])
    assert lines(agent.todos) == ["1 - Paint", "2 > Sweep", "3 - Lock up"]


@pytest.mark.requirement("punchlist.block")
def test_block_makes_an_item_wait(agent: Agent) -> None:
    todo(agent, block={"1": "no paint"})
    assert lines(agent.todos)[:2] == ["1 ! Paint", "2 > Sweep"]
    assert agent.todos.items[0].blocker == Blocker("no paint")
    todo(agent, block="3")
    assert agent.todos.items[2].blocker == Blocker()
    assert "waits: no paint" in todo(agent).text


@pytest.mark.requirement("punchlist.note")
def test_note_adds_a_note(agent: Agent) -> None:
    todo(agent, note={"2": "with the big broom"})
    todo(agent, note={"id": "2", "text": "twice"})
    assert agent.todos.items[1].notes == ("with the big broom", "twice")


@pytest.mark.requirement("punchlist.evidence")
def test_evidence_is_kept_with_what_was_done(agent: Agent) -> None:
    todo(agent, done=["1", "2"], evidence="12 passed")
    assert [item.evidence for item in agent.todos.items] == [
        (Evidence("12 passed", "text"),),
        (Evidence("12 passed", "text"),),
        (),
    ]
    todo(agent, done="3", evidence={"text": "green", "kind": "Person"})
    assert agent.todos.items[2].evidence == (Evidence("green", "person"),)


@pytest.mark.requirement("punchlist.evidence")
@pytest.mark.parametrize("args", [{"evidence": "x"}, {"evidence": "x", "start": "2"}, {"done": "1", "evidence": 3}])
def test_evidence_needs_done_and_a_text(agent: Agent, args: Any) -> None:
    assert agent.call("todo", args).is_error


@pytest.mark.requirement("punchlist.several-verbs")
def test_verbs_apply_in_a_fixed_order(agent: Agent) -> None:
    todo(agent, start="4", done="1", note={"4": "soon"}, add=["Check"], set={"2": "Sweep all"}, drop="3")
    assert lines(agent.todos) == ["1 x Paint", "2   Sweep all", "3 - Lock up", "4 > Check"]
    assert agent.todos.items[3].notes == ("soon",)
    assert agent.todos.revision == 2


@pytest.mark.requirement("punchlist.several-verbs")
def test_a_whole_list_and_more_in_one_call(agent: Agent) -> None:
    todo(agent, set=["Paint", "Check"], done="1", start="4")
    assert lines(agent.todos) == ["1 x Paint", "4 > Check"]


# What is refused.


@pytest.mark.requirement("punchlist.all-or-nothing", "punchlist.unknown-id")
def test_one_bad_part_refuses_the_whole_call(board: Board, agent: Agent) -> None:
    before = agent.todos
    reply = agent.call("todo", {"done": ["1", "9"], "add": ["Check"]})
    assert (reply.is_error, agent.todos) == (True, before)
    assert reply.text.startswith("Nothing changed:")
    assert "`9`" in reply.text
    assert last_kind(board) == "list.refused"


@pytest.mark.requirement("punchlist.unknown-argument")
@pytest.mark.parametrize("args", [{"finish": "1"}, {"done": "1", "why": "x"}, {3: "1"}])
def test_an_unknown_argument_is_refused_and_the_verbs_are_named(agent: Agent, args: Any) -> None:
    reply = agent.call("todo", args)
    assert (reply.is_error, "set, add, start" in reply.text) == (True, True)
    assert agent.todos.revision == 1


@pytest.mark.requirement("punchlist.unknown-argument")
@pytest.mark.parametrize(
    "args",
    [
        "nonsense",
        [1],
        {"start": ["1", "2"]},
        {"start": True},
        {"done": []},
        {"done": {"1": "x"}},
        {"note": "text"},
        {"note": {"1": 3}},
        {"note": {"id": ["1"], "text": "x"}},
        {"add": 3},
        {"add": [{"doing": "x"}]},
        {"add": [{"text": "x", "status": "perhaps"}]},
        {"add": [{"text": "x", "phase": 3}]},
        {"next": "maybe", "done": "1"},
    ],
)
def test_what_cannot_be_meant_is_refused(agent: Agent, args: Any) -> None:
    reply = agent.call("todo", args)
    assert (reply.is_error, reply.text.startswith("Nothing changed:")) == (True, True)
    assert agent.todos.revision == 1


@pytest.mark.requirement("punchlist.limits")
@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({"set": ["x"] * 257}, "too_many_items"),
        ({"add": ["x"] * 254}, "too_many_items"),
        ({"add": ["x" * 4001]}, "too_long"),
        ({"add": [{"text": "x", "doing": "x" * 4001}]}, "too_long"),
        ({"note": {"1": "x" * 4001}}, "too_long"),
        ({"add": [" "]}, "blank"),
        ({"set": {"1": ""}}, "blank"),
    ],
)
def test_a_list_has_its_limits(agent: Agent, args: Any, code: str) -> None:
    reply = agent.call("todo", args)
    assert (reply.is_error, reply.problems[0].code) == (True, code)


@pytest.mark.requirement("punchlist.limits")
def test_the_limits_themselves_fit(agent: Agent) -> None:
    todo(agent, set=["x" * 4000] * 256)
    assert len(agent.todos.items) == 256


# One thing at a time.


@pytest.mark.requirement("punchlist.second-focus-repaired")
def test_a_second_focus_is_repaired_and_said(agent: Agent) -> None:
    reply = todo(agent, set=[{"text": "Paint", "status": "doing"}, {"text": "Sweep", "status": "doing"}, "Lock up"])
    assert lines(agent.todos) == ["1 > Paint", "2   Sweep", "3   Lock up"]
    assert reply.problems[0].code == "demoted"
    assert "back to pending: 2" in reply.text
    assert "Item 1 went back to pending" in todo(agent, start="2").text


@pytest.mark.requirement("punchlist.focus-refuse")
def test_a_second_focus_is_refused_where_that_is_set(board: Board, agent: Agent) -> None:
    strict = board.agent("main", session="s", focus="refuse")
    reply = strict.call("todo", {"start": "2"})
    assert (reply.is_error, reply.problems[0].code, lines(agent.todos)[0]) == (True, "several_in_progress", "1 > Paint")
    assert not strict.call("todo", {"done": "1", "start": "3"}).is_error


@pytest.mark.requirement("punchlist.focus-accept")
def test_several_at_once_are_accepted_where_that_is_set(board: Board) -> None:
    free = board.agent("free", session="s", focus="accept")
    todo(free, set=[{"text": "a", "status": "doing"}, {"text": "b", "status": "doing"}])
    assert lines(free.todos) == ["1 > a", "2 > b"]


@pytest.mark.requirement("punchlist.plan-mode")
def test_the_tool_may_be_used_in_plan_mode(agent: Agent) -> None:
    agent.enter_plan_mode()
    todo(agent, done="1")
    assert lines(agent.todos)[0] == "1 x Paint"


@pytest.mark.requirement("punchlist.set-keeps-status")
def test_a_text_that_is_set_again_keeps_its_status_and_evidence(agent: Agent) -> None:
    todo(agent, done=1, evidence="clean")
    todo(agent, set=["Paint", "Something else"])
    first = agent.todos.items[0]
    assert (first.content, first.status, [proof.text for proof in first.evidence]) == ("Paint", "completed", ["clean"])


@pytest.mark.requirement("punchlist.set-is-a-merge")
def test_set_beside_another_verb_does_not_lose_what_a_person_added(agent: Agent) -> None:
    texts = [item.content for item in agent.todos.items]
    agent.edit({"op": "append", "items": ["From ada"]}, by="ada")
    todo(agent, set=texts, note={"1": "twice"})
    assert [item.content for item in agent.todos.items] == [*texts, "From ada"]
    assert agent.todos.items[0].notes == ("twice",)


@pytest.mark.requirement("punchlist.set-bare")
@pytest.mark.parametrize("bare", ["Do x", {"text": "Do x"}, '{"text": "Do x"}'])
def test_a_bare_item_is_a_list_of_one(agent: Agent, bare: object) -> None:
    assert not todo(agent, set=bare).is_error
    assert [item.content for item in agent.todos.items] == ["Do x"]


@pytest.mark.requirement("punchlist.visible-text")
def test_a_text_that_nobody_can_see_is_refused(agent: Agent) -> None:
    before = agent.todos
    assert agent.call("todo", {"add": ["\u200b"]}).is_error
    assert agent.todos == before


def test_an_unknown_field_of_an_item_is_refused_by_name(agent: Agent) -> None:
    before = agent.todos
    reply = agent.call("todo", {"add": [{"text": "Sand", "parent": "1"}]})
    assert reply.is_error
    assert "`add[0]`: `parent` is unknown; use text" in reply.text
    assert agent.todos == before


# Questions and plans.


@pytest.mark.requirement("punchlist.ask")
def test_ask_puts_a_question_to_a_person_and_its_item_waits(board: Board, agent: Agent) -> None:
    reply = todo(agent, ask={"1": "Which colour?"})
    assert "Waiting for the user's answer on 1" in reply.text
    assert reply.data["asked"] == ["1"]
    assert agent.todos.items[0].blocker == Blocker("Which colour?", "a person")
    (wait,) = board.waits()
    assert (wait.kind, wait.id, wait.text) == ("question", "1", "Which colour?")
    agent.answer("1", "Red", by="ada", person=True)
    assert lines(agent.todos)[:2] == ["1 > Paint", "2   Sweep"]  # nothing was started in between
    assert "ada answered: Red" in (agent.take_answers() or "")


@pytest.mark.requirement("punchlist.ask")
@pytest.mark.parametrize("ask", [{"9": "Which colour?"}, {"1": " "}, {"1": "\u200b"}, "1", [], {"1": 7}])
def test_a_question_about_nothing_or_without_a_text_is_refused(board: Board, agent: Agent, ask: Any) -> None:
    before = agent.todos
    assert agent.call("todo", {"ask": ask, "done": "2"}).is_error
    assert agent.todos == before
    assert board.waits() == []


@pytest.mark.requirement("punchlist.ask")
def test_an_item_that_is_asked_about_and_done_in_one_call_asks_nothing(board: Board, agent: Agent) -> None:
    reply = todo(agent, ask={"1": "Which colour?"}, done=["1"])
    assert "asked" not in reply.data
    assert board.waits() == []


@pytest.mark.requirement("punchlist.ask")
def test_an_item_that_is_added_in_the_same_call_may_ask(board: Board, agent: Agent) -> None:
    todo(agent, add=["Choose"], ask={"4": "Which?"})
    assert [(wait.id, wait.title) for wait in board.waits()] == [("4", "Choose")]


@pytest.mark.requirement("punchlist.plan")
def test_plan_proposes_a_plan_that_waits_for_a_person(board: Board, agent: Agent) -> None:
    reply = todo(agent, plan="# Paint\n- Sand it\n- Paint it")
    assert "waits for a person" in reply.text
    assert agent.plan is not None
    assert reply.awaits == agent.plan.id
    assert lines(agent.todos)[0] == "1 > Paint"
    agent.reject_plan("Tests first", by="ada", person=True)
    assert "Tests first" in (agent.take_answers() or "")


@pytest.mark.requirement("punchlist.plan")
@pytest.mark.parametrize("args", [{"plan": ""}, {"plan": 7}, {"plan": "x", "view": True}, {"plan": "x" * 100_000}])
def test_a_plan_that_is_empty_too_long_or_not_alone_is_refused(agent: Agent, args: Any) -> None:
    assert agent.call("todo", args).is_error
    assert agent.plan is None
