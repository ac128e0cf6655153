"""The stop guard: few tries, none without progress, none while waiting."""

import pytest

from punchlist import Agent
from punchlist.core.todo import Status, TodoItem, TodoList
from tests.dialects.boards import write
from tests.guidance.talk import rows, talk

OH_MY_PI = {"ops": [{"op": "init", "list": [{"phase": "A", "items": ["One", "Two", "Three", "Four", "Five"]}]}]}


def _done(agent: Agent, task: str) -> None:
    assert not agent.call("todo_write", {"ops": [{"op": "done", "task": task}]}).is_error


def test_quiet_asks_once() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "x Look", "> Paint", "Clean")
        injection = agent.about_to_stop(last_text="All done.")
        assert injection is not None
        assert (injection.kind, rows(injection)) == ("stop", ["2. [in_progress] Paint", "3. [pending] Clean"])
        write(agent, "x Look", "x Paint", "> Clean")
        assert agent.about_to_stop(last_text="All done.") is None


def test_two_tries_when_set_and_only_with_progress_in_between() -> None:
    with talk(profile="quiet", guidance={"stop_tries": 2}) as agent:
        write(agent, "> Paint", "Clean", "Leave")
        assert agent.about_to_stop() is not None
        assert agent.about_to_stop() is None
        write(agent, "x Paint", "> Clean", "Leave")
        assert agent.about_to_stop() is not None
        write(agent, "x Paint", "x Clean", "> Leave")
        assert agent.about_to_stop() is None


@pytest.mark.requirement("oh-my-pi.stop-reminder")
def test_oh_my_pi_has_three_tries_in_classic() -> None:
    with talk("oh-my-pi") as agent:
        assert not agent.call("todo_write", OH_MY_PI).is_error
        for number, task in enumerate(("One", "Two", "Three"), 1):
            injection = agent.about_to_stop("Done.")
            assert injection is not None
            assert injection.role == "developer"
            assert f"({number} of 3)" in injection.text
            assert rows(injection)[-1].endswith("Five (A)")
            assert agent.about_to_stop("Done.") is None  # an acknowledgement is no progress
            _done(agent, task)
        assert agent.about_to_stop("Done.") is None


@pytest.mark.requirement("oh-my-pi.stop-reminder")
def test_the_persons_next_message_begins_anew() -> None:
    with talk("oh-my-pi") as agent:
        agent.call("todo_write", OH_MY_PI)
        assert agent.about_to_stop() is not None
        assert agent.about_to_stop() is None
        agent.user_turn()
        assert agent.about_to_stop() is not None


def test_one_who_asked_the_person_may_stop() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint")
        assert agent.about_to_stop("Two colours are there.\nWhich one do you want?") is None
        assert agent.about_to_stop("Done.") is not None  # asking has not used the try up


def test_one_with_background_work_may_stop() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint")
        assert agent.about_to_stop("Waiting.", background=1) is None
        assert agent.about_to_stop("Done.") is not None


def test_plan_mode_is_left_alone() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint")
        agent.enter_plan_mode()
        assert agent.about_to_stop("Done.") is None
        agent.exit_plan_mode()
        assert agent.about_to_stop("Done.") is not None


def test_nothing_is_asked_when_nothing_is_open() -> None:
    with talk("punchlist", "quiet") as agent:
        assert agent.about_to_stop("Done.") is None
        agent.call("todo", {"set": ["Paint"]})
        agent.call("todo", {"done": "1"})
        assert agent.about_to_stop("Done.") is None


def test_nothing_is_asked_when_all_that_is_open_waits() -> None:
    with talk("punchlist", "quiet") as agent:
        agent.call("todo", {"set": ["Paint", "Clean"]})
        agent.call("todo", {"block": {"1": "no colour is left", "2": "after the paint"}})
        assert agent.about_to_stop("Done.") is None
        agent.call("todo", {"add": ["Sweep"]})
        assert agent.about_to_stop("Done.") is not None


def test_what_only_comes_after_something_blocked_waits_too() -> None:
    with talk("qwen", "quiet") as agent:
        todos = [
            {"id": "a", "content": "Paint", "status": "in_progress"},
            {"id": "b", "content": "Clean", "status": "pending", "blockedBy": ["a"]},
        ]
        assert not agent.call("todo_write", {"todos": todos}).is_error
        agent.edit([{"op": "block", "item": agent.todos.items[0].id, "reason": "no colour", "on": "ada"}], by="ada")
        agent.assistant_turn()
        assert agent.about_to_stop("Done.") is None
        agent.edit([{"op": "done", "item": agent.todos.items[0].id}], by="ada")
        assert agent.about_to_stop("Done.") is not None


@pytest.mark.parametrize("profile", ["quiet", "classic"])
def test_nothing_is_asked_where_the_tool_is_not_offered(profile: str) -> None:
    with talk("oh-my-pi", profile) as agent:
        agent.call("todo_write", OH_MY_PI)
        child = agent.board.agent("main", session="s1", dialect="oh-my-pi", profile=profile, offered=False)
        assert child.about_to_stop("Done.") is None
        assert agent.about_to_stop("Done.") is not None


def test_off_asks_nothing_whatever_is_set() -> None:
    with talk(profile="off", guidance={"stop_tries": 5}) as agent:
        write(agent, "> Paint")
        assert agent.about_to_stop("Done.") is None


@pytest.mark.parametrize("last_text", [None, 7, b"x", "\ud800"])
def test_last_words_of_any_kind_are_survived(last_text: object) -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint")
        assert agent.about_to_stop(last_text) is not None  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "last_text",
    ["…" * 3_000, "Done" + ".)" * 998, "([" * 900 + "])" * 900, "." + "*.*" * 660, ";" * 5_000, "Done.\n" * 900],
)
def test_long_punctuation_does_not_disarm_the_guard(last_text: str) -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint", "Clean")
        assert agent.about_to_stop(last_text) is not None


@pytest.mark.parametrize("last_text", ["?" * 5_000, "Shall I" + "?)" * 998, "Shall I?" + ".)" * 990])
def test_long_punctuation_can_end_a_question(last_text: str) -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint", "Clean")
        assert agent.about_to_stop(last_text) is None


def test_only_work_that_waits_for_nobody_is_asked_for() -> None:
    # A question or a block on a person silences the guard altogether: see test_human_gate.py.
    with talk("punchlist", "quiet") as agent:
        agent.call("todo", {"set": ["Paint", "Deploy", "Sweep"]})
        agent.call("todo", {"block": {"2": "the mirror is down"}})
        stop = agent.about_to_stop("Done.")
        assert stop is not None
        assert "2 items are still open. Continue with them." in stop.text
        assert rows(stop) == ["1. [in_progress] Paint", "3. [pending] Sweep"]


def test_a_plan_that_waits_for_a_decision_lets_the_model_stop() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint")
        agent.propose_plan("1. Paint it red")
        assert agent.about_to_stop("Here is my plan.") is None
        agent.reject_plan("Blue, please", by="ada", person=True)
        told = agent.about_to_stop("Here is my plan.")
        assert told is not None
        assert told.kind == "answer"
        assert agent.about_to_stop("Here is my plan.") is not None


@pytest.mark.parametrize("rewrite", [["x Paint"], []])
def test_leaving_an_open_item_out_of_the_list_does_not_get_past_the_guard(rewrite: list[str]) -> None:
    with talk(profile="quiet") as agent:
        agent.user_turn()
        write(agent, "x Paint", "> Sweep")
        write(agent, *rewrite)
        stop = agent.about_to_stop("All done!")
        assert stop is not None
        assert "1 open item was left out of the list. Put it back with `TodoWrite` and do it" in stop.text
        assert rows(stop) == ["- [left out] Sweep"]
        assert agent.about_to_stop("It is no longer wanted.") is None
        agent.user_turn()
        assert agent.about_to_stop("All done!") is None  # asked about once


def test_a_prompt_in_the_middle_of_the_work_does_not_accept_what_was_left_out() -> None:
    with talk(profile="quiet") as agent:
        agent.user_turn()
        write(agent, "x Paint", "> Sweep")
        write(agent, "x Paint")
        agent.user_turn("And one thing more")
        stop = agent.about_to_stop("All done!")
        assert stop is not None
        assert rows(stop) == ["- [left out] Sweep"]


def test_what_is_left_out_after_the_last_stop_that_is_held_is_accepted_with_it() -> None:
    with talk(profile="quiet") as agent:
        agent.user_turn()
        write(agent, "x Paint", "> Sweep", "Wash")
        assert agent.about_to_stop("All done!") is not None
        write(agent, "x Paint", "x Sweep")
        while agent.about_to_stop("All done!") is not None:
            pass
        agent.user_turn("Now another thing")
        assert agent.about_to_stop("All done!") is None


def test_an_item_that_a_person_took_off_the_list_is_not_asked_for() -> None:
    with talk(profile="quiet") as agent:
        agent.user_turn()
        write(agent, "x Paint", "> Sweep")
        agent.rewrite(TodoList(items=(TodoItem(id="1", content="Paint", status=Status.COMPLETED),)), by="ada")
        assert [item.content for item in agent.todos.omitted] == ["Sweep"]
        assert agent.about_to_stop("All done!") is None


def test_an_item_that_came_back_is_asked_for_by_its_row() -> None:
    with talk(profile="quiet") as agent:
        agent.user_turn()
        write(agent, "x Paint", "> Sweep")
        write(agent, "x Paint")
        write(agent, "x Paint", "> Sweep")
        stop = agent.about_to_stop("All done!")
        assert stop is not None
        assert rows(stop) == ["2. [in_progress] Sweep"]
