"""Tests of what every store keeps of tool calls and of agents' memories; for the same class as `StoreContract`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta

from msgspec.structs import replace

from punchlist.board import Board
from punchlist.core.events import Draft
from punchlist.core.grounding.tool_call import Moment, ToolCall
from punchlist.detect.loops import LoopCall
from punchlist.store import AgentRow, Store, Transaction
from punchlist.store.runtime import NEW, AgentMemory, CallRow
from punchlist.testing import FakeClock
from tests.store.contracts.checks import in_threads, raises

PROJECT = "/projects/contract"


class WorkContract:
    """The tests."""

    def make_store(self) -> Store:
        """A new, empty store."""
        raise NotImplementedError

    @contextmanager
    def watched(self) -> Generator[tuple[Board, FakeClock, AgentRow]]:
        clock = FakeClock()
        with Board(self.make_store(), clock=clock) as board:
            row = board.store.transact(lambda tx: tx.add_agent("s1", "main", project=PROJECT, at=clock()))
            yield board, clock, row

    def test_a_memory_comes_back_as_it_was_saved(self) -> None:
        with self.watched() as (board, _, row):
            store, number = board.store, row.number
            assert store.read(lambda tx: tx.memory.load(number)) == NEW
            for made in (1, 2):
                store.transact(lambda tx, made=made: tx.memory.save(number, AgentMemory(watched=True, ids=made)))
            assert store.read(lambda tx: tx.memory.load(number)) == AgentMemory(watched=True, ids=2)

    def test_a_memory_that_is_rolled_back_is_not_saved(self) -> None:
        with self.watched() as (board, _, row):
            board.store.transact(lambda tx: tx.memory.save(row.number, AgentMemory(ids=7)))

            def fail(tx: Transaction) -> None:
                tx.memory.save(row.number, AgentMemory(ids=9))
                raise ArithmeticError

            raises(ArithmeticError, lambda: board.store.transact(fail))
            assert board.store.transact(lambda tx: tx.memory.load(row.number)).ids == 7

    def test_threads_that_count_in_a_memory_lose_nothing(self) -> None:
        with self.watched() as (board, _, row):

            def add(tx: Transaction) -> None:
                memory = tx.memory.load(row.number)
                tx.memory.save(row.number, replace(memory, ids=memory.ids + 1))

            def count(_: int) -> None:
                for _ in range(10):
                    board.store.transact(add)

            in_threads(5, count)
            assert board.store.read(lambda tx: tx.memory.load(row.number)).ids == 50

    def test_a_call_is_found_by_its_id_and_by_when_it_ended(self) -> None:
        with self.watched() as (board, clock, row):
            store, number, at = board.store, row.number, Moment(clock(), 1)
            first = CallRow(ToolCall(id="c1", name="Bash", item="p1/1", started=at), 1)
            later = CallRow(ToolCall(id="c2", name="Read", started=Moment(clock(), 2)), 2, drifts=True)
            early = CallRow(ToolCall(id="c3", name="Read", finished=Moment(clock(), 3), outcome="ok"), 3)

            def save(tx: Transaction) -> None:
                for one in (first, later, early):
                    tx.tool_calls.save(number, one)

            store.transact(save)
            assert store.read(lambda tx: tx.tool_calls.find(number, "c2")) == later
            assert store.read(lambda tx: tx.tool_calls.find(number, "c4")) is None
            window = store.read(lambda tx: tx.tool_calls.in_window(number, 2, 2))
            assert window == [(number, first.call), (number, later.call)]
            assert store.read(lambda tx: tx.tool_calls.in_window(number, 3, 9)) == window
            assert [call.id for call in store.read(lambda tx: tx.tool_calls.since(number, 2))] == ["c3"]
            assert store.read(lambda tx: tx.tool_calls.ended_since(row.session, 2)) == [early.call]
            assert [call.id for call in store.read(lambda tx: tx.tool_calls.of_agent(number, 2))] == ["c2", "c3"]
            ended = replace(first, call=replace(first.call, outcome="failed", finished=at))
            assert [one.id for one in store.read(lambda tx: tx.tool_calls.open(number))] == ["c1", "c2"]
            store.transact(lambda tx: tx.tool_calls.save(number, ended))
            assert store.read(lambda tx: tx.tool_calls.find(number, "c1")) == ended
            assert [one.id for one in store.read(lambda tx: tx.tool_calls.open(number))] == ["c2"]

    def test_the_oldest_open_call_without_an_id_of_its_own_is_found_by_its_tool(self) -> None:
        with self.watched() as (board, clock, row):
            at = Moment(clock(), 1)

            def save(tx: Transaction) -> None:
                for seq, call_id in enumerate(("##1", "c1", "#1", "#2"), 1):
                    call = ToolCall(id=call_id, name="Bash", started=at)
                    tx.tool_calls.save(row.number, CallRow(call, seq))

            board.store.transact(save)
            found = board.store.read(lambda tx: tx.tool_calls.find_oldest_open(row.number, "Bash"))
            assert found is not None
            assert found.id == "#1"
            assert board.store.read(lambda tx: tx.tool_calls.find_oldest_open(row.number, "Read")) is None

    def test_the_loop_window_holds_the_latest_recorded_calls(self) -> None:
        with self.watched() as (board, _, row):

            def save(tx: Transaction) -> None:
                for seq in range(1, 7):
                    recorded = None if seq == 4 else LoopCall(f"c{seq}", "read", "read:x")
                    loop_seq = None if recorded is None else seq
                    call = ToolCall(id=f"c{seq}", name="read")
                    tx.tool_calls.save(row.number, CallRow(call, seq, False, recorded, loop_seq))

            board.store.transact(save)
            window = board.store.read(lambda tx: tx.tool_calls.loop_window(row.number, 1, 3))
            assert [call.id for call in window] == ["c3", "c5", "c6"]
            assert len(board.store.read(lambda tx: tx.tool_calls.loop_window(row.number, 0, 30))) == 5

    def test_agents_are_found_by_project_and_their_log_by_session(self) -> None:
        with self.watched() as (board, clock, row):
            store = board.store

            def more(tx: Transaction) -> None:
                other = tx.add_agent("s2", "other", project=f"{PROJECT}/2", at=clock())
                child = tx.add_agent("s1", "child", project=PROJECT, at=clock(), parent=row.number)
                for one in (row, other, child):
                    tx.memory.save(one.number, AgentMemory(ids=7))
                    tx.add_events(one, [Draft("agent.output", {"characters": 1})], by=one.name, at=clock())
                tx.subagents.save_started_for(child.number, "p1/1")
                assert tx.subagents.of_agent(row.number) == [child.number]
                assert (tx.subagents.started_for(child.number), tx.subagents.started_for(row.number)) == ("p1/1", "")
                assert tx.subagents.parent_of(child.number) == "main"
                assert tx.subagents.parent_of(row.number) is None
                of_session = tx.subagents.of_session(row.session)
                assert [(one.number, one.parent) for one in of_session] == [(child.number, "main")]

            store.transact(more)
            assert [one.agent for one in store.read(lambda tx: tx.memory.all())] == ["main", "other", "child"]
            found = store.read(lambda tx: tx.memory.all(project=f"{PROJECT}/2"))
            assert [(one.agent, one.memory.ids) for one in found] == [("other", 7)]
            assert [one.agent for one in store.read(lambda tx: tx.memory.all(session="s1"))] == ["main", "child"]
            assert [one.agent for one in store.read(lambda tx: tx.log.page("s1", None, 0))] == ["main", "child"]
            assert [one.agent for one in store.read(lambda tx: tx.log.page(None, PROJECT, 0))] == ["main", "child"]
            (last,) = store.read(lambda tx: tx.log.page("s1", None, 0, limit=1))
            assert [one.agent for one in store.read(lambda tx: tx.log.page("s1", None, last.seq))] == ["child"]

    def test_a_mark_stays_where_somebody_put_it(self) -> None:
        with self.watched() as (board, _, _row):
            store = board.store
            assert store.read(lambda tx: tx.log.mark("brief ada")) == 0
            for seq in (7, 9):
                store.transact(lambda tx, seq=seq: tx.log.save_mark("brief ada", seq))
            assert store.read(lambda tx: tx.log.mark("brief ada")) == 9
            assert store.read(lambda tx: tx.log.mark("brief bob")) == 0

    def test_the_calls_of_a_pruned_agent_are_deleted(self) -> None:
        with self.watched() as (board, clock, row):
            call = ToolCall(id="c1", name="Bash", started=Moment(clock(), 1))
            board.store.transact(lambda tx: tx.tool_calls.save(row.number, CallRow(call, 1)))
            assert board.prune(clock() + timedelta(days=1)) == 1
            assert board.store.transact(lambda tx: tx.tool_calls.of_agent(row.number)) == []
