"""Whether anybody keeps the list. Events come from a real board, those of tools are made here."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from punchlist import Agent, Board
from punchlist.core.events import Event
from punchlist.detect.findings import Finding
from punchlist.detect.list_upkeep import StalenessOptions, StalenessState, observe_event, staleness_options
from punchlist.errors import ConfigInvalid
from punchlist.testing import FakeClock
from tests.dialects.boards import memory_board

START = datetime(2026, 1, 1, tzinfo=UTC)
LOOSE = staleness_options({"storm_calls": 0, "churn_writes": 0, "bounces": 0, "stale_calls": 0})


class Watcher:
    """Looks at the events of a board as they come."""

    def __init__(self, agent: Agent, options: StalenessOptions | None = None) -> None:
        self.agent, self.options = agent, options or StalenessOptions()
        self.state, self.seen = StalenessState(), 0

    def look(self) -> list[Finding]:
        events = list(self.agent.board.events(after=self.seen))
        self.seen = events[-1].seq if events else self.seen
        return self.take(events)

    def take(self, events: Iterable[Event]) -> list[Finding]:
        found: list[Finding] = []
        for one in events:
            self.state, findings = observe_event(self.state, one, self.options)
            found.extend(findings)
        return found


def event(kind: str, seconds: float = 0.0, *, by: str = "main", **data: Any) -> Event:
    at = START + timedelta(seconds=seconds)
    return Event(1, at, kind, by, None, "s", "main", data)


@pytest.fixture
def agent() -> Iterator[Agent]:
    with memory_board() as board:
        yield board.agent("main", session="s")


def names(findings: Iterable[Finding]) -> list[tuple[str, int, str]]:
    return [(finding.detector, finding.count, finding.subject) for finding in findings]


@pytest.mark.requirement("staleness.stale-item")
def test_an_item_in_progress_for_long_with_all_work_elsewhere_is_stale_once() -> None:
    state = StalenessState()
    found: list[Finding] = []
    events = [event("item.started", id="1"), *(event("tool.started", 60 * n, item="2") for n in range(1, 60))]
    for one in events:
        state, findings = observe_event(state, one)
        found.extend(findings)
    assert names(found) == [("stale_item", 30, "1")]
    assert "in progress for 30 min" in found[0].seen


@pytest.mark.requirement("staleness.stale-item")
def test_work_on_the_item_keeps_it_fresh() -> None:
    state, found = StalenessState(), list[Finding]()
    for one in [
        event("item.started", id="1"),
        *(event("tool.started", 60 * n, item=str(n % 10)) for n in range(1, 99)),
    ]:
        state, findings = observe_event(state, one)
        found.extend(findings)
    assert found == []


@pytest.mark.requirement("staleness.stale-item")
@pytest.mark.parametrize(("calls", "step"), [(19, 600.0), (200, 1.0)])
def test_it_takes_both_time_and_calls(calls: int, step: float) -> None:
    state, found = observe_event(StalenessState(), event("item.started", id="1"))
    for number in range(1, calls + 1):
        state, found = observe_event(state, event("tool.started", step * number))
        assert found == ()


@pytest.mark.requirement("staleness.churn")
def test_writing_the_list_again_without_moving_on_is_churn(agent: Agent) -> None:
    watcher = Watcher(agent)
    agent.call("todo", {"set": ["Read", "Write"]})
    assert watcher.look() == []
    for number in range(10):
        agent.call("todo", {"set": {"2": f"Write it, {number}"}})
    assert names(watcher.look()) == [("churn", 5, ""), ("todo_storm", 10, ""), ("churn", 10, "")]


@pytest.mark.requirement("staleness.churn")
def test_an_equal_write_and_a_refused_one_are_churn_too(agent: Agent) -> None:
    watcher = Watcher(agent)
    agent.call("todo", {"set": ["Read"]})
    for _ in range(3):
        agent.call("todo", {"set": ["Read"]})
        agent.call("todo", {"done": "99"})
    assert [finding.detector for finding in watcher.look()] == ["churn"]


@pytest.mark.requirement("staleness.churn")
def test_an_item_that_moves_on_ends_the_churn(agent: Agent) -> None:
    watcher = Watcher(agent, staleness_options({"storm_calls": 0}))
    agent.call("todo", {"set": [f"Step {number}" for number in range(20)]})
    for number in range(1, 20):
        agent.call("todo", {"set": {"20": f"Last, {number}"}})
        agent.call("todo", {"done": str(number)})
    assert watcher.look() == []


@pytest.mark.requirement("staleness.others")
def test_what_a_person_writes_is_neither_churn_nor_storm(agent: Agent) -> None:
    watcher = Watcher(agent)
    agent.call("todo", {"set": ["Read"]})
    for number in range(20):
        agent.edit([{"op": "append", "items": [f"More {number}"]}], by="ada")
    assert watcher.look() == []


@pytest.mark.requirement("staleness.bouncing")
def test_an_item_that_is_done_and_not_done_again_bounces(agent: Agent) -> None:
    watcher = Watcher(agent)
    agent.call("todo", {"set": ["Read", "Write"]})
    for _ in range(3):
        agent.call("todo", {"done": "1", "next": False})
        agent.call("todo", {"start": "1"})
    assert [finding for finding in names(watcher.look()) if finding[0] == "bouncing"] == [("bouncing", 3, "1")]


@pytest.mark.requirement("staleness.bouncing")
def test_going_on_to_the_next_item_is_no_bouncing(agent: Agent) -> None:
    watcher = Watcher(agent)
    agent.call("todo", {"set": [f"Step {number}" for number in range(9)]})
    for number in range(1, 9):
        agent.call("todo", {"done": str(number)})
    assert watcher.look() == []


@pytest.mark.requirement("staleness.storm")
def test_many_calls_of_the_todo_tool_in_a_short_time_are_a_storm_once() -> None:
    state, found = StalenessState(), list[Finding]()
    for number in range(30):
        state, findings = observe_event(
            state, event("list.confirmed", number, revision=1), staleness_options({"churn_writes": 0})
        )
        found.extend(findings)
    assert names(found) == [("todo_storm", 10, "")]


@pytest.mark.requirement("staleness.storm")
def test_the_same_calls_over_a_long_time_are_none() -> None:
    state = StalenessState()
    for number in range(30):
        state, found = observe_event(state, event("list.edited", 10 * number), staleness_options({"churn_writes": 0}))
        assert found == ()


@pytest.mark.requirement("staleness.new-plan")
def test_a_new_plan_begins_with_nothing_said_against_it(agent: Agent) -> None:
    watcher = Watcher(agent)
    agent.call("todo", {"set": ["Read"]})
    for _ in range(3):
        agent.call("todo", {"set": ["Read"]})
    agent.call("todo", {"done": "1"})
    agent.call("todo", {"set": ["Quite another thing"]})
    assert watcher.look() == []
    assert set(watcher.state.items) == {"1"}
    assert watcher.state.writes == 0


@pytest.mark.requirement("staleness.off")
def test_each_detector_can_be_switched_off(agent: Agent) -> None:
    watcher = Watcher(agent, LOOSE)
    agent.call("todo", {"set": ["Read"]})
    for _ in range(30):
        agent.call("todo", {"done": "1", "next": False})
        agent.call("todo", {"start": "1"})
        agent.call("todo", {"set": {"1": "Read"}})
    assert watcher.look() == []


@pytest.mark.requirement("staleness.bounded")
def test_the_state_stays_small() -> None:
    state = StalenessState()
    for number in range(1000):
        state, _ = observe_event(state, event("item.added", item={"id": str(number), "status": "in_progress"}, index=0))
        state, _ = observe_event(state, event("list.replaced", number))
        state, _ = observe_event(state, event("tool.started", number))
    assert (len(state.items), len(state.active), len(state.times)) == (512, 32, 10)
    assert "999" in state.active


@pytest.mark.requirement("staleness.bounded")
def test_an_item_that_is_gone_is_forgotten() -> None:
    state, _ = observe_event(StalenessState(), event("item.added", item={"id": "1", "status": "in_progress"}, index=0))
    state, _ = observe_event(state, event("item.omitted", id="1", content="x"))
    assert (state.items, state.active) == ({}, {})


@pytest.mark.parametrize(
    "strange",
    [
        event("item.added"),
        event("item.added", item=3),
        event("item.started"),
        event("item.started", id=["x"]),
        event("item.changed", id="1", set="x"),
        event("item.unheard_of", id="1"),
        event("unheard.of"),
        event("tool.started", item={"id": 1}),
    ],
)
def test_strange_events_are_taken(strange: Event) -> None:
    state, _ = observe_event(StalenessState(), event("item.started", id="1"))
    state, found = observe_event(state, strange)
    assert found == ()
    assert len(repr(state)) < 2000


@pytest.mark.parametrize("given", [None, {"churn": 1}, {"bounces": 1.5}, {"stale_after": "1h"}])
def test_a_mistake_in_the_settings_is_named(given: Any) -> None:
    with pytest.raises(ConfigInvalid):
        staleness_options(given)


def test_a_board_that_works_well_has_nothing_said_about_it() -> None:
    clock = FakeClock()
    with Board.open("memory:", clock=clock) as board:
        agent = board.agent("main", session="s")
        watcher = Watcher(agent)
        agent.call("todo", {"set": [f"Step {number}" for number in range(12)]})
        for number in range(1, 13):
            clock.advance(120)
            agent.call("todo", {"done": str(number)})
        assert watcher.look() == []
