"""A brief in words: who is silent, and which of those who have one name."""

from datetime import UTC, datetime, timedelta

from punchlist import Board
from punchlist.core.events import Event
from punchlist.core.overview import NO_ACTIVITY, STALLS, fold_activity
from punchlist.core.report import assemble_brief, find_noticed
from punchlist.terminal.reports import brief_lines
from punchlist.terminal.sentences import sentence
from punchlist.terminal.spans import UNICODE, plain
from punchlist.views.findings import Silent, stall_words
from punchlist.views.reports import Around, view_brief

NOW = datetime(2026, 3, 1, 10, tzinfo=UTC)
NOTICE = "main has ACP runtime activity but no visible assistant output for 60s."


def raised(session: str, seq: int, detector: str = "no_output") -> Event:
    data = {"detector": detector, "level": "warning", "seen": NOTICE, "count": 60, "subject": "main"}
    return Event(seq, NOW, "finding.raised", by="main", project="/p", session=session, agent="main", data=data)


def told(around: Around, *events: Event) -> list[str]:
    activities = {
        (event.session or "", event.agent or ""): fold_activity(
            NO_ACTIVITY, event.kind, event.data, event.at, event.seq
        )
        for event in events
    }
    noticed = find_noticed(activities, 0, NOW + timedelta(minutes=3))
    found = assemble_brief([], [], [], noticed, after=0, until=len(events))
    return [plain(line) for line in brief_lines(found, around, {}, UNICODE)]


def test_a_silence_is_told_once_in_words_for_people_and_says_of_which_session() -> None:
    silent = [Silent(session, "main", "no_output", timedelta(minutes=3)) for session in ("s1", "s2")]
    assert told(Around(stalls=silent), raised("s1", 1), raised("s2", 2))[:3] == [
        "Stopped, stalled or looping (2)",
        "  · main s1 has been silent for 3 min, without any output; perhaps a tool still runs.",
        "  · main s2 has been silent for 3 min, without any output; perhaps a tool still runs.",
    ]


def test_a_silence_that_only_the_log_knows_of_is_told_in_the_same_words() -> None:
    assert told(Around(), raised("s1", 1, "timed_out"))[1] == (
        "  · main s1 never ended its turn, and is no longer watched."
    )


def test_what_another_detector_says_is_told_as_it_is() -> None:
    assert told(Around(), raised("s1", 1, "todo_storm"))[1] == f"  · main s1: {NOTICE}"


def test_a_loop_is_told_in_words_for_people() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        for number in range(11):
            agent.tool_started(f"c{number}", "Bash", {"command": "ls"})
            agent.tool_finished(f"c{number}", f"{number} files")
        (event,) = (event for event in board.events() if event.kind == "finding.raised")
    assert event.data["seen"].startswith("WARNING: You have called")
    assert told(Around(), event)[1] == "  · main s1 keeps calling Bash with the same arguments."
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
    (one,) = view_brief(found, Around(), {}).noticed
    assert one.seen == "main has been silent, without any output; perhaps a tool still runs."
