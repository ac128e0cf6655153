"""Judging a tool call: what it is, whether it changes something, and whether plan mode lets it pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.measure import seconds_each
from benchmarks.report import Must, Row
from benchmarks.scale import Scale
from punchlist import Board
from punchlist.guidance.tools import changes

NOTE = (
    "Microseconds a call, the best of many turns. A host asks before each tool call, so it may cost next to nothing; "
    "`permits` looks at the board only where the call is not known to read."
)
_AT_MOST = Must("≤", 20, "µs")
_CALLS: dict[str, tuple[str, Any]] = {
    "an edit": ("Edit", {"file_path": "a"}),
    "a command of two words": ("Bash", {"command": "git status"}),
    "a pipe": ("Bash", {"command": "git log --oneline -5 2>&1 | head"}),
    "a search": ("Bash", {"command": "find . -name '*.py' -not -path './venv/*' | xargs grep -l 'class Foo'"}),
    "a shell in a shell": ("shell", {"command": ["bash", "-lc", "cd src && sed -n '10,20p' main.py"]}),
    "a script of 6,000 characters": ("Bash", {"command": "cat > a <<'E'\n" + "x = 1\n" * 1_000 + "E"}),
    "a command that is too long to be read": ("Bash", {"command": "echo " + "x" * 1_000_000}),
}


def run(scale: Scale) -> Iterator[Row]:
    rounds, each = scale.count(50, least=2), scale.count(200, least=4)
    for what, (name, args) in _CALLS.items():
        best = min(seconds_each(lambda name=name, args=args: changes(name, args), each) for _ in range(rounds)) * 1e6
        yield Row(f"does it change something: {what}", f"{best:.1f} µs", must=_AT_MOST, value=best)
    with Board.open("memory:") as board:
        agent = board.agent(session="tools")
        agent.call("todo", {"set": ["Paint"]})
        for mode in ("execute", "plan"):
            if mode == "plan":
                agent.enter_plan_mode()
            for tool in ("Read", "Edit"):
                best = min(seconds_each(lambda tool=tool: agent.permits(tool, {}), each) for _ in range(rounds)) * 1e6
                yield Row(f"permits `{tool}` in the mode {mode}", f"{best:.1f} µs")
