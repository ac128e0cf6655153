"""What every store has to keep, as tests. A store's own test class inherits them and says how to make one.

class TestMyStore(StoreContract):
    def make_store(self) -> Store:
        return MyStore(…)
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from punchlist.agent import Agent
from punchlist.board import Board
from punchlist.core.events import Draft, Event
from punchlist.core.todo import ListState, TodoItem, TodoList
from punchlist.errors import RevisionConflict, SessionExists, SessionUnknown, StoreClosed
from punchlist.store import Store, Transaction, open_store
from punchlist.store.records import StoredCall
from punchlist.testing import FakeClock
from tests.store.contracts.checks import PATIENCE, in_threads, join, raises
from tests.store.contracts.histories import History

PROJECT = "/projects/contract"


class StoreContract:
    """The tests. `histories` is how many random ones are played; each test makes its own store and closes it."""

    histories = 200

    def make_store(self) -> Store:
        """A new, empty store."""
        raise NotImplementedError

    @contextmanager
    def board(self) -> Generator[tuple[Board, FakeClock]]:
        clock = FakeClock()
        with Board(self.make_store(), clock=clock) as board:
            yield board, clock

    # What is acknowledged is kept, whole.

    def test_what_was_acknowledged_can_be_read(self) -> None:
        with self.board() as (board, _):
            agent = _agent(board)
            for number in range(1, 6):
                agent.edit({"op": "append", "items": f"item {number}"}, by="ada")
                assert len(agent.todos.items) == agent.todos.revision == number
                assert [event.kind for event in board.events()][-1] == "list.edited"

    def test_an_exception_takes_back_everything_that_the_work_did(self) -> None:
        with self.board() as (board, clock):
            _agent(board).edit({"op": "append", "items": "kept"}, by="ada")
            before, todos = list(board.events()), _agent(board).todos

            def work(tx: Transaction) -> None:
                row = tx.agent("s1", "main")
                assert row is not None
                tx.save_list(row, ListState(_list_of("lost", revision=2)), unseen=3, at=clock())
                tx.add_events(row, [Draft("list.replaced", {"revision": 2})], by="main", at=clock())
                tx.save_call(row, "c1", StoredCall(b"f", b"r"), at=clock())
                tx.modes.save(row, "plan", {"because": "a test"}, at=clock())
                tx.add_agent("s2", "other", project=PROJECT, at=clock())
                raise ArithmeticError

            raises(ArithmeticError, lambda: board.store.transact(work))
            row = board.store.agent("s1", "main")
            assert row is not None
            assert (row.state.todos, row.unseen, row.mode) == (todos, 0, "execute")
            assert board.store.read(lambda tx: tx.modes.load_entry(row.number)) is None
            assert list(board.events()) == before
            assert board.store.agent("s2", "other") is None
            assert board.store.transact(lambda tx: tx.call(row, "c1")) is None
            assert _agent(board).edit({"op": "append", "items": "next"}, by="ada").revision == 2

    def test_works_in_many_threads_count_exactly(self) -> None:
        with self.board() as (board, clock):
            in_threads(8, lambda _: [board.store.transact(lambda tx: _count(tx, clock())) for _ in range(25)])
            row = board.store.agent("s1", "main")
            assert row is not None
            assert row.state.todos.revision == 200
            revisions = [event.data["revision"] for event in board.events() if event.kind == "list.replaced"]
            assert revisions == list(range(1, 201))

    def test_a_work_that_fails_disturbs_none_that_runs_beside_it(self) -> None:
        with self.board() as (board, clock):

            def fail(tx: Transaction) -> None:
                _count(tx, clock())
                raise ArithmeticError

            def thread(number: int) -> None:
                for _ in range(25):
                    if number % 2:
                        raises(ArithmeticError, lambda: board.store.transact(fail))
                    else:
                        board.store.transact(lambda tx: _count(tx, clock()))

            in_threads(6, thread)
            row = board.store.agent("s1", "main")
            assert row is not None
            assert row.state.todos.revision == 75
            assert board.store.list_at(row.number, 75) == row.state.todos

    def test_a_transaction_inside_another_is_refused(self) -> None:
        with self.board() as (board, clock):
            store = board.store
            raises(RuntimeError, lambda: store.transact(lambda _: store.transact(lambda tx: _count(tx, clock()))))
            assert store.transact(lambda tx: _count(tx, clock())) == 1

    # Events.

    def test_a_follower_sees_each_event_once_and_in_order_while_threads_write(self) -> None:
        with self.board() as (board, clock):
            seen: list[Event] = []

            def follow() -> None:
                for event in board.follow(timeout=PATIENCE):
                    seen.append(event)
                    if event.kind == "mode.changed":
                        return

            follower = threading.Thread(target=follow)
            follower.start()
            in_threads(4, lambda _: [board.store.transact(lambda tx: _count(tx, clock())) for _ in range(20)])
            _agent(board).enter_plan_mode()
            join(follower)
            assert [event.seq for event in seen] == sorted({event.seq for event in seen})
            assert seen == list(board.events())

    def test_pages_of_events_join_without_gap_or_overlap(self) -> None:
        with self.board() as (board, clock):
            for _ in range(30):
                board.store.transact(lambda tx: _count(tx, clock()))
            every = list(board.events())
            for limit in (1, 2, 7, len(every), len(every) + 1):
                paged: list[Event] = []
                while page := board.store.events_after(paged[-1].seq if paged else 0, limit):
                    assert len(page) <= limit
                    paged.extend(page)
                assert paged == every
            assert list(board.store.read(lambda tx: tx.last_events(5))) == every[-5:]
            assert board.store.last_seq() == every[-1].seq

    def test_the_data_of_an_event_comes_back_as_it_went_in(self) -> None:
        data: dict[str, Any] = {
            "text": "ünï 文 🚀 \u202e \\ \" '",
            "list": [1, 2.5, None, True, {"a": []}],
            "empty": {},
            "big": 2**53,
        }
        with self.board() as (board, clock):

            def work(tx: Transaction) -> None:
                row = tx.add_agent("s1", "main", project=PROJECT, at=clock())
                tx.add_events(row, [Draft("future.kind", data)], by="ada", at=clock())

            board.store.transact(work)
            (event,) = board.events()
            assert (event.kind, event.by, event.at) == ("future.kind", "ada", clock())
            assert (event.project, event.session, event.agent) == (PROJECT, "s1", "main")
            assert event.data == data

    # Calls, revisions, history.

    def test_the_same_call_again_gets_the_first_reply_and_is_applied_once(self) -> None:
        with self.board() as (board, _):
            agent = _agent(board)
            first = agent.call("todo", {"add": ["one"]}, call_id="c1")
            events = list(board.events())
            assert agent.call("todo", {"add": ["one"]}, call_id="c1") == first
            assert agent.call("todo", {"add": ["two"]}, call_id="c1").is_error
            assert list(board.events()) == events
            assert agent.todos.revision == 1

    def test_a_change_of_an_old_revision_is_refused(self) -> None:
        with self.board() as (board, _):
            agent = _agent(board)
            agent.edit({"op": "append", "items": "one"}, by="ada", revision=0)
            raises(RevisionConflict, lambda: agent.edit({"op": "append", "items": "two"}, by="bob", revision=0))
            assert agent.edit({"op": "append", "items": "two"}, by="bob", revision=1).revision == 2

    def test_of_many_changes_of_one_revision_one_is_accepted(self) -> None:
        with self.board() as (board, _):
            won: list[int] = []

            def change(number: int) -> None:
                try:
                    _agent(board).edit({"op": "append", "items": f"by {number}"}, by="ada", revision=0)
                    won.append(number)
                except RevisionConflict:
                    return

            in_threads(6, change)
            assert [item.content for item in _agent(board).todos.items] == [f"by {number}" for number in won]
            assert len(won) == 1

    def test_every_past_revision_is_what_was_written(self) -> None:
        with self.board() as (board, _):
            agent, written = _agent(board), [TodoList()]
            for number in range(130):
                if number % 3 or not written[-1].items:
                    written.append(agent.edit({"op": "append", "items": f"item {number}"}, by="ada"))
                else:
                    written.append(agent.edit({"op": "remove", "item": written[-1].items[0].id}, by="ada"))
            assert [agent.at(revision) for revision in range(len(written))] == written
            assert agent.at(len(written)) is None

    def test_the_last_change_of_an_author_skips_what_was_undone(self) -> None:
        with self.board() as (board, _):
            agent = _agent(board)
            for by in ("ada", "ada", "bob"):
                agent.edit({"op": "append", "items": f"by {by}"}, by=by)
            row = board.store.agent("s1", "main")
            assert row is not None
            assert board.store.transact(lambda tx: tx.history.last_change(row.number, "ada")) == 2
            agent.undo(by="ada")
            assert board.store.transact(lambda tx: tx.history.last_change(row.number, "ada")) == 1
            assert board.store.transact(lambda tx: tx.history.last_change(row.number, "nobody")) is None

    # Sessions.

    def test_a_copied_session_has_the_same_lists_and_goes_its_own_way(self) -> None:
        with self.board() as (board, _):
            agent = _agent(board)
            for number in range(50):
                agent.edit({"op": "append", "items": f"item {number}"}, by="ada")
            agent.spawn("explore", id="x").edit({"op": "append", "items": "look"}, by="ada")
            board.copy_session("s1", "s2")
            rows = {name: list(board.lists(session=name)) for name in ("s1", "s2")}
            assert [row.todos for row in rows["s1"]] == [row.todos for row in rows["s2"]]
            assert [row.agent for row in rows["s2"]] == ["main", "explore"]
            assert rows["s2"][1].parent == rows["s2"][0].number
            copy = _agent(board, session="s2")
            assert copy.at(50) == agent.todos
            assert copy.at(49) is None
            assert copy.edit({"op": "append", "items": "more"}, by="ada").revision == 51
            assert copy.at(51) == copy.todos
            assert agent.todos.revision == 50
            raises(SessionExists, lambda: board.copy_session("s1", "s2"))
            raises(SessionUnknown, lambda: board.copy_session("nowhere", "s3"))

    def test_a_moved_session_keeps_everything_under_its_new_name(self) -> None:
        with self.board() as (board, _):
            todos = _agent(board).edit({"op": "append", "items": "one"}, by="ada")
            board.move_session("s1", "s2")
            assert _agent(board, session="s2").todos == _agent(board, session="s2").at(1) == todos
            assert board.store.agent("s1", "main") is None
            assert {event.session for event in board.events()} == {"s2"}
            assert [row.id for row in board.sessions()] == ["s2"]

    def test_pruning_takes_old_sessions_whole_and_no_number_is_given_twice(self) -> None:
        with self.board() as (board, clock):
            for session in ("old", "older"):
                _agent(board, session=session).edit({"op": "append", "items": "one"}, by="ada")
            kept = clock.advance(3600)
            last, old = board.store.last_seq(), board.store.agent("older", "main")
            assert board.prune(kept) == 2
            assert board.prune(kept) == 0
            assert list(board.sessions()) == []
            assert board.store.last_seq() == last
            new = _agent(board, session="new")
            todos = new.edit({"op": "append", "items": "two"}, by="ada")
            assert new.at(1) == todos
            row = board.store.agent("new", "main")
            assert row is not None
            assert old is not None
            assert row.number > old.number
            fresh = [event for event in board.events() if event.seq > last]
            assert fresh[0].kind == "agent.joined"
            assert {event.session for event in fresh} == {"new"}
            assert _agent(board, session="new").undo(by="ada").items == ()

    def test_pruning_spares_a_session_of_which_one_agent_was_busy(self) -> None:
        with self.board() as (board, clock):
            for name in ("main", "helper"):
                _agent(board, name=name).edit({"op": "append", "items": "one"}, by="ada")
            since = clock.advance(30)
            _agent(board, name="helper").edit({"op": "append", "items": "two"}, by="ada")
            assert board.prune(since) == 0
            assert board.prune(since + timedelta(seconds=1)) == 2

    # Lists.

    def test_lists_come_latest_first_and_no_more_than_asked_for(self) -> None:
        with self.board() as (board, clock):
            for number in range(9):
                _agent(board, session=f"s{number}").edit({"op": "append", "items": "one"}, by="ada")
                clock.advance(61)
            _agent(board, session="s4").edit({"op": "append", "items": "two"}, by="ada")
            _agent(board, session="s7").edit({"op": "remove"}, by="ada")
            expected = ["s4", "s8", "s6", "s5", "s3", "s2", "s1", "s0"]
            assert [row.session for row in board.store.lists(limit=20)] == expected
            assert [row.session for row in board.store.lists(project=PROJECT, limit=3)] == expected[:3]
            assert list(board.store.lists(project="/elsewhere")) == []
            assert [row.agent for row in board.store.lists(session="s7")] == ["main"]

    def test_sessions_come_latest_first_with_their_agents_counted(self) -> None:
        with self.board() as (board, clock):
            for number in range(4):
                _agent(board, session=f"s{number}").edit({"op": "append", "items": "one"}, by="ada")
                clock.advance(61)
            _agent(board, session="s1", name="second").edit({"op": "append", "items": "two"}, by="ada")
            rows = board.store.read(lambda tx: tx.sessions(limit=3))
            assert [(row.id, row.agents) for row in rows] == [("s1", 2), ("s3", 1), ("s2", 1)]
            assert rows[0].updated_at == clock()
            assert list(board.store.read(lambda tx: tx.sessions(project="/elsewhere"))) == []

    # Waiting and the end.

    def test_a_waiting_thread_wakes_when_another_writes(self) -> None:
        with self.board() as (board, clock):
            woken: list[bool] = []
            waiter = threading.Thread(target=lambda: woken.append(board.store.wait(0, PATIENCE)))
            waiter.start()
            board.store.transact(lambda tx: _count(tx, clock()))
            join(waiter)
            assert woken == [True]
            assert board.store.wait(0, None)
            assert not board.store.wait(board.store.last_seq(), 0)

    def test_closing_ends_those_who_wait_and_refuses_those_who_call(self) -> None:
        with self.board() as (board, clock):
            board.store.transact(lambda tx: _count(tx, clock()))
            seen: list[Event] = []
            followers = [threading.Thread(target=lambda: seen.extend(board.follow())) for _ in range(3)]
            for follower in followers:
                follower.start()
            board.close()
            for follower in followers:
                join(follower)
            board.close()
            raises(StoreClosed, lambda: board.store.agent("s1", "main"))
            raises(StoreClosed, lambda: board.store.transact(lambda tx: _count(tx, clock())))
            assert list(board.follow()) == []

    # Everything at once.

    def test_random_histories_end_alike_in_memory_and_here(self) -> None:
        first = int(os.environ.get("PUNCHLIST_SEED", "0"))
        clocks = FakeClock(), FakeClock()
        with Board(open_store("memory:"), clock=clocks[0]) as known, Board(self.make_store(), clock=clocks[1]) as here:
            seqs = 0, 0
            for seed in range(first, first + self.histories):
                said = f"replay with PUNCHLIST_SEED={seed}"
                history = History(seed)
                outcomes = [history.play(board, clock) for board, clock in ((known, clocks[0]), (here, clocks[1]))]
                assert outcomes[0] == outcomes[1], said
                states = [_everything(board, seq) for board, seq in ((known, seqs[0]), (here, seqs[1]))]
                assert states[0] == states[1], said
                seqs = known.store.last_seq(), here.store.last_seq()


def _agent(board: Board, *, session: str = "s1", name: str = "main") -> Agent:
    return board.agent(name, session=session, project=PROJECT)


def _list_of(*contents: str, revision: int) -> TodoList:
    items = tuple(TodoItem(id=str(number), content=text) for number, text in enumerate(contents, 1))
    return TodoList(items=items, revision=revision, next_id=len(items) + 1)


def _count(tx: Transaction, at: datetime) -> int:
    """Reads the revision of a list and writes the next one: works that were not alone would lose counts."""
    row = tx.agent("s1", "main") or tx.add_agent("s1", "main", project=PROJECT, at=at)
    todos = row.state.todos
    after = TodoList(items=todos.items, revision=todos.revision + 1)
    tx.save_list(row, ListState(after), unseen=0, at=at)
    tx.add_events(row, [Draft("list.replaced", {"revision": after.revision, "next_id": 1})], by="main", at=at)
    return after.revision


def _everything(board: Board, after: int) -> Any:
    """What a board says of itself, but for the numbers that a store gives out."""
    lists = [
        (row.session, row.agent, row.label, row.project, row.mode, row.updated_at, row.todos)
        for session in board.sessions(limit=50)
        for row in board.lists(session=session.id)
    ]
    events = [(event.at, event.kind, event.by, event.session, event.agent, event.data) for event in board.events(after)]
    numbers = [row.number for row in board.lists(limit=20)]
    past = [board.store.list_at(number, revision) for number in numbers for revision in range(4)]
    sessions = [row._replace() for row in board.sessions(limit=50)]
    return lists, events, past, sessions
