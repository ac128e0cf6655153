"""The profile `classic`: the moments at which each original speaks."""

import pytest

from punchlist import Board
from punchlist.dialects import REGISTRY, dialects_of
from punchlist.guidance.rules import SCHEDULES
from tests.dialects.boards import write
from tests.guidance.talk import example, kinds, rows, spoken, talk, turns

SILENT = ("nexo", "codex", "hermes")


@pytest.mark.requirement("claude-code.reminder-rhythm")
def test_claude_code_is_reminded_after_seven_turns_and_then_every_three() -> None:
    with talk() as agent:
        write(agent, "> Paint", "Clean")
        assert spoken(turns(agent, 16)) == [7, 10, 13, 16]


@pytest.mark.requirement("claude-code.reminder-rhythm")
def test_the_message_that_used_the_tool_is_counted_as_in_the_original() -> None:
    with talk() as agent:
        turns(agent, 3)
        write(agent, "> Paint")
        assert agent.assistant_turn(tools_used=["TodoWrite"]) == []
        assert spoken(turns(agent, 6)) == [6]


@pytest.mark.requirement("claude-code.reminder-rhythm")
def test_it_does_not_matter_whether_the_call_comes_before_or_after_its_turn() -> None:
    with talk() as before, talk() as after:
        for _ in range(2):
            write(before, "> Paint")
            before.assistant_turn(tools_used=["TodoWrite"])
            after.assistant_turn(tools_used=["TodoWrite"])
            write(after, "> Paint")
            assert spoken(turns(before, 5)) == spoken(turns(after, 5)) == []
        assert spoken(turns(before, 1)) == spoken(turns(after, 1)) == [1]


@pytest.mark.requirement("claude-code.reminder-rhythm")
def test_a_list_that_was_never_written_is_counted_from_the_start() -> None:
    with talk() as agent:
        assert spoken(turns(agent, 10)) == [7, 10]


@pytest.mark.requirement("claude-code.reminder-list")
def test_the_reminder_has_the_numbered_list() -> None:
    with talk() as agent:
        write(agent, "x Look", "> Paint", "Clean")
        (injection,) = turns(agent, 7)[-1]
        assert rows(injection) == ["1. [completed] Look", "2. [in_progress] Paint", "3. [pending] Clean"]
        assert (injection.kind, injection.place, injection.once) == ("reminder", "tail", True)


@pytest.mark.requirement("claude-code.reminder-empty")
def test_an_empty_list_is_mentioned_in_the_same_rhythm() -> None:
    with talk() as agent:
        (injection,) = turns(agent, 7)[-1]
        assert rows(injection) == []
        assert "empty" in injection.text


@pytest.mark.requirement("claude-code.list-changed")
def test_claude_code_is_told_that_the_list_changed_and_shown_it() -> None:
    with talk() as agent:
        write(agent, "> Paint")
        agent.edit([{"op": "append", "items": ["Clean"]}], by="ada")
        (injection,) = agent.assistant_turn()
        assert (injection.kind, rows(injection)) == ("changed", ["1. [in_progress] Paint", "2. [pending] Clean"])
        assert agent.assistant_turn() == []


def test_ten_and_ten_is_a_variant_by_name() -> None:
    with talk(guidance={"rhythm": "claude-code-10"}) as agent:
        write(agent, "> Paint")
        assert spoken(turns(agent, 30)) == [10, 20, 30]


def test_the_two_numbers_can_be_set() -> None:
    with talk(guidance={"remind_after": 4, "remind_again": 2}) as agent:
        write(agent, "> Paint")
        assert spoken(turns(agent, 8)) == [4, 6, 8]


@pytest.mark.requirement("gencode.reminders")
def test_gencode_gets_a_hint_first_and_a_reminder_after_ten_turns() -> None:
    with talk("gencode") as agent:
        said = turns(agent, 20)
        assert spoken(said) == [1, 10, 20]
        assert [kinds(one) for one in said if one] == [["hint"], ["reminder"], ["reminder"]]


@pytest.mark.requirement("gencode.reminders")
def test_gencode_gets_no_hint_where_the_tool_was_used() -> None:
    with talk("gencode") as agent:
        example(agent)
        assert spoken(turns(agent, 10)) == [10]


def test_learn_claude_code_is_reminded_after_three_rounds_in_front_of_the_results() -> None:
    with talk("gencode", guidance={"rhythm": "learn-claude-code"}) as agent:
        example(agent)
        said = turns(agent, 5)
        assert spoken(said) == [3, 4, 5]
        assert [one[0].place for one in said if one] == ["before_results"] * 3
        assert agent.assistant_turn() == []  # no tools, no results to stand in front of
        agent.assistant_turn(tools_used=["TodoWrite"])
        assert spoken(turns(agent, 3)) == [3]


@pytest.mark.requirement("qwen.active-todos")
def test_qwen_is_shown_what_is_unfinished_every_third_tool_turn() -> None:
    with talk("qwen") as agent:
        example(agent)
        said = turns(agent, 7)
        assert spoken(said) == [3, 6]
        assert all("[completed]" not in one[0].text for one in said if one)
        assert spoken(turns(agent, 9, ())) == []  # turns without tools do not count
        agent.user_turn()
        assert spoken(turns(agent, 3)) == [3]


@pytest.mark.requirement("qwen.active-todos")
def test_qwen_never_reads_more_than_800_characters() -> None:
    with talk("qwen") as agent:
        todos = [{"id": str(at), "content": f"{at} " + "wörd " * 90, "status": "pending"} for at in range(60)]
        assert not agent.call("todo_write", {"todos": todos}).is_error
        (injection,) = turns(agent, 3)[-1]
        assert len(injection.text) <= 800
        assert rows(injection)[-1].startswith("… and ")


@pytest.mark.requirement("qwen.active-todos")
def test_qwen_hears_nothing_when_all_is_finished() -> None:
    with talk("qwen") as agent:
        agent.call("todo_write", {"todos": [{"id": "1", "content": "Paint", "status": "completed"}]})
        assert spoken(turns(agent, 9)) == []


@pytest.mark.requirement("nexo.no-reminders", "codex.no-reminders", "hermes.no-reminders")
@pytest.mark.parametrize("dialect", SILENT)
def test_nexo_codex_and_hermes_hear_nothing(dialect: str) -> None:
    with talk(dialect) as agent:
        example(agent)
        assert spoken(turns(agent, 60, ("Edit", "Bash"))) == []
        assert agent.about_to_stop("Done.") is None


@pytest.mark.requirement("roo.reminders", "goose.reminders", "copilot.list-in-prompt")
@pytest.mark.parametrize("dialect", ["roo", "goose", "copilot"])
def test_roo_goose_and_copilot_are_shown_the_list_every_turn(dialect: str) -> None:
    with talk(dialect) as agent:
        assert bool(agent.assistant_turn()) is (dialect != "copilot")  # an empty list is worth a word to two of them
        example(agent)
        said = turns(agent, 4)
        assert spoken(said) == [1, 2, 3, 4]
        assert len(rows(said[0][0])) == len(agent.todos.items)


@pytest.mark.requirement("crush.reminders")
def test_crush_hears_of_an_empty_list_once_a_prompt_and_only_while_it_is_empty() -> None:
    with talk("crush") as agent:
        assert [kinds(one) for one in turns(agent, 3)] == [["hint"], [], []]
        agent.user_turn()
        assert spoken(turns(agent, 3)) == [1]
        example(agent)
        agent.user_turn()
        assert spoken(turns(agent, 3)) == []


@pytest.mark.parametrize("dialect", sorted(set(dialects_of("todos")) - set(SCHEDULES)))
def test_where_the_original_says_nothing_nothing_is_said(dialect: str) -> None:
    with talk(dialect) as agent:
        example(agent)
        assert spoken(turns(agent, 40, ("Edit",))) == []
        assert agent.about_to_stop() is None


def test_every_rhythm_is_of_a_dialect_or_a_known_variant() -> None:
    assert set(SCHEDULES) - set(REGISTRY) == {"none", "claude-code-10", "learn-claude-code"}


@pytest.mark.requirement("oh-my-pi.failed-write-reminder")
def test_oh_my_pi_carries_the_error_of_a_failed_write_into_the_next_turn() -> None:
    with talk("oh-my-pi") as agent:
        example(agent)
        reply = agent.call("todo_write", {"ops": [{"op": "start", "task": "zz"}]})
        assert reply.is_error
        (injection,) = agent.assistant_turn(tools_used=["todo_write"])
        assert (injection.kind, injection.role) == ("failed", "developer")
        assert 'Task "zz" not found' in injection.text
        assert injection.for_user.startswith("Todo update failed: ")
        assert agent.assistant_turn() == []


@pytest.mark.requirement("oh-my-pi.failed-write-reminder")
def test_a_failure_that_was_put_right_at_once_is_not_mentioned() -> None:
    with talk("oh-my-pi") as agent:
        agent.call("todo_write", {"ops": [{"op": "start", "task": "zz"}]})
        example(agent)
        assert agent.assistant_turn(tools_used=["todo_write", "todo_write"]) == []


@pytest.mark.requirement("oh-my-pi.user-edit-notes")
def test_oh_my_pi_is_told_of_a_persons_edit_and_more_firmly_of_a_removal() -> None:
    with talk("oh-my-pi") as agent:
        example(agent)
        first = agent.todos.items[0]
        agent.edit([{"op": "append", "items": ["One more"]}], by="ada")
        (edited,) = agent.assistant_turn()
        agent.edit([{"op": "remove", "item": first.id}], by="ada")
        (removed,) = agent.assistant_turn()
        agent.edit([{"op": "remove"}], by="ada")
        (cleared,) = agent.assistant_turn()
        assert kinds([edited, removed, cleared]) == ["changed"] * 3
        assert ["Do not add" in one.text for one in (edited, removed, cleared)] == [False, True, True]
        assert rows(cleared) == []
        assert len({one.text.split("\n")[1] for one in (edited, removed, cleared)}) == 3


def test_a_list_changed_by_another_handle_of_the_same_agent_is_no_news() -> None:
    with Board.open("memory:") as board:
        one = board.agent("main", session="s", dialect="claude-code", profile="classic")
        other = board.agent("main", session="s")
        write(one, "> Paint")
        other.call("todo", {"add": ["Clean"]})
        assert one.assistant_turn() == []


def test_a_batch_that_was_applied_in_part_is_told_as_such() -> None:
    with talk("oh-my-pi", "classic") as agent:
        agent.call("todo_write", {"ops": [{"op": "init", "list": [{"phase": "Repair", "items": ["Read", "Fix"]}]}]})
        ops = [{"op": "done", "task": "Read"}, {"op": "done", "task": "Sing"}]
        assert agent.call("todo_write", {"ops": ops}).is_error
        (told,) = agent.assistant_turn()
        assert "failed in part. Send only what failed again; the rest was applied:" in told.text
        assert "completed Read" in told.text
        assert "changed nothing" not in told.text
