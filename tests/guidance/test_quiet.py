"""The profile `quiet`: only on evidence of drift, seldom, and never twice for the same state."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punchlist import Agent
from punchlist.guidance.ledger import fingerprint
from punchlist.guidance.words import Injection
from tests.dialects.boards import write, written
from tests.guidance.talk import do, kinds, rows, spoken, talk, turns
from tests.sizes import size

CHANGING = ("Edit",)


def test_drift_is_twelve_changes_since_the_last_write_with_an_item_in_progress() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "x Look", "> Paint", "Clean")
        said = turns(agent, 20, CHANGING)
        assert spoken(said) == [12]
        assert (kinds(said[11]), rows(said[11][0])) == (["reminder"], ["2. [in_progress] Paint"])


@pytest.mark.parametrize("lines", [(), ("Paint", "Clean"), ("x Paint", "Clean")])
def test_without_an_item_in_progress_there_is_no_drift(lines: tuple[str, ...]) -> None:
    with talk(profile="quiet") as agent:
        write(agent, *lines)
        assert spoken(turns(agent, 60, CHANGING)) == []


def test_an_empty_list_is_never_a_reason() -> None:
    with talk(profile="quiet") as agent:
        assert spoken(turns(agent, 60, CHANGING)) == []
        assert agent.about_to_stop("Done.") is None


def test_reading_is_no_drift() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint")
        assert spoken(turns(agent, 60, ("Read", "Grep", "WebFetch"))) == []


def test_a_write_starts_the_count_anew() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint")
        assert spoken(turns(agent, 11, CHANGING)) == []
        write(agent, "> Paint", "Clean")
        assert spoken(turns(agent, 11, CHANGING)) == []
        assert spoken(turns(agent, 1, CHANGING)) == [1]


def test_calls_that_are_reported_one_by_one_are_what_counts() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint")
        do(agent, 11)
        do(agent, 30, is_error=True)
        do(agent, 30, "Read")
        assert agent.assistant_turn(tools_used=["Edit"] * 50) == []
        do(agent, 1)
        assert kinds(agent.assistant_turn()) == ["reminder"]


def test_a_shell_command_that_only_reads_is_no_change() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint")
        for number in range(40):
            agent.tool_started(f"r{number}", "Bash", {"command": "git status | head"})
            agent.tool_finished(f"r{number}")
        assert agent.assistant_turn() == []
        for number in range(12):
            agent.tool_started(f"w{number}", "Bash", {"command": "make install"})
            agent.tool_finished(f"w{number}")
        assert kinds(agent.assistant_turn()) == ["reminder"]


def test_what_was_changed_before_a_write_is_on_the_list() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint")
        do(agent, 11)
        write(agent, "x Paint", "> Clean")
        do(agent, 11)
        assert agent.assistant_turn() == []


def test_a_persons_edit_alone_is_no_reason_to_remind_again() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint")
        assert spoken(turns(agent, 12, CHANGING)) == [12]
        agent.edit([{"op": "append", "items": ["Clean"]}], by="ada")
        assert kinds(agent.assistant_turn()) == ["changed"]
        assert spoken(turns(agent, 40, CHANGING)) == []


def test_the_same_state_is_not_mentioned_twice_even_when_it_comes_back() -> None:
    with talk(profile="quiet") as agent:
        for number, lines in enumerate((("> Paint",), ("> Paint", "Clean"), ("> Paint",))):
            agent.user_turn()
            write(agent, *lines)
            expected = [] if number == 2 else [12]
            assert [at for at, one in enumerate(turns(agent, 12, CHANGING), 1) if "reminder" in kinds(one)] == expected


def test_two_a_prompt_and_six_a_session_at_most() -> None:
    with talk(profile="quiet") as agent:
        counts: list[int] = []
        for prompt in range(6):
            agent.user_turn()
            count = 0
            for step in range(4):
                write(agent, f"> Step {prompt} {step}", "Leave")
                count += sum("reminder" in kinds(one) for one in turns(agent, 12, CHANGING))
            counts.append(count)
        assert counts == [2, 2, 2, 0, 0, 0]


def test_several_items_completed_at_once_are_asked_about_once() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint", "Clean", "Leave", "Rest")
        write(agent, "x Paint", "x Clean", "Leave", "Rest")
        assert agent.assistant_turn(tools_used=["TodoWrite"]) == []
        write(agent, "x Paint", "x Clean", "x Leave", "> Rest")
        assert agent.assistant_turn(tools_used=["TodoWrite"]) == []
        write(agent, "x Paint", "x Clean", "x Leave", "x Rest")
        write(agent, "> Mix", "Stir", "Wait")
        write(agent, "x Mix", "x Stir", "x Wait")
        assert kinds(agent.assistant_turn(tools_used=["TodoWrite"])) == ["verify"]
        assert agent.assistant_turn() == []


def test_plan_mode_hears_of_plan_mode_only_at_once_and_every_five_turns() -> None:
    with talk(profile="quiet") as agent:
        write(agent, "> Paint")
        turns(agent, 11, CHANGING)
        agent.enter_plan_mode()
        said = turns(agent, 11, CHANGING)
        assert spoken(said) == [1, 6, 11]
        assert {kind for one in said for kind in kinds(one)} == {"plan_mode"}
        agent.exit_plan_mode()
        assert kinds(agent.assistant_turn()) == ["reminder"]  # the drift is still there
        agent.enter_plan_mode()
        assert spoken(turns(agent, 5)) == [1]


STEPS = st.one_of(
    st.tuples(st.just("write"), st.lists(st.sampled_from(["> ", "x ", "  "]), max_size=4)),
    st.tuples(st.just("turn"), st.lists(st.sampled_from(["Edit", "Read", "Bash", "TodoWrite", "Task"]), max_size=3)),
    st.tuples(st.just("work"), st.integers(1, 14)),
    st.tuples(st.just("person"), st.none()),
    st.tuples(st.just("plan"), st.booleans()),
    st.tuples(st.just("stop"), st.sampled_from(["Done.", "Which one?", "どちらを使いますか。"])),
)


class _Watch:
    """Holds every promise of the profile against a conversation as it goes."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.reminded: list[int] = []
        self.in_prompt = 0
        self.stops = 0

    def person(self) -> None:
        self.agent.user_turn()
        self.in_prompt = self.stops = 0

    def turn(self, tools: list[str]) -> None:
        said = self.agent.assistant_turn(tools_used=tools)
        planning = self.agent.mode == "plan"
        assert set(kinds(said)) <= ({"plan_mode"} if planning else {"reminder", "verify", "problems"})
        for injection in said:
            if injection.kind == "reminder":
                assert self.agent.todos.focus is not None
                self.reminded.append(fingerprint(self.agent.todos))
            self.in_prompt += injection.kind in ("reminder", "verify")
        assert self.in_prompt <= 2
        assert len(set(self.reminded)) == len(self.reminded) <= 6

    def stop(self, last_text: str) -> None:
        said: Injection | None = self.agent.about_to_stop(last_text)
        if said is not None:
            self.stops += 1
            assert self.agent.todos.open_items or self.agent.todos.omitted
            assert self.agent.mode == "execute"
            assert last_text == "Done."
        assert self.stops <= 1


@settings(max_examples=size(40, 20_000))
@given(st.lists(STEPS, max_size=60))
def test_no_conversation_hears_more_than_was_promised(steps: list[tuple[str, Any]]) -> None:
    with talk(profile="quiet") as agent:
        watch = _Watch(agent)
        for number, (step, data) in enumerate(steps):
            match step:
                case "write":
                    lines = [f"{mark}Item {place}" for place, mark in enumerate(data)]
                    agent.call("TodoWrite", written(*lines))
                case "turn":
                    watch.turn(data)
                case "work":
                    for call in range(data):
                        agent.tool_started(f"{number}-{call}", "Write")
                        agent.tool_finished(f"{number}-{call}")
                    watch.turn([])
                case "person":
                    watch.person()
                case "plan":
                    agent.enter_plan_mode() if data else agent.exit_plan_mode()
                case _:
                    watch.stop(data)


def test_a_long_conversation_without_a_word_from_the_person_hears_little() -> None:
    with talk(profile="quiet") as agent:
        watch = _Watch(agent)
        for number in range(size(600, 20_000)):
            if number % 40 == 0:
                write(agent, f"> Step {number}", "Leave")
            watch.turn(["Edit"])
        assert len(watch.reminded) == 2
