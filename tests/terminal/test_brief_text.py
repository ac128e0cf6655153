"""A brief in words: the groups of a night, and findings as sentences."""

from datetime import UTC, datetime, timedelta

from tools.night import EVENING, write_night

from punchlist import Board
from punchlist.core.events import Event
from punchlist.core.overview import NO_ACTIVITY, STALLS, fold_activity
from punchlist.core.report import assemble_brief, find_noticed
from punchlist.presence.roster import load_roster
from punchlist.reports.work_reports import load_brief
from punchlist.terminal.brief import TITLES, brief_lines
from punchlist.terminal.sentences import sentence
from punchlist.terminal.spans import ASCII, UNICODE, plain
from punchlist.testing import FakeClock
from punchlist.text import width
from punchlist.views.brief_groups import group_sessions
from punchlist.views.findings import Silent, stall_words
from punchlist.views.now import Roster
from punchlist.views.reports import Around, view_brief

NOW = datetime(2026, 3, 1, 10, tzinfo=UTC)
NOTICE = "main has ACP runtime activity but no visible assistant output for 60s."


def raised(session: str, seq: int, detector: str = "no_output") -> Event:
    data = {"detector": detector, "level": "warning", "seen": NOTICE, "count": 60, "subject": "main"}
    return Event(seq, NOW, "finding.raised", by="main", project="/p", session=session, agent="main", data=data)


def told(*events: Event) -> list[str]:
    activities = {
        (event.session or "", event.agent or ""): fold_activity(
            NO_ACTIVITY, event.kind, event.data, event.at, event.seq
        )
        for event in events
    }
    noticed = find_noticed(activities, 0, NOW + timedelta(minutes=3))
    found = assemble_brief([], [], [], noticed, after=0, until=len(events))
    groups = group_sessions(found, Roster(at=NOW, agents=(), waits=()))
    return [row.sentence for row in groups.look_first]


def test_the_morning_after_a_night_of_seven_projects() -> None:
    clock = FakeClock(EVENING)
    with Board.open("memory:", clock=clock) as board:
        write_night(board, clock)
        roster = load_roster(board, who="ada", present=())
        loaded = load_brief(board, roster, None, project=None, who="ada")
    rows = {name: [(row.name, row.sentence) for row in getattr(loaded.groups, name)] for name in TITLES}
    assert rows == {
        "do_now": [
            ("infra · claude 5f2c1a", "answer: “The plan destroys 2 databases in staging. Intended?”"),
            ("mobile · codex 88ab01", "approve or reject: Move to typed routes (4 steps)"),
            ("batch · main 10c2ee", "hung: python transform.py"),
        ],
        "look_first": [
            ("api · claude 0d299b", "red: pytest, 2 of 120 failed; 2 items marked done after it"),
            ("site · main 77aa00", "3 items claimed, nothing was run"),
        ],
        "at_work": [("docs · codex 31ad99", "1/5 Upgrade guide for 3.0")],
        "checked": [("shop · claude bede30", "4 of 4 verified, pytest green after the last change")],
        "ended": [],
    }
    assert [(one.project, one.changes) for one in loaded.groups.not_checked] == [("/home/ada/docs", 7)]
    for columns in (0, 60, 80, 120, 300):
        lines = brief_lines(loaded.brief, loaded.groups, loaded.around, roster.at, UNICODE, columns)
        shown = [plain(line) for line in lines if not plain(line).strip().startswith("punchlist ")]
        assert not columns or max(map(width, shown)) <= min(columns, 120)
    ascii_lines = brief_lines(loaded.brief, loaded.groups, loaded.around, roster.at, ASCII, 120)
    assert all(plain(line).isascii() for line in ascii_lines)


def test_a_long_id_that_a_person_chose_is_cut_in_the_name_and_whole_in_the_command() -> None:
    session = "refactor-the-payment-service-of-the-shop"
    with Board.open("memory:", clock=FakeClock(NOW)) as board:
        agent = board.agent("claude", session=session, project="/p/payments")
        agent.call("todo", {"set": ["Paint"], "ask": [{"id": "1", "text": "Which colour?"}]})
        roster = load_roster(board, who="ada", present=())
        loaded = load_brief(board, roster, None, project=None, who="ada")
    for columns in (80, 120):
        lines = brief_lines(loaded.brief, loaded.groups, loaded.around, NOW, UNICODE, columns)
        named, action, *_ = map(plain, lines)
        assert named.startswith("Do now       payments · claude refactor-th…  answer: “Which colour?”  ")
        assert session in action


def test_what_another_detector_says_is_told_as_it_is() -> None:
    assert told(raised("s1", 1, "todo_storm")) == [NOTICE]


def test_a_loop_is_told_in_words_for_people() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        for number in range(11):
            agent.tool_started(f"c{number}", "Bash", {"command": "ls"})
            agent.tool_finished(f"c{number}", f"{number} files")
        (event,) = (event for event in board.events() if event.kind == "finding.raised")
    assert event.data["seen"].startswith("WARNING: You have called")
    assert told(event) == ["keeps calling Bash with the same arguments."]
    assert sentence(event, UNICODE) == "main keeps calling Bash with the same arguments"


def test_the_log_tells_a_silence_and_its_end_in_words_for_people() -> None:
    event = raised("s1", 1)
    assert sentence(event, UNICODE) == "main has been silent for 1 min, without any output; perhaps a tool still runs"
    over = Event(2, NOW, "finding.cleared", by="main", project="/p", session="s1", agent="main", data=event.data)
    assert sentence(over, UNICODE) == "main is no longer silent"


def test_there_are_words_for_every_silence() -> None:
    said = {stall_words("main", Silent("s1", "main", detector, timedelta(minutes=2))) for detector in STALLS}
    assert len(said) == len(STALLS)
    assert not [text for text in said if "ACP" in text or "{" in text]


def test_a_brief_for_programs_has_the_words_for_people_too() -> None:
    event = raised("s1", 1)
    activity = fold_activity(NO_ACTIVITY, event.kind, event.data, event.at, event.seq)
    noticed = find_noticed({("s1", "main"): activity}, 0, NOW)
    found = assemble_brief([], [], [], noticed, after=0, until=1)
    groups = group_sessions(found, Roster(at=NOW, agents=(), waits=()))
    (one,) = view_brief(found, groups, Around()).noticed
    assert one.seen == "main has been silent, without any output; perhaps a tool still runs."
