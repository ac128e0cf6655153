"""Files and patterns that are reserved with a claim."""

import pytest

from punchlist import Task
from punchlist.errors import InvalidInput, ReservationRefused
from tests.tasks.boards import Desk, ids


def test_files_are_reserved_with_the_claim_and_conflicts_are_named(desk: Desk) -> None:
    desk.many("one", "two", "three")
    first = desk.tasks.claim("w", reserve=["src/**", "/projects/desk/docs/a.md"])
    assert first is not None
    assert first.reserved == ("src/**", "docs/a.md")
    for pattern in ("src/a.py", "docs", "**/*.py"):
        with pytest.raises(ReservationRefused) as refused:
            desk.tasks.claim("v", reserve=[pattern])
        assert "`w`" in str(refused.value)
        assert refused.value.data["task"] == "1"
    assert ids(desk.tasks.ready()) == ["2", "3"]
    second = desk.tasks.claim("v", reserve=["tests/**"])
    assert second is not None
    assert desk.tasks.complete("1", fence=first.fence).reserved == ()
    assert desk.tasks.claim("u", reserve=["src/a.py"]) is not None


def test_reservations_count_in_all_lists_of_a_project_and_end_with_the_lease(desk: Desk) -> None:
    desk.tasks.create("one")
    other = desk.board.tasks("other", project="/projects/desk")
    other.create("two")
    elsewhere = desk.board.tasks("elsewhere", project="/projects/elsewhere")
    elsewhere.create("three")
    desk.tasks.claim("w", reserve=["src/a.py"])
    with pytest.raises(ReservationRefused):
        other.claim("v", reserve=["src/*"])
    assert elsewhere.claim("v", reserve=["src/*"]) is not None
    desk.clock.advance(901)
    assert other.claim("v", reserve=["src/*"]) is not None


def test_what_names_no_file_is_refused(desk: Desk) -> None:
    desk.tasks.create("one")
    for wrong in (["a\n"], [""], "src", ["x"] * 101):
        with pytest.raises(InvalidInput):
            desk.tasks.claim("w", reserve=wrong)
    assert isinstance(desk.tasks.claim("w", reserve=["a", "a"]), Task)


def test_a_reservation_holds_between_two_agents_and_two_workers_of_the_same_name(desk: Desk) -> None:
    desk.many("one", "two", "three", "four")
    first, second = (desk.board.agent("main", session=session).tasks("default") for session in ("s1", "s2"))
    assert first.claim(reserve=["src/**"]) is not None
    with pytest.raises(ReservationRefused, match="`main` for task `1`"):
        second.claim(reserve=["src/a.py"])
    with pytest.raises(ReservationRefused):
        desk.tasks.claim("main", reserve=["src/a.py"])
    assert desk.tasks.claim("w", reserve=["docs"]) is not None
    with pytest.raises(ReservationRefused):
        desk.tasks.claim("w", reserve=["docs/a.md"])


def test_an_agent_may_reserve_for_another_task_what_it_has_reserved(desk: Desk) -> None:
    desk.many("one", "two")
    mine = desk.board.agent("main", session="s1").tasks("default")
    assert [task and task.id for task in (mine.claim(reserve=["src"]), mine.claim(reserve=["src/a.py"]))] == ["1", "2"]


def test_what_was_claimed_together_is_had_back_one_by_one(desk: Desk) -> None:
    desk.many("one", "two", "three")
    batch = desk.tasks.claim("w", limit=2, reserve=["src"], lease=60)
    desk.clock.advance(40)
    desk.tasks.heartbeat("1", fence=batch[0].fence)
    desk.clock.advance(40)
    assert desk.tasks.heartbeat("2", fence=batch[1].fence).reserved == ("src",)
    desk.clock.advance(70)
    desk.tasks.claim("w", id="3", reserve=["src/a.py"])
    for task in batch:
        with pytest.raises(ReservationRefused):
            desk.tasks.heartbeat(task.id, fence=task.fence)
