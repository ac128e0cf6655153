"""The guard after a compaction: the loop that the compaction was to end goes on."""

import pytest

from punchlist.detect.loop_options import loop_options
from punchlist.detect.loops import compacted
from tests.detect.calls import Caller, judged

PATH = {"path": "/file.txt"}


def after_compaction(**options: int) -> Caller:
    caller = Caller(loop_options(options))
    caller.state = compacted(caller.state, run="r", options=caller.options)
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
