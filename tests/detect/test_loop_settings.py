"""What may be set of loop detection, and what a mistake in it says."""

from typing import Any

import pytest

from punchlist.detect.loops import DEFAULT, LoopOptions, loop_options
from punchlist.errors import ConfigInvalid


@pytest.mark.requirement("loops.defaults")
def test_the_defaults_are_the_originals() -> None:
    assert loop_options(True) == loop_options({}) == DEFAULT
    assert (DEFAULT.history_size, DEFAULT.unknown_tool_threshold, DEFAULT.compaction_window) == (30, 10, 3)
    assert (DEFAULT.warning_threshold, DEFAULT.critical_threshold, DEFAULT.global_threshold) == (10, 20, 30)
    assert DEFAULT.detectors == {"generic_repeat", "known_poll_no_progress", "ping_pong"}
    assert (DEFAULT.count_blocked, DEFAULT.tell_model, DEFAULT.error_threshold) == (False, False, 0)


@pytest.mark.requirement("loops.thresholds-rise")
@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"warning_threshold": 25}, (25, 26, 30)),
        ({"warning_threshold": 40}, (40, 41, 42)),
        ({"critical_threshold": 5}, (10, 11, 30)),
        ({"critical_threshold": 35}, (10, 35, 36)),
        ({"global_threshold": 2}, (10, 20, 21)),
        ({"warning_threshold": 1, "critical_threshold": 2, "global_threshold": 3}, (1, 2, 3)),
    ],
)
def test_a_threshold_moves_up_behind_the_one_before_it(given: dict[str, int], found: tuple[int, int, int]) -> None:
    options = loop_options(given)
    assert (options.warning_threshold, options.critical_threshold, options.global_threshold) == found


@pytest.mark.requirement("loops.thresholds-rise")
@pytest.mark.parametrize(
    "given",
    [
        {"warning_threshold": 5, "critical_threshold": 5},
        {"critical_threshold": 9, "warning_threshold": 30},
        {"critical_threshold": 30, "global_threshold": 30},
    ],
)
def test_given_thresholds_that_do_not_rise_are_refused(given: dict[str, int]) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        loop_options(given)
    assert str(refused.value.data["name"]).startswith("loop_detection.")


@pytest.mark.requirement("loops.strict")
@pytest.mark.parametrize(
    ("given", "name"),
    [
        (None, "loop_detection"),
        ("yes", "loop_detection"),
        ({"warningThreshold": 3}, "loop_detection.warningThreshold"),
        ({"history_size": 0}, "loop_detection.history_size"),
        ({"history_size": True}, "loop_detection.history_size"),
        ({"warning_threshold": 2.5}, "loop_detection.warning_threshold"),
        ({"unknown_tool_threshold": "10"}, "loop_detection.unknown_tool_threshold"),
        ({"error_threshold": -1}, "loop_detection.error_threshold"),
        ({"global_threshold": -(10**5000)}, "loop_detection.global_threshold"),
        ({"count_blocked": 1}, "loop_detection.count_blocked"),
        ({"detectors": ["ping_pong"]}, "loop_detection.detectors"),
        ({"detectors": {"pingPong": True}}, "loop_detection.detectors.pingPong"),
        ({"detectors": {"ping_pong": "off"}}, "loop_detection.detectors.ping_pong"),
    ],
)
def test_a_mistake_is_named(given: Any, name: str) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        loop_options(given)
    assert refused.value.data["name"] == name


@pytest.mark.requirement("loops.switches")
def test_a_detector_can_be_switched_off_and_the_others_stay() -> None:
    options = loop_options({"detectors": {"ping_pong": False, "generic_repeat": True}})
    assert options == LoopOptions(detectors=frozenset({"generic_repeat", "known_poll_no_progress"}))
