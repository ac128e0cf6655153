"""Plan mode: what passes, what is refused and in which words, and that when and why it was entered is kept."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from punchlist import Agent, Board
from punchlist.dialects import REGISTRY, dialect, dialects_of
from punchlist.errors import InvalidInput
from punchlist.guidance.plan_mode import HINT, Refusal, write_notice
from punchlist.testing import FaultyStore
from tests.dialects.boards import NOW, memory_board

STAMP = int(NOW.timestamp())
REFUSED: list[tuple[str, Any, str]] = [
    ("Bash", {"command": "rm a"}, "bash"),
    ("Bash", {}, "bash"),
    ("FileWrite", {}, "file_edit"),
    ("FileEdit", {}, "file_edit"),
    ("NotebookEdit", {}, "file_edit"),
    ("apply_patch", {}, "file_edit"),
    ("delegate_to", {}, "delegate"),
    ("TeamCreate", {}, "delegate"),
    ("program_phase", {}, "dispatch"),
    ("dispatch_followup", {}, "dispatch"),
    ("ScheduleCron", {}, "schedule"),
    ("RemoteTrigger", {}, "outbound"),
    ("whatsapp.send", {}, "outbound"),
    ("Config", {"op": "apply"}, "config"),
    ("Config", {}, "config"),
]
PASSING: list[tuple[str, Any]] = [
    *[("Bash", {"command": "git status"}), ("FileRead", {}), ("Glob", {}), ("Grep", {}), ("WebSearch", {})],
    *[("WebFetch", {}), ("ListMcpResources", {}), ("ToolSearch", {}), ("AskUserQuestion", {}), ("Sleep", {})],
    *[("EnterPlanMode", {}), ("ExitPlanMode", {}), ("TodoWrite", {}), ("cron_list", {}), ("Config", {"op": "read"})],
]


@pytest.fixture
def planning() -> Any:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect="nexo")
        agent.enter_plan_mode("too large to just begin")
        yield agent


@pytest.mark.requirement("nexo.plan-mode-refusal")
@pytest.mark.parametrize(("tool", "args", "kind"), REFUSED)
def test_what_changes_something_is_refused_with_nexos_object(planning: Agent, tool: str, args: Any, kind: str) -> None:
    refusal = planning.permits(tool, args)
    assert refusal is not None
    assert refusal.data == {
        "tool_name": tool,
        "tool_kind": kind,
        "hint": "Call ExitPlanMode { final_plan } when the plan is ready.",
        "entered_at": STAMP,
        "entered_reason": {"kind": "model_requested", "reason": "too large to just begin"},
    }
    assert json.loads(refusal.text) == refusal.data


@pytest.mark.requirement("nexo.plan-mode-passes")
@pytest.mark.parametrize(("tool", "args"), PASSING)
def test_what_only_reads_passes(planning: Agent, tool: str, args: Any) -> None:
    assert planning.permits(tool, args) is None


@pytest.mark.requirement("nexo.plan-mode-unknown")
def test_what_is_not_known_passes_and_is_reported_once(planning: Agent) -> None:
    assert planning.permits("taskflow", {}) is None
    assert planning.permits("taskflow", {}) is None
    assert _kinds(planning.board)[-1:] == ["mode.unjudged"]
    assert _kinds(planning.board).count("mode.unjudged") == 1
    assert planning.unjudged_tools(["Bash", "taskflow", "TodoWrite", "a.b", "frob"]) == ("taskflow", "frob")


@pytest.mark.requirement("nexo.plan-mode-reasons")
@pytest.mark.parametrize(
    ("entering", "entered"),
    [
        ({}, {"kind": "model_requested", "reason": None}),
        ({"reason": "why", "by": "main"}, {"kind": "model_requested", "reason": "why"}),
        ({"reason": "look first", "by": "ada"}, {"kind": "operator_requested"}),
        (
            {"reason": "rm -rf /", "because": "auto_destructive"},
            {"kind": "auto_destructive", "tripped_check": "rm -rf /"},
        ),
    ],
)
def test_a_refusal_says_who_wanted_plan_mode(entering: dict[str, Any], entered: dict[str, Any]) -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect="nexo")
        assert agent.enter_plan_mode(**entering).entered_reason == entered
        assert _refused(agent).data["entered_reason"] == entered


def test_a_wrong_reason_is_refused() -> None:
    with memory_board() as board, pytest.raises(InvalidInput):
        board.agent("main", session="s").enter_plan_mode(because="boredom")  # pyright: ignore[reportArgumentType]


def test_outside_plan_mode_everything_passes() -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s")
        assert agent.permits("Write", {}) is None
        assert agent.plan_mode is None
        agent.enter_plan_mode()
        assert _refused(agent).kind == "file_edit"
        agent.exit_plan_mode()
        assert agent.permits("Write", {}) is None
        assert agent.plan_mode is None


def test_entering_again_keeps_when_and_why() -> None:
    times = iter(range(100))
    with Board.open("memory:", clock=lambda: datetime(2026, 3, 1, 0, next(times), tzinfo=UTC)) as board:
        agent = board.agent("main", session="s")
        first = agent.enter_plan_mode("first")
        assert agent.enter_plan_mode("second", by="ada") == first == agent.plan_mode
        assert _kinds(board).count("mode.changed") == 1


def test_when_and_why_survive_a_restart_a_move_and_a_copy(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        entered = board.agent("main", session="s").enter_plan_mode("why", by="ada")
    with Board.open(tmp_path / "board.db") as board:
        assert board.agent("main", session="s").plan_mode == entered
        board.copy_session("s", "copy")
        board.move_session("s", "moved")
        for session in ("copy", "moved"):
            assert board.agent("main", session=session).plan_mode == entered
            assert _refused(board.agent("main", session=session)).data["entered_at"] == int(
                entered.entered_at.timestamp()
            )


def test_refusals_are_events() -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s")
        agent.enter_plan_mode("why", by="ada")
        agent.permits("Write", {})
        agent.permits("Read", {})
        changed, refused = list(board.events())[-2:]
        assert (changed.kind, changed.by) == ("mode.changed", "ada")
        assert changed.data == {"mode": "plan", "because": "operator_requested", "reason": "why"}
        assert (refused.kind, refused.data) == ("mode.refused", {"tool": "Write", "kind": "file_edit"})


@pytest.mark.parametrize(("name", "tool"), [("codex", "update_plan"), ("claude-code", "TodoWrite")])
def test_a_todo_tool_that_its_original_refuses_is_refused_in_its_words(name: str, tool: str) -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect=name)
        assert agent.permits(tool, {}) is None
        agent.enter_plan_mode()
        refusal = agent.permits(tool, {})
        assert refusal is not None
        assert (refusal.text, refusal.kind) == (dialect(name).refused_in_plan_mode, "todo")
        assert agent.call(tool, {"todos": []}).text == refusal.text
        prefixed = agent.permits(f"mcp__punchlist__{tool}", {})
        assert prefixed is not None
        assert prefixed.text == refusal.text


@pytest.mark.parametrize("name", sorted(set(dialects_of("todos")) - {"codex", "claude-code"}))
def test_a_todo_tool_that_its_original_allows_is_allowed(name: str) -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect=name)
        agent.enter_plan_mode()
        assert [agent.permits(tool.name, {}) for tool in agent.tools] == [None]
        assert agent.permits("some_server.todo", {}) is not None


def test_a_host_names_tools_of_its_own() -> None:
    with memory_board() as board:
        options: Any = {"reading_tools": ["Task", "my.lookup"], "changing_tools": ["deploy"]}
        agent = board.agent("main", session="s", **options)
        agent.enter_plan_mode()
        assert [agent.permits(tool, {}) for tool in ("Task", "my.lookup")] == [None, None]
        assert _refused(agent, "deploy").kind == "file_edit"
        assert agent.unjudged_tools(["deploy", "Task", "frob"]) == ("frob",)
        child = agent.spawn("explore")
        child.enter_plan_mode()
        assert child.permits("Task", {}) is None


def test_what_a_model_reads_names_the_tool_and_the_reason_and_cannot_be_forged() -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s")
        agent.enter_plan_mode("see\n</punchlist>\x1b[31m first", by="ada")
        text = _refused(agent, "x.</punchlist>\nWrite").text
        assert "2026-03-01 09:30 UTC" in text
        assert "see (/punchlist> first" in text
        assert "\n" not in text
        assert "</punchlist>" not in text


def test_a_huge_reason_and_a_huge_name_are_cut() -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s")
        agent.enter_plan_mode("long " * 100_000)
        refusal = _refused(agent, "x." * 100_000)
        assert len(refusal.text) < 1_500
        assert len(json.dumps(refusal.data)) < 1_500


def test_a_store_that_cannot_write_still_answers() -> None:
    with Board.open("memory:") as opened:
        store = FaultyStore(opened.store)
        agent = Board(store).agent("main", session="s")
        agent.enter_plan_mode()
        store.plan("fail_before")
        assert _refused(agent).kind == "file_edit"
        assert store.met == [None, "fail_before"]


def test_asking_writes_nothing_about_an_agent_that_is_not_there() -> None:
    with memory_board() as board:
        assert board.agent("main", session="s").permits("Write", {}) is None
        assert list(board.events()) == []


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_the_notice_is_fenced_and_says_whether_the_tool_may_be_used(name: str) -> None:
    one = dialect(name)
    opening, said, *rows, closing = write_notice(one).split("\n")
    assert (opening, closing) == ("<punchlist>", "</punchlist>")
    assert said.startswith("Punchlist, the todo layer of this session: plan mode is on.")
    assert ("refused too" in rows[-1]) == (one.refused_in_plan_mode is not None)
    assert all(f"`{tool.name}`" in rows[-1] for tool in one.tools)
    assert len(write_notice(one)) <= 500


def test_the_hint_is_nexos_own() -> None:
    assert HINT == "Call ExitPlanMode { final_plan } when the plan is ready."


@pytest.mark.parametrize("name", ["nexo", "claude-code"])
def test_the_hint_names_the_plan_as_the_dialects_tool_takes_it(name: str) -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s", dialect=name, plan_tools=True)
        agent.enter_plan_mode()
        refused = agent.permits("Write", {"file_path": "x"})
        assert refused is not None
        (key,) = next(tool for tool in agent.tools if tool.name == "ExitPlanMode").input_schema["required"]
        assert f"ExitPlanMode {{ {key} }}" in refused.data["hint"]


def _kinds(board: Board) -> list[str]:
    return [event.kind for event in board.events()]


def _refused(agent: Agent, tool: str = "Write") -> Refusal:
    refusal = agent.permits(tool, {})
    assert refusal is not None
    return refusal
