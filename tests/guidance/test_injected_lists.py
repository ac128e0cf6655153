"""Lists as a model is shown them: numbered as its tool numbers them, in its words, with who changed what."""

import inspect

import pytest

from punchlist import Board
from punchlist.dialects import REGISTRY, dialect
from punchlist.guidance import words
from punchlist.guidance.ledger import sum_costs
from tests.dialects.boards import write
from tests.guidance.talk import kinds, rows, spoken, talk, turns


def test_a_dialect_without_ids_numbers_by_place() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint", "Sweep")
        agent.edit([{"op": "append", "items": ["Other work", "Last work"]}], by="ada")
        agent.edit([{"op": "remove", "item": "1"}, {"op": "remove", "item": "2"}], by="ada")
        agent.edit([{"op": "start", "item": "3"}], by="ada")
        (told,) = agent.assistant_turn()
        assert rows(told) == ["1. [in_progress] Other work", "2. [pending] Last work"]


def test_a_dialect_with_ids_uses_them() -> None:
    with talk("cursor", "quiet") as agent:
        todos = [{"id": name, "content": name.title(), "status": "pending"} for name in ("paint", "sweep")]
        assert not agent.call("todo_write", {"todos": todos, "merge": False}).is_error
        stop = agent.about_to_stop("Done.")
        assert stop is not None
        assert rows(stop) == ["paint. [pending] Paint", "sweep. [pending] Sweep"]
    with talk("punchlist", "quiet") as agent:
        agent.call("todo", {"set": ["Paint", "Sweep", "Lock up"], "drop": "1"})
        stop = agent.about_to_stop("Done.")
        assert stop is not None
        assert [row.split(".")[0] for row in rows(stop)] == ["2", "3"]


@pytest.mark.parametrize(
    ("name", "statuses"),
    [
        ("oh-my-pi", ["completed", "in_progress", "pending", "abandoned"]),
        ("openhands", ["done", "in_progress", "todo"]),
        ("kimi", ["done", "in_progress", "pending"]),
        ("copilot", ["completed", "in-progress", "not-started"]),
        ("goose", ["x", ">", " "]),
        ("roo", ["x", "-", " "]),
    ],
)
def test_statuses_are_in_the_words_of_the_dialect(name: str, statuses: list[str]) -> None:
    with Board.open("memory:") as board:
        own = board.agent("main", session="s")
        own.call("todo", {"set": ["Look", "Paint", "Sweep", "Burn"], "done": "1", "start": "2"})
        own.call("todo", {"drop": "4"})
        one = dialect(name)
        shown = words.show_list(words.list_rows(own.todos, one, one.policy)).split("\n")[2:-1]
        assert [row.split("[")[1].split("]")[0] for row in shown] == statuses


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_word_for_a_status_is_one_of_the_dialect(name: str) -> None:
    assert set(dialect(name).words.values()) <= set(dialect(name).statuses)


def test_a_change_says_who_changed_what() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Run tests", "Paint", "Sweep", "Old")
        agent.edit([{"op": "done", "item": "1"}], by="ada", person=True)
        agent.edit([{"op": "append", "items": ["Clean"]}, {"op": "reword", "item": "2", "text": "Paint it"}], by="bob")
        agent.edit([{"op": "remove", "item": "4"}], by="bob")
        (told,) = agent.assistant_turn()
        assert told.kind == "changed"
        assert told.text.split("\n")[1] == (
            "Punchlist, the todo layer of this session: the todo list was changed: ada marked 'Run tests' done; "
            "bob renamed 'Paint it' (it was 'Paint'); bob added 'Clean'; bob removed 'Old'. "
            "Do not add removed items again unless you are asked to. The list now:"
        )


def test_changes_and_open_work_are_in_the_words_of_the_dialect_too() -> None:
    with talk("oh-my-pi") as agent:
        agent.call("todo_write", {"ops": [{"op": "init", "list": [{"phase": "A", "items": ["Paint", "Sweep"]}]}]})
        agent.edit([{"op": "drop", "item": "Sweep"}], by="ada")
        (told,) = agent.assistant_turn()
        assert "ada marked 'Sweep' abandoned." in told.text
    with Board.open("memory:") as board:
        board.agent("main", session="s").call("todo", {"set": ["Paint", "Sweep"]})
        block = board.agent("main", session="s", dialect="copilot").compaction_block() or ""
        assert block.split("\n")[2:-1] == ["- [>] Paint (in-progress)", "- [ ] Sweep (not-started)"]


def test_an_answer_and_the_change_that_it_makes_are_one_text() -> None:
    with talk("punchlist", "quiet") as agent:
        agent.call("todo", {"set": ["Deploy", "Announce it"]})
        agent.ask("1", "Which region?")
        agent.answer("1", "eu-west", by="ada", person=True)
        (told,) = agent.assistant_turn()
        assert (told.kind, rows(told)) == (
            "answer",
            [
                "You asked about 'Deploy': Which region?",
                "ada answered: eu-west",
                "The todo list was changed: ada marked 'Deploy' in progress. The list now:",
                "1. [in_progress] Deploy",
                "2. [pending] Announce it",
            ],
        )
        assert agent.assistant_turn() == []


def test_a_blocked_item_says_on_whom_it_waits() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Deploy", "Sweep")
        agent.edit([{"op": "block", "item": "1", "reason": "which region?", "on": "ada"}], by="ada")
        (told,) = agent.assistant_turn()
        assert rows(told)[0] == "1. [in_progress] Deploy (blocked on ada: which region?)"


def test_our_own_dialect_reminds_in_classic() -> None:
    with talk("punchlist", "classic") as agent:
        agent.call("todo", {"set": ["Paint"]})
        said = turns(agent, 20)
        assert spoken(said) == [10, 20]
        assert kinds(said[9]) == ["reminder"]
        assert rows(said[9][0]) == ["1. [in_progress] Paint"]
        assert agent.about_to_stop("Done.") is not None


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_the_form_while_in_progress_is_explained_with_an_example(name: str) -> None:
    for tool in dialect(name).tools:
        fields = str(tool.input_schema)
        has_form = "activeForm" in fields or "active_form" in fields
        if has_form and tool.name != "TaskUpdate":  # its form is that of TaskCreate
            assert "(Running tests)" in tool.description
    if name == "punchlist":
        assert "doing (Running tests)" in dialect(name).tools[0].description


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (words.remind_unused("`todo`", 1, ()), "last used 1 turn ago"),
        (words.remind_unused("`todo`", 2, ()), "last used 2 turns ago"),
    ],
)
def test_numbers_agree_with_their_nouns(text: str, said: str) -> None:
    assert said in text


def test_one_and_several_items_have_their_own_sentences() -> None:
    with talk(profile="quiet", guidance={"drift_after": 1}) as agent:
        write(agent, "> Paint")
        (one,) = agent.assistant_turn(tools_used=["Edit"])
        assert "1 change was made since the list was last updated, and this item is still in progress." in one.text
        assert "If it is done, or the work has changed, update it with `TodoWrite`; otherwise continue." in one.text
        write(agent, "> Paint", "> Sweep")
        (two,) = agent.assistant_turn(tools_used=["Edit", "Edit"])
        assert "2 changes were made since the list was last updated, and these items are still in progress." in two.text
        assert "update them with `TodoWrite`" in two.text


def test_an_instruction_stands_in_the_text_and_not_in_an_attribute() -> None:
    assert "note=" not in inspect.getsource(words)
    with talk(profile="quiet") as agent:
        write(agent, "> Paint")
        stop = agent.about_to_stop("Done.")
        assert stop is not None
        opening, said, *_ = stop.text.split("\n")
        assert opening == "<punchlist>"
        assert "1 item is still open. Continue with it." in said


def test_the_ledger_counts_only_tools_that_we_offered() -> None:
    with talk(offered=False) as agent:
        agent.assistant_turn(tools_used=["TodoWrite", "Read"])
        (found,) = agent.board.costs()
        assert (found.cost.spent.others, found.cost.spent.descriptions.bytes) == (2, 0)
    with talk(plan_tools=True) as agent:
        agent.call("EnterPlanMode", {})
        agent.assistant_turn(tools_used=["EnterPlanMode"])
        (total,) = sum_costs(row.cost for row in agent.board.costs())
        assert (total.calls.arguments.count, total.spent.others) == (1, 0)
