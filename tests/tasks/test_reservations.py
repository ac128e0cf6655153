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
