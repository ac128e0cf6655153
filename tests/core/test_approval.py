"""The rules of an approval plan."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.core.approval import LARGEST, Plan, PlanChange, PlanState, approve, begin, propose, reject
from punchlist.errors import (
    PlanDecided,
    PlanExpired,
    PlanMissing,
    PlanRefused,
    PlanRevisionConflict,
    PlanUnfinished,
    PunchlistError,
)

NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def proposed(text: str = "Paint", *, over: Plan | None = None, lasts: timedelta | None = None) -> PlanChange:
    return propose(over, text, id=f"id-{text}", by="main", now=NOW, lasts=lasts)


def test_a_first_proposal_is_revision_one_and_waits():
    plan, changed, events = proposed("Paint")
    assert (plan.revision, plan.state, plan.text, plan.created_by) == (1, PlanState.PROPOSED, "Paint", "main")
    assert plan.waits(LATER)
    assert changed == (plan,)
    assert [event.kind for event in events] == ["approval.proposed"]
    assert events[0].data == {"plan": "id-Paint", "plan_revision": 1, "item": None, "text": "Paint"}


def test_a_newer_proposal_supersedes_the_open_one():
    first = proposed("Paint").plan
    plan, changed, events = proposed("Sweep", over=first)
    assert plan.revision == 2
    assert [(one.revision, one.state.value) for one in changed] == [(1, "superseded"), (2, "proposed")]
    assert changed[0].decided_by == "main"
    assert [event.kind for event in events] == ["approval.superseded", "approval.proposed"]


def test_the_same_text_again_keeps_the_revision_that_somebody_may_be_reading():
    first = proposed("Paint").plan
    assert proposed("Paint", over=first) == PlanChange(first)


def test_the_same_text_behind_an_expired_one_is_proposed_anew():
    first = proposed("Paint", lasts=timedelta(minutes=1)).plan
    again = propose(first, "Paint", id="b", by="main", now=LATER).plan
    assert (again.revision, again.waits(LATER)) == (2, True)


def test_an_approval_names_who_and_when():
    plan, _, events = approve(proposed().plan, by="ada", now=LATER, revision=1)
    assert (plan.state, plan.decided_by, plan.decided_at) == (PlanState.APPROVED, "ada", LATER)
    assert [event.kind for event in events] == ["approval.approved"]


def test_a_rejection_needs_a_reason_and_keeps_it():
    plan = proposed().plan
    assert reject(plan, " Tests first ", by="ada", now=LATER).plan.reason == "Tests first"
    for blank in ("", "  \n", "\u200b"):
        with pytest.raises(PlanRefused):
            reject(plan, blank, by="ada", now=LATER)


def test_another_revision_than_the_one_that_was_shown_is_not_approved():
    second = proposed("Sweep", over=proposed().plan).plan
    for shown in (0, 1, 3):
        with pytest.raises(PlanRevisionConflict) as caught:
            approve(second, by="ada", now=LATER, revision=shown)
        assert caught.value.data == {"expected": shown, "actual": 2}
        with pytest.raises(PlanRevisionConflict):
            reject(second, "no", by="ada", now=LATER, revision=shown)


def test_what_is_decided_stays_decided():
    done = approve(proposed().plan, by="ada", now=NOW).plan
    for decide in (lambda: approve(done, by="bob", now=LATER), lambda: reject(done, "no", by="bob", now=LATER)):
        with pytest.raises(PlanDecided) as caught:
            decide()
        assert caught.value.data["by"] == "ada"


def test_without_a_plan_there_is_nothing_to_decide():
    with pytest.raises(PlanMissing):
        approve(None, by="ada", now=NOW)


def test_a_draft_cannot_be_approved_and_becomes_the_proposal_of_its_turn():
    draft = begin(None, id="d", item="t1-plan", by="main", now=NOW).plan
    with pytest.raises(PlanUnfinished):
        approve(draft, by="ada", now=NOW)
    plan, changed, _ = propose(draft, "Paint", id="other", by="main", now=LATER, item="t1-plan")
    assert (plan.id, plan.revision, plan.state, plan.created_at) == ("d", 1, PlanState.PROPOSED, NOW)
    assert changed == (plan,)


def test_a_draft_of_another_turn_is_superseded():
    draft = begin(None, id="d", item="t1-plan", by="main", now=NOW).plan
    plan, changed, _ = propose(draft, "Paint", id="e", by="main", now=LATER, item="t2-plan")
    assert (plan.id, plan.revision) == ("e", 2)
    assert changed[0].state is PlanState.SUPERSEDED


@pytest.mark.parametrize(("late", "waits"), [(59.999, True), (60.0, False), (61.0, False)])
def test_the_time_to_decide_is_over_at_its_end(late: float, waits: bool):
    plan = proposed(lasts=timedelta(minutes=1)).plan
    now = NOW + timedelta(seconds=late)
    assert plan.waits(now) is waits
    assert plan.expired(now) is not waits
    if waits:
        assert approve(plan, by="ada", now=now).plan.state is PlanState.APPROVED
    else:
        with pytest.raises(PlanExpired):
            approve(plan, by="ada", now=now)


def test_the_size_is_counted_in_bytes_as_sent():
    assert proposed("ä" * (LARGEST // 2)).plan.sent_bytes == LARGEST
    with pytest.raises(PlanRefused):
        proposed("ä" * (LARGEST // 2) + "x")


@pytest.mark.parametrize("blank", ["", " \n\t", "\u200b\u200b"])
def test_an_empty_plan_is_refused_unless_the_dialect_takes_it(blank: str):
    with pytest.raises(PlanRefused):
        proposed(blank)
    assert propose(None, blank, id="x", by="main", now=NOW, blank=True).plan.state is PlanState.PROPOSED


def test_the_text_is_cleaned_and_measured_as_it_came():
    plan = proposed("a\x1b[31mb\r\n\ud800").plan
    assert plan.text == "ab\n\ufffd"
    assert (plan.sent_chars, plan.sent_bytes) == (10, 12)


def test_a_title_is_the_first_line_with_a_text():
    assert proposed("\n\n## Move it\n\n1. x").plan.title == "Move it"
    assert Plan(id="x", revision=1).title == ""


_moves = st.lists(
    st.tuples(
        st.sampled_from(["begin", "propose", "approve", "reject"]),
        st.sampled_from(["a", "b"]),
        st.sampled_from([None, 1, 2, 3]),
        st.integers(0, 3),
    ),
    max_size=25,
)


@given(_moves)
def test_whatever_happens_one_plan_is_open_at_most_and_history_stays(
    moves: list[tuple[str, str, int | None, int]],
):
    kept: dict[int, Plan] = {}
    current: Plan | None = None
    told: dict[str, str] = {}
    now = NOW
    for number, (move, word, shown, minutes) in enumerate(moves):
        now += timedelta(minutes=minutes)
        plan_id = f"id-{number}"
        try:
            match move:
                case "begin":
                    decision = begin(current, id=plan_id, item=word, by="main", now=now)
                case "propose":
                    lasts = None if shown is None else timedelta(minutes=shown)
                    decision = propose(current, word, id=plan_id, by="main", now=now, lasts=lasts, item=word)
                case "approve":
                    decision = approve(current, by="ada", now=now, revision=shown)
                case _:
                    decision = reject(current, word, by="ada", now=now, revision=shown)
        except PunchlistError:
            continue
        for plan in decision.changed:
            old = kept.get(plan.revision)
            assert old is None or old.is_open
            kept[plan.revision] = plan
        for event in decision.events:
            told[event.data["plan"]] = event.kind.removeprefix("approval.").replace("started", "drafting")
        current = decision.plan
        assert current is kept[max(kept)]
    assert sorted(kept) == list(range(1, len(kept) + 1))
    assert sum(plan.is_open for plan in kept.values()) <= 1
    assert {plan.id: plan.state.value for plan in kept.values()} == told
