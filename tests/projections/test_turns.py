"""Ordinary turns end on the board, so that those who follow it know where one ends and the next begins."""

import pytest

from punchlist import Agent, Board
from punchlist.projections.codex import CodexFeed, ExecFeed


def turn(agent: Agent, status: str, *, reported: bool) -> None:
    agent.user_turn()
    agent.call("update_plan", {"plan": [{"step": "Paint", "status": status}, {"step": "Sand", "status": "pending"}]})
    if reported:
        agent.tool_started(status, "shell", {"command": ["ls"]})
        agent.tool_finished(status, result="x")
    agent.output("Hello there.")


@pytest.mark.parametrize("stops", [True, False])
@pytest.mark.parametrize("reported", [True, False])
def test_a_turn_that_ends_well_ends_in_every_feed(reported: bool, stops: bool) -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s", dialect="codex")
        for status in ("in_progress", "completed"):
            turn(agent, status, reported=reported)
            if stops:
                assert agent.about_to_stop(last_text="Which colour?") is None
        agent.user_turn()
        lines, notes = ExecFeed("s"), CodexFeed("s")
        events = list(board.events())
        told = [(line["type"], line["item"]["id"]) for event in events for line in lines.add(event)]
        assert told == [
            ("item.started", "item_0"),
            ("item.completed", "item_0"),
            ("item.started", "item_1"),
            ("item.completed", "item_1"),
        ]
        assert [note["params"]["turnId"] for event in events for note in notes.add(event)] == ["turn-1", "turn-2"]


def test_a_turn_in_which_nothing_happened_is_none() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s")
        agent.user_turn()
        agent.user_turn()
        agent.call("todo", {"set": ["Paint"]})
        agent.call("todo", {"done": "1"})
        assert agent.about_to_stop() is None
        agent.user_turn()
        assert agent.about_to_stop() is None
        assert [event.kind for event in board.events()].count("turn.ended") == 1
