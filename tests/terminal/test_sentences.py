"""Events as sentences."""

from datetime import UTC, datetime
from typing import Any

import pytest

from punchlist.core.events import KINDS, Event
from punchlist.terminal.sentences import sentence
from punchlist.terminal.spans import ASCII, UNICODE


def _event(kind: str, by: str = "main", **data: Any) -> Event:
    return Event(1, datetime(2026, 1, 1, tzinfo=UTC), kind, by, "/p", "s1", "main", data)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (_event("item.started", content="Run tests"), "main started “Run tests”"),
        (_event("item.started", "anna", content="Run tests"), "anna started “Run tests” for main"),
        (_event("item.added", item={"content": "New"}), "main added “New”"),
        (_event("item.blocked", content="X", set={"blocker": {"reason": "rain"}}), "main blocked “X”: rain"),
        (_event("list.replaced"), "main wrote the list"),
        (_event("list.edited", "anna"), "anna edited the list of main"),
        (_event("list.refused", problem="Too long."), "main was refused: Too long."),
        (_event("agent.spawned", child="explore", label="Look"), "main started the agent explore (Look)"),
        (_event("mode.changed", mode="plan"), "main entered plan mode"),
        (_event("mode.changed", "anna", mode="execute"), "anna let main leave plan mode"),
        (_event("mode.refused", tool="Write"), "main was refused Write in plan mode"),
        (_event("mode.unjudged", tool="frob"), "main called frob in plan mode, of which nothing is known"),
        (_event("task.claimed", "w1", id="3", subject="Ship it"), "w1 claimed task 3 “Ship it”"),
        (_event("task.linked", id="3", subject="{task}", blocker="2"), "main made task 3 “{task}” wait for task 2"),
        (_event("task.expired", "", id="3", subject="X"), "the lease on task 3 “X” ended"),
        (_event("task.resumed", "", id="3", subject="X"), "the wait of task 3 “X” is over"),
        (_event("task.refused", id="3", subject="X", reason="no"), "main was not allowed to complete task 3 “X”: no"),
        (_event("moon.landed"), "main moon.landed"),
    ],
)
def test_an_event_reads_as_a_sentence(event: Event, said: str):
    assert sentence(event, UNICODE) == said


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by", ["main", "anna", ""])
def test_every_kind_has_words_of_its_own(kind: str, by: str):
    said = sentence(_event(kind, by), ASCII)
    assert kind not in said
    assert said.isascii()


@pytest.mark.parametrize("data", [{"set": "?"}, {"set": {"blocker": 7}}, {"item": []}, {"content": None}])
def test_data_of_another_shape_is_survived(data: dict[str, Any]):
    for kind in KINDS:
        assert sentence(_event(kind, **data), UNICODE)
