"""Reports on tool calls, as a host makes them: recorded once, whatever comes, and counted for the item in focus."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Unpack

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punchlist import Agent, Board, aio
from punchlist.agent import AgentOptions
from punchlist.errors import ConfigInvalid, UnknownName
from punchlist.store import Store
from punchlist.testing import FakeClock
from tests.sizes import size


def _store(agent: Agent) -> Store:
    return agent.board.store


@contextmanager
def at_work(profile: str = "quiet", **options: Unpack[AgentOptions]) -> Generator[tuple[Agent, FakeClock]]:
    """An agent with one item in progress and one to come."""
    clock = FakeClock()
    with Board.open("memory:", clock=clock) as board:
        agent = board.agent("main", session="s1", profile=profile, **options)
        agent.call("todo", {"set": ["Paint", "Sand"]})
        yield agent, clock


def told(board: Board, *kinds: str) -> list[tuple[str, dict[str, Any]]]:
    wanted = kinds or ("tool.started", "tool.updated", "tool.finished", "tool.failed", "turn.ended", "agent.finished")
    return [(event.kind, dict(event.data)) for event in board.events() if event.kind in wanted]


def test_a_call_belongs_to_the_item_that_is_in_progress_when_it_starts() -> None:
    with at_work() as (agent, clock):
        agent.tool_started("c1", "Bash", {"command": "make test"})
        agent.call("todo", {"done": "1", "start": "2"})
        clock.advance(seconds=3)
        agent.tool_finished("c1", result="12 passed")
        agent.tool_started("c2", "Edit", {"file_path": "a.py"})
        assert agent.work_on("1").calls == 1
        assert agent.work_on("1").active == timedelta(seconds=3)
        assert agent.work_on("2").running == 1
        assert set(agent.grounding) == {"1", "2"}


def test_what_is_kept_of_a_call_is_short_and_without_secrets() -> None:
    with at_work() as (agent, clock):
        agent.tool_started("c1", "Bash", {"command": "DB_PASSWORD=hunter2 make test"})
        clock.advance(seconds=1.5)
        agent.tool_finished("c1", result="token: ghp_0123456789abcdefghijABCDEFGHIJ012345\n" + "x" * 10_000)
        (_, started), (_, finished) = told(agent.board)
        assert started["preview"] == "DB_PASSWORD=*** make test"
        assert started["item"] == f"{agent.todos.plan_id}/1"
        assert finished["seconds"] == 1.5
        assert "ghp_" not in str(finished)
        assert len(finished["result"]) <= 160


def test_a_call_with_nothing_in_focus_is_counted_as_such() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        agent.tool_started("c1", "Read", {"path": "a"})
        agent.tool_finished("c1", result="text")
        assert agent.work_on("").calls == 1


def test_a_task_in_progress_is_the_focus_of_an_agent_without_a_list() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        tasks = agent.tasks("default")
        tasks.create("Ship it")
        tasks.claim("main")
        agent.tool_started("c1", "Bash", {"command": "make"})
        assert told(board)[0][1]["item"] == "task:default/1"


def test_reports_that_come_twice_or_in_another_order_are_harmless() -> None:
    with at_work() as (agent, _):
        agent.tool_finished("c1", result="late to be told of")
        agent.tool_started("c1", "Edit", {"file_path": "a"})
        for _ in range(2):
            agent.tool_started("c2", "Edit", {"file_path": "b"})
            agent.tool_finished("c2", result="done")
        agent.tool_started("c2", "Edit", {"file_path": "b"})
        kinds = [kind for kind, _ in told(agent.board)]
        assert kinds == ["tool.finished", "tool.started", "tool.started", "tool.finished"]
        work = agent.work_on("1")
        assert (work.calls, work.running, work.failures) == (2, 0, 0)


def test_of_two_ends_the_worse_is_believed_and_the_tally_says_so() -> None:
    with at_work() as (agent, _):
        agent.tool_started("c1", "Bash", {"command": "pytest"})
        agent.tool_finished("c1", result="12 passed")
        agent.tool_finished("c1", result="boom", is_error=True)
        agent.tool_finished("c1", result="12 passed")
        assert agent.work_on("1").failures == 1
        assert [kind for kind, _ in told(agent.board)] == ["tool.started", "tool.finished", "tool.finished"]


def test_calls_without_an_id_pair_by_name_first_in_first_out() -> None:
    with at_work() as (agent, clock):
        agent.tool_started(None, "Bash", {"command": "sleep 1"})
        agent.tool_started(None, "Bash", {"command": "sleep 2"})
        agent.tool_started(None, "Read", {"path": "a"})
        clock.advance(seconds=2)
        agent.tool_updated(None, "half", name="Bash")
        agent.tool_updated(None, "nobody", name="Edit")
        agent.tool_finished(None, result="first", name="Bash")
        agent.tool_finished(None, result="nobody asked", name="Edit")
        ended = [data for kind, data in told(agent.board) if kind == "tool.finished"]
        assert [(data["call_id"], data["result"]) for data in ended] == [("#1", "first")]
        assert told(agent.board, "tool.updated")[0][1] == {"call_id": "#1", "name": "Bash", "preview": "half"}
        assert agent.work_on("1").running == 2


@pytest.mark.parametrize("end", ["user_turn", "about_to_stop"])
def test_calls_left_open_at_the_end_of_a_turn_are_given_up_and_heard_of_all_the_same(end: str) -> None:
    with at_work(profile="off") as (agent, _):
        agent.tool_started("c1", "Bash", {"command": "make"})
        getattr(agent, end)()
        assert told(agent.board)[-1] == ("turn.ended", {"abandoned": 1})
        assert (agent.work_on("1").abandoned, agent.work_on("1").running) == (1, 0)
        getattr(agent, end)()
        assert len(told(agent.board, "turn.ended")) == 1
        agent.tool_finished("c1", result="made")
        assert (agent.work_on("1").abandoned, agent.work_on("1").calls) == (0, 1)


def test_background_work_is_not_given_up_when_the_model_stops() -> None:
    with at_work(profile="off") as (agent, _):
        agent.tool_started("c1", "Bash", {"command": "make"})
        agent.about_to_stop(background=1)
        assert agent.work_on("1").running == 1


def test_a_call_that_runs_may_say_something_and_one_may_come_to_nothing() -> None:
    with at_work() as (agent, _):
        agent.tool_updated("c0", "nobody knows this call")
        agent.tool_started("c1", "Bash", {"command": "make"})
        agent.tool_updated("c1", "half\nway")
        agent.tool_failed("c1", "timed out after 60 s")
        agent.tool_updated("c1", "too late")
        kinds = [kind for kind, _ in told(agent.board)]
        assert kinds == ["tool.started", "tool.updated", "tool.failed"]
        assert told(agent.board, "tool.updated")[0][1]["preview"] == "half way"
        assert agent.work_on("1").failures == 1


def test_output_and_the_end_of_an_agent_are_events() -> None:
    with at_work() as (agent, _):
        agent.output("I have painted\nthe door.")
        agent.output("")
        agent.tool_started("c1", "Bash", {"command": "make"})
        agent.finished("All done.")
        assert told(agent.board, "agent.output") == [
            (
                "agent.output",
                {"characters": 24, "preview": "I have painted the door.", "text": "I have painted\nthe door."},
            )
        ]
        assert told(agent.board, "agent.finished")[0][1] == {"outcome": "completed", "preview": "All done."}
        assert agent.work_on("1").abandoned == 1


def test_what_an_agent_says_to_people_is_kept_whole_and_without_secrets() -> None:
    with at_work() as (agent, _):
        agent.output("word " * 300 + "word\n\npassword=hunter2, said once.")
        agent.output("語" * 30_000)
        (_, first), (_, second) = told(agent.board, "agent.output")
        assert len(first["preview"]) == 160
        assert first["text"].endswith("word\n\npassword=*** said once.")
        assert (second["characters"], len(second["text"]), second["text"][-1]) == (30_000, 24_000, "…")
        agent.output("a b " * 10_000)
        assert len(told(agent.board, "agent.output")[2][1]["text"]) <= 24_000


def test_no_report_raises_whatever_its_values_do() -> None:
    class Broken:
        def __str__(self) -> str:
            raise ValueError("I have no words")

    broken: Any = Broken()
    with at_work() as (agent, _):
        agent.tool_started(broken, broken, broken)
        agent.tool_updated(broken, broken)
        agent.tool_finished(broken, broken, name=broken)
        agent.tool_failed(broken, broken)
        agent.output(broken)
        agent.finished(broken)
        assert told(agent.board, "agent.finished")[0][1]["outcome"] == "completed"


def test_without_previews_nothing_of_any_text_is_kept() -> None:
    with at_work(previews=0) as (agent, _):
        agent.tool_started("c1", "Bash", {"command": "cat diary.txt"})
        agent.tool_updated("c1", "dear diary")
        agent.tool_finished("c1", result="dear diary")
        agent.output("dear diary")
        agent.finished("dear diary")
        assert "diary" not in str([event.data for event in agent.board.events() if event.seq > 5])


def test_the_work_of_children_is_rolled_up_into_the_item_that_they_were_started_for() -> None:
    with at_work() as (agent, _):
        child = agent.spawn("explore")
        grandchild = child.spawn("dig")
        for number, one in enumerate((agent, child, grandchild)):
            one.tool_started(f"c{number}", "Read", {"path": "a"})
            one.tool_finished(f"c{number}", result="text")
        agent.call("todo", {"start": "2"})
        assert (agent.work_on("1").calls, agent.work_on("1").child_calls) == (3, 2)


def test_what_is_remembered_does_not_grow_with_the_calls() -> None:
    with at_work(loop_detection=False) as (agent, _):
        sizes: list[int] = []
        for number in range(300):
            agent.tool_started(f"open-{number:05}", "Edit", {"file_path": "a.py"})
            agent.tool_started(f"done-{number:05}", "Edit", {"file_path": "a.py"})
            agent.tool_finished(f"done-{number:05}", result="ok")
            row = agent.board.store.agent("s1", "main")
            assert row is not None
            memory = _store(agent).read(lambda tx, row=row: tx.memory.load(row.number))
            sizes.append(len(msgspec.msgpack.encode(memory)))
        assert max(sizes) <= sizes[10] + 64


def test_a_second_process_goes_on_where_the_first_one_left_off(tmp_path: Path) -> None:
    for number in range(6):
        with Board.open(tmp_path / "board.db") as board:
            agent = board.agent("main", session="s1")
            if not number:
                agent.call("todo", {"set": ["Paint"]})
            if number % 2:
                agent.tool_finished(f"c{number - 1}", result="ok")
            else:
                agent.tool_started(f"c{number}", "Edit", {"file_path": "a"})
    with Board.open(tmp_path / "board.db") as board:
        work = board.agent("main", session="s1").work_on("1")
        assert (work.calls, work.running) == (3, 0)


@given(st.data())
@settings(max_examples=size(40, 2000), deadline=None)
def test_the_tallies_that_are_kept_are_those_of_the_log(data: st.DataObject) -> None:
    """Whatever is reported, in whatever order: every call is counted."""
    steps = data.draw(
        st.lists(
            st.one_of(
                st.tuples(st.just("start"), st.integers(0, 5), st.sampled_from(["make test", "ls", "touch a"])),
                st.tuples(st.just("end"), st.integers(0, 5), st.sampled_from(["1 passed", "1 failed", "boom"])),
                st.tuples(st.just("turn"), st.just(0), st.just("")),
                st.tuples(st.just("move"), st.integers(0, 1), st.just("")),
            ),
            max_size=25,
        )
    )
    with at_work(profile="off", loop_detection=False) as (agent, clock):
        for what, number, text in steps:
            clock.advance(seconds=1)
            if what == "start":
                agent.tool_started(f"c{number}", "Bash", {"command": text})
            elif what == "end":
                agent.tool_finished(f"c{number}", result=text, is_error=text == "boom")
            elif what == "turn":
                agent.user_turn()
            else:
                agent.call("todo", {"start": ("1", "2")[number]})
        work = agent.grounding
        counted = sum(tally.calls for tally in work.values())
        begun = {event.data["call_id"] for event in agent.board.events() if event.kind == "tool.started"}
        assert counted >= len(begun)
        row = agent.board.store.agent("s1", "main")
        assert row is not None
        running = _store(agent).read(lambda tx: tx.tool_calls.open(row.number))
        assert sum(tally.running for tally in work.values()) >= len(running)


@pytest.mark.parametrize(
    "options",
    [
        {"grades": "believe"},
        {"loop_detection": {"warning_threshold": 0}},
        {"staleness": {"bounces": -1}},
        {"previews": -1},
        {"checks": {"./prove": "magic"}},
    ],
)
def test_an_option_that_cannot_be_is_named_at_once(options: Any) -> None:
    with Board.open("memory:") as board, pytest.raises(ConfigInvalid):
        board.agent("main", session="s1", **options)


def test_the_async_agent_reports_in_order() -> None:
    async def work() -> int:
        async with aio.Board.open("memory:") as board:
            agent = board.agent("main", session="s1")
            await agent.call("todo", {"set": ["Paint"]})
            assert (await agent.tool_started("c1", "Bash", {"command": "make"})).level == "ok"
            await agent.tool_updated("c1", "half")
            await agent.tool_finished("c1", result="ok")
            await agent.tool_failed("c2", "refused")
            await agent.output("hello")
            await agent.compacted()
            await agent.finished("bye")
            assert (await agent.work_on("1")).calls == 1
            return len(await agent.grounding)

    assert asyncio.run(work()) == 1


def test_a_mistyped_option_of_an_agent_is_answered_with_the_nearest_one() -> None:
    mistyped: Any = {"gradez": "tell"}
    with Board.open("memory:") as board, pytest.raises(TypeError, match="did you mean `grades`"):
        board.agent("main", session="s1", **mistyped)


def test_an_unknown_outcome_is_refused_and_recorded_nowhere() -> None:
    outcome: Any = "succeeded"
    with at_work() as (agent, _):
        with pytest.raises(UnknownName) as caught:
            agent.finished("done", outcome=outcome)
        assert caught.value.data["known"] == "completed, failed, cancelled"
        assert told(agent.board, "agent.finished") == []
