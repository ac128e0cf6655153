"""Report and brief: read from the rows of a board."""

from datetime import timedelta
from typing import Any

import pytest

from punchlist.core.overview import NO_ACTIVITY, Activity, fold_activity
from punchlist.core.report import ItemReport, Noticed, find_noticed
from tests.board.work import FAILS, PASSES, Session
from tests.core.build import NOW


def texts(entries: tuple[ItemReport, ...]) -> list[str]:
    return [entry.item.content for entry in entries]


def worked() -> Session:
    """Four items: one verified, one failing, one unseen, one in progress."""
    session = Session()
    session.write("> login", "search", "docs", "deploy")
    session.edit("x.py").run("pytest", PASSES).write("x login", "> search", "docs", "deploy")
    session.write("x login", "> search", "x docs", "deploy")
    session.edit("y.py").fail("pytest", FAILS).write("x login", "x search", "x docs", "> deploy")
    session.run("ls")
    return session


def test_each_item_has_its_time_its_work_and_its_grade() -> None:
    entries = worked().entries
    login = entries["login"]
    assert (login.grade, login.tally.calls, login.elapsed is not None) == ("verified", 2, True)
    assert login.check is not None
    assert login.check.command == "pytest"
    assert [entries[text].grade for text in ("search", "docs", "deploy")] == ["failing", "unseen", None]
    assert entries["docs"].elapsed is None


def test_totals_count_items_grades_and_calls() -> None:
    totals = worked().report().totals
    assert (totals.items, totals.completed, totals.open, totals.calls) == (4, 3, 1, 5)
    assert dict(totals.grades) == {"verified": 1, "failing": 1, "unseen": 1}
    assert totals.active.total_seconds() > 0


def test_completions_of_an_agent_whose_tools_nobody_saw_are_not_judged() -> None:
    session = Session()
    session.write("> a", "b")
    session.write("x a", "b")
    totals = session.report().totals
    assert (totals.completed, totals.judged, totals.unjudged) == (1, 0, 1)


def test_a_list_that_its_dialect_wiped_is_still_reported() -> None:
    session = Session()
    session.write("> a", "b")
    session.run().write("x a", "x b")
    assert session.agent.todos.items == ()
    assert session.grades == {"a": "verified", "b": "verified"}


def test_the_clock_of_an_item_stands_still_while_it_is_not_in_progress() -> None:
    session = Session()
    session.write("> a", "b")
    session.run("ls").write("a", "> b")
    session.run("ls").run("ls")
    first = session.entries["a"].elapsed
    assert first == timedelta(seconds=3)
    session.write("> a", "b")
    session.run("ls").write("x a", "b")
    entry = session.entries["a"]
    assert [stint.end is None for stint in entry.stints] == [False, False]
    assert entry.elapsed == timedelta(seconds=6)


def test_an_open_item_has_the_work_that_was_done_while_it_was_in_progress() -> None:
    session = Session()
    session.run("ls").write("> a", "b")
    session.run("ls").run("ls").write("a", "> b")
    session.run("ls")
    assert [session.entries[text].tally.calls for text in ("a", "b")] == [2, 1]
    assert {of.agent: tally.calls for of, tally in session.report().elsewhere} == {"main": 1}


def test_an_item_for_which_a_subagent_is_at_work_is_under_way() -> None:
    session = Session()
    session.write("look around", "> b")
    child = session.agent.spawn("explore", label="look around")
    session.run("grep x", by=child)
    assert session.entries["look around"].helpers == ("explore",)
    assert texts(session.board.brief(after=0).under_way) == ["b", "look around"]
    child.finished()
    assert session.entries["look around"].helpers == ()
    assert texts(session.board.brief(after=0).under_way) == ["b"]


def test_an_open_item_that_was_left_out_is_gone_and_not_counted() -> None:
    session = Session()
    session.write("> a", "b", "c")
    session.write("> a")
    report = session.report()
    assert {entry.item.content: entry.is_gone for entry in report.items} == {"a": False, "b": True, "c": True}
    assert report.totals.items == 1


def test_evidence_is_held_against_the_calls_and_grades_nothing() -> None:
    session = Session("punchlist")
    session.agent.call("todo", {"set": ["Paint", "Sand"]})
    session.edit().run().agent.call("todo", {"done": "1", "evidence": ["pytest -q", "pytest tests/other"]})
    entry = session.entries["Paint"]
    assert [(proof.is_seen, proof.holds) for proof in entry.evidence] == [(True, True), (False, False)]
    session.agent.call("todo", {"done": "2", "evidence": "pytest -q"})
    assert session.entries["Sand"].grade == "unseen"


def test_a_brief_tells_only_what_happened_since() -> None:
    session = worked()
    seen = session.board.brief(after=0)
    assert (texts(seen.verified), texts(seen.doubtful)) == (["login"], ["search", "docs"])
    assert texts(seen.under_way) == ["deploy"]
    assert (seen.until, seen.work.calls) == (session.board.store.last_seq(), 5)
    after = session.board.brief(after=seen.until)
    assert (after.verified, after.doubtful, after.work.calls, after.is_empty) == ((), (), 0, True)
    assert texts(after.under_way) == ["deploy"]


@pytest.mark.parametrize("left", [False, True])
def test_a_completion_that_turned_red_since_is_told_again(left: bool) -> None:
    session = Session()
    session.write("> a", *([] if left else ["b"]))
    session.edit().run().write("x a", *([] if left else ["b"]))  # 8.5: it is charged for what it changed
    until = session.board.brief(after=0).until
    session.fail()
    assert texts(session.board.brief(after=until).doubtful) == ["a"]


# Findings, as the activity of agents holds them.


class Log:
    """Events of agents, one a second."""

    def __init__(self) -> None:
        self.activities: dict[tuple[str, str], Activity] = {}
        self.seq = 0

    def add(self, kind: str, data: dict[str, Any], agent: str = "main") -> "Log":
        self.seq += 1
        known = self.activities.get(("s", agent), NO_ACTIVITY)
        at = NOW + timedelta(seconds=self.seq)
        self.activities["s", agent] = fold_activity(known, kind, data, at, self.seq)
        return self

    def noticed(self, after: int, hours: int = 0) -> tuple[Noticed, ...]:
        return find_noticed(self.activities, after, NOW + timedelta(seconds=self.seq, hours=hours))

    def seen(self, after: int, hours: int = 0) -> list[str]:
        return [found.seen for found in self.noticed(after, hours)]


def raised(detector: str) -> dict[str, Any]:
    return {"detector": detector, "level": "warning", "seen": detector, "count": 1, "subject": "main"}


@pytest.mark.parametrize(
    ("kind", "data", "left"),
    [
        ("turn.ended", {"abandoned": 0}, ["loop"]),
        ("agent.finished", {"outcome": "completed"}, []),
        ("finding.cleared", {"detector": "resumed", "level": "ok", "subject": "main"}, ["loop"]),
    ],
)
def test_who_has_finished_or_speaks_again_is_not_stalled(kind: str, data: dict[str, Any], left: list[str]) -> None:
    log = Log().add("finding.raised", raised("silent_after_output")).add("finding.raised", raised("loop"))
    log.add("finding.raised", {"detector": "no_output", "level": "warning", "seen": "other"}, agent="other")
    assert log.add(kind, data).seen(0) == [*left, "other"]


def test_a_silence_is_told_until_it_is_over_and_not_for_ever() -> None:
    log = Log().add("finding.raised", raised("no_output"))
    assert (log.seen(log.seq), log.seen(log.seq, hours=7)) == (["no_output"], [])
    assert log.add("finding.cleared", raised("no_output")).seen(0) == []
    log.add("finding.raised", raised("no_output")).add("finding.raised", raised("timed_out"))
    assert (log.seen(0), log.seen(log.seq)) == (["timed_out"], [])


def test_any_other_finding_is_told_once_unless_the_agent_goes_on_like_that() -> None:
    log = Log().add("finding.raised", raised("todo_storm"))
    until = log.seq
    assert (log.seen(0), log.seen(until)) == (["todo_storm"], [])
    assert log.add("tool.started", {"name": "Bash"}).seen(until) == ["todo_storm"]
    log.add("turn.ended", {"abandoned": 0}).add("tool.started", {"name": "Bash"})
    assert (log.seen(until), log.seen(0)) == ([], ["todo_storm"])
    assert log.add("finding.cleared", raised("todo_storm")).seen(0) == []
