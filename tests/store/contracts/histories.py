"""Random histories of a board, replayable by their seed: the same calls for whichever store."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from punchlist.agent import Agent
from punchlist.board import Board
from punchlist.errors import PunchlistError
from punchlist.testing import FakeClock

_WORDS = ("read", "write", "test", "fix", "ship", "größer", "文書", "🚀", "parser", "docs", "merge", "plan")
_STATUSES = ("pending", "in_progress", "completed")
_VERBS = ("start", "done", "fail", "drop", "reopen", "remove", "note", "block", "unblock", "restore")

Step = Callable[[Board], Any]


class History:
    """A sequence of steps, chosen by a seed. Sessions are named after it, so that many share a board."""

    def __init__(self, seed: int, steps: int = 24) -> None:
        self.seed = seed
        self._rng = random.Random(seed)
        self._sessions = [f"h{seed}-{number}" for number in range(2)]
        self._calls: list[tuple[str, str, str, Any, str]] = []
        self.steps: list[tuple[str, Step]] = [self._step() for _ in range(steps)]

    def play(self, board: Board, clock: FakeClock) -> list[tuple[str, Any]]:
        """What came of each step. An error counts by its code."""
        outcomes: list[tuple[str, Any]] = []
        for name, step in self.steps:
            clock.advance(0.5)
            try:
                outcomes.append((name, step(board)))
            except PunchlistError as error:
                outcomes.append((name, error.code))
        return outcomes

    def _step(self) -> tuple[str, Step]:
        rng = self._rng
        session, name = rng.choice(self._sessions), rng.choice(("main", "helper"))
        chance = rng.random()
        if chance < 0.45:
            return self._call(session, name)
        if chance < 0.55 and self._calls:
            return self._again()
        if chance < 0.75:
            ops, by = self._operations(), rng.choice(("ada", "bob"))
            revision = rng.choice((None, None, None, rng.randrange(6)))
            return f"edit {ops}", lambda board: _agent(board, session, name).edit(ops, by=by, revision=revision)
        if chance < 0.83:
            by = rng.choice(("ada", "bob", "main"))
            return f"undo by {by}", lambda board: _agent(board, session, name).undo(by=by)
        if chance < 0.88:
            label = rng.choice((None, "Explore"))
            given = rng.choice((None, "child-1"))
            return "spawn", lambda board: _agent(board, session, name).spawn("explore", label=label, id=given).name
        if chance < 0.92:
            plan = rng.random() < 0.4
            return f"plan mode {plan}", lambda board: _set_mode(_agent(board, session, name), plan)
        if chance < 0.95:
            target = f"{session}-copy-{rng.randrange(3)}"
            return f"copy to {target}", lambda board: board.copy_session(session, target, by="ada")
        if chance < 0.98:
            target = f"{session}-moved-{rng.randrange(3)}"
            return f"move to {target}", lambda board: board.move_session(session, target, by="ada")
        return "prune", lambda board: board.prune(board.now() - timedelta(seconds=_age(self.seed)))

    def _call(self, session: str, name: str) -> tuple[str, Step]:
        rng = self._rng
        if rng.random() < 0.6:
            items = [self._item() for _ in range(rng.randrange(6))]
            call = (session, name, "TodoWrite", {"todos": items}, "claude-code")
        else:
            args = rng.choice(({"add": [self._text()]}, {"done": str(rng.randrange(1, 5))}, {}, {"start": "1"}))
            call = (session, name, "todo", args, "punchlist")
        self._calls.append(call)
        call_id = f"call-{len(self._calls)}" if rng.random() < 0.6 else None
        return f"call {call} {call_id}", lambda board: _make(board, call, call_id)

    def _again(self) -> tuple[str, Step]:
        """A call that was made before, under the id that it may have had: a retry, or a clash."""
        number = self._rng.randrange(len(self._calls))
        call, call_id = self._calls[number], f"call-{number + 1}"
        return f"again {call} {call_id}", lambda board: _make(board, call, call_id)

    def _item(self) -> dict[str, str]:
        text = self._text()
        return {"content": text, "activeForm": f"Doing {text}", "status": self._rng.choice(_STATUSES)}

    def _text(self) -> str:
        return " ".join(self._rng.choices(_WORDS, k=self._rng.randrange(1, 4)))

    def _operations(self) -> list[dict[str, Any]]:
        rng = self._rng
        ops: list[dict[str, Any]] = []
        for _ in range(rng.randrange(1, 4)):
            verb = rng.choice((*_VERBS, "append", "append", "init"))
            if verb in {"append", "init"}:
                phase = rng.choice((None, "Build", "Test"))
                ops.append({"op": verb, "items": [self._text() for _ in range(rng.randrange(1, 4))], "phase": phase})
            else:
                ops.append({"op": verb, "item": str(rng.randrange(1, 6)), "text": self._text()})
        return ops


def _age(seed: int) -> int:
    """How old a session has to be, in seconds, to be pruned in this history."""
    return (30, 300, 3000)[seed % 3]


def _agent(board: Board, session: str, name: str, dialect: str = "punchlist") -> Agent:
    return board.agent(name, session=session, dialect=dialect, project="/projects/history")


def _set_mode(agent: Agent, plan: bool) -> None:
    if plan:
        agent.enter_plan_mode()
    else:
        agent.exit_plan_mode()


def _make(board: Board, call: tuple[str, str, str, Any, str], call_id: str | None) -> Any:
    session, name, tool, args, dialect = call
    return _agent(board, session, name, dialect).call(tool, args, call_id=call_id)
