"""The layers about the tool: separate, switchable, short, and never changed by the list."""

import itertools
from typing import Any

import pytest

from punchlist.dialects import REGISTRY, dialect
from punchlist.errors import ConfigInvalid
from punchlist.guidance.layers import NAMES, PLACES, PROFILES
from tests.dialects.boards import memory_board

PRESSING = ("important", "always", "must", "never", "very", "critical", "unacceptable", "do not mention", "secret")


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_a_profile_has_its_layers(profile: str) -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", profile=profile)
        assert tuple(layer.name for layer in agent.layers) == PROFILES[profile]


@pytest.mark.parametrize("chosen", [*itertools.combinations(NAMES, 1), *itertools.combinations(NAMES, 2), NAMES, ()])
def test_each_layer_is_switched_on_its_own(chosen: tuple[str, ...]) -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", layers=chosen)
        assert tuple(layer.name for layer in agent.layers) == chosen


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_layer_names_the_tool_of_its_dialect_and_has_a_price(name: str) -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect=name, layers=NAMES)
        for layer in agent.layers:
            assert layer.bytes == len(layer.text.encode()) > 0
            assert layer.place == PLACES[layer.name]
            assert "{" not in layer.text or layer.name == "tool_description"
            writers = dialect(name).writers or [tool.name for tool in agent.tools]
            named = all(f"`{tool}`" in layer.text for tool in writers)
            assert named or layer.name in ("tool_description", "tool_result")
        described = next(layer for layer in agent.layers if layer.name == "tool_description")
        assert described.text == "\n\n".join(tool.description for tool in agent.tools)


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_the_layers_are_short(name: str) -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect=name, layers=NAMES)
        assert sum(layer.bytes for layer in agent.layers if layer.name != "tool_description") < 1_000


def test_no_layer_presses_or_hides() -> None:
    with memory_board() as board:
        for layer in board.agent("main", session="s", layers=NAMES).layers:
            assert not any(word in layer.text.lower().split() for word in PRESSING)
            assert layer.text.upper() != layer.text


def test_the_prompt_is_the_layers_that_belong_there_in_order() -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", profile="classic", dialect="claude-code")
        section, doing, footer = [layer.text for layer in agent.layers if layer.place == "prompt"]
        assert agent.prompt == f"{section}\n\n{doing}\n\n{footer}"
        assert agent.prompt.startswith("# Todo list (Punchlist)\n")
        assert board.agent("main", session="s").prompt == ""


def test_the_reminder_is_fenced_and_says_who_it_is_from() -> None:
    with memory_board() as board:
        (reminder,) = board.agent("main", session="s", layers=["reminder"]).layers
        opening, said, closing = reminder.text.split("\n")
        assert (opening, closing) == ("<punchlist>", "</punchlist>")
        assert said.startswith("Punchlist, the todo layer of this session: ")


def test_nothing_changes_with_the_list() -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", profile="classic")
        before = (agent.layers, agent.prompt)
        agent.call("todo", {"set": ["Paint", "Sweep"]})
        agent.enter_plan_mode()
        assert (agent.layers, agent.prompt) == before


@pytest.mark.parametrize("options", [{"profile": "off"}, {"offered": False}, {"profile": "off", "layers": NAMES}])
def test_there_are_none_in_the_profile_off_and_without_the_tool(options: Any) -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", **options)
        assert (agent.layers, agent.prompt) == ((), "")


def test_an_unknown_layer_is_named() -> None:
    with memory_board() as board, pytest.raises(ConfigInvalid) as caught:
        board.agent("main", session="s", layers=["reminder", "shout"])
    assert caught.value.data["value"] == "shout"
