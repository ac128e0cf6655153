"""Hermes' guardrail. The rules are those of manifest.toml, section guardrail."""

from typing import Any

import pytest

from punchlist.detect.guardrail import (
    DEFAULT,
    Decision,
    GuardrailOptions,
    GuardrailState,
    after,
    before,
    guardrail_options,
    looks_failed,
    signature,
)
from punchlist.errors import ConfigInvalid
from tests.dialects.test_bombs import BOMBS, bomb

HARD = guardrail_options({"hard_stop_enabled": True})


class Turn:
    """One turn of an agent: each call is asked about, and reported when it was allowed."""

    def __init__(self, options: GuardrailOptions = DEFAULT) -> None:
        self.options = options
        self.state = GuardrailState()

    def call(self, name: str, args: Any = None, result: Any = "ok", *, failed: bool | None = False) -> Decision:
        self.state, decision = before(self.state, name, args, options=self.options)
        if decision.allows:
            self.state, decision = after(self.state, name, args, result, failed=failed, options=self.options)
        return decision


def codes(decisions: list[Decision]) -> list[tuple[str, str, int]]:
    return [(decision.action, decision.code, decision.count) for decision in decisions]


@pytest.mark.requirement("guardrail.defaults")
def test_the_defaults_are_the_originals() -> None:
    assert (DEFAULT.warnings_enabled, DEFAULT.hard_stop_enabled) == (True, False)
    assert (DEFAULT.warn_after.exact_failure, DEFAULT.warn_after.same_tool_failure) == (2, 3)
    assert (DEFAULT.warn_after.idempotent_no_progress, DEFAULT.hard_stop_after.idempotent_no_progress) == (2, 5)
    assert (DEFAULT.hard_stop_after.exact_failure, DEFAULT.hard_stop_after.same_tool_failure) == (5, 8)
    assert (DEFAULT.loop_caps.max_web_searches, DEFAULT.loop_caps.max_subagents) == (50, 50)


@pytest.mark.requirement("guardrail.signature")
def test_a_signature_is_the_tool_and_a_hash_of_the_arguments_in_any_order() -> None:
    args = {"b": [1.0, None], "a": "ä"}
    assert signature("read_file", args) != signature("read_file", {**args, "a": "b"})
    assert signature("read_file", dict(reversed(args.items()))) == signature("read_file", args)
    assert signature("read_file", None) == signature("read_file", {})


@pytest.mark.requirement("guardrail.exact-failure")
def test_the_second_equal_failure_is_warned_of() -> None:
    turn = Turn()
    assert codes([turn.call("patch", {"x": 1}, failed=True) for _ in range(3)]) == [
        ("allow", "allow", 1),
        ("warn", "repeated_exact_failure_warning", 2),
        ("warn", "repeated_exact_failure_warning", 3),
    ]


@pytest.mark.requirement("guardrail.exact-failure")
def test_the_sixth_equal_failure_is_blocked_with_hard_stops() -> None:
    turn = Turn(HARD)
    decisions = [turn.call("patch", {"x": 1}, failed=True) for _ in range(6)]
    assert codes(decisions[4:]) == [
        ("warn", "repeated_exact_failure_warning", 5),
        ("block", "repeated_exact_failure_block", 5),
    ]


@pytest.mark.requirement("guardrail.exact-failure", "guardrail.hard-stop")
def test_without_hard_stops_nothing_is_blocked() -> None:
    turn = Turn()
    assert {turn.call("patch", {"x": 1}, failed=True).action for _ in range(30)} == {"allow", "warn"}


@pytest.mark.requirement("guardrail.success-clears")
def test_a_success_clears_the_failures_of_its_call_and_its_tool() -> None:
    turn = Turn()
    turn.call("patch", {"x": 1}, failed=True)
    turn.call("patch", {"x": 1})
    assert turn.call("patch", {"x": 1}, failed=True).action == "allow"


@pytest.mark.requirement("guardrail.same-tool-failure")
def test_the_third_failure_of_a_tool_is_warned_of_and_the_eighth_halts() -> None:
    turn = Turn(HARD)
    decisions = [turn.call("patch", {"x": number}, failed=True) for number in range(8)]
    assert codes(decisions)[1:3] == [("allow", "allow", 1), ("warn", "same_tool_failure_warning", 3)]
    assert codes(decisions)[7] == ("halt", "same_tool_failure_halt", 8)


@pytest.mark.requirement("guardrail.no-progress")
def test_the_same_answer_to_the_same_question_is_warned_of_and_then_blocked() -> None:
    turn = Turn(HARD)
    decisions = [turn.call("read_file", {"path": "a"}, '{"content": "x"}') for _ in range(6)]
    assert codes(decisions) == [
        ("allow", "allow", 1),
        *[("warn", "idempotent_no_progress_warning", count) for count in (2, 3, 4, 5)],
        ("block", "idempotent_no_progress_block", 5),
    ]


@pytest.mark.requirement("guardrail.no-progress")
def test_another_answer_is_progress_and_another_layout_of_it_is_not() -> None:
    turn = Turn()
    turn.call("read_file", {"path": "a"}, '{"a": 1, "b": 2}')
    assert turn.call("read_file", {"path": "a"}, '{"b":2,"a":1}').code == "idempotent_no_progress_warning"
    assert turn.call("read_file", {"path": "a"}, '{"a": 2}').action == "allow"


@pytest.mark.requirement("guardrail.mutating")
@pytest.mark.parametrize("tool", ["todo", "todo_list", "terminal", "write_file", "anything_else"])
def test_tools_that_change_something_are_never_without_progress(tool: str) -> None:
    turn = Turn(HARD)
    assert {turn.call(tool, {}, "same").action for _ in range(20)} == {"allow"}


@pytest.mark.requirement("guardrail.caps", "guardrail.hard-stop")
def test_searches_are_capped_without_hard_stops_too() -> None:
    turn = Turn(guardrail_options({"loop_caps": {"max_web_searches": 3}}))
    decisions = [turn.call("web_search", {"query": str(number)}, str(number)) for number in range(5)]
    assert codes(decisions[2:]) == [("allow", "allow", 1), *[("block", "loop_web_search_cap", 3)] * 2]


@pytest.mark.requirement("guardrail.caps")
def test_subagents_are_capped_by_how_many_a_call_starts() -> None:
    turn = Turn(guardrail_options({"loop_caps": {"max_subagents": 4}}))
    assert turn.call("delegate_task", {"tasks": [{}, {}, {}]}).allows
    assert turn.call("delegate_task", {"goal": "one"}).allows
    assert codes([turn.call("delegate_task", {"goal": "two"})]) == [("block", "loop_subagent_cap", 4)]
    assert turn.call("delegate_task", {"action": " Stop "}).allows


@pytest.mark.requirement("guardrail.caps")
def test_a_cap_of_zero_is_none() -> None:
    turn = Turn(guardrail_options({"loop_caps": {"max_web_searches": 0, "max_subagents": 0}}))
    assert all(turn.call("web_search", {"q": n}, str(n)).allows for n in range(60))
    assert all(turn.call("delegate_task", {"goal": str(n)}).allows for n in range(60))


@pytest.mark.requirement("guardrail.blocked-result")
def test_a_blocked_call_returns_the_originals_object() -> None:
    turn = Turn(guardrail_options({"loop_caps": {"max_web_searches": 1}}))
    turn.call("web_search", {"q": "x"})
    decision = turn.call("web_search", {"q": "y"})
    assert decision.result() == {
        "error": decision.message,
        "guardrail": {
            "action": "block",
            "code": "loop_web_search_cap",
            "message": decision.message,
            "tool_name": "web_search",
            "count": 1,
            "signature": {"tool_name": "web_search", "args_hash": signature("", {"q": "y"}).args_hash},
        },
    }
    finding = decision.finding()
    assert finding is not None
    assert (finding.detector, finding.level, finding.subject) == ("loop_web_search_cap", "critical", "web_search")


@pytest.mark.requirement("guardrail.warnings")
def test_warnings_can_be_switched_off() -> None:
    turn = Turn(guardrail_options({"warnings_enabled": False, "hard_stop_enabled": True}))
    decisions = [turn.call("patch", {"x": 1}, failed=True) for _ in range(6)]
    assert [decision.action for decision in decisions] == [*["allow"] * 5, "block"]


@pytest.mark.requirement("guardrail.failure-signs")
@pytest.mark.parametrize(
    ("tool", "result", "failed"),
    [
        ("terminal", '{"exit_code": 1, "output": ""}', True),
        ("terminal", '{"exit_code": 0, "error": "x"}', False),
        ("terminal", "no json", False),
        ("read_file", '{"error": "no such file"}', True),
        ("read_file", '{"Failed": 1}', True),
        ("read_file", "Error: no", True),
        ("read_file", "an Error", False),
        ("read_file", "x" * 500 + '"error"', False),
        ("read_file", None, False),
    ],
)
def test_a_failure_is_told_by_the_originals_signs(tool: str, result: Any, failed: bool) -> None:
    assert looks_failed(tool, result) is failed
    turn = Turn()
    turn.call(tool, {}, result, failed=None)
    assert bool(turn.state.failures) is failed


@pytest.mark.requirement("guardrail.per-turn")
def test_a_turn_holds_a_bounded_number_of_counts() -> None:
    turn = Turn()
    for number in range(600):
        turn.call(f"tool{number}", {}, failed=True)
        turn.call("read_file", {"n": number})
    assert max(len(turn.state.failures), len(turn.state.failing), len(turn.state.repeats)) == 256
    assert GuardrailState() == GuardrailState(failures={}, failing={}, repeats={})


@pytest.mark.parametrize("name", BOMBS)
def test_any_arguments_and_any_result_are_taken(name: str) -> None:
    value = bomb(name)
    turn = Turn(HARD)
    for tool in ("read_file", "terminal", "delegate_task"):
        for args in (value, {"x": value, "tasks": value, "action": value}):
            turn.call(tool, args, value, failed=None)
            turn.call(tool, args, {"x": value}, failed=None)
    assert len(repr(turn.state)) < 20_000


@pytest.mark.requirement("guardrail.strict")
@pytest.mark.parametrize(
    "given",
    [
        None,
        {"hard_stop": True},
        {"warnings_enabled": "yes"},
        {"warn_after": {"exact": 1}},
        {"hard_stop_after": {"exact_failure": 0}},
        {"loop_caps": {"max_subagents": -1}},
    ],
)
def test_a_mistake_in_the_settings_is_named(given: Any) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        guardrail_options(given)
    assert str(refused.value.data["name"]).startswith("tool_loop_guardrails")


def test_all_settings_can_be_set() -> None:
    options = guardrail_options(
        {
            "warn_after": {"exact_failure": 7, "same_tool_failure": 8, "idempotent_no_progress": 9},
            "hard_stop_after": {"exact_failure": 17, "same_tool_failure": 18, "idempotent_no_progress": 19},
        }
    )
    assert (options.warn_after.exact_failure, options.warn_after.same_tool_failure) == (7, 8)
    assert (options.warn_after.idempotent_no_progress, options.hard_stop_after.idempotent_no_progress) == (9, 19)
    assert (options.hard_stop_after.exact_failure, options.hard_stop_after.same_tool_failure) == (17, 18)
