"""What holds for any reports of any calls."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from punchlist.core.events import Event
from punchlist.core.grounding.fold import Grounding
from punchlist.core.grounding.grades import GRADES, grade, regrade, stays
from punchlist.core.grounding.observe import call_from
from punchlist.core.grounding.tally import NOTHING, combined, tally_of
from punchlist.core.grounding.tool_call import joined
from tests.core.runtime import begun, ended, event

COMMANDS = ["pytest", "pytest | tail", "ruff check .", "make", "ls", "sed -i s/a/b/ x", "git commit", "python x.py"]
RESULTS = ["", "3 passed in 0.1s", "1 failed in 0.1s", "no tests ran in 0.1s", "Found 2 errors."]
ITEMS = ["p1/1", "p1/2", ""]


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """Calls with ids, each with its beginning and mostly its end, at different times; turns end now and then."""
    events: list[Event] = []
    count = draw(st.integers(1, 8))
    moments = draw(st.permutations(range(2 * count)))
    for number in range(count):
        first, last = sorted(moments[2 * number : 2 * number + 2])
        shell = draw(st.booleans())
        args: dict[str, Any] = {"command": draw(st.sampled_from(COMMANDS))} if shell else {"file_path": f"{number}.py"}
        item = draw(st.sampled_from(ITEMS))
        after = "" if item else draw(st.sampled_from(["", "p1/1"]))
        name = "Bash" if shell else draw(st.sampled_from(["Edit", "Read", "TodoWrite", "Other"]))
        start = begun(first, name, args, call_id=f"c{number}", item=item, after=after)
        events.append(start)
        if draw(st.integers(0, 5)):
            events.append(ended(start, last, draw(st.sampled_from(RESULTS)), is_error=draw(st.booleans())))
    turns = draw(st.sets(st.integers(0, 2 * count), max_size=2))
    return [*events, *(event(second + 0.5, "turn.ended") for second in turns)]


def outcome(events: list[Event]) -> dict[Any, Any]:
    work = Grounding(events)
    tallies: dict[Any, Any] = {of: work.tally(of) for of in work.subjects()}
    later = {("later", of): work.later(of) for of in work.subjects()}
    return {**{of: tally for of, tally in tallies.items() if tally.calls}, **later}


@given(histories(), st.data())
def test_neither_order_nor_repetition_of_reports_matters(events: list[Event], data: st.DataObject) -> None:
    again = data.draw(st.lists(st.sampled_from(events), max_size=5))
    mixed = data.draw(st.permutations([*events, *again]))
    expected = outcome(sorted(events, key=lambda known: known.seq))
    found = outcome(list(mixed))
    assert {of: tally for of, tally in found.items() if tally.calls} == {
        of: tally for of, tally in expected.items() if tally.calls
    }


@given(histories())
def test_a_tally_that_grew_is_the_tally_of_its_calls(events: list[Event]) -> None:
    work = Grounding(events)
    for of in work.subjects():
        assert work.tally(of) == tally_of(work.calls(of))


@given(histories(), st.integers(0, 8))
def test_tallies_of_parts_add_up_to_that_of_all(events: list[Event], cut: int) -> None:
    work = Grounding(events)
    for of in work.subjects():
        calls = work.calls(of)
        whole = tally_of(calls)
        assert combined(tally_of(calls[:cut]), [tally_of(calls[cut:])]) == whole
        assert combined(tally_of(calls[cut:]), [tally_of(calls[:cut])]) == whole


@given(histories())
def test_any_work_has_a_grade_and_only_a_person_confirms(events: list[Event]) -> None:
    work = Grounding(events)
    for of in work.subjects():
        found = grade(work.whole(of))
        assert found in GRADES
        assert found != "confirmed"
        assert regrade(None, work.whole(of), work.later(of)) != "confirmed"
        assert (found == "verified") <= (work.whole(of).passed is not None)


@given(histories(), st.integers(0, 8), st.booleans())
def test_a_call_that_cannot_change_a_grade_does_not(events: list[Event], cut: int, is_later: bool) -> None:
    work = Grounding(events)
    calls = [call for of in work.subjects() for call in work.calls(of) if call.finished and call.started]
    calls.sort(key=lambda call: tuple(call.finished or ()))
    own, rest = calls[:cut], calls[cut:]
    for place, call in enumerate(rest):
        before = regrade(None, tally_of(own), tally_of(rest[:place]))
        if stays(before, call, failed=call.outcome == "failed", later=True):
            assert regrade(None, tally_of(own), tally_of(rest[: place + 1])) == before
        known = [*own, *rest[:place]] if is_later else own
        before = grade(tally_of(known))
        if stays(before, call, failed=call.outcome == "failed", later=False):
            assert regrade(None, tally_of([*known, call]), NOTHING) == before


@given(histories())
def test_joining_accounts_of_a_call_is_idempotent_and_takes_them_in_either_order(events: list[Event]) -> None:
    reports = [call_from(known.kind, known.data, known.at, known.seq) for known in events if known.kind != "turn.ended"]
    for one in reports:
        assert joined(one, one) == one
        for other in (replace(known, id=one.id) for known in reports):
            both = joined(one, other)
            assert both == joined(other, one)
            assert joined(both, one) == both == joined(both, other)
