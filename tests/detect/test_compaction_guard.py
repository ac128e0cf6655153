"""The guard after a compaction: the loop that the compaction was to end goes on."""

import pytest

from punchlist.detect.loops import judge_start, loop_options, record_end, watch_compaction
from tests.detect.calls import Caller, judged

PATH = {"path": "/file.txt"}


def after_compaction(**options: int) -> Caller:
    caller = Caller(loop_options(options))
    caller.state = watch_compaction(caller.state, run="r", options=caller.options)
    return caller


@pytest.mark.requirement("loops.compaction-guard")
def test_three_equal_calls_with_equal_results_after_a_compaction_are_a_loop() -> None:
    caller = after_compaction()
    assert caller.repeat(3, args=PATH, run="r").level == "ok"
    assert caller.state.guard.persisted
    verdict = caller.start("write", {}, run="r")
    assert judged(verdict) == ("critical", "compaction_loop_persisted", 3)
    assert caller.call("write", {}, run="r").level == "ok"


@pytest.mark.requirement("loops.compaction-guard")
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_other_result_disarms_the_guard(place: int) -> None:
    caller = after_compaction()
    for number in range(6):
        caller.call(args=PATH, result="news" if number == place else "same", run="r")
    assert caller.start(run="r").level == "ok"


@pytest.mark.requirement("loops.compaction-guard")
def test_other_runs_are_not_watched() -> None:
    caller = after_compaction()
    caller.repeat(3, args=PATH, run="other")
    assert not caller.state.guard.persisted
    caller.repeat(3, args=PATH, run="r")
    assert caller.call(args=PATH, run="other").level == "ok"
    assert caller.call(args=PATH, run="r").detector == "compaction_loop_persisted"


@pytest.mark.requirement("loops.compaction-guard")
def test_the_window_is_a_setting_and_zero_switches_the_guard_off() -> None:
    wide = after_compaction(compaction_window=5)
    wide.repeat(4, args=PATH, run="r")
    assert not wide.state.guard.persisted
    wide.call(args=PATH, run="r")
    assert wide.state.guard.persisted
    off = after_compaction(compaction_window=0)
    off.repeat(9, args=PATH, run="r")
    assert not off.state.guard.persisted


@pytest.mark.requirement("loops.compaction-guard", "loops.ran-all-the-same")
def test_the_loop_that_goes_on_all_the_same_is_counted_and_stays_one() -> None:
    caller = Caller()
    caller.state = watch_compaction(caller.state)
    verdicts = [caller.run(args=PATH) for _ in range(12)]
    assert [judged(verdict)[2] for verdict in verdicts] == [0, 0, 0, *range(3, 12)]
    assert {judged(verdict)[:2] for verdict in verdicts[3:]} == {("critical", "compaction_loop_persisted")}
    assert [number for number, verdict in enumerate(verdicts) if verdict.is_news] == [3, 10]
    assert len(caller.state.calls) == 12
    assert caller.state.held == ()


@pytest.mark.requirement("loops.compaction-guard", "loops.veto")
def test_a_loop_that_is_refused_stays_one_until_another_call_is_made() -> None:
    caller = after_compaction()
    caller.repeat(3, args=PATH, run="r")
    for _ in range(4):
        verdict = caller.start(args=PATH, run="r")
        assert judged(verdict) == ("critical", "compaction_loop_persisted", 3)
        caller.finish(verdict.message, is_error=True, run="r")
    assert len(caller.state.calls) == 3
    assert caller.call("write", {}, run="r").level == "ok"
    assert caller.call(args=PATH, run="r").level == "ok"


@pytest.mark.requirement("loops.compaction-guard", "loops.ran-all-the-same")
@pytest.mark.parametrize(("name", "result"), [("read", "something new"), ("write", "same")])
def test_a_call_that_ran_and_is_none_of_the_loop_ends_it(name: str, result: str) -> None:
    caller = Caller()
    caller.state = watch_compaction(caller.state)
    caller.repeat(3, args=PATH)
    assert caller.run(name, PATH, result).detector == "compaction_loop_persisted"
    assert caller.call(args=PATH).level == "ok"


@pytest.mark.requirement("loops.compaction-guard", "loops.duplicates")
def test_a_call_judged_after_a_compaction_and_reported_again_counts_once() -> None:
    caller = Caller()
    caller.state = watch_compaction(caller.state)
    caller.repeat(3, args=PATH)
    state = caller.state
    for _ in range(3):
        state, verdict = judge_start(state, "again", "read", PATH)
        assert judged(verdict) == ("critical", "compaction_loop_persisted", 3)
    assert len(state.held) == 1
    for _ in range(3):
        state = record_end(state, "again", "same").state
    assert len(state.calls) == 4


@pytest.mark.requirement("loops.compaction-guard", "loops.count-blocked")
def test_with_count_blocked_a_call_refused_after_a_compaction_counts() -> None:
    caller = Caller(loop_options({"count_blocked": True}))
    caller.state = watch_compaction(caller.state)
    caller.repeat(5, args=PATH)
    assert len(caller.state.calls) == 5
