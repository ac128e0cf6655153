"""Codex's `update_plan` to the letter. The rules are those of manifest.toml, section codex."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist import Agent, Board
from punchlist.core.commands import Replace
from punchlist.dialects import dialect
from punchlist.dialects.base import Invalid
from tests.dialects.boards import last_kind, lines, memory_board

PREFIX = "failed to parse function arguments: "
STATUSES = ("pending", "in_progress", "completed")


@pytest.fixture
def board() -> Iterator[Board]:
    with memory_board() as board:
        yield board


@pytest.fixture
def agent(board: Board) -> Agent:
    return board.agent("main", session="s", dialect="codex")


def plan(*steps: str, **more: Any) -> dict[str, Any]:
    words = {"> ": "in_progress", "x ": "completed", "  ": "pending"}
    return {"plan": [{"step": step[2:], "status": words[step[:2]]} for step in steps], **more}


# The tool.


@pytest.mark.requirement("codex.one-tool", "codex.schema")
def test_the_schema_allows_no_other_fields_and_is_not_strict(agent: Agent) -> None:
    (tool,) = agent.tools
    assert (tool.name, tool.annotations["strict"]) == ("update_plan", False)
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "explanation": {"type": "string"},
            "plan": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"step": {"type": "string"}, "status": {"type": "string", "enum": list(STATUSES)}},
                    "required": ["step", "status"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["plan"],
        "additionalProperties": False,
    }


# A write.


@pytest.mark.requirement("codex.plan-updated")
def test_the_reply_is_two_words_and_an_empty_object(agent: Agent) -> None:
    reply = agent.call("update_plan", plan("> a", "  b"))
    assert (reply.text, reply.data, reply.is_error) == ("Plan updated", {}, False)
    assert lines(agent.todos) == ["1 > a", "2   b"]


@pytest.mark.requirement("codex.several-in-progress")
def test_several_steps_in_progress_are_accepted(agent: Agent) -> None:
    assert agent.call("update_plan", plan("> a", "> b", "> a")).text == "Plan updated"
    assert lines(agent.todos) == ["1 > a", "2 > b", "3 > a"]


@pytest.mark.requirement("codex.empty")
def test_an_empty_plan_and_an_empty_step_are_accepted(agent: Agent) -> None:
    assert agent.call("update_plan", plan("  ", "> b")).text == "Plan updated"
    assert [item.content for item in agent.todos.items] == ["", "b"]
    assert agent.call("update_plan", {"plan": []}).text == "Plan updated"
    assert agent.todos.items == ()


@pytest.mark.requirement("codex.no-limits")
def test_a_thousand_long_steps_are_accepted(agent: Agent) -> None:
    assert agent.call("update_plan", plan(*(f"  {number} {'x' * 2000}" for number in range(1000)))).is_error is False
    assert len(agent.todos.items) == 1000


@pytest.mark.requirement("codex.explanation")
def test_the_explanation_is_that_of_the_last_update(agent: Agent) -> None:
    agent.call("update_plan", plan("> a", explanation="Found more"))
    assert agent.todos.explanation == "Found more"
    agent.call("update_plan", plan("> a", explanation=None))
    assert agent.todos.explanation is None
    agent.call("update_plan", plan("> a", explanation="Again"))
    agent.call("update_plan", plan("x a"))
    assert agent.todos.explanation is None


@pytest.mark.requirement("codex.finished-stays")
def test_a_finished_plan_stays_until_the_next_one(agent: Agent) -> None:
    agent.call("update_plan", plan("x a", "x b"))
    assert lines(agent.todos) == ["1 x a", "2 x b"]
    before = agent.todos.plan_id
    agent.call("update_plan", plan("> c"))
    assert (lines(agent.todos), agent.todos.plan_id != before) == (["1 > c"], True)


# Errors.


@pytest.mark.requirement("codex.plan-mode-first")
@pytest.mark.parametrize("args", [plan("> b"), {"plan": 3}, "nonsense", None])
def test_plan_mode_is_checked_before_the_arguments(board: Board, agent: Agent, args: Any) -> None:
    agent.call("update_plan", plan("> a"))
    agent.enter_plan_mode()
    reply = agent.call("update_plan", args)
    assert reply.text == "update_plan is a TODO/checklist tool and is not allowed in Plan mode"
    assert (reply.is_error, lines(agent.todos), last_kind(board)) == (True, ["1 > a"], "list.refused")


STATUS_NAMES = "`pending`, `in_progress`, `completed`"
OBJECTS: list[tuple[Any, str]] = [
    ({"explanation": "Missing plan data"}, "missing field `plan` at line 1 column 35"),
    ({}, "missing field `plan` at line 1 column 2"),
    ({"plan": [{"step": "a"}]}, "missing field `status` at line 1 column 21"),
    ({"plan": [{"status": "pending"}]}, "missing field `step` at line 1 column 29"),
    ({"plan": [{}]}, "missing field `step` at line 1 column 11"),
    ({"plan": [], "x": 1}, "unknown field `x`, expected `explanation` or `plan` at line 1 column 14"),
    ({"plan": [], "é": 1}, "unknown field `é`, expected `explanation` or `plan` at line 1 column 15"),
    (
        {"plan": [{"step": "a", "status": "pending", "x": 1}]},
        "unknown field `x`, expected `step` or `status` at line 1 column 43",
    ),
    (
        {"plan": [{"step": "a", "status": "done"}]},
        f"unknown variant `done`, expected one of {STATUS_NAMES} at line 1 column 36",
    ),
    ({"plan": [{"step": "a", "status": 3}]}, "expected value at line 1 column 31"),
    ({"plan": [{"step": "a", "status": None}]}, "expected value at line 1 column 31"),
    ({"plan": [{"step": 3, "status": "?"}]}, "invalid type: integer `3`, expected a string at line 1 column 18"),
    ({"plan": [{"step": -1.5}]}, "invalid type: floating point `-1.5`, expected a string at line 1 column 21"),
    ({"plan": [{"step": 1e20}]}, "invalid type: floating point `1e20`, expected a string at line 1 column 22"),
    ({"plan": [{"step": 2**64}]}, "invalid type: floating point `1.8446744073709552e19`, expected a string"),
    ({"plan": [{"step": True}]}, "invalid type: boolean `true`, expected a string at line 1 column 21"),
    ({"plan": [{"step": None}]}, "invalid type: null, expected a string at line 1 column 21"),
    ({"plan": [{"step": ["a"]}]}, "invalid type: sequence, expected a string at line 1 column 17"),
    ({"plan": "x"}, 'invalid type: string "x", expected a sequence at line 1 column 11'),
    ({"plan": 'a "b"\n'}, 'invalid type: string "a \\"b\\"\\n", expected a sequence at line 1 column 19'),
    ({"plan": {}}, "invalid type: map, expected a sequence at line 1 column 8"),
    ({"plan": None}, "invalid type: null, expected a sequence at line 1 column 12"),
    ({"plan": ["a"]}, 'invalid type: string "a", expected struct PlanItemArg at line 1 column 12'),
    ({"explanation": 5, "plan": []}, "invalid type: integer `5`, expected a string at line 1 column 16"),
    (None, "invalid type: null, expected struct UpdatePlanArgs at line 1 column 4"),
    (3, "invalid type: integer `3`, expected struct UpdatePlanArgs at line 1 column 1"),
]


@pytest.mark.requirement("codex.serde-texts", "codex.columns", "codex.refused-changes-nothing")
@pytest.mark.parametrize(("args", "said"), OBJECTS)
def test_a_mistake_is_named_as_serde_names_it(board: Board, agent: Agent, args: Any, said: str) -> None:
    agent.call("update_plan", plan("> a"))
    reply = agent.call("update_plan", args)
    assert reply.text.startswith(PREFIX + said)
    assert (reply.is_error, lines(agent.todos), last_kind(board)) == (True, ["1 > a"], "list.refused")


TEXTS: list[tuple[str, str]] = [
    ('{"plan":[],"plan":[]}', "duplicate field `plan` at line 1 column 17"),
    ('{"explanation":"a","explanation":"b"}', "duplicate field `explanation` at line 1 column 32"),
    (
        '{\n  "plan": [],\n  "x": 1\n}',
        "unknown field `x`, expected `explanation` or `plan` at line 3 column 5",
    ),
    ('{\n"explanation": "ä"\n}', "missing field `plan` at line 3 column 1"),
    ("", "EOF while parsing a value at line 1 column 0"),
    ("hello", "expected value at line 1 column 1"),
    ('"{}"', 'invalid type: string "{}", expected struct UpdatePlanArgs at line 1 column 4'),
    ('{"plan":[]} x', "trailing characters at line 1 column 13"),
    ('{"plan":[],}', "trailing comma at line 1 column 12"),
    ('{"plan":[{"step":"a","status":"pending"},]}', "trailing comma at line 1 column 42"),
    ('{"plan":[', "EOF while parsing a list at line 1 column 9"),
    ('{"plan":[]', "EOF while parsing an object at line 1 column 10"),
    ('{"plan"', "EOF while parsing an object at line 1 column 7"),
    ('{"pla', "EOF while parsing a string at line 1 column 5"),
    ("{'plan':[]}", "key must be a string at line 1 column 2"),
    ('{"plan" []}', "expected `:` at line 1 column 9"),
    ('{"plan":[] "x":1}', "expected `,` or `}` at line 1 column 12"),
    ('{"plan":nul}', "expected ident at line 1 column 12"),
    ('{"plan":01}', "invalid number at line 1 column 10"),
    ('{"plan":1e999}', "number out of range at line 1 column 13"),
    ('{"plan":"\\x"}', "invalid escape at line 1 column 11"),
    ('{"plan":"\n"}', "control character (\\u0000-\\u001F) found while parsing a string at line 2 column 0"),
    ('["x"]', "invalid length 1, expected struct UpdatePlanArgs with 2 elements at line 1 column 5"),
    ("[null,[],1]", "trailing characters at line 1 column 10"),
]


@pytest.mark.requirement("codex.json-text", "codex.serde-texts", "codex.columns")
@pytest.mark.parametrize(("text", "said"), TEXTS)
def test_positions_are_those_of_the_text_that_was_sent(agent: Agent, text: str, said: str) -> None:
    reply = agent.call("update_plan", text)
    assert (reply.text, reply.is_error) == (PREFIX + said, True)


@pytest.mark.requirement("codex.json-text")
@pytest.mark.parametrize(
    "text",
    [
        '{"plan":[{"step":"a","status":"in_progress"}]}',
        ' {\n\t"plan" : [ { "status" : "in_progress" , "step" : "\\u0061" } ] , "explanation" : null }\n',
        '[null, [["a", "in_progress"]]]',
        '{"plan":[{"step":"a","status":{"in_progress":null}}]}',
    ],
)
def test_every_text_that_serde_takes_is_taken(agent: Agent, text: str) -> None:
    assert agent.call("update_plan", text).text == "Plan updated"
    assert lines(agent.todos) == ["1 > a"]


@pytest.mark.requirement("codex.long-echo")
def test_a_mistake_of_megabytes_is_not_repeated_in_full(agent: Agent) -> None:
    for args in ({"x" * 10**6: 1}, {"plan": "x" * 10**6}, {"plan": [{"step": "a", "status": "x" * 10**6}]}):
        assert len(agent.call("update_plan", args).text) < 2000


def parsed(args: Any) -> Any:
    return dialect("codex").parse("update_plan", args)


names = st.sampled_from(["plan", "explanation", "step", "status", "x"])
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(STATUSES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=12,
)
steps = st.fixed_dictionaries({"step": st.text(max_size=9), "status": st.sampled_from(STATUSES)})
calls = values | st.fixed_dictionaries(
    {"plan": st.lists(steps | values, max_size=4)}, optional={"explanation": st.none() | st.text() | values}
)


@pytest.mark.requirement("codex.json-text")
@given(calls)
def test_an_object_is_read_as_its_compact_text(args: Any) -> None:
    if not isinstance(args, str):
        assert parsed(args) == parsed(json.dumps(args, ensure_ascii=False, separators=(",", ":")))


@pytest.mark.requirement("codex.json-text")
@given(calls, st.integers(min_value=0, max_value=200), st.text(max_size=3))
def test_a_damaged_text_is_refused_or_read_and_never_breaks(args: Any, place: int, noise: str) -> None:
    text = json.dumps(args)
    answer = parsed(text[:place] + noise + text[place + 1 :])
    assert isinstance(answer, Replace | Invalid)
    if isinstance(answer, Invalid):
        assert answer.text.startswith(PREFIX)
        assert " at line 1 column " in answer.text or "\n" in noise
