"""How often a step waits for the database: a proxy counts how often the client speaks after the server has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.hooks.inbox import HookLine, take_events
from punchlist.store import Transaction
from punchlist.store.records import system_clock
from tests.postgres.boards import PostgresBoards
from tests.postgres.proxy import Proxy
from tests.store.test_statements import SHOP, Desk, make_todos


def test_each_step_takes_few_round_trips(postgres: str, proxy: Proxy) -> None:
    with Board.open(proxy.find_url(PostgresBoards(postgres).make())) as board:
        desk = Desk(board)
        agent, tasks = desk.agent, desk.tasks

        def count(step: Callable[[], object]) -> int:
            board.store.transact(lambda tx: tx.last_seq())  # nothing of the step before is on its way
            before = proxy.trips
            step()
            return proxy.trips - before

        check = {"command": "pytest -q"}
        edit = {"file_path": f"{SHOP}/b.py", "old_string": "a", "new_string": "b"}
        found: dict[str, int] = {}
        for number in range(2):  # the second time all is as usual
            found = {
                "tool_started": count(lambda n=number: agent.tool_started(f"edit{n}", "Edit", edit)),
                "tool_finished": count(lambda n=number: agent.tool_finished(f"edit{n}", "ok")),
                "TodoWrite": count(lambda n=number: agent.call("TodoWrite", make_todos(3 + n), call_id=f"w{n}")),
                "check started": count(lambda n=number: agent.tool_started(f"test{n}", "Bash", check)),
                "check finished": count(lambda n=number: agent.tool_finished(f"test{n}", "1 passed in 0.1s")),
                "claim": count(lambda: tasks.claim("worker")),
                "complete": count(lambda n=number: tasks.complete(str(n + 1), fence=1)),
            }
    # The lock goes with the first question; what will be asked is sent early; all writes go with the COMMIT.
    most = {"tool_started": 2, "tool_finished": 3, "TodoWrite": 3, "check started": 2, "check finished": 3}
    most |= {"claim": 3, "complete": 3}
    assert all(found[name] <= most[name] for name in most), found


def test_lines_of_hooks_share_what_they_load(
    postgres: str, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("punchlist.hooks.inbox._SLICE", 60)
    hooks: list[HookLine] = []
    for number in range(16):
        call = {"tool_name": "Read", "tool_input": {"file_path": "a.py"}, "tool_use_id": f"t{number}"}
        for name in ("PreToolUse", "PostToolUse"):
            event = {"session_id": "s1", "cwd": str(tmp_path), "hook_event_name": name, **call}
            hooks.append(HookLine(f"{name} {number}", "claude-code", system_clock(), None, event))
    with Board.open(proxy.find_url(PostgresBoards(postgres).make())) as board:
        take_events(board, hooks[:4])
        before = proxy.trips
        assert set(take_events(board, hooks[4:])) == {hook.id for hook in hooks[4:]}
        found = proxy.trips - before
        assert [event.kind for event in board.events()].count("tool.finished") == 16
    # A conversation, its agent, its plan and the lock are read once; then one in two lines asks for the calls before.
    assert found <= 10 + (len(hooks) - 4) / 2, found


def test_an_early_answer_holds_until_its_table_is_written(postgres: str) -> None:
    with Board.open(PostgresBoards(postgres).make()) as board:

        def work(tx: Transaction) -> list[int]:
            found: list[int] = []
            for number in (1, 2):
                tx.expect("find_mark", ("a",))
                tx.log.save_mark("b" if number == 1 else "a", number)
                found.append(tx.log.mark("a"))
            return found

        assert board.store.transact(work) == [0, 2]
