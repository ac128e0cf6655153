"""An agent that waits on a person is not pushed past that person: nothing starts by itself, and the guard is silent."""

from collections.abc import Generator
from datetime import UTC, datetime, timedelta

import pytest

from punchlist import Agent, Board
from punchlist.core.events import Draft
from punchlist.core.todo import Status
from punchlist.testing import FakeClock
from tests.dialects.calls import REAL
from tests.guidance.talk import example

LAST_WORDS = ("I wait.", "Paused before staging.", "The question is on the board.", "Done.", "")
START = datetime(2026, 11, 2, 9, tzinfo=UTC)
STEPS = ["Plan it", "Apply to staging", "Apply to production"]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


@pytest.fixture
def board(clock: FakeClock) -> Generator[Board]:
    with Board.open("memory:", clock=clock) as opened:
        yield opened


def work(board: Board, dialect: str = "punchlist", profile: str = "quiet") -> Agent:
    return board.agent("main", session="s1", dialect=dialect, profile=profile)


def gated(board: Board) -> Agent:
    agent = work(board)
    agent.call("todo", {"set": STEPS})
    agent.call("todo", {"done": "1"})
    return agent


def statuses(agent: Agent) -> list[str]:
    return [item.status.value for item in agent.todos.items]


@pytest.mark.parametrize(
    "call",
    [
        {"ask": [{"id": "2", "text": "It destroys 2 databases. Intended?"}]},
        {"block": [{"id": "2", "text": "Waiting for the user's approval"}]},
        {"block": {"2": "DBA must confirm"}},
        {"block": {"2": "Waiting on Anna"}},
        {"block": {"2": "legal must review"}},
        {"block": {"2": "the manager has to agree"}},
        {"block": {"2": "needs credentials"}},
    ],
)
def test_waiting_on_a_person_moves_no_focus_and_starts_nothing(board: Board, call: dict[str, object]) -> None:
    agent = gated(board)
    reply = agent.call("todo", call)
    assert statuses(agent) == ["completed", "blocked", "pending"]
    assert "Waiting for the user's answer on 2; 3 stays pending." in reply.text
    assert "Now 3" not in reply.text


def test_what_is_done_before_a_question_starts_nothing_after_it(board: Board) -> None:
    agent = work(board)
    agent.call("todo", {"set": STEPS})
    agent.call("todo", {"ask": {"2": "Intended?"}})
    reply = agent.call("todo", {"done": "1"})
    assert statuses(agent) == ["completed", "blocked", "pending"]
    assert "Waiting for the user's answer on 2; 3 stays pending." in reply.text


def test_the_model_may_start_an_independent_item_itself(board: Board) -> None:
    agent = gated(board)
    agent.call("todo", {"ask": {"2": "Intended?"}})
    assert "Now 3: Apply to production." in agent.call("todo", {"start": "3"}).text


def test_the_answer_takes_the_item_up_again(board: Board) -> None:
    agent = gated(board)
    agent.call("todo", {"ask": {"2": "Intended?"}})
    agent.answer("2", "yes", by="ada")
    assert statuses(agent) == ["completed", "in_progress", "pending"]


def test_a_block_on_a_thing_still_moves_on(board: Board) -> None:
    agent = gated(board)
    assert "Now 3" in agent.call("todo", {"block": {"2": "the mirror is down"}}).text


def test_a_list_that_leaves_out_an_item_that_waits_on_a_person_keeps_it(board: Board) -> None:
    agent = gated(board)
    agent.call("todo", {"ask": {"2": "It destroys 2 databases. Intended?"}})
    agent.call("todo", {"set": ["Read the docs"]})
    agent.call("todo", {"done": "4"})
    assert [item.content for item in agent.todos.open_items] == ["Apply to staging"]
    assert agent.about_to_stop("The docs are read; staging still waits.") is None
    agent.answer("2", "no", by="ada")


def test_a_foreign_list_keeps_an_item_that_waits_on_a_person_too(board: Board) -> None:
    agent = work(board, "claude-code")

    def write(*texts: str) -> None:
        todos = [{"content": text, "status": "pending", "activeForm": text} for text in texts]
        agent.call("TodoWrite", {"todos": todos})

    write("Apply to staging", "Apply to production")
    agent.ask("1", "It destroys 2 databases. Intended?")
    write("Read the docs")
    assert agent.about_to_stop("Staging still waits.") is None
    agent.answer("1", "no", by="ada")


def test_the_guard_is_silent_while_a_task_waits_on_a_person(board: Board) -> None:
    agent = work(board)
    worker = board.agent("main", session="s1", dialect="punchlist-tasks")
    worker.call("task", {"do": "add", "text": "Apply to staging"})
    worker.call("task", {"do": "claim", "id": "1"})
    worker.call("task", {"do": "block", "id": "1", "text": "It destroys 2 databases. Intended?"})
    agent.call("todo", {"set": ["Apply to production"]})
    assert agent.about_to_stop("Paused before staging.") is None


def test_the_guard_is_silent_while_a_task_of_claude_code_waits_on_a_person(board: Board) -> None:
    agent = work(board, "claude-tasks")
    for step in STEPS:
        agent.call("TaskCreate", {"subject": step, "description": step})
    agent.call("TaskUpdate", {"taskId": "2", "status": "in_progress"})
    board.tasks("session:s1").wait("2")
    assert agent.about_to_stop("Paused before staging.") is None


@pytest.mark.parametrize("profile", ["quiet", "classic", "off"])
@pytest.mark.parametrize("dialect", sorted(REAL))
def test_the_guard_is_silent_while_a_question_is_open_in_every_dialect(
    board: Board, dialect: str, profile: str
) -> None:
    agent = work(board, dialect, profile)
    example(agent)
    todos = board.agent("main", session="s1").todos
    before = {item.id for item in todos.items if item.status is Status.IN_PROGRESS}
    item = next((item for item in todos.items if item.is_open), None)
    if item is None:  # a dialect of durable tasks has no items that could ask
        agent.propose_plan("1. Apply it")
    else:
        agent.ask(item.id, "Intended?")
        started = {one.id for one in agent.todos.items if one.status is Status.IN_PROGRESS}
        assert started == before - {item.id}
    assert [agent.about_to_stop(words) for words in LAST_WORDS] == [None] * len(LAST_WORDS)


@pytest.mark.parametrize("dialect", sorted(REAL))
def test_after_a_compaction_the_model_still_reads_what_it_waits_for(board: Board, dialect: str) -> None:
    gated(board).call("todo", {"ask": {"2": "It destroys 2 databases. Intended?"}})
    block = work(board, dialect).compaction_block()
    assert block is not None
    assert "It destroys 2 databases. Intended?" in block


@pytest.mark.parametrize("profile", ["quiet", "classic"])
def test_the_guard_is_silent_while_a_plan_or_a_permission_is_open(board: Board, profile: str) -> None:
    agent = work(board, profile=profile)
    agent.call("todo", {"set": STEPS})
    agent.propose_plan("1. Apply it")
    assert agent.about_to_stop("Paused.") is None
    agent.approve_plan(by="ada", person=True)
    agent.take_answers()
    waiting = Draft("agent.state", {"state": "waiting", "waits_for": "permission to use Bash", "host": "claude-code"})

    def note(draft: Draft) -> None:
        def write(tx: object) -> None:
            row = tx.agent("s1", "main")  # type: ignore[attr-defined]
            tx.add_events(row, [draft], by="claude-code", at=board.now())  # type: ignore[attr-defined]

        board.store.transact(write)

    note(waiting)
    assert agent.about_to_stop("Paused.") is None
    note(Draft("agent.state", {"state": "busy", "waits_for": "", "host": "claude-code"}))
    assert agent.about_to_stop("Paused.") is not None


def test_a_question_counts_for_seven_days(board: Board, clock: FakeClock) -> None:
    agent = gated(board)
    agent.call("todo", {"ask": {"2": "Intended?"}})
    clock.set(clock() + timedelta(days=6, hours=23))
    assert agent.about_to_stop("I wait.") is None
    clock.set(clock() + timedelta(hours=1))
    assert agent.about_to_stop("I wait.") is not None


def test_a_question_about_a_finished_item_counts_no_more(board: Board) -> None:
    agent = gated(board)
    agent.call("todo", {"ask": {"2": "Intended?"}})
    agent.call("todo", {"done": "2"})
    assert agent.about_to_stop("I wait.") is not None
