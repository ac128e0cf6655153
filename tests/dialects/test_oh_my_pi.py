"""oh-my-pi's `todo_write` to the letter. The rules are those of manifest.toml, section oh-my-pi."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from punchlist import Agent, Board, Reply
from tests.dialects.boards import NOW, last_kind, lines, memory_board, todo, write

START = [{"phase": "A", "items": ["a1", "a2"]}, {"phase": "B", "items": ["b1"]}]
SUMMARY = """\
Remaining items (3):
  - a1 [in_progress] (A)
  - a2 [pending] (A)
  - b1 [pending] (B)
Phase 1/2 "A" — 0/2 tasks complete
  A:
    → a1
    ○ a2
  B:
    ○ b1"""


@pytest.fixture
def board() -> Iterator[Board]:
    with memory_board() as board:
        yield board


@pytest.fixture
def agent(board: Board) -> Agent:
    """An agent with phase A of a1, in progress, and a2, and phase B of b1."""
    agent = board.agent("main", session="s", dialect="oh-my-pi")
    assert ops(agent, {"op": "init", "list": START}).text == SUMMARY
    return agent


@pytest.fixture
def bare(board: Board) -> Agent:
    return board.agent("bare", session="s", dialect="oh-my-pi")


def ops(agent: Agent, *entries: dict[str, Any]) -> Reply:
    return agent.call("todo_write", {"ops": list(entries)})


def op(verb: str, task: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"op": verb, **({} if task is None else {"task": task}), **fields}


def phases(reply: Reply) -> dict[str, list[str]]:
    """The phases of a reply, each task as its status and text."""
    marks = {"pending": "○", "in_progress": "→", "completed": "✓", "abandoned": "✗"}
    return {
        phase["name"]: [f"{marks[task['status']]} {task['content']}" for task in phase["tasks"]]
        for phase in reply.data["phases"]
    }


# The tool.


@pytest.mark.requirement("oh-my-pi.one-tool", "oh-my-pi.annotations")
def test_the_tool_has_the_originals_attributes(agent: Agent) -> None:
    (tool,) = agent.tools
    assert tool.name == "todo_write"
    assert tool.annotations == {
        "label": "Todo Write",
        "concurrency": "exclusive",
        "strict": True,
        "loadMode": "discoverable",
        "approval": "read",
    }


@pytest.mark.requirement("oh-my-pi.schema")
def test_only_op_is_required_of_an_entry(agent: Agent) -> None:
    schema = agent.tools[0].input_schema["properties"]["ops"]
    assert schema["minItems"] == 1
    fields = schema["items"]["properties"]
    assert schema["items"]["required"] == ["op"]
    assert fields["op"]["enum"] == ["init", "start", "done", "rm", "drop", "append", "note"]
    assert list(fields) == ["op", "list", "task", "phase", "items", "text"]
    assert fields["items"]["minItems"] == fields["list"]["items"]["properties"]["items"]["minItems"] == 1


BAD: list[Any] = [
    *(None, [], "x", {}, {"ops": None}, {"ops": []}, {"ops": {}}, {"ops": [None]}, {"ops": [{}]}),
    *({"ops": [op("finish")]}, {"ops": [{"op": "start", "task": 1}]}, {"ops": [op("append", phase="A", items=[])]}),
    *({"ops": [op("append", phase="A", items=[1])]}, {"ops": [op("init", list=[{"phase": "A"}])]}),
    *({"ops": [op("init", list=[{"phase": "A", "items": []}])]}, {"ops": [op("init", list=[{"items": ["a"]}])]}),
]


@pytest.mark.requirement("oh-my-pi.schema")
@pytest.mark.parametrize("args", BAD)
def test_what_the_schema_does_not_allow_is_refused(agent: Agent, args: Any) -> None:
    reply = agent.call("todo_write", args)
    assert (reply.is_error, reply.data, lines(agent.todos)) == (True, None, ["1 > a1", "2   a2", "3   b1"])


@pytest.mark.requirement("oh-my-pi.schema")
def test_a_malformed_op_refuses_those_before_it_too(agent: Agent) -> None:
    assert ops(agent, op("done"), op("finish")).is_error
    assert lines(agent.todos) == ["1 > a1", "2   a2", "3   b1"]


# The summary, by the contract's own outputs.


@pytest.mark.requirement("oh-my-pi.summary", "oh-my-pi.promote")
def test_the_summary_after_a_task_is_done(agent: Agent) -> None:
    assert ops(agent, op("done", "a1")).text == (
        "Remaining items (2):\n"
        "  - a2 [in_progress] (A)\n"
        "  - b1 [pending] (B)\n"
        'Phase 1/2 "A" — 1/2 tasks complete\n'
        "  A:\n    ✓ a1\n    → a2\n  B:\n    ○ b1"
    )


@pytest.mark.requirement("oh-my-pi.notes")
def test_notes_are_counted_and_shown_in_full_under_the_focus(agent: Agent) -> None:
    notes = [op("note", "a1", text="line1\nline2  \n\n"), op("note", "a1", text="second"), op("note", "b1", text="n")]
    reply = ops(agent, *notes)
    assert reply.text.endswith(
        "  A:\n"
        "    → a1 (+2 notes)\n"
        "        line1\n"
        "        line2\n"
        "        ---\n"
        "        second\n"
        "    ○ a2\n"
        "  B:\n"
        "    ○ b1 (+1 note)"
    )
    assert reply.data["phases"][0]["tasks"] == [
        {"content": "a1", "status": "in_progress", "notes": ["line1\nline2", "second"]},
        {"content": "a2", "status": "pending"},
    ]


@pytest.mark.requirement("oh-my-pi.errors-first")
def test_errors_stand_on_the_first_line_before_the_same_summary(agent: Agent) -> None:
    reply = ops(agent, op("start", "zz"), op("done", phase="Z"))
    assert reply.text == f'Errors: Task "zz" not found; Phase "Z" not found\n{SUMMARY}'
    assert reply.is_error


@pytest.mark.requirement("oh-my-pi.none-remaining")
def test_with_nothing_left_the_last_phase_is_the_current_one(agent: Agent) -> None:
    assert ops(agent, op("drop", "a2"), op("done", "a1"), op("done", "b1")).text == (
        'Remaining items: none.\nPhase 2/2 "B" — 1/1 tasks complete\n  A:\n    ✓ a1\n    ✗ a2\n  B:\n    ✓ b1'
    )


@pytest.mark.requirement("oh-my-pi.cleared")
def test_an_empty_list_says_that_it_was_cleared_or_only_the_errors(agent: Agent) -> None:
    assert ops(agent, op("init", list=[])).text == "Todo list cleared."
    assert ops(agent, op("rm")).text == "Todo list cleared."
    assert ops(agent, op("append", phase="A")).text == "Errors: Missing items for append operation"


# Operations and their targets.


@pytest.mark.requirement("oh-my-pi.init")
def test_init_replaces_the_list_and_keeps_doubles(agent: Agent) -> None:
    groups = [{"phase": "P", "items": ["x", "x"]}, {"phase": "P", "items": ["y"]}]
    reply = ops(agent, op("init", list=groups))
    assert [(phase["name"], len(phase["tasks"])) for phase in reply.data["phases"]] == [("P", 2), ("P", 1)]
    assert [line[2:] for line in lines(agent.todos)] == ["> x", "  x", "  y"]


@pytest.mark.requirement("oh-my-pi.start")
@pytest.mark.parametrize("verb", ["done", "drop"])
def test_start_demotes_the_others_and_revives_what_was_closed(agent: Agent, verb: str) -> None:
    reply = ops(agent, op(verb, "b1"), op("start", "b1"))
    assert phases(reply) == {"A": ["○ a1", "○ a2"], "B": ["→ b1"]}


TARGETS: list[tuple[dict[str, Any], dict[str, list[str]]]] = [
    (op("done", "a2"), {"A": ["→ a1", "✓ a2"], "B": ["○ b1"]}),
    (op("done", "b1", phase="A"), {"A": ["→ a1", "○ a2"], "B": ["✓ b1"]}),
    (op("done", "", phase="A"), {"A": ["✓ a1", "✓ a2"], "B": ["→ b1"]}),
    (op("done", phase="B"), {"A": ["→ a1", "○ a2"], "B": ["✓ b1"]}),
    (op("done", "", phase=""), {"A": ["✓ a1", "✓ a2"], "B": ["✓ b1"]}),
    (op("drop", phase="A"), {"A": ["✗ a1", "✗ a2"], "B": ["→ b1"]}),
    (op("drop"), {"A": ["✗ a1", "✗ a2"], "B": ["✗ b1"]}),
    (op("rm", "a1"), {"A": ["→ a2"], "B": ["○ b1"]}),
    (op("rm", phase="A"), {"A": [], "B": ["→ b1"]}),
    (op("rm"), {"A": [], "B": []}),
]


@pytest.mark.requirement("oh-my-pi.targets", "oh-my-pi.empty-phases")
@pytest.mark.parametrize(("entry", "expected"), TARGETS)
def test_a_task_beats_a_phase_and_neither_means_all(agent: Agent, entry: Any, expected: dict[str, list[str]]) -> None:
    reply = ops(agent, entry)
    assert (phases(reply), reply.is_error) == (expected, False)


@pytest.mark.requirement("oh-my-pi.targets")
def test_a_phase_reaches_closed_tasks_too(agent: Agent) -> None:
    ops(agent, op("done", "a1"))
    assert phases(ops(agent, op("drop", phase="A"))) == {"A": ["✗ a1", "✗ a2"], "B": ["→ b1"]}
    assert phases(ops(agent, op("done"))) == {"A": ["✓ a1", "✓ a2"], "B": ["✓ b1"]}


@pytest.mark.requirement("oh-my-pi.append")
def test_append_makes_the_phase_and_stops_at_the_first_double(agent: Agent) -> None:
    reply = ops(agent, op("append", phase="C", items=["c1", "a1", "c2"]), op("append", phase="D", items=["c1"]))
    assert phases(reply) == {"A": ["→ a1", "○ a2"], "B": ["○ b1"], "C": ["○ c1"], "D": []}
    assert reply.text.startswith('Errors: Task "a1" already exists; Task "c1" already exists\n')
    assert phases(ops(agent, op("append", phase="A", items=["a3"])))["A"] == ["→ a1", "○ a2", "○ a3"]


HINT = " (todo list is empty — was it replaced or not yet created?)"
BY_CONTENT = "Tasks are referenced by content, not by IDs — pass the task's full text from the previous result."
ERRORS: list[tuple[dict[str, Any], str]] = [
    (op("init"), "Missing list for init operation"),
    (op("start"), "Missing task content"),
    (op("note", text="n"), "Missing task content"),
    (op("note", ""), "Missing task content"),
    (op("note", "zz"), f'Task "zz" not found{HINT}'),
    (op("done", "zz"), f'Task "zz" not found{HINT}'),
    (op("rm", "A1"), f'Task "A1" not found{HINT}'),
    (op("start", "task-3"), f'Task "task-3" not found. {BY_CONTENT}'),
    (op("start", "task-3\n"), f'Task "task-3\n" not found{HINT}'),
    (op("drop", phase="Z"), 'Phase "Z" not found'),
    (op("append", items=["x"]), "Missing phase name for append operation"),
    (op("append", phase=""), "Missing phase name for append operation"),
    (op("append", phase="A"), "Missing items for append operation"),
]


@pytest.mark.requirement("oh-my-pi.error-texts", "oh-my-pi.empty-hint", "oh-my-pi.task-ids")
@pytest.mark.parametrize(("entry", "said"), ERRORS)
def test_each_error_has_the_originals_words(bare: Agent, entry: dict[str, Any], said: str) -> None:
    reply = ops(bare, entry)
    assert (reply.text, reply.is_error) == (f"Errors: {said}", True)


@pytest.mark.requirement("oh-my-pi.error-texts")
@pytest.mark.parametrize("text", [None, "", " \n\t"])
def test_a_note_needs_its_task_first_and_then_its_text(agent: Agent, text: str | None) -> None:
    fields = {} if text is None else {"text": text}
    assert ops(agent, op("note", "a1", **fields)).text == f"Errors: Missing text for note operation\n{SUMMARY}"
    assert ops(agent, op("note", "zz", **fields)).text == f'Errors: Task "zz" not found\n{SUMMARY}'


@pytest.mark.requirement("oh-my-pi.task-ids")
def test_a_task_that_is_called_like_an_id_is_found(bare: Agent) -> None:
    reply = ops(bare, op("append", phase="A", items=["task-1"]), op("done", "task-1"))
    assert phases(reply) == {"A": ["✓ task-1"]}


@pytest.mark.requirement("oh-my-pi.long-echo")
def test_a_name_of_megabytes_is_not_repeated_in_full(agent: Agent) -> None:
    reply = ops(agent, op("start", "x" * 10**6), op("done", phase="\ud800" * 10**6))
    assert (reply.is_error, len(reply.text) < 10_000, bool(reply.text.encode())) == (True, True, True)


@pytest.mark.requirement("oh-my-pi.init-wipes")
def test_init_without_a_list_wipes_the_list(agent: Agent) -> None:
    reply = ops(agent, op("init"), op("start", "a1"))
    assert reply.text == f'Errors: Missing list for init operation; Task "a1" not found{HINT}'
    assert (reply.data["phases"], agent.todos.items) == ([], ())
    assert [known.content for known in agent.todos.omitted] == ["a1", "a2", "b1"]


@pytest.mark.requirement("oh-my-pi.errors-collected")
def test_an_errored_batch_is_stored_all_the_same(board: Board, agent: Agent) -> None:
    reply = ops(agent, op("start", "zz"), op("done", "a1"), op("rm", "yy"), op("start", "b1"))
    assert (reply.is_error, lines(agent.todos)) == (True, ["1 x a1", "2   a2", "3 > b1"])
    assert last_kind(board) == "list.edited"


@pytest.mark.requirement("oh-my-pi.normalised-once")
def test_the_list_is_normalised_once_after_the_batch(agent: Agent) -> None:
    assert phases(ops(agent, op("done", "a1"), op("append", phase="A", items=["a0"]), op("rm", "a2"))) == {
        "A": ["✓ a1", "→ a0"],
        "B": ["○ b1"],
    }
    assert phases(ops(agent, op("drop"), op("append", phase="B", items=["b2"])))["B"] == ["✗ b1", "→ b2"]


# Details.


@pytest.mark.requirement("oh-my-pi.details", "oh-my-pi.completed-tasks")
def test_details_hold_phases_storage_and_what_was_completed(agent: Agent) -> None:
    assert list(ops(agent, op("start", "a2")).data) == ["phases", "storage"]
    details = ops(agent, op("done", phase="A"), op("drop", "b1")).data
    assert list(details) == ["phases", "storage", "completedTasks"]
    assert details["completedTasks"] == [{"phase": "A", "content": "a1"}, {"phase": "A", "content": "a2"}]
    assert "completedTasks" not in ops(agent, op("done", "a1")).data


@pytest.mark.requirement("oh-my-pi.completed-tasks")
def test_a_task_of_the_same_batch_or_another_phase_was_not_there_before(agent: Agent) -> None:
    reply = ops(agent, op("append", phase="A", items=["a3"]), op("done", "a3"), op("rm", "b1"))
    assert "completedTasks" not in reply.data
    moved = [{"phase": "C", "items": ["a1"]}, {"phase": "A", "items": ["a2"]}]
    reply = ops(agent, op("init", list=moved), op("done"))
    assert reply.data["completedTasks"] == [{"phase": "A", "content": "a2"}]


@pytest.mark.requirement("oh-my-pi.storage")
def test_storage_says_whether_the_board_is_kept(agent: Agent, tmp_path: Path) -> None:
    assert ops(agent, op("start", "a2")).data["storage"] == "memory"
    with Board.open(tmp_path / "board.db", clock=lambda: NOW) as board:
        kept = board.agent("main", session="s", dialect="oh-my-pi")
        assert ops(kept, op("append", phase="A", items=["a"])).data["storage"] == "session"


# Lists that others began.


@pytest.mark.requirement("oh-my-pi.orphans")
def test_items_without_a_phase_can_be_named_by_the_phase_that_they_seem_to_have(board: Board, bare: Agent) -> None:
    todo(board.agent("bare", session="s"), set=["Paint", "Sweep"])
    reply = ops(bare, op("append", phase="Todos", items=["Dust"]), op("append", phase="B", items=["b1"]))
    assert phases(reply) == {"Todos": ["→ Paint", "○ Sweep", "○ Dust"], "B": ["○ b1"]}
    reply = ops(bare, op("done", phase="Todos"))
    assert phases(reply) == {"Todos": ["✓ Paint", "✓ Sweep", "✓ Dust"], "B": ["→ b1"]}
    assert reply.data["completedTasks"][0] == {"phase": "Todos", "content": "Paint"}


@pytest.mark.requirement("oh-my-pi.promote")
def test_the_next_task_is_the_first_of_the_first_phase_whatever_order_others_wrote(board: Board, agent: Agent) -> None:
    write(board.agent("main", session="s", dialect="claude-code"), "> b1", "a1", "a2")
    assert phases(ops(agent, op("done", "b1"))) == {"A": ["→ a1", "○ a2"], "B": ["✓ b1"]}
    write(board.agent("main", session="s", dialect="claude-code"), "b1", "x a1", "a2")
    assert phases(ops(agent, op("note", "a1", text="n"))) == {"A": ["✓ a1", "→ a2"], "B": ["○ b1"]}


@pytest.mark.requirement("oh-my-pi.abandoned")
def test_abandoned_is_cancelled_and_blocked_shows_as_pending(agent: Agent) -> None:
    ops(agent, op("drop", "a2"))
    agent.edit({"op": "block", "item": "3", "reason": "no key"}, by="ada")
    assert lines(agent.todos) == ["1 > a1", "2 - a2", "3 ! b1"]
    assert phases(ops(agent, op("note", "a1", text="n"))) == {"A": ["→ a1", "✗ a2"], "B": ["○ b1"]}
    assert lines(agent.todos) == ["1 > a1", "2 - a2", "3 ! b1"]


@pytest.mark.requirement("oh-my-pi.plan-mode")
def test_the_tool_may_be_used_in_plan_mode(agent: Agent) -> None:
    agent.enter_plan_mode()
    assert not ops(agent, op("done", "a1")).is_error
