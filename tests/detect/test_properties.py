"""What holds of loop detection whatever an agent does."""

from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.core.events import Event
from punchlist.detect.guardrail import GuardrailState, after
from punchlist.detect.list_upkeep import StalenessState, observe_event
from punchlist.detect.loops import (
    LoopOptions,
    LoopState,
    judge,
    judge_start,
    loop_options,
    record_end,
    watch_compaction,
)
from punchlist.detect.rounds import RoundState, count_round
from punchlist.detect.signatures import sight
from punchlist.detect.stalls import note_prompt, start_watch
from tests.dialects.boards import NOW


class Step(NamedTuple):
    """Something that an agent does: a call starts, finishes, or the context is compacted."""

    what: str
    call: int
    tool: str
    args: Any
    run: str | None
    result: Any
    is_error: bool


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(["start", "start", "finish", "finish", "compact"]),
        st.integers(0, 40),
        st.sampled_from(["read", "exce", "process", "update_plan"]),
        st.sampled_from([{}, {"a": 1}, {"action": "poll"}]),
        st.sampled_from([None, "r"]),
        st.sampled_from(["same", "other", None, "unknown tool: exce"]),
        st.booleans(),
    ),
    max_size=80,
)
TIGHT = loop_options({"history_size": 8, "warning_threshold": 2, "critical_threshold": 3, "unknown_tool_threshold": 2})
OPTIONS = st.sampled_from([TIGHT, LoopOptions(), loop_options({"count_blocked": True, "error_threshold": 3})])


def step(state: LoopState, made: Step, options: LoopOptions) -> tuple[LoopState, Any]:
    if made.what == "compact":
        return watch_compaction(state, run=made.run, options=options), None
    if made.what == "start":
        return judge_start(state, f"c{made.call}", made.tool, made.args, run=made.run, options=options)
    return record_end(state, f"c{made.call}", made.result, made.is_error, run=made.run, options=options).state, None


def walk(steps: list[Step], options: LoopOptions) -> tuple[LoopState, list[Any]]:
    state, verdicts = LoopState(), list[Any]()
    for made in steps:
        state, verdict = step(state, made, options)
        verdicts.append(verdict)
    return state, verdicts


@pytest.mark.requirement("loops.window")
@given(STEPS, OPTIONS)
def test_a_state_is_never_larger_than_its_window(steps: list[Step], options: LoopOptions) -> None:
    state, _ = walk(steps, options)
    assert len(state.calls) <= options.history_size
    assert len(msgspec.json.encode(state)) < 400 * options.history_size + 8000


@given(STEPS, OPTIONS)
def test_the_same_calls_get_the_same_verdicts(steps: list[Step], options: LoopOptions) -> None:
    assert walk(steps, options) == walk(steps, options)


@given(STEPS, OPTIONS)
def test_a_state_can_be_written_down_at_any_moment(steps: list[Step], options: LoopOptions) -> None:
    state, _ = walk(steps, options)
    assert msgspec.json.decode(msgspec.json.encode(state), type=LoopState) == state


@pytest.mark.requirement("loops.duplicates")
@given(STEPS, OPTIONS, st.integers(2, 4))
def test_a_report_that_comes_again_changes_nothing(steps: list[Step], options: LoopOptions, times: int) -> None:
    state = LoopState()
    for made in steps:
        after_one, _ = step(state, made, options)
        again = after_one
        known = made.what == "finish" or any(call.id == f"c{made.call}" for call in after_one.calls)
        for _ in range(times):
            again = step(again, made, options)[0] if known else again
        if made.what == "finish" or not after_one.guard.persisted:
            assert again.calls == after_one.calls
        state = after_one


@pytest.mark.requirement("loops.duplicates")
@given(st.permutations(range(6)), st.sampled_from([["a"] * 6, ["a", "a", "a", "b", "b", "b"]]))
def test_results_may_come_in_any_order(order: list[int], results: list[str]) -> None:
    def ends(order: list[int]) -> LoopState:
        state = LoopState()
        for number in range(6):
            state, _ = judge_start(state, f"c{number}", "read", {"x": 1})
        for number in order:
            state = record_end(state, f"c{number}", results[number]).state
        return state

    assert ends(order) == ends(list(range(6)))


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.booleans()), max_size=60))
def test_critical_only_with_as_many_equal_results_as_it_says(calls: list[tuple[str, str, bool]]) -> None:
    state, results = LoopState(), dict[str, list[str]]()
    off = loop_options({"detectors": {"ping_pong": False}, "warning_threshold": 2, "critical_threshold": 3})
    for number, (args, result, is_error) in enumerate(calls):
        state, verdict = judge_start(state, str(number), "read", {"x": args}, options=off)
        if verdict.level == "critical":
            assert len(set(results[args][-verdict.count :])) == 1
            assert verdict.count >= 3
            continue
        state = record_end(state, str(number), result, is_error, options=off).state
        results.setdefault(args, []).append(f"{result}{is_error}")


def test_all_states_can_be_written_down() -> None:
    guardrail, _ = after(GuardrailState(), "read_file", {}, "x")
    guardrail, _ = after(guardrail, "patch", {}, "x", failed=True)
    stall = note_prompt(start_watch(NOW, "codex"), NOW, ["HTTPS_PROXY"])
    started_one = Event(1, NOW, "item.started", "main", None, "s", "main", {"id": "1"})
    written = Event(2, NOW, "list.edited", "main", None, "s", "main", {"revision": 1})
    staleness, _ = observe_event(observe_event(StalenessState(), started_one)[0], written)
    for state in (guardrail, stall, staleness, count_round(RoundState(), progress=False)[0]):
        assert msgspec.json.decode(msgspec.json.encode(state), type=type(state)) == state


@given(STEPS, OPTIONS)
def test_a_call_that_is_recorded_is_judged_by_the_rules(steps: list[Step], options: LoopOptions) -> None:
    state = LoopState()
    for made in steps:
        before = [call for call in state.calls if call.run == (made.run or "")]
        is_persisted = state.guard.persisted
        state, verdict = step(state, made, options)
        known = any(call.id == f"c{made.call}" for call in before)
        if verdict is not None and not known and not is_persisted:
            seen = sight(made.tool, made.args)
            judged = judge(before, seen.tool, seen.key, is_poll=seen.is_poll, options=options).verdict
            assert (judged.level, judged.detector) == (verdict.level, verdict.detector)
