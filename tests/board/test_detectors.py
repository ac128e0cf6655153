"""Detectors on a board: verdicts before a call is recorded, findings as events, silence found when somebody looks."""

from pathlib import Path
from typing import Any

import pytest

from punchlist import Board
from punchlist.core.events import Event
from punchlist.testing import FakeClock
from tests.board.looping import LOOP, agent_on, call, findings, run, said
from tests.dialects.boards import write


@pytest.fixture(autouse=True)
def short_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute of silence is a stall here, as in the original."""
    monkeypatch.setenv("PUNCHLIST_STALL_AFTER", "60")


def test_a_verdict_is_formed_from_the_calls_before() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, loop_detection=LOOP)
        assert [call(agent, number) for number in range(7)] == [*["ok"] * 3, *["warning"] * 2, *["critical"] * 2]
        verdict = agent.tool_started("c9", "read", {"path": "notes.txt"})
        assert (verdict.detector, verdict.count) == ("generic_repeat", 5)


def test_a_loop_is_an_event_at_its_first_warning_and_its_first_critical_verdict_and_ends_with_another_call() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, loop_detection=LOOP)
        for number in range(7):
            call(agent, number)
        assert findings(board) == [("finding.raised", "generic_repeat", "read")] * 2
        call(agent, 8, "other.txt")
        assert findings(board)[2:] == [("finding.cleared", "generic_repeat", "read")]
        assert board.brief().noticed == ()


def test_calls_that_run_whatever_is_thought_of_them_reach_the_global_breaker() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board)
        for number in range(60):
            run(agent, number)
        raised = [(event.data["detector"], event.data["level"], event.data["count"]) for event in raising(board)]
        assert raised == [
            ("generic_repeat", "warning", 10),
            ("generic_repeat", "critical", 20),
            ("global_circuit_breaker", "critical", 30),
        ]


def raising(board: Board) -> list[Event]:
    return [event for event in board.events() if event.kind == "finding.raised"]


def test_a_ping_pong_is_not_over_while_it_goes_on() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board)
        for number in range(40):
            run(agent, number, ("read", "list")[number % 2])
        assert findings(board) == [("finding.raised", "ping_pong", "list, read")] * 3
        run(agent, 40, path="other.txt")
        assert findings(board)[3:] == [("finding.cleared", "ping_pong", "list, read")]


def test_by_default_detection_is_on_and_the_model_hears_nothing() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board)
        levels = [call(agent, number) for number in range(12)]
        assert levels[-1] == "warning"
        assert agent.assistant_turn() == []


def test_detection_can_be_switched_off() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, loop_detection=False)
        assert {call(agent, number) for number in range(40)} == {"ok"}
        assert findings(board) == []


@pytest.mark.parametrize(
    "options", [{"guidance": {"tell_findings": True}}, {"loop_detection": {"tell_model": True, **LOOP}}]
)
def test_the_model_hears_of_a_loop_once_where_that_is_wanted(options: Any) -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, **options)
        for number in range(11 if "guidance" in options else 4):
            call(agent, number)
        (told,) = agent.assistant_turn()
        assert told.kind == "finding"
        assert "read" in told.text
        assert told.text.startswith("<punchlist")
        assert agent.assistant_turn() == []


def test_the_model_hears_of_one_loop_once_however_long_it_goes_on() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, guidance={"tell_findings": True})
        heard: list[str] = []
        for number in range(60):
            run(agent, number)
            heard.append(said(agent))
        assert [place for place, text in enumerate(heard) if text] == [10]
        run(agent, 60, path="other.txt")
        assert said(agent) == ""
        for number in range(61, 82):
            run(agent, number)
        assert "read" in said(agent)


def test_with_tell_model_beside_it_a_loop_is_told_of_once_too() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, guidance={"tell_findings": True}, loop_detection={"tell_model": True, **LOOP})
        for number in range(4):
            run(agent, number)
        assert said(agent).count("WARNING") == 1
        assert said(agent) == ""


def test_every_finding_is_told_where_the_model_is_to_hear_of_them() -> None:
    clock = FakeClock()
    with Board.open("memory:", clock=clock) as board:
        agent = agent_on(board, guidance={"tell_findings": True})
        for _ in range(11):
            agent.call("todo", {"set": ["Paint", "Sand"]})
        text = said(agent)
        assert "10 times in a row, and no item has moved on" in text
        assert "5 times" not in text
        assert "10 calls of the todo tool" in text
        assert said(agent) == ""
        agent.tool_started("c1", "Bash", {"command": "make"})
        clock.advance(61)
        board.tick()
        assert "no visible assistant output" in said(agent)


def test_what_is_over_by_the_next_turn_is_not_told() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board, guidance={"tell_findings": True})
        for number in range(11):
            run(agent, number)
        run(agent, 11, path="other.txt")
        assert said(agent) == ""


@pytest.mark.parametrize(("dialect", "hears"), [("openclaw", True), ("hermes", True), ("claude-code", False)])
def test_the_profile_decides_whether_the_model_hears_of_findings(dialect: str, hears: bool) -> None:
    with Board.open("memory:") as board:
        agents = {
            profile: board.agent(profile, session="s1", dialect=dialect, profile=profile)
            for profile in ("quiet", "classic", "off")
        }
        for agent in agents.values():
            for number in range(11):
                run(agent, number)
        assert [name for name, agent in agents.items() if said(agent)] == (["classic"] if hears else [])


def test_the_calls_before_are_remembered_by_the_next_process(tmp_path: Path) -> None:
    levels: list[str] = []
    for number in range(5):
        with Board.open(tmp_path / "board.db") as board:
            levels.append(call(agent_on(board, loop_detection=LOOP), number))
    assert levels == ["ok", "ok", "ok", "warning", "warning"]


def test_after_a_compaction_the_same_calls_again_are_judged_at_once() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board)
        agent.compacted()
        assert [call(agent, number) for number in range(4)] == ["ok", "ok", "ok", "critical"]


def test_the_same_list_again_and_again_is_churn_until_something_moves() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", dialect="claude-code")
        call(agent, 0)
        write(agent, "> Paint", "Sand")
        for _ in range(5):
            write(agent, "> Paint", "Sand")
        assert findings(board) == [("finding.raised", "churn", "")]
        write(agent, "x Paint", "> Sand")
        assert findings(board)[-1] == ("finding.cleared", "churn", "")


def test_calls_of_the_todo_tool_that_are_refused_make_a_storm_too() -> None:
    with Board.open("memory:", clock=FakeClock()) as board:
        agent = agent_on(board)
        call(agent, 0)
        for _ in range(12):
            agent.call("todo", {"done": "99"})
        assert ("finding.raised", "todo_storm", "") in findings(board)


def test_an_item_that_nobody_works_on_while_work_goes_elsewhere_is_stale() -> None:
    clock = FakeClock()
    with Board.open("memory:", clock=clock) as board:
        agent = board.agent(
            "main", session="s1", dialect="claude-code", staleness={"stale_calls": 3, "stale_after": 600}
        )
        todos = [{"content": name, "status": "in_progress", "activeForm": name} for name in ("Paint", "Sand")]
        agent.call("TodoWrite", {"todos": todos})
        for number in range(5):
            clock.advance(300)
            call(agent, number, f"{number}.txt")
        assert findings(board) == [("finding.raised", "stale_item", "2")]
        todos[1]["status"] = "completed"
        agent.call("TodoWrite", {"todos": todos})
        assert findings(board)[-1] == ("finding.cleared", "stale_item", "2")


CHURN = ("finding.raised", "churn", "")
STORM = ("finding.raised", "todo_storm", "")


def test_churn_and_storms_are_found_without_any_report_on_tools_and_cost_no_row() -> None:
    with Board.open("memory:", clock=FakeClock()) as board:
        agent = agent_on(board)
        for _ in range(11):
            agent.call("todo", {"set": ["Paint", "Sand"]})
        assert findings(board) == [CHURN, STORM, CHURN]
        assert board.store.read(lambda tx: tx.tool_calls.of_agent(1)) == []
        agent.call("todo", {"done": "1"})
        assert findings(board)[3:] == [("finding.cleared", "churn", "")]


def test_refused_calls_make_a_storm_without_any_report_on_tools() -> None:
    with Board.open("memory:", clock=FakeClock()) as board:
        for _ in range(10):
            agent_on(board).call("todo", {"done": "99"})
        assert STORM in findings(board)


def test_an_item_that_bounces_is_found_without_any_report_on_tools() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", dialect="claude-code")
        for _ in range(4):
            write(agent, "> Paint", "Sand")
            write(agent, "Paint", "> Sand")
        assert ("finding.raised", "bouncing", "1") in findings(board)
        write(agent, "x Paint", "> Sand")
        assert ("finding.cleared", "bouncing", "1") in findings(board)


def test_the_pace_of_a_list_is_known_to_the_next_process_and_to_who_looks_more_closely(tmp_path: Path) -> None:
    clock = FakeClock()
    for number in range(12):
        with Board.open(tmp_path / "board.db", clock=clock) as board:
            agent = agent_on(board)
            if number == 8:
                agent.tool_started("c1", "read", {})
            agent.call("todo", {"set": ["Paint", "Sand"]})
    with Board.open(tmp_path / "board.db", clock=clock) as board:
        assert findings(board) == [CHURN, STORM, CHURN]


def test_ordinary_work_on_a_list_is_neither_churn_nor_storm() -> None:
    clock = FakeClock()
    with Board.open("memory:", clock=clock) as board:
        agent = agent_on(board)
        agent.call("todo", {"set": [f"Paint wall {number}" for number in range(20)]})
        for number in range(20):
            clock.advance(30)
            agent.call("todo", {"done": str(number + 1)})
        assert findings(board) == []


def test_silence_is_found_when_somebody_looks_and_told_of_once() -> None:
    clock = FakeClock()
    with Board.open("memory:", clock=clock) as board:
        agent = agent_on(board)
        agent.tool_started("c1", "Bash", {"command": "make"})
        clock.advance(59)
        assert board.stalls() == []
        clock.advance(2)
        (stall,) = board.stalls()
        assert (stall.agent, stall.finding.detector) == ("main", "no_output")
        assert board.tick() == 1
        assert board.tick() == 0
        assert [one.finding.detector for one in board.stalls()] == ["no_output"]
        assert findings(board) == [("finding.raised", "no_output", "main")]
        agent.output("Still here.")
        assert board.stalls() == []
        assert findings(board)[-1] == ("finding.cleared", "no_output", "main")
        assert board.brief().noticed == ()


@pytest.mark.parametrize("end", ["about_to_stop", "finished"])
def test_who_is_done_is_not_stalled(end: str) -> None:
    clock = FakeClock()
    with Board.open("memory:", clock=clock) as board:
        agent = board.agent("main", session="s1", profile="off")
        agent.tool_started("c1", "Bash", {"command": "make"})
        agent.tool_finished("c1", result="ok")
        getattr(agent, end)()
        clock.advance(1000)
        assert board.stalls() == []
        agent.user_turn()
        clock.advance(61)
        assert [stall.finding.detector for stall in board.stalls()] == ["no_runtime_event"]


def test_stalls_are_those_of_a_project() -> None:
    clock = FakeClock()
    with Board.open("memory:", clock=clock) as board:
        for project in ("/a", "/b"):
            board.agent("main", session=project, project=project).tool_started("c", "Bash", {"command": "make"})
        clock.advance(100)
        assert [stall.session for stall in board.stalls(project="/a")] == ["/a"]
        assert len(board.stalls()) == 2
