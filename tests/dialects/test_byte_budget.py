"""What a list costs a model, in bytes: our own tool against the one that writes whole lists."""

import json
from typing import Any

import pytest

from punchlist import Agent
from tests.dialects.boards import memory_board

TEXTS = [f"Work on part {number:2} of the house, carefully"[:40].ljust(40, "!") for number in range(1, 21)]


class Meter:
    """Counts the bytes of arguments (compact JSON) and replies."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.bytes = 0

    def call(self, args: dict[str, Any]) -> None:
        reply = self.agent.call(self.agent.tools[0].name, args)
        assert not reply.is_error, reply.text
        compact = json.dumps(args, separators=(",", ":"), ensure_ascii=False)
        self.bytes += len(compact.encode()) + len(reply.text.encode())


def _status(place: int, done: int) -> str:
    if place < done:
        return "completed"
    return "in_progress" if place == done else "pending"


def claude_code(meter: Meter) -> None:
    for done in range(21):
        meter.call(
            {
                "todos": [
                    {"content": text, "status": _status(place, done), "activeForm": text}
                    for place, text in enumerate(TEXTS)
                ]
            }
        )


def punchlist(meter: Meter) -> None:
    meter.call({"set": TEXTS})
    for number in range(1, 21):
        meter.call({"done": number})


@pytest.mark.requirement("punchlist.byte-budget")
def test_a_life_of_20_items_takes_at_most_a_tenth_of_the_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    assert {len(text) for text in TEXTS} == {40}
    with memory_board() as board:
        theirs = Meter(board.agent("theirs", session="s", dialect="claude-code"))
        claude_code(theirs)
        assert theirs.agent.todos.items == ()
        ours = Meter(board.agent("ours", session="s"))
        punchlist(ours)
        assert ours.agent.todos.progress.percent == 100
    with capsys.disabled():
        print(f"\nclaude-code {theirs.bytes} bytes, punchlist {ours.bytes}: 1/{theirs.bytes / ours.bytes:.1f}")
    assert ours.bytes * 10 <= theirs.bytes
