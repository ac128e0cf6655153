"""What a person is told of agents: each fact once, whichever program looks, and however late."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from punchlist.core.overview import PersonWait
from punchlist.core.presence import NoticeMemory, PersonNotice, PresenceState
from punchlist.views.notices import (
    drop_settled,
    find_news,
    key_of_agent,
    parse_quiet_hours,
    summarise_facts,
)
from punchlist.views.now import AgentNow, Roster

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
ESCAPES = "\x1b]0;owned\x07\x1b[31mred\u202e\x9b5n\u2066"


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def agent(state: PresenceState, since: float = 0, **fields: Any) -> AgentNow:
    known: dict[str, Any] = {"project": "/home/ada/shop", "host": "claude-code", "session": "s1", "agent": "main"}
    return AgentNow(**{**known, **fields}, state=state, since=at(since))


def wait(since: float = 0, **fields: Any) -> PersonWait:
    known: dict[str, Any] = {
        "kind": "question",
        "project": "/home/ada/shop",
        "session": "s1",
        "agent": "main",
        "id": "3",
        "title": "Deploy",
        "text": "Which region?",
    }
    return PersonWait(**{**known, **fields}, since=at(since))


class Person:
    """Looks again and again, with one memory."""

    def __init__(self) -> None:
        self.memory = NoticeMemory(NOON, {}, ())

    def look(self, seconds: float, *agents: AgentNow, waits: tuple[PersonWait, ...] = ()) -> list[PersonNotice]:
        news = find_news(self.memory, Roster(at=at(seconds), agents=agents, waits=waits))
        known = {*self.memory.waits, *news.waits}
        self.memory = NoticeMemory(NOON, {**self.memory.agents, **news.agents}, known)
        return list(news.facts)

    def hear(self, seconds: float, *agents: AgentNow, waits: tuple[PersonWait, ...] = ()) -> list[str]:
        return [f"{fact.title}: {fact.text}" for fact in self.look(seconds, *agents, waits=waits)]


def test_what_was_so_before_the_first_look_is_no_news() -> None:
    person = Person()
    waiting = agent("waiting", -60, waits_for="permission: rm x")
    red = agent("idle", -60, session="s2", session_state="red", check_at=at(-50))
    silent = agent("busy", -900, session="s3", silent_since=at(-600))
    assert person.hear(0, waiting, red, silent, waits=(wait(-5),)) == []


def test_an_agent_that_begins_to_wait_is_told_once() -> None:
    person = Person()
    assert person.hear(1, agent("busy", -5)) == []
    told = person.hear(3, agent("waiting", 2, waits_for="permission: git push"))
    assert told == ["shop · claude s1 waits on you: permission: git push"]
    assert person.hear(5, agent("waiting", 2, waits_for="permission: git push origin")) == []
    assert person.hear(9, agent("busy", 8)) == []
    assert person.hear(12, agent("waiting", 11, waits_for="permission: git push")) == told


def test_a_question_that_its_host_writes_after_its_state_is_told_with_its_words() -> None:
    person = Person()
    person.look(1, agent("busy", -5))
    assert person.hear(3, agent("waiting", 2, waits_for="input needed")) == []
    told = ["shop · claude s1 waits on you: Which region?"]
    assert person.hear(3.5, agent("waiting", 2, waits_for="Which region?")) == told
    assert person.hear(5, agent("waiting", 2, waits_for="Which region?")) == []


def test_a_wait_whose_words_never_come_is_told_after_a_moment() -> None:
    person = Person()
    person.look(1, agent("busy", -5))
    assert person.hear(3, agent("waiting", 2, waits_for="input needed")) == []
    assert person.hear(4, agent("waiting", 2, waits_for="input needed")) == [
        "shop · claude s1 waits on you: input needed"
    ]


def test_a_second_dialog_right_after_the_first_is_told() -> None:
    person = Person()
    person.look(1, agent("busy", -5))
    assert len(person.hear(3, agent("waiting", 2, waits_for="permission: a"))) == 1
    assert person.hear(6, agent("waiting", 5, waits_for="permission: b")) == [
        "shop · claude s1 waits on you: permission: b"
    ]


def test_a_question_on_the_board_is_told_once_though_its_host_waits_too() -> None:
    person = Person()
    person.look(1, agent("busy", -5, list_session="s1"))
    asked = (wait(2),)
    waiting = agent("waiting", 2, waits_for="Which region?", list_session="s1")
    assert person.hear(3, waiting, waits=asked) == ["shop · main s1 waits on you: Which region?"]
    assert person.hear(4, waiting, waits=asked) == []
    # Answered; the dialog of the host stays open for a moment.
    assert person.hear(5, agent("waiting", 2.1, waits_for="input needed", list_session="s1")) == []


def test_each_thing_that_waits_is_told() -> None:
    person = Person()
    plan = wait(2, kind="plan", id="2", title="Move to Postgres")
    task = wait(2, kind="task", id="7", session="", agent="", title="Sign it", text="", list="default")
    assert sorted(person.hear(3, waits=(wait(2), plan, task))) == [
        "shop waits on you: Sign it",
        "shop · main s1 waits on you: Which region?",
        "shop · main s1 waits on you: plan: Move to Postgres",
    ]
    assert person.hear(4, waits=(wait(2), plan, task)) == []
    assert len(person.hear(5, waits=(wait(2), replace(plan, id="3"), task))) == 1


def test_the_end_of_work_is_told_with_its_grade() -> None:
    person = Person()
    person.look(1, agent("busy", 0))
    work: dict[str, Any] = {"done": 3, "total": 7, "check": "pytest"}
    done = agent("idle", 9, session_state="green", title="Fix login", **work)
    assert person.hear(10, done) == ["shop · claude s1 finished: green, 3/7 done, Fix login"]
    assert person.hear(11, done) == []
    person.look(20, agent("busy", 19))
    red = agent("idle", 29, session_state="red", check_at=at(28), **work)
    assert person.hear(30, red) == ["shop · claude s1 finished: red: pytest failed, 3/7 done"]


def test_an_agent_that_was_idle_all_the_time_has_finished_nothing() -> None:
    person = Person()
    assert person.hear(1, agent("idle", 0.5)) == []
    assert person.hear(2, agent("waiting", 1.5, waits_for="trust this folder?")) != []
    assert person.hear(3, agent("idle", 2.5)) == []


def test_a_process_that_ends_at_work_is_told() -> None:
    person = Person()
    person.look(1, agent("busy", 0))
    assert person.hear(2, agent("gone", 0)) == []
    assert person.hear(7, agent("gone", 0)) == ["shop · claude s1 ended: its process ended while it worked"]
    assert person.hear(8, agent("gone", 0)) == []


def test_an_agent_that_one_program_does_not_know_yet_has_not_ended() -> None:
    person = Person()
    for seconds in range(1, 20, 4):
        assert person.hear(seconds, agent("busy", 0)) == []
        assert person.hear(seconds + 2, agent("gone", 0)) == []


def test_an_agent_that_is_not_seen_any_more_has_ended_after_a_while() -> None:
    person = Person()
    person.look(1, agent("busy", 0))
    assert person.hear(2) == []
    assert person.hear(4, agent("busy", 0)) == []
    assert person.hear(6) == []
    assert person.hear(12) == ["shop · claude s1 ended: it does not run any more"]
    assert person.hear(30) == []


def test_a_silence_is_told_once_and_the_next_one_again() -> None:
    person = Person()
    person.look(1, agent("busy", 0))
    silent = agent("busy", 0, silent_since=at(5), doing="terraform plan")
    assert person.hear(310, silent) == ["shop · claude s1 is silent: no output for 5 min, last: terraform plan"]
    assert person.hear(400, silent) == []
    assert person.hear(500, agent("busy", 0)) == []
    assert len(person.hear(900, agent("busy", 0, silent_since=at(550)))) == 1


def test_turning_red_is_told_once_until_it_was_healed() -> None:
    person = Person()
    person.look(1, agent("busy", 0, session_state="green", check="pytest"))
    red = agent("busy", 0, session_state="red", check_at=at(5), check="pytest")
    assert person.hear(6, red) == ["shop · claude s1 turned red: pytest failed"]
    assert person.hear(9, replace(red, check_at=at(8))) == []
    assert person.hear(10, agent("busy", 0, session_state="green", check="pytest")) == []
    assert len(person.hear(20, replace(red, check_at=at(15)))) == 1


def test_red_of_a_session_with_two_agents_is_told_once() -> None:
    person = Person()
    both = [agent("busy", 0, host="", agent=name, list_session="s1") for name in ("a", "b")]
    person.look(1, *both)
    assert len(person.hear(5, *(replace(one, session_state="red", check_at=at(4)) for one in both))) == 1


def test_an_old_look_of_another_program_neither_repeats_nor_undoes_anything() -> None:
    person = Person()
    busy, idle = agent("busy", 0), agent("idle", 9)
    red = agent("idle", 9, session_state="red", check_at=at(9.5))
    person.look(1, busy)
    assert len(person.look(10, idle)) == 1
    assert person.look(10.5, busy) == []
    assert person.look(11, idle) == []
    assert len(person.look(12, red)) == 1
    assert person.look(12.5, idle) == []
    assert person.look(13, red) == []
    gone = agent("gone", 9)
    person.look(20, agent("busy", 19))
    person.look(21, gone)
    assert len(person.look(26, gone)) == 1
    assert person.look(26.5, agent("busy", 19)) == []
    assert person.look(27, gone) == []
    assert person.look(33, gone) == []


def test_an_old_session_that_comes_back_brings_no_news() -> None:
    person = Person()
    later = 30 * 3600
    back = agent("idle", later, session_state="red", check_at=at(60))
    assert person.hear(later + 1, back) == []


def test_hostile_text_is_cleaned_and_shortened_in_every_field() -> None:
    person = Person()
    fields = {"project": f"/x/{ESCAPES}a", "host": f"h{ESCAPES}", "session": f"s{ESCAPES}", "agent": f"a{ESCAPES}"}
    busy = agent("busy", 0, **fields, check=f"py{ESCAPES}", done=1, total=2)
    person.look(1, busy)
    told = [
        *person.look(3, replace(busy, silent_since=at(2), doing=ESCAPES * 500)),
        *person.look(5, replace(busy, session_state="red", check_at=at(4))),
        *person.look(7, replace(busy, state="waiting", since=at(6), waits_for=ESCAPES + "x" * 5000)),
        *person.look(8, replace(busy, since=at(7.5))),
        *person.look(9, replace(busy, state="idle", since=at(8), title=f"t{ESCAPES}\n\r")),
        *person.look(11, waits=(wait(10, text=ESCAPES, agent=ESCAPES, project=ESCAPES, session=ESCAPES, id=ESCAPES),)),
    ]
    assert [fact.kind for fact in told] == ["stalled", "red", "waits", "finished", "waits"]
    for fact in (*told, summarise_facts(told, at(12))):
        values = [value for name in fact.__struct_fields__ if isinstance(value := getattr(fact, name), str)]
        assert all(value.replace("\n", "").isprintable() for value in values), values
        assert all(len(value) <= 4000 for value in values)
        assert "\u202e" not in "".join(values)


def test_secrets_in_the_words_of_a_model_are_not_sent() -> None:
    person = Person()
    person.look(1, agent("busy", 0))
    (fact,) = person.look(
        3, agent("waiting", 2, waits_for="permission: curl -H 'Authorization: Bearer abcdef0123456789'")
    )
    assert "abcdef0123456789" not in fact.text


def test_no_word_of_a_fact_shows_what_the_user_calls_a_secret() -> None:
    agents = (agent("busy", 2, project="/x/ACME-1", silent_since=at(2), doing="deploy ACME-2"),)
    asked = wait(2, text=f"{'x ' * 145}ACME-34567890?", session="s9", project="/x/ACME-5")
    roster = Roster(at=at(3), agents=agents, waits=(asked,))
    facts = find_news(NoticeMemory(NOON, {}, ()), roster, secrets=re.compile("ACME-[0-9]+")).facts
    assert [fact.kind for fact in facts] == ["waits", "stalled"]
    assert not any("ACME" in word for fact in facts for word in (fact.title, fact.text, fact.project))


def test_two_agents_of_one_name_are_told_apart() -> None:
    rows = [agent("busy", session=f"5c1de2a0-0000-4000-8000-000000{number}") for number in ("111111", "222222")]
    assert [row.name for row in rows] == ["shop · claude 111111", "shop · claude 222222"]


def test_a_summary_counts_what_needs_the_person_first() -> None:
    def fact(kind: Any, number: int) -> PersonNotice:
        return PersonNotice(kind=kind, title=f"{kind} {number}", text="x")

    facts = [*(fact("finished", n) for n in range(12)), fact("waits", 1), fact("red", 1)]
    found = summarise_facts(facts, NOON)
    assert (found.kind, found.title) == ("summary", "1 waits on you, 1 turned red, 12 finished")
    lines = found.text.split("\n")
    assert (lines[:2], lines[-1], len(lines)) == (["waits 1: x", "red 1: x"], "and 4 more", 11)
    assert summarise_facts(facts[:1], NOON) == facts[0]


def test_what_was_settled_meanwhile_is_left_out_of_a_summary() -> None:
    person = Person()
    person.look(1, agent("busy", 0))
    facts = person.look(3, agent("waiting", 2, waits_for="x"), waits=(wait(2, session="s9"),))
    assert len(facts) == 2
    still = Roster(at=at(9), agents=(agent("busy", 8),), waits=(wait(2, session="s9"),))
    assert [fact.session for fact in drop_settled(facts, still)] == ["s9"]
    done = PersonNotice(kind="finished", title="x", subject=key_of_agent(agent("idle")))
    assert drop_settled([done], still) == [done]


def test_of_a_wait_that_was_answered_and_came_again_the_last_is_left() -> None:
    person = Person()
    person.look(1, agent("busy", 0))
    facts = person.look(3, agent("waiting", 2, waits_for="x"))
    person.look(5, agent("busy", 4))
    facts += person.look(7, agent("waiting", 6, waits_for="y"))
    now = Roster(at=at(9), agents=(agent("waiting", 6, waits_for="y"),), waits=())
    assert [fact.text for fact in facts] == ["x", "y"]
    assert [fact.text for fact in drop_settled(facts, now)] == ["y"]


@pytest.mark.parametrize(
    ("hours", "clock", "is_quiet"),
    [
        ("22:00-07:00", "21:59", False),
        ("22:00-07:00", "22:00", True),
        ("22:00-07:00", "23:59", True),
        ("22:00-07:00", "00:00", True),
        ("22:00-07:00", "06:59", True),
        ("22:00-07:00", "07:00", False),
        ("12:00-13:30", "12:00", True),
        ("12:00 - 13:30", "13:30", False),
        ("00:00-23:59", "23:59", False),
    ],
)
def test_quiet_hours_may_go_over_midnight(hours: str, clock: str, is_quiet: bool) -> None:
    quiet = parse_quiet_hours(hours)
    assert quiet is not None
    assert quiet.holds(datetime.strptime(clock, "%H:%M").replace(tzinfo=UTC)) is is_quiet


@pytest.mark.parametrize("hours", ["22-7", "24:00-07:00", "22:00-22:00", "22:00", "x", "22:00-07:00 "])
def test_hours_that_are_none_are_refused(hours: str) -> None:
    with pytest.raises(ValueError, match="22:00-07:00"):
        parse_quiet_hours(hours)
    assert parse_quiet_hours("") is None


def test_an_old_look_after_a_second_start_does_not_end_that() -> None:
    person = Person()
    person.look(11, agent("busy", 10))
    person.look(21, agent("busy", 20))
    assert len(person.look(41, agent("idle", 40))) == 1
    person.look(61, agent("gone", 60))
    person.look(63, agent("busy", 20))  # a look of before, of another program
    person.look(71, agent("busy", 70))
    assert person.look(73, agent("idle", 40)) == []


STATES: tuple[PresenceState, ...] = ("busy", "waiting", "idle", "gone")


@given(st.lists(st.tuples(st.sampled_from(STATES), st.booleans(), st.booleans()), max_size=12), st.data())
def test_looking_twice_at_the_same_roster_tells_nothing_new(
    story: list[tuple[PresenceState, bool, bool]], data: st.DataObject
) -> None:
    person = Person()
    rows: list[AgentNow] = []
    for number, (state, is_red, is_silent) in enumerate(story, 1):
        row = agent(
            state,
            10 * number,
            waits_for="x" if state == "waiting" else "",
            session_state="red" if is_red else "green",
            check_at=at(10 * number) if is_red else None,
            silent_since=at(10 * number) if is_silent and state == "busy" else None,
        )
        rows.append(row)
        person.look(10 * number + 1, row)
        assert person.look(10 * number + 2, row) == []
        # Nor does a look of before, of another program, and the same look after that.
        person_before = person.memory
        earlier = data.draw(st.sampled_from(rows))
        repeated = [*person.look(10 * number + 3, earlier), *person.look(10 * number + 4, row)]
        assert repeated == [] or "gone" in (earlier.state, row.state), (person_before, earlier, row)
