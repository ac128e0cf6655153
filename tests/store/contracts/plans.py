"""What every store has to keep of plans and questions, as tests; used as `StoreContract` is."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from punchlist.agent import Agent
from punchlist.board import Board
from punchlist.errors import AlreadyAnswered, PlanDecided, PlanWithoutSteps
from punchlist.store import Store
from punchlist.testing import FakeClock
from tests.store.contracts.checks import in_threads, raises

PROJECT = "/projects/contract"


class WaitingContract:
    """The tests. Each makes its own store and closes it."""

    def make_store(self) -> Store:
        """A new, empty store."""
        raise NotImplementedError

    @contextmanager
    def board(self) -> Generator[tuple[Board, FakeClock]]:
        clock = FakeClock()
        with Board(self.make_store(), clock=clock) as board:
            yield board, clock

    def test_every_revision_of_a_plan_is_kept(self) -> None:
        with self.board() as (board, clock):
            agent = _agent(board)
            for number in range(1, 6):
                plan = agent.propose_plan(f"plan {number}", timeout=60)
                clock.advance(1)
                assert (plan.revision, agent.plan) == (number, plan)
            assert [plan.state.value for plan in agent.plans] == [*["superseded"] * 4, "proposed"]
            assert [plan.text for plan in agent.plans] == [f"plan {number}" for number in range(1, 6)]

    def test_a_plan_is_found_by_its_id_and_listed_while_it_waits(self) -> None:
        with self.board() as (board, _):
            plan = _agent(board).propose_plan("one")
            other = board.agent("main", session="s2", project="/projects/other").propose_plan("two")
            found = board.store.read(lambda tx: tx.plans.find(plan.id))
            assert found is not None
            assert (found.session, found.agent, found.project, found.plan) == ("s1", "main", PROJECT, plan)
            assert board.store.read(lambda tx: tx.plans.find("nothing")) is None
            assert {row.plan for row in board.plans()} == {plan, other}
            assert [row.plan for row in board.store.read(lambda tx: tx.plans.latest(PROJECT))] == [plan]

    def test_of_many_decisions_one_is_made(self) -> None:
        with self.board() as (board, _):
            _agent(board).propose_plan("1. Paint")
            made: list[int] = []

            def decide(number: int) -> None:
                try:
                    _agent(board).approve_plan(1, by=f"p{number}")
                except PlanDecided:
                    return
                made.append(number)

            in_threads(8, decide)
            assert len(made) == 1
            assert [event.kind for event in board.events()].count("approval.approved") == 1

    def test_an_approval_that_cannot_make_its_list_changes_nothing(self) -> None:
        with self.board() as (board, _):
            agent = _agent(board)
            agent.enter_plan_mode()
            plan = agent.propose_plan("prose")
            before = list(board.events())
            raises(PlanWithoutSteps, lambda: agent.approve_plan(by="ada", todos=True))
            assert (agent.plan, agent.mode, list(board.events())) == (plan, "plan", before)

    def test_a_question_is_answered_once_and_told_once(self) -> None:
        with self.board() as (board, _):
            agent = _agent(board)
            agent.edit({"op": "append", "items": "Paint"}, by="ada")
            agent.ask("1", "Red?")
            answered: list[int] = []
            told: list[str] = []

            def answer(number: int) -> None:
                try:
                    _agent(board).answer("1", "no", by=f"p{number}")
                except AlreadyAnswered:
                    return
                answered.append(number)

            def take(_: int) -> None:
                block = _agent(board).take_answers()
                if block is not None:
                    told.append(block)

            in_threads(6, answer)
            in_threads(6, take)
            assert (len(answered), len(told)) == (1, 1)

    def test_what_is_pruned_takes_plans_and_questions_with_it(self) -> None:
        with self.board() as (board, clock):
            agent = _agent(board)
            agent.edit({"op": "append", "items": "Paint"}, by="ada")
            agent.ask("1", "Red?")
            agent.propose_plan("one")
            clock.advance(1)
            assert board.prune(clock()) == 1
            assert board.store.read(lambda tx: (list(tx.plans.find_proposed()), list(tx.questions.open()))) == ([], [])


def _agent(board: Board) -> Agent:
    return board.agent("main", session="s1", project=PROJECT)
