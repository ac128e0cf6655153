"""Tasks from Claude Code's transcripts: ids from the answers, forwards, and each part of a file read once."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from punchlist import Agent, Board
from punchlist.errors import InvalidInput
from punchlist.transcripts import claude_code
from tests.transcripts.records import SESSION, line


def call(call_id: str, tool: str, second: int = 0, **args: Any) -> dict[str, Any]:
    return line("assistant", {"type": "tool_use", "id": call_id, "name": tool, "input": args}, second=second)


def answer(call_id: str, text: str, data: Any = None, second: int = 0, *, error: bool = False) -> dict[str, Any]:
    block: dict[str, Any] = {"tool_use_id": call_id, "type": "tool_result", "content": text}
    if error:
        block["is_error"] = True
    return line("user", block, second=second, toolUseResult=data)


def create(number: int, subject: str, second: int = 0, **fields: Any) -> list[dict[str, Any]]:
    name = f"toolu_c{number}"
    data = {"task": {"id": str(number), "subject": subject}}
    text = f"Task #{number} created successfully: {subject}"
    args = {"subject": subject, "description": "", **fields}
    return [call(name, "TaskCreate", second, **args), answer(name, text, data, second)]


def update(name: str, task: str, second: int = 0, **fields: Any) -> list[dict[str, Any]]:
    data = {"success": True, "taskId": task, "updatedFields": ["status"], "verificationNudgeNeeded": False}
    made = call(name, "TaskUpdate", second, taskId=task, **fields)
    return [made, answer(name, f"Updated task #{task} status", data, second)]


RECORDS = [
    *create(1, "Paint", 1, activeForm="Painting"),
    *create(2, "Sweep", 2),
    *update("toolu_u1", "2", 3, addBlockedBy=["1"]),
    *update("toolu_u2", "1", 4, status="in_progress"),
    *update("toolu_u3", "1", 5, status="completed", metadata={"pr": 7}),
]


def written(path: Path, records: Iterable[Any], *, mode: str = "w") -> Path:
    with path.open(mode, encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record) + "\n")
    return path


def agent_on(board: Board) -> Agent:
    return board.agent("main", session=SESSION, dialect="claude-tasks")


def told(agent: Agent) -> list[str]:
    return agent.call("TaskList").text.splitlines()


@pytest.mark.requirement("claude-tasks.restore")
@pytest.mark.parametrize("as_file", [False, True])
def test_tasks_come_back_with_their_ids_edges_and_times(tmp_path: Path, as_file: bool) -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board)
        source: Any = written(tmp_path / f"{SESSION}.jsonl", RECORDS) if as_file else RECORDS
        assert agent.restore(source) is True
        assert told(agent) == ["#1 [completed] Paint", "#2 [pending] Sweep"]
        first, second = board.tasks(agent.task_list).list()
        assert (first.active_form, first.metadata, first.blocks) == ("Painting", {"pr": 7}, ("2",))
        assert (first.created_at, first.finished_at) == _times(1, 5)
        assert second.blocked_by == ("1",)
        assert agent.restore_tasks(source) == 0  # the same again is nothing new
        assert agent.restore(source) is True


def _times(*seconds: int) -> tuple[datetime, ...]:
    return tuple(datetime(2026, 3, 1, 9, 0, second, tzinfo=UTC) for second in seconds)


@pytest.mark.requirement("claude-tasks.restore-offset")
def test_of_a_file_only_what_is_new_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    starts: list[int] = []
    plain = claude_code.TaskReading.__init__

    def watched(self: claude_code.TaskReading, transcript: Any, start: int = 0) -> None:
        starts.append(start)
        plain(self, transcript, start)

    monkeypatch.setattr(claude_code.TaskReading, "__init__", watched)
    path = written(tmp_path / f"{SESSION}.jsonl", RECORDS)
    with Board.open("memory:") as board:
        agent = agent_on(board)
        assert agent.restore_tasks(path) == 5
        size = path.stat().st_size
        written(path, create(3, "Lock up", 6), mode="a")
        assert agent.restore_tasks(path) == 1
        assert starts == [0, size]
        written(path, [*RECORDS[:4], *create(4, "Another", 7)])  # another file of that name
        assert agent.restore_tasks(path) == 1
        assert starts == [0, size, 0]
        assert told(agent)[-1] == "#4 [pending] Another"


def test_a_call_without_an_answer_waits_for_the_next_reading(tmp_path: Path) -> None:
    path = written(tmp_path / f"{SESSION}.jsonl", [*RECORDS, *create(3, "Lock up", 6)[:1]])
    with Board.open("memory:") as board:
        agent = agent_on(board)
        assert agent.restore_tasks(path) == 5
        assert agent.restore_tasks(path) == 0
        written(path, [*create(3, "Lock up", 6)[1:], *update("toolu_u9", "3", 7, status="in_progress")], mode="a")
        assert agent.restore_tasks(path) == 2
        assert told(agent)[-1] == "#3 [in_progress] Lock up"


def test_a_line_that_was_cut_off_is_read_when_it_is_whole(tmp_path: Path) -> None:
    path = written(tmp_path / f"{SESSION}.jsonl", RECORDS)
    made, done = (json.dumps(record) + "\n" for record in create(3, "Lock up", 6))
    with Board.open("memory:") as board:
        agent = agent_on(board)
        with path.open("a", encoding="utf-8") as file:
            file.write(made[:40])
        assert agent.restore_tasks(path) == 5
        with path.open("a", encoding="utf-8") as file:
            file.write(made[40:] + done)
        assert agent.restore_tasks(path) == 1


def test_several_answers_in_a_line_are_told_by_their_text() -> None:
    calls = [call(f"toolu_{number}", "TaskCreate", subject=f"Task {number}", description="") for number in (1, 2)]
    blocks = [
        {"tool_use_id": f"toolu_{number}", "type": "tool_result", "content": f"Task #{number} created successfully: …"}
        for number in (2, 1)
    ]
    both = line("user", *blocks, toolUseResult={"task": {"id": "9", "subject": "nobody's"}})
    with Board.open("memory:") as board:
        agent = agent_on(board)
        assert agent.restore_tasks([*calls, both]) == 2
        assert told(agent) == ["#1 [pending] Task 1", "#2 [pending] Task 2"]


@pytest.mark.parametrize(
    "records",
    [
        [call("t", "TaskCreate", subject="x", description=""), answer("t", "InputValidationError: …", error=True)],
        [
            call("t", "TaskUpdate", taskId="1", status="completed"),
            answer("t", "Task not found", {"success": False, "taskId": "1", "updatedFields": [], "error": "…"}),
        ],
        [call("t", "TaskCreate", subject="x", description=""), answer("t", "something else")],
        [call("t", "TaskCreate", wrong=1), answer("t", "Task #1 created successfully: x")],
        [call("t", "TaskCreate", subject=" ", description=""), answer("t", "Task #1 created successfully:  ")],
        [call("t", "TaskCreate", subject="x", description=""), answer("t", f"Task #{10**30} created successfully: x")],
        [call("t", "TaskUpdate", taskId="7", status="completed"), answer("t", "Updated task #7 status")],
        [call("t", "TaskList"), answer("t", "No tasks found", {"tasks": []})],
    ],
)
def test_what_did_nothing_does_nothing(records: list[Any]) -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board)
        agent.restore_tasks(records)
        assert told(agent) == ["No tasks found"]


def test_what_happened_though_it_was_blocked_is_recorded() -> None:
    records = [*RECORDS[:6], *update("toolu_x", "2", 4, status="completed")]
    with Board.open("memory:") as board:
        agent = agent_on(board)
        agent.restore_tasks(records)
        assert told(agent) == ["#1 [pending] Paint", "#2 [completed] Sweep [blocked by #1]"]
        assert board.store.transact(lambda tx: tx.tasks.rebuild()) == 0


def test_impossible_edges_are_left_out_and_the_rest_is_kept() -> None:
    wrong = {"addBlocks": ["2", "9", "1"], "owner": "a\nb", "subject": "Paint it", "status": "in_progress"}
    with Board.open("memory:") as board:
        agent = agent_on(board)
        agent.restore_tasks([*RECORDS[:4], *update("toolu_x", "2", 4, addBlocks=["1"]), *update("u", "1", 5, **wrong)])
        assert told(agent) == ["#1 [in_progress] Paint it [blocked by #2]", "#2 [pending] Sweep"]


def test_a_deletion_is_replayed_and_its_number_stays_taken() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board)
        agent.restore_tasks([*RECORDS, *update("toolu_x", "2", 6, status="deleted"), *create(5, "Later", 7)])
        assert told(agent) == ["#1 [completed] Paint", "#5 [pending] Later"]
        assert agent.call("TaskCreate", {"subject": "Next", "description": ""}).data["task"]["id"] == "6"


def test_a_call_that_the_board_answered_is_not_replayed() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board)
        args = {"subject": "Paint", "description": ""}
        agent.call("TaskCreate", args, call_id="toolu_c1")
        assert agent.restore_tasks(create(1, "Paint")) == 0
        assert told(agent) == ["#1 [pending] Paint"]
        agent.restore_tasks(create(2, "Sweep"))
        reply = agent.call("TaskCreate", {"subject": "Sweep", "description": ""}, call_id="toolu_c2")
        assert reply.text == "Task #2 created successfully: Sweep"  # and the other way round
        assert len(told(agent)) == 2


def test_what_was_changed_on_the_board_since_stands() -> None:
    with Board.open("memory:") as board:
        agent = agent_on(board)
        agent.restore_tasks(RECORDS[:4])
        agent.call("TaskUpdate", {"taskId": "1", "subject": "Paint it red"})
        agent.restore_tasks(RECORDS)
        assert told(agent) == ["#1 [pending] Paint it red", "#2 [pending] Sweep [blocked by #1]"]


def test_other_agents_transcripts_are_refused_in_a_sentence() -> None:
    codex = {"timestamp": "2026-03-01T09:00:00Z", "type": "session_meta", "payload": {"id": "t-1", "cwd": "/tmp"}}
    with Board.open("memory:") as board, pytest.raises(InvalidInput):
        agent_on(board).restore_tasks([codex])
