"""Facts that a reply cannot tell: somebody else's changes, and what Punchlist did to a call."""

import pytest

from punchlist import Board
from punchlist.dialects import dialects_of
from tests.dialects.boards import lines, write
from tests.guidance.talk import example, kinds, rows, talk


def test_a_persons_edit_is_told_once_in_quiet_too() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint")
        agent.edit([{"op": "append", "items": ["Clean"]}], by="ada")
        (injection,) = agent.assistant_turn()
        assert (injection.kind, rows(injection)) == ("changed", ["1. [in_progress] Paint", "2. [pending] Clean"])
        assert agent.assistant_turn() == []


def test_once_told_the_model_knows_the_list_and_may_drop_what_was_added() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint")
        agent.edit([{"op": "append", "items": ["Clean"]}], by="ada")
        write(agent, "> Paint")
        assert len(agent.todos.items) == 2  # it could not know
        agent.assistant_turn()
        write(agent, "> Paint")
        assert [item.content for item in agent.todos.omitted] == ["Clean"]


def test_a_list_too_long_to_be_shown_whole_does_not_count_as_known() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint")
        agent.edit([{"op": "append", "items": [f"Item {number} {'x' * 150}" for number in range(60)]}], by="ada")
        (injection,) = agent.assistant_turn()
        assert rows(injection)[-1].startswith("… and ")
        write(agent, "> Paint")
        assert len(agent.todos.items) == 61


def test_with_the_setting_off_nobody_is_told_and_nothing_is_lost() -> None:
    with talk(profile="quiet", guidance={"tell_changes": False}) as agent:
        write(agent, "> Paint")
        agent.edit([{"op": "append", "items": ["Clean"]}], by="ada")
        assert agent.assistant_turn() == []
        write(agent, "> Paint")
        assert len(agent.todos.items) == 2


def test_an_item_left_out_is_told_at_the_next_turn_and_can_be_sent_again() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint", "Clean")
        write(agent, "> Paint")
        (injection,) = agent.assistant_turn(tools_used=["TodoWrite"])
        assert injection.kind == "problems"
        assert "Clean" in rows(injection)[0]
        assert agent.assistant_turn() == []
        write(agent, "> Paint", "Clean")
        assert lines(agent.todos) == ["1 > Paint", "2   Clean"]


def test_characters_that_were_removed_are_told() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint \x1b[31mred\x1b[0m", "> Clean")
        (injection,) = agent.assistant_turn(tools_used=["TodoWrite"])
        assert injection.kind == "problems"
        assert rows(injection)[0].startswith("Removed from the text")


def test_several_things_of_one_call_are_one_text() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint", "Clean")
        write(agent, "> Paint \x1b[31mred")
        (injection,) = agent.assistant_turn(tools_used=["TodoWrite"])
        assert len(rows(injection)) == 2


def test_our_own_tool_says_it_in_the_reply_and_nowhere_else() -> None:
    with talk("punchlist", "quiet") as agent:
        agent.call("todo", {"set": ["Paint", "Clean"]})
        agent.call("todo", {"set": ["Sweep \x1b[31m"]})
        assert agent.assistant_turn(tools_used=["todo"]) == []


@pytest.mark.parametrize("dialect", dialects_of("todos"))
@pytest.mark.parametrize("profile", ["quiet", "classic"])
def test_a_tool_that_is_not_offered_is_never_spoken_of(dialect: str, profile: str) -> None:
    with talk(dialect, profile) as agent:
        example(agent)
        denied = agent.board.agent("main", session="s1", dialect=dialect, profile=profile, offered=False)
        agent.edit([{"op": "append", "items": ["One more"]}], by="ada")
        for _ in range(40):
            assert denied.assistant_turn(tools_used=["Edit"]) == []
        assert denied.about_to_stop("Done.") is None
        denied.enter_plan_mode()
        assert denied.assistant_turn() == []


@pytest.mark.parametrize("dialect", dialects_of("todos"))
def test_off_says_nothing(dialect: str) -> None:
    with talk(dialect, "off") as agent:
        example(agent)
        agent.call(agent.tools[0].name, 7)
        agent.edit([{"op": "append", "items": ["One more"]}], by="ada")
        for _ in range(40):
            assert agent.assistant_turn(tools_used=["Edit"]) == []
        assert agent.about_to_stop("Done.") is None


@pytest.mark.parametrize("dialect", dialects_of("todos"))
def test_quiet_is_the_same_for_every_dialect(dialect: str) -> None:
    with talk(dialect, "quiet") as agent:
        assert agent.assistant_turn() == []
        example(agent)
        agent.edit([{"op": "append", "items": ["One more"]}], by="ada")
        assert kinds(agent.assistant_turn()) == ["changed"]


def test_what_happened_while_nobody_listened_is_not_told_later() -> None:
    with Board.open("memory:") as board:
        silent = board.agent("main", session="s", dialect="oh-my-pi", profile="off")
        silent.call("todo_write", {"ops": [{"op": "start", "task": "zz"}]})
        silent.assistant_turn(tools_used=["todo_write"])
        assert board.agent("main", session="s", dialect="oh-my-pi", profile="classic").assistant_turn() == []
