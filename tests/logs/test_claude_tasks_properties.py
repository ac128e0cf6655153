"""A list that goes through Claude Code's files, or through a transcript, is the same list."""

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from punchlist import Agent, Board
from punchlist.logs.claude_tasks import ClaudeTasks
from tests.sizes import size
from tests.transcripts.records import line

TASKS = 4
IDS = st.integers(1, TASKS).map(str)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
UPDATES = st.fixed_dictionaries(
    {"taskId": IDS},
    optional={
        "status": st.sampled_from(["pending", "in_progress", "completed", "deleted"]),
        "subject": WORDS,
        "description": WORDS,
        "activeForm": WORDS,
        "owner": st.sampled_from(["ada", "bob", ""]),
        "addBlocks": st.lists(IDS, max_size=2),
        "addBlockedBy": st.lists(IDS, max_size=2),
        "metadata": st.dictionaries(st.sampled_from("ab"), st.none() | st.integers(0, 9) | WORDS, max_size=2),
    },
)


def agent_on(board: Board) -> Agent:
    return board.agent("main", session="s1", dialect="claude-tasks")


def played(agent: Agent, updates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Makes the calls; the records that Claude Code would have kept of them."""
    calls = [("TaskCreate", {"subject": f"Task {number}", "description": "d"}) for number in range(1, TASKS + 1)]
    records: list[dict[str, Any]] = []
    for number, (tool, args) in enumerate([*calls, *(("TaskUpdate", update) for update in updates)]):
        reply = agent.call(tool, args)
        name = f"toolu_{number}"
        records.append(line("assistant", {"type": "tool_use", "id": name, "name": tool, "input": args}))
        block = {"tool_use_id": name, "type": "tool_result", "content": reply.text, "is_error": reply.is_error}
        records.append(line("user", block, toolUseResult=json.loads(json.dumps(reply.data))))
    return records


def told(agent: Agent) -> list[Any]:
    listed = agent.call("TaskList").data["tasks"]
    tasks = agent.board.tasks(agent.task_list)
    more = [(task.active_form, dict(task.metadata)) for task in tasks.list()]
    return [listed, [agent.call("TaskGet", {"taskId": row["id"]}).data for row in listed], more]


@settings(max_examples=size(25, 5_000), deadline=None)
@given(st.lists(UPDATES, max_size=8))
def test_files_bring_back_what_was_exported(updates: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder, Board.open("memory:") as one, Board.open("memory:") as other:
        first, second = agent_on(one), agent_on(other)
        played(first, updates)
        ClaudeTasks(folder).export(one, first.task_list)
        ClaudeTasks(folder).import_list(other, "s1", list=second.task_list)
        assert told(second) == told(first)
        assert other.store.transact(lambda tx: tx.tasks.rebuild()) == 0
        before = {path.name: path.read_bytes() for path in Path(folder, "s1").glob("*.json")}
        ClaudeTasks(folder).export(other, second.task_list)
        assert {path.name: path.read_bytes() for path in Path(folder, "s1").glob("*.json*")} == before


@settings(max_examples=size(25, 5_000), deadline=None)
@given(st.lists(UPDATES, max_size=8), st.integers(0, 40))
def test_a_transcript_brings_back_what_was_done(updates: list[dict[str, Any]], cut: int) -> None:
    with Board.open("memory:") as one, Board.open("memory:") as other:
        first, second = agent_on(one), agent_on(other)
        records = played(first, updates)
        second.restore_tasks(records[:cut] or records)
        second.restore_tasks(records)
        assert told(second) == told(first)
        assert other.store.transact(lambda tx: tx.tasks.rebuild()) == 0
