"""Stories of items that look done: a person is offered to close them, and nothing is closed without a yes."""

import pytest
from msgspec.structs import replace

from punchlist.core.commands import Done, Target
from punchlist.core.grounding.offers import find_offer
from punchlist.core.overview import Offer
from punchlist.core.todo import Evidence, Status
from punchlist.presence.roster import load_roster
from punchlist.store import Transaction
from punchlist.terminal.now import now_lines
from punchlist.terminal.spans import Display, plain_text
from punchlist.views.now import view_now
from tests.board.work import Session


def offered(session: Session) -> Offer | None:
    """Return the offer that the screens show."""
    (row,) = load_roster(session.board, present=()).agents
    return row.offer


@pytest.fixture
def session() -> Session:
    opened = Session()
    opened.agent.user_turn()
    opened.write("> Fix the parser", "Write the docs")
    return opened


def test_an_item_looks_done_when_the_turn_ends_after_a_green_check_of_its_files(session: Session) -> None:
    session.edit("src/parser.py").run("pytest -q", "12 passed in 0.1s")
    assert offered(session) is None  # never in mid-work
    session.agent.about_to_stop(background=0)
    session.agent.user_turn()
    assert offered(session) == Offer("p1", "1", "Fix the parser", "pytest", "pytest -q")
    assert session.agent.todos.items[0].status is Status.IN_PROGRESS  # nothing is closed without a yes
    roster = load_roster(session.board, present=())
    assert "“Fix the parser” looks done: pytest passed" in plain_text(now_lines(roster, Display()))
    assert view_now(roster).agents[0].offer == offered(session)


def test_an_item_looks_done_when_its_agent_turns_to_other_files_while_another_item_is_open(session: Session) -> None:
    session.edit("src/parser.py").run()
    session.edit("docs/conf.py")
    assert offered(session) is not None
    session.edit("src/parser.py")  # it was not done after all
    assert offered(session) is None


def test_with_no_other_item_open_other_files_belong_to_the_same_item() -> None:
    alone = Session()
    alone.write("> Fix the parser")
    alone.edit("src/parser.py").run().edit("docs/conf.py")
    assert offered(alone) is None


@pytest.mark.parametrize("case", ["red", "no check", "build", "another folder", "changed since", "a part", "written"])
def test_nothing_is_offered_that_no_green_test_covers(session: Session, case: str) -> None:
    session.edit("src/parser.py")
    if case == "red":
        session.fail()
    elif case == "build":
        session.run("mypy src", "Success: no issues found in 3 source files")
    elif case == "another folder":
        session.run("cd docs && pytest -q")
    elif case == "changed since":
        session.run().edit("src/parser.py")
    elif case == "a part":
        session.run("pytest -q -k lexer", "2 passed, 9 deselected in 0.1s")
    elif case == "written":
        session.run().write("> Fix the parser", "Write the docs", "Ship")
    session.agent.user_turn()
    assert offered(session) is None


def test_a_list_that_was_sent_again_as_it_was_says_that_the_item_is_not_done(session: Session) -> None:
    session.edit("src/parser.py").run().write("> Fix the parser", "Write the docs")
    session.agent.user_turn()
    assert offered(session) is None


def test_the_yes_of_a_person_completes_it_with_that_evidence(session: Session) -> None:
    session.edit("src/parser.py").run()
    session.agent.user_turn()
    offer = offered(session)
    assert offer is not None
    session.agent.edit(Done(Target(item=offer.item, by="id"), (Evidence(offer.proof),)), by="ada", person=True)
    item = session.agent.todos.items[0]
    assert (item.status, item.grade, item.evidence[0].text) == (Status.COMPLETED, "confirmed", "pytest -q")
    (match,) = session.entries["Fix the parser"].evidence
    assert match.holds
    assert offered(session) is None


def test_the_agent_does_not_hear_of_it(session: Session) -> None:
    session.edit("src/parser.py").run()
    session.agent.about_to_stop(background=0)
    said = session.agent.assistant_turn()
    session.agent.user_turn()
    said += session.agent.assistant_turn()
    assert offered(session) is not None
    assert not [one for one in said if "looks done" in one.text]


def test_an_agent_that_is_only_watched_is_offered_nothing(session: Session) -> None:
    session.edit("src/parser.py").run()
    session.agent.user_turn()

    def look(tx: Transaction, copy_of: str) -> Offer | None:
        agent = tx.agent("s", "main")
        assert agent is not None
        activity = replace(tx.overviews.load_activity(agent.number), copy_of=copy_of)
        return find_offer(tx.completions.load_record("s"), agent.number, activity, "1")

    assert session.board.store.read(lambda tx: look(tx, "")) is not None
    assert session.board.store.read(lambda tx: look(tx, "run.jsonl")) is None
