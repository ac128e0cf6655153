"""A verdict of ours that comes back as a result, in the forms that hosts give it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from punchlist.detect.findings import Verdict
from punchlist.detect.guardrail import GuardrailState, after, before, guardrail_options
from punchlist.detect.loops import loop_options, watch_compaction
from punchlist.detect.signatures import is_refusal
from tests.detect.calls import Caller, judged

PATH = {"path": "/file.txt"}
SAID = "CRITICAL: Called read with identical arguments and identical outcomes 20 times. This call was blocked."


def content(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


def blocked(said: str) -> dict[str, Any]:
    return {**content(said), "details": {"status": "blocked", "deniedReason": "tool-loop", "reason": said}}


FORMS: dict[str, Callable[[str], Any]] = {
    "a sentence": str,
    "an error's text": "Error: {}".format,
    "an exception": RuntimeError,
    "the original's object": blocked,
    "the original's object as JSON": lambda said: json.dumps(blocked(said)),
    "content": content,
    "content as JSON": lambda said: json.dumps(content(said), indent=1),
    "blocks": lambda said: content(said)["content"],
    "JSON in content": lambda said: content(json.dumps({"error": said})),
    "an object with an error": lambda said: {"error": said},
    "an object with an error's message": lambda said: {"error": {"message": said}},
    "an object with an error as JSON": lambda said: json.dumps({"error": said}),
}


@pytest.mark.requirement("loops.veto", "loops.ran-all-the-same")
@pytest.mark.parametrize("is_error", [True, False])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_refusal_that_comes_back_in_whatever_form_does_not_reopen_a_blocked_loop(
    form: Callable[[str], Any], is_error: bool
) -> None:
    caller = Caller()
    caller.repeat(20, args=PATH)
    for _ in range(12):
        verdict = caller.start(args=PATH)
        caller.finish(form(verdict.message), is_error=is_error)
        assert judged(verdict) == ("critical", "generic_repeat", 20)


@pytest.mark.requirement("loops.veto")
def test_a_blocked_call_that_is_said_to_have_failed_and_nothing_else_has_not_run() -> None:
    caller = Caller()
    caller.repeat(20, args=PATH)
    for _ in range(3):
        verdict = caller.start(args=PATH)
        caller.finish(None, is_error=True)
        assert judged(verdict) == ("critical", "generic_repeat", 20)


@pytest.mark.requirement("loops.veto")
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_refusal_of_a_call_without_an_id_or_from_long_ago_is_no_outcome_either(form: Callable[[str], Any]) -> None:
    caller = Caller()
    caller.start(args=PATH)
    caller.finish(form(SAID), is_error=True)
    assert caller.state.calls[0].outcome is None


def critical(caller: Caller, *calls: tuple[str, Any, Any, bool]) -> Verdict:
    """The first critical verdict on these calls, made again and again."""
    for number in range(100):
        name, args, result, is_error = calls[number % len(calls)]
        verdict = caller.call(name, args, result, is_error=is_error)
        if verdict.level == "critical":
            return verdict
    raise AssertionError


def loop_verdicts() -> dict[str, Verdict]:
    other = ("a<b>" * 40, {"path": "b"}, "b", False)
    failing = Caller(loop_options({"error_threshold": 3}))
    watched = Caller()
    watched.state = watch_compaction(watched.state)
    found = (
        critical(Caller(), other),
        critical(Caller(), ("read", PATH, "a", False), other),
        critical(Caller(), ("command_status", {}, "running", False)),
        critical(Caller(), ("gone", {}, "Unknown tool: gone", True)),
        critical(Caller(loop_options({"detectors": {"generic_repeat": False}})), other),
        critical(failing, *((f"tool{number}", PATH, f"no {number}", True) for number in range(99))),
        critical(watched, other),
    )
    return {verdict.detector or "": verdict for verdict in found}


LOOPS = loop_verdicts()


@pytest.mark.requirement("loops.veto")
def test_every_critical_verdict_on_a_loop_is_known_again() -> None:
    assert set(LOOPS) == {
        *("generic_repeat", "ping_pong", "known_poll_no_progress", "unknown_tool_repeat"),
        *("global_circuit_breaker", "error_streak", "compaction_loop_persisted"),
    }
    assert [name for name, verdict in LOOPS.items() if not is_refusal(verdict.message)] == []


def guardrail_refusals() -> dict[str, dict[str, Any]]:
    options = guardrail_options({"hard_stop_enabled": True, "loop_caps": {"max_web_searches": 1, "max_subagents": 1}})
    found: dict[str, dict[str, Any]] = {}
    for name, result, failed in (
        ("terminal", "no", True),
        ("read_file", "same", False),
        ("web_search", "new", False),
        ("delegate_task", "new", False),
    ):
        state = GuardrailState()
        for _ in range(9):
            state, decision = before(state, name, {"a": 1}, options=options)
            if not decision.allows:
                found[decision.code] = decision.result()
            state, decision = after(state, name, {"a": 1}, result, failed=failed, options=options)
            if not decision.allows:
                found[decision.code] = decision.result()
    return found


GUARDRAIL = guardrail_refusals()


def test_every_refusal_of_the_guardrail_is_known_again() -> None:
    assert set(GUARDRAIL) == {
        *("repeated_exact_failure_block", "same_tool_failure_halt", "idempotent_no_progress_block"),
        *("loop_web_search_cap", "loop_subagent_cap"),
    }
    for code, result in GUARDRAIL.items():
        assert is_refusal(result["error"]), code
        assert is_refusal(result), code
        assert is_refusal(json.dumps(result)), code
        assert is_refusal(json.dumps({"error": result["error"]})), code


@pytest.mark.parametrize(
    "result",
    [
        *("", "C", "{", "[", "CRITICAL: disk is full", "Error: no such file", '{"error": "no such file"}'),
        *("The test was not run: it is marked as slow.", f"  12: {SAID}", json.dumps({"lines": [SAID]})),
        *(content("ok"), content(f"The log says {SAID}"), {"details": {"status": "blocked", "deniedReason": "policy"}}),
        *(None, 3, object(), b"CRITICAL: ", {"guardrail": "on"}, {"error": None}, [[[[[[[[SAID]]]]]]]]),
    ],
)
def test_what_only_looks_like_a_refusal_is_a_result(result: object) -> None:
    assert not is_refusal(result)
