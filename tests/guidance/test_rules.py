"""Settings: each part on its own, checked when the handle is made, and the budget over all of them."""

from typing import Any

import pytest
from msgspec.structs import fields
from tools.check_docs import ROOT

from punchlist.errors import ConfigInvalid
from punchlist.guidance.rules import GuidanceSettings, rules
from punchlist.guidance.words import KINDS
from tests.dialects.boards import write
from tests.guidance.talk import kinds, spoken, talk, turns

PAGE = (ROOT / "docs" / "guidance.md").read_text(encoding="utf-8")
COMPATIBILITY = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "given",
    [
        "quiet",
        ["rhythm"],
        {"rhythms": "none"},
        {"rhythm": "waltz"},
        {"rhythm": ["none"]},
        {"remind_after": -1},
        {"remind_after": True},
        {"remind_after": "7"},
        {"stop_tries": 1.5},
        {"tell_changes": 1},
        {"turn_characters": 10**10},
    ],
)
def test_what_cannot_be_is_refused_when_the_handle_is_made(given: Any) -> None:
    with pytest.raises(ConfigInvalid), talk(guidance=given):
        pass


def test_every_setting_is_explained_in_the_docs() -> None:
    names = [field.name for field in fields(GuidanceSettings)]
    lines = [*COMPATIBILITY.splitlines(), *PAGE.splitlines()]
    table = [line.split("`")[1] for line in lines if line.startswith("| `") and line.count("|") == 5]
    assert [name for name in table if name in names] == names


def test_every_kind_of_text_is_in_the_docs() -> None:
    listed = [line.split("`")[1] for line in PAGE.splitlines() if line.startswith("| `") and line.count("|") == 3]
    assert listed == list(KINDS)


@pytest.mark.parametrize("field", [field.name for field in fields(GuidanceSettings)])
def test_none_leaves_a_part_to_the_profile(field: str) -> None:
    for profile in ("quiet", "classic", "off"):
        assert rules("qwen", profile, GuidanceSettings(**{field: None})) == rules("qwen", profile, GuidanceSettings())


def test_a_profile_can_borrow_from_the_other() -> None:
    with talk(profile="quiet", guidance={"rhythm": "claude-code", "reminders_per_prompt": 100}) as agent:
        write(agent, "> Paint")
        assert spoken(turns(agent, 10)) == [7, 10]
    with talk(profile="classic", guidance={"rhythm": "none", "drift_after": 3}) as agent:
        write(agent, "> Paint")
        assert spoken(turns(agent, 10, ("Edit",))) == [3]


@pytest.mark.parametrize(
    ("part", "kind"), [("drift_after", "reminder"), ("verify_after", "verify"), ("plan_notice_every", "plan_mode")]
)
def test_nought_switches_a_part_off(part: str, kind: str) -> None:
    with talk(profile="quiet", guidance={part: 0}) as agent:
        write(agent, "> Paint", "Clean", "Sweep", "Leave")
        said = turns(agent, 20, ("Edit",))
        write(agent, "x Paint", "x Clean", "x Sweep", "> Leave")
        said += turns(agent, 1)
        agent.enter_plan_mode()
        said += turns(agent, 10)
        found = {one for each in said for one in kinds(each)}
        assert found == {"reminder", "verify", "plan_mode"} - {kind}


def test_the_layer_of_reminders_can_be_switched_off_by_itself() -> None:
    with talk(layers=("tool_description",)) as agent:
        write(agent, "> Paint")
        agent.edit([{"op": "append", "items": ["Clean"]}], by="ada")
        said = turns(agent, 20)
        assert spoken(said) == [1]
        assert kinds(said[0]) == ["changed"]


def test_a_childs_guidance_is_its_parents() -> None:
    with talk(guidance={"remind_after": 2, "remind_again": 2}) as agent:
        child = agent.spawn("explore")
        assert spoken(turns(child, 4)) == [2, 4]


# The budget.


def test_beyond_the_ceiling_of_a_session_nothing_is_said_and_it_is_counted() -> None:
    with talk("roo", guidance={"session_injections": 3}) as agent:
        assert spoken(turns(agent, 10)) == [1, 2, 3]
        (cost,) = agent.board.costs()
        assert (cost.cost.spent.withheld, cost.cost.spent.turns) == (7, 10)


def test_characters_are_counted_in_a_turn_and_in_a_session() -> None:
    with talk("roo") as agent:
        (injection,) = agent.assistant_turn()
    length = len(injection.text)
    with talk("roo", guidance={"turn_characters": length - 1}) as agent:
        assert spoken(turns(agent, 5)) == []
    with talk("roo", guidance={"turn_characters": length}) as agent:
        assert spoken(turns(agent, 3)) == [1, 2, 3]
    with talk("roo", guidance={"session_characters": 2 * length + 1}) as agent:
        assert spoken(turns(agent, 5)) == [1, 2]


def test_a_turn_and_its_stop_share_one_budget() -> None:
    with talk("oh-my-pi", guidance={"turn_injections": 1}) as agent:
        agent.call("todo_write", {"ops": [{"op": "init", "list": [{"phase": "A", "items": ["One", "Two"]}]}]})
        agent.edit([{"op": "append", "items": ["Three"]}], by="ada")
        assert kinds(agent.assistant_turn()) == ["changed"]
        assert agent.about_to_stop("Done.") is None
        agent.user_turn()
        assert agent.assistant_turn() == []
        assert agent.about_to_stop("Done.") is not None


def test_what_the_budget_kept_back_is_not_said_later() -> None:
    with talk(profile="quiet", guidance={"turn_injections": 0}) as agent:
        write(agent, "> Paint")
        agent.edit([{"op": "append", "items": ["Clean"]}], by="ada")
        assert agent.assistant_turn() == []
        write(agent, "> Paint")
        assert len(agent.todos.items) == 2  # it was not shown the list, so it drops nothing from it
        again = agent.board.agent("main", session="s1", dialect="claude-code")
        assert again.assistant_turn() == []
