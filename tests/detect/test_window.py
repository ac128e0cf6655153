"""Loop detection in place is the same as with a new state for each call."""

import copy

from hypothesis import given

from punchlist.detect.findings import Verdict
from punchlist.detect.loop_options import LoopOptions
from punchlist.detect.loop_rules import judge
from punchlist.detect.loops import LoopState
from punchlist.detect.signatures import sight
from punchlist.detect.window import Window
from tests.detect.test_properties import OPTIONS, STEPS, Step, step


def taken_in(window: Window, made: Step, options: LoopOptions) -> Verdict | None:
    if made.what == "compact":
        window.compacted(run=made.run, options=options)
        return None
    if made.what == "start":
        return window.started(f"c{made.call}", made.tool, made.args, run=made.run, options=options)[0]
    window.finished(f"c{made.call}", made.result, made.is_error, run=made.run, options=options)
    return None


@given(STEPS, OPTIONS)
def test_in_place_and_by_values_it_comes_to_the_same(steps: list[Step], options: LoopOptions) -> None:
    state, window = LoopState(), Window(LoopState())
    for made in steps:
        state, verdict = step(state, made, options)
        assert taken_in(window, made, options) == verdict
        assert window.state() == state


@given(STEPS, OPTIONS)
def test_a_state_that_was_given_out_never_changes(steps: list[Step], options: LoopOptions) -> None:
    window = Window(LoopState())
    given_out = [(window.state(), copy.deepcopy(window.state()))]
    for made in steps:
        taken_in(window, made, options)
        given_out.append((window.state(), copy.deepcopy(window.state())))
    assert all(state == as_it_was for state, as_it_was in given_out)


@given(STEPS, OPTIONS)
def test_a_call_that_is_recorded_is_judged_by_the_rules(steps: list[Step], options: LoopOptions) -> None:
    window = Window(LoopState())
    for made in steps:
        before = [call for call in window.state().calls if call.run == (made.run or "")]
        is_persisted = window.guard.persisted
        verdict = taken_in(window, made, options)
        known = any(call.id == f"c{made.call}" for call in before)
        if verdict is not None and not known and not is_persisted:
            seen = sight(made.tool, made.args)
            judged = judge(before, seen.tool, seen.key[:-48], is_poll=seen.is_poll, options=options).verdict
            assert (judged.level, judged.detector) == (verdict.level, verdict.detector)


@given(STEPS, OPTIONS)
def test_what_was_recorded_elsewhere_can_be_taken_in(steps: list[Step], options: LoopOptions) -> None:
    here, elsewhere = Window(LoopState()), Window(LoopState())
    for made in steps:
        held, call, room = here.held, None, 0
        if made.what == "start":
            room = options.history_size
            _, call = here.started(f"c{made.call}", made.tool, made.args, run=made.run, options=options)
        elif made.what == "finish":
            call = here.finished(f"c{made.call}", made.result, made.is_error, run=made.run, options=options)
        if here.held is not held:
            return  # more has happened than one call says
        if call is not None:
            elsewhere.recorded(call, room)
        assert elsewhere.state().calls == here.state().calls
