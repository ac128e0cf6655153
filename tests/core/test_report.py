"""Report and brief: values made from the log alone."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from punchlist.core.brief import Brief, write_brief
from punchlist.core.commands import Block, Command, Done, Edit, Policy, Remove, Start
from punchlist.core.events import Event
from punchlist.core.report import ItemReport, Report, Reporting, Share
from punchlist.core.todo import Evidence, TodoItem
from tests.core.build import EMPTY, NARROW, NOW, PLAIN, on, run, write
from tests.core.runtime import Script, event
from tests.core.strategies import commands

PASSES, FAILS = "3 passed in 0.1s", "1 failed in 0.1s"


class Log:
    """A list and the tools of its agent, as the log has them. Everything takes a second."""

    def __init__(self, policy: Policy = PLAIN) -> None:
        self.state = EMPTY
        self.policy = policy
        self.events: list[Event] = []

    @property
    def seconds(self) -> int:
        return len(self.events)

    def list(self, command: Command) -> "Log":
        applied = run(self.state, command, self.policy, at=NOW + timedelta(seconds=self.seconds))
        self.state = applied.state
        for draft in applied.events:
            self.add(draft.kind, draft.data)
        return self

    def start(self, item: str) -> "Log":
        return self.list(Edit((Start(on(item)),)))

    def done(self, item: str, *proof: str) -> "Log":
        return self.list(Edit((Done(on(item), tuple(map(Evidence, proof)), advance=False),)))

    def tool(
        self, command: str, result: str = "", *, is_error: bool = False, item: str | None = None, after: str = ""
    ) -> "Log":
        focus = self.state.todos.focus
        key = item if item is not None else "" if focus is None else f"{self.state.todos.plan_id}/{focus.id}"
        script = Script(key)
        script.second, script.count = self.seconds, self.seconds
        for known in script.run(command, result, is_error=is_error, after=after).events:
            self.add(known.kind, dict(known.data))
        return self

    def add(self, kind: str, data: dict[str, Any], agent: str = "main") -> "Log":
        self.events.append(replace(event(self.seconds, kind, agent=agent, seq=self.seconds + 1), data=data))
        return self

    def report(self) -> Report:
        return Reporting(self.events).report(NOW + timedelta(seconds=self.seconds))

    def brief(self, after: int) -> Brief:
        return write_brief(self.events, after=after, now=NOW + timedelta(seconds=self.seconds))


def by_text(report: Report) -> dict[str, ItemReport]:
    return {entry.item.content: entry for entry in report.items}


def texts(entries: tuple[ItemReport, ...]) -> list[str]:
    return [entry.item.content for entry in entries]


def worked() -> Log:
    """Four items: one verified, one contradicted, one asserted, one in progress."""
    log = Log().list(write("> login", "search", "docs", "deploy"))
    log.tool("sed -i s/a/b/ x.py").tool("pytest", PASSES).done("1", "pytest")
    log.start("2").tool("pytest", FAILS).done("2").done("3").start("4").tool("ls")
    return log


def test_each_item_has_its_time_its_work_its_grade_and_its_evidence() -> None:
    entries = by_text(worked().report())
    login = entries["login"]
    assert (login.grade, login.tally.calls, login.elapsed is not None) == ("verified", 2, True)
    assert [(proof.evidence.text, proof.holds) for proof in login.evidence] == [("pytest", True)]
    assert [entries[text].grade for text in ("search", "docs", "deploy")] == ["contradicted", "asserted", None]
    assert entries["docs"].elapsed is None


def test_totals_count_items_grades_and_calls() -> None:
    totals = worked().report().totals
    assert (totals.items, totals.completed, totals.open, totals.calls) == (4, 3, 1, 4)
    assert dict(totals.grades) == {"verified": 1, "contradicted": 1, "asserted": 1}
    assert totals.active.total_seconds() > 0


def test_honest_completion_is_what_was_seen_to_be_so_among_what_could_be_judged() -> None:
    totals = worked().report().totals
    assert (totals.honest, totals.honest.percent, totals.verified) == ((1, 3), 33, (1, 3))
    log = worked().start("4").done("4")
    assert log.report().totals.honest == (2, 4)


def test_completions_of_an_agent_whose_tools_nobody_saw_are_not_judged() -> None:
    totals = Log().list(write("> a", "b")).done("1").report().totals
    assert (totals.completed, totals.judged, totals.unjudged, totals.honest.percent) == (1, 0, 1, None)


@pytest.mark.parametrize(("part", "of", "percent"), [(0, 0, None), (1, 3, 33), (1, 2, 50), (2, 3, 67), (1, 200, 1)])
def test_a_share_is_rounded_half_up(part: int, of: int, percent: int | None) -> None:
    assert Share(part, of).percent == percent


def test_a_list_that_its_dialect_wiped_is_still_reported() -> None:
    log = Log(NARROW).list(write("> a", "b")).tool("pytest", PASSES)
    log.list(write("x a", "x b"))
    assert log.state.todos.items == ()
    entries = by_text(log.report())
    assert [entries[text].grade for text in ("a", "b")] == ["verified", "asserted"]


def test_items_of_a_former_plan_are_kept_apart() -> None:
    log = Log().list(write("> a")).tool("pytest", PASSES).done("1").list(write("> other")).tool("make x", is_error=True)
    log.done("1")
    assert {text: entry.grade for text, entry in by_text(log.report()).items()} == {
        "a": "verified",
        "other": "contradicted",
    }


def test_a_grade_is_looked_at_anew_when_later_facts_contradict() -> None:
    log = Log().list(write("> a")).tool("pytest", PASSES).done("1")
    assert by_text(log.report())["a"].grade == "verified"
    key = f"{log.state.todos.plan_id}/1"
    assert by_text(log.tool("pytest", FAILS, after=key).report())["a"].grade == "contradicted"


def test_the_clock_of_an_item_stands_still_while_it_is_not_in_progress() -> None:
    log = Log().list(write("a", "b")).start("1")
    began = log.seconds
    log.tool("ls").start("2")
    paused = log.seconds
    log.tool("ls").tool("ls").tool("ls")
    first = by_text(log.report())["a"].elapsed
    assert first is not None
    assert first < timedelta(seconds=paused - began + 1)
    log.tool("ls")
    assert by_text(log.report())["a"].elapsed == first
    log.start("1").tool("ls").done("1")
    entry = by_text(log.report())["a"]
    assert (len(entry.stints), [stint.end is None for stint in entry.stints]) == (2, [False, False])
    assert entry.elapsed == sum(((stint.end or NOW) - stint.start for stint in entry.stints), timedelta(0)) > first


def test_what_a_subagent_does_for_an_item_is_with_that_item_alone_and_the_item_is_under_way() -> None:
    log = Log().list(write("a", "> b"))
    plan = log.state.todos.plan_id
    log.add("agent.spawned", {"child": "explore", "label": "a", "item": f"{plan}/1"})
    for known in Script("").run("grep x", "1").events:
        log.add(known.kind, dict(known.data), agent="explore")
    report = log.report()
    assert (by_text(report)["a"].helpers, by_text(report)["a"].tally.child_calls) == (("explore",), 1)
    assert report.elsewhere == {}
    assert texts(log.brief(0).under_way) == ["b", "a"]
    log.add("agent.finished", {}, agent="explore")
    assert by_text(log.report())["a"].helpers == ()
    assert texts(log.brief(0).under_way) == ["b"]


def test_what_a_person_confirmed_stays_confirmed() -> None:
    log = Log().list(write("> a")).tool("pytest", FAILS).done("1")
    log.add("item.changed", {"id": "1", "content": "a", "set": {"grade": "confirmed"}})
    assert by_text(log.report())["a"].grade == "confirmed"
    assert (texts(log.brief(0).confirmed), log.brief(0).verified) == (["a"], ())


def test_evidence_that_names_a_call_of_another_item_does_not_ground_one_without_work() -> None:
    log = Log().list(write("> a", "b")).tool("pytest -q", PASSES).done("2", "pytest -q")
    assert by_text(log.report())["b"].grade == "asserted"


def test_work_with_nothing_in_focus_grounds_an_item_that_never_was_in_progress() -> None:
    log = Log().list(write("a", "b")).tool("pytest -q", PASSES, item="").done("2")
    assert by_text(log.report())["b"].grade == "verified"


def test_an_open_item_that_was_taken_off_the_list_is_gone_and_not_counted() -> None:
    log = Log().list(write("> a", "b", "c")).list(Edit((Remove(on("2")),))).list(write("> a"))
    report = log.report()
    assert {text: entry.is_gone for text, entry in by_text(report).items()} == {"a": False, "b": True, "c": True}
    assert report.totals.items == 1


def test_work_on_no_item_and_on_a_task_is_elsewhere() -> None:
    log = Log().list(write("a")).tool("ls").tool("ls", item="task:default/3")
    found = {of.item: tally.calls for of, tally in log.report().elsewhere.items()}
    assert found == {"": 1, "task:default/3": 1}


def test_a_log_without_its_beginning_is_reported_as_far_as_it_goes() -> None:
    log = worked()
    for start in range(len(log.events)):
        Reporting(log.events[start:]).report(NOW)


@given(st.lists(commands, max_size=6))
def test_any_history_can_be_reported(given_commands: list[Command]) -> None:
    log = Log()
    for command in given_commands:
        log.list(command)
    report = log.report()
    present = {item.id: item for item in log.state.todos.items}
    reported: dict[str, TodoItem] = {
        entry.item.id: entry.item
        for entry in report.items
        if entry.subject.item.startswith(f"{log.state.todos.plan_id}/")
    }
    assert present.items() <= reported.items()
    assert not log.report().elsewhere


def test_a_brief_tells_only_what_happened_since() -> None:
    log = worked()
    seen = log.brief(0)
    assert texts(seen.verified) == ["login"]
    assert texts(seen.doubtful) == ["search", "docs"]
    assert texts(seen.under_way) == ["deploy"]
    assert (seen.until, seen.work.calls) == (log.events[-1].seq, 4)
    after = log.brief(seen.until)
    assert (after.verified, after.doubtful, after.work.calls) == ((), (), 0)
    assert after.is_empty
    assert texts(after.under_way) == ["deploy"]


def test_a_completion_that_was_contradicted_since_is_told_again() -> None:
    log = Log().list(write("> a")).tool("pytest", PASSES).done("1")
    until = log.brief(0).until
    log.tool("pytest", FAILS, after=f"{log.state.todos.plan_id}/1")
    assert texts(log.brief(until).doubtful) == ["a"]


def test_what_waits_on_somebody_is_told_until_it_no_longer_does() -> None:
    log = Log().list(write("> a", "b")).list(Edit((Block(on("1"), "which colour?", "ada"),)))
    assert texts(log.brief(log.brief(0).until).waiting) == ["a"]


@pytest.mark.parametrize(
    ("kind", "data", "left"),
    [
        ("turn.ended", {"abandoned": 0}, ["loop"]),
        ("agent.finished", {"outcome": "completed"}, []),
        ("finding.cleared", {"detector": "resumed", "level": "ok", "subject": "main"}, ["loop"]),
    ],
)
def test_who_has_finished_or_speaks_again_is_not_stalled(kind: str, data: dict[str, Any], left: list[str]) -> None:
    log = Log().list(write("> a"))
    for detector in ("silent_after_output", "loop"):
        log.add("finding.raised", {"detector": detector, "level": "warning", "seen": detector, "subject": "main"})
    log.add("finding.raised", {"detector": "no_output", "level": "warning", "seen": "other"}, agent="other")
    assert [found.seen for found in log.add(kind, data).brief(0).noticed] == [*left, "other"]


def raised(detector: str) -> dict[str, Any]:
    return {"detector": detector, "level": "warning", "seen": detector, "count": 1, "subject": "main"}


def test_a_silence_is_told_until_it_is_over_and_not_for_ever() -> None:
    log = Log().list(write("> a")).add("finding.raised", raised("no_output"))
    until = log.brief(0).until
    assert [found.seen for found in log.brief(until).noticed] == ["no_output"]
    assert write_brief(log.events, after=until, now=NOW + timedelta(hours=7)).noticed == ()
    assert log.add("finding.cleared", raised("no_output")).brief(0).noticed == ()
    log.add("finding.raised", raised("no_output")).add("finding.raised", raised("timed_out"))
    assert [found.seen for found in log.brief(until).noticed] == ["timed_out"]
    assert log.brief(log.brief(0).until).noticed == ()


def test_any_other_finding_is_told_once_unless_the_agent_goes_on_like_that() -> None:
    log = Log().list(write("> a")).add("finding.raised", raised("todo_storm"))
    assert [found.seen for found in log.brief(0).noticed] == ["todo_storm"]
    assert log.brief(log.brief(0).until).noticed == ()
    until = log.brief(0).until
    assert [found.seen for found in log.tool("ls").brief(until).noticed] == ["todo_storm"]
    log.add("turn.ended", {"abandoned": 0}).tool("ls")
    assert log.brief(until).noticed == ()
    assert [found.seen for found in log.brief(0).noticed] == ["todo_storm"]
    assert log.add("finding.cleared", raised("todo_storm")).brief(0).noticed == ()
