"""The events of a board as the updates of an ACP session."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from punchlist import Board
from punchlist.acp.updates import AcpCalls, Updates, plan_entries, replay
from punchlist.projections.followed_lists import looking_into
from tests.dialects.boards import memory_board, todo
from tests.projections.board_events import events_of, kinds, tool, worked


@pytest.fixture
def board() -> Iterator[Board]:
    with memory_board() as board:
        yield board


@pytest.mark.requirement("acp.replay")
def test_a_record_replays_into_calls_and_plans_in_their_order(board: Board) -> None:
    agent = worked(board)
    updates = list(replay(events_of(board), "s1"))
    assert kinds(updates) == [
        "plan",
        "tool_call",
        "tool_call_update",
        "plan",
        "plan",
        "tool_call",
        "tool_call_update",
        "tool_call",  # of the child
        "tool_call_update",  # which nobody waits for any more
    ]
    plans = [update for update in updates if update["sessionUpdate"] == "plan"]
    assert plans[-1]["entries"] == plan_entries(agent.todos)
    assert [entry["status"] for entry in plans[-1]["entries"]] == [
        "completed",
        "in_progress",
        "pending",
        "completed",
        "pending",
    ]


@pytest.mark.requirement("acp.plan-update")
def test_a_client_that_takes_plans_is_sent_those_of_children_and_what_waits_for_approval(board: Board) -> None:
    agent = worked(board)
    updates = list(replay(events_of(board), "s1", plans=True))
    shown = [update["plan"] for update in updates if update["sessionUpdate"] == "plan_update"]
    assert [(each["type"], each["planId"]) for each in shown[-2:]] == [
        ("items", "explore"),
        ("markdown", shown[-1]["planId"]),
    ]
    assert shown[-1]["content"] == "# Plan\n\n1. First"
    assert "plan" not in kinds(updates)
    agent.reject_plan("too short", by="ada")
    assert list(replay(events_of(board), "s1", plans=True))[-2] == {
        "sessionUpdate": "plan_removed",
        "planId": shown[-1]["planId"],
    }


@pytest.mark.requirement("acp.children")
def test_calls_of_children_have_ids_of_their_own_and_say_whose_they_are(board: Board) -> None:
    worked(board)
    calls = [update for update in replay(events_of(board), "s1") if update["sessionUpdate"] == "tool_call"]
    assert [call["toolCallId"] for call in calls] == ["c1", "c2", "explore/c1"]
    assert calls[2]["_meta"]["punchlist/agent"] == "explore"
    assert [call["kind"] for call in calls] == ["read", "execute", "other"]


@pytest.mark.requirement("acp.call-kind")
@pytest.mark.parametrize(
    "name", ["Grep", "Read", "shell", "apply_patch", "mcp__files__find", "todo_write", "update_plan"]
)
def test_a_call_is_of_the_same_kind_whoever_tells_of_it(name: str) -> None:
    (told,) = Updates("s1").add(tool("tool.started", call_id="a", name=name))
    host = AcpCalls().start("a", name, {"path": "/a.py"})
    assert host is not None
    assert told["kind"] == host["kind"]


def test_other_sessions_are_not_shown(board: Board) -> None:
    worked(board, "other")
    assert list(replay(events_of(board), "s1", plans=True)) == []


def test_a_list_that_says_the_same_is_not_sent_again(board: Board) -> None:
    agent = board.agent("main", session="s1")
    todo(agent, set=["A"])
    todo(agent, note={"1": "by hand"})
    todo(agent, set=["A"])
    assert kinds(list(replay(events_of(board), "s1"))) == ["plan"]


def test_whoever_joins_in_the_middle_starts_from_the_list_as_it_stands(board: Board) -> None:
    agent = board.agent("main", session="s1")
    todo(agent, set=["A", "B"])
    updates = Updates("s1")
    assert kinds(updates.begin(agent.todos)) == ["plan"]
    todo(agent, done="1")
    late = [update for event in events_of(board) for update in updates.add(event)]
    assert [update["entries"] for update in late] == [plan_entries(agent.todos)]


def test_a_plan_that_waits_is_sent_once(board: Board) -> None:
    agent = board.agent("main", session="s1")
    agent.enter_plan_mode()
    agent.propose_plan("# Plan")
    updates, waiting = Updates("s1", plans=True), [row.plan for row in board.plans()]
    assert kinds(updates.begin(agent.todos, waiting=waiting)) == ["plan_update"]
    assert [update for event in events_of(board) for update in updates.add(event)] == []
    assert Updates("s1").begin(agent.todos, waiting=waiting) == []


def test_a_list_of_which_events_are_missing_is_looked_up(board: Board) -> None:
    agent = board.agent("main", session="s1")
    todo(agent, set=["A", "B"])
    seen = events_of(board)[-1].seq
    todo(agent, done="1")
    later = list(board.events(after=seen))
    assert list(replay(later, "s1")) == []
    assert next(replay(later, "s1", look=looking_into(board)))["entries"] == plan_entries(agent.todos)


def test_an_end_without_a_beginning_begins_first() -> None:
    updates = Updates("s1").add(tool("tool.finished", call_id="c1", name="Bash", is_error=True))
    assert [update.get("status") for update in updates] == ["in_progress", "failed"]


@pytest.mark.requirement("acp.call-pairing")
def test_calls_without_ids_pair_first_in_first_out(board: Board) -> None:
    agent = board.agent("main", session="s1")
    agent.tool_started(None, "Bash", {"command": "ls a"})
    agent.tool_started(None, "Bash", {"command": "ls b"})
    agent.tool_finished(None, result="first", name="Bash")
    agent.tool_finished(None, result="second", name="Bash")
    ids = [update["toolCallId"] for update in replay(board.events(), "s1")]
    assert ids == [ids[0], ids[1], ids[0], ids[1]]
    assert ids[0] != ids[1]


@pytest.mark.requirement("acp.call-abandoned")
@pytest.mark.parametrize("kind", ["turn.ended", "agent.finished"])
def test_the_end_of_a_turn_gives_up_the_open_calls_of_that_agent_only(kind: str) -> None:
    updates = Updates("s1")
    updates.add(tool("tool.started", 1, call_id="a", name="Bash"))
    updates.add(tool("tool.started", 2, call_id="b", name="Bash", agent="child"))
    assert [update["toolCallId"] for update in updates.add(tool(kind, 3))] == ["a"]
    late = tool("tool.finished", 4, call_id="a", name="Bash", result="made")
    assert [(update["toolCallId"], update["status"]) for update in updates.add(late)] == [("a", "completed")]
    assert updates.add(late) == []


def test_titles_and_places_on_a_board_are_those_of_the_original(board: Board) -> None:
    agent = board.agent("main", session="s1")
    long = "x" * 300
    agent.tool_started("a", "read", {"path": "/a.py", "line": 3, "deep": {"b": [1]}})
    agent.tool_finished("a", result="FILE:/out.txt\nMEDIA:/pic.png\nok")
    agent.tool_started("b", "edit", {"file_path": "/b.py", "new_string": long, "x": 1})
    agent.tool_started("c", "exec", {"command": "ls -l"})
    agent.tool_started("d", "find", {"pattern": "pass", "targetPath": "/src", "token": "hunter2"})
    read, ended, edit, shell, search = list(replay(board.events(), "s1"))[:5]
    assert (read["title"], read["locations"]) == (
        'read: path: /a.py, line: 3, deep: {"b":[1]}',
        [{"path": "/a.py", "line": 3}],
    )
    assert ended["locations"] == [{"path": "/a.py", "line": 3}, {"path": "/out.txt"}, {"path": "/pic.png"}]
    assert edit["title"] == f"edit: file_path: /b.py, new_string: {'x' * 100}..."
    assert edit["locations"] == [{"path": "/b.py"}]
    assert shell["title"] == "exec: command: ls -l"
    assert (search["title"], search["locations"]) == (
        "find: pattern: pass, targetPath: /src, token: ***",
        [{"path": "/src"}],
    )


def test_previews_files_and_checks_reach_the_client() -> None:
    updates = Updates("s1")
    started = updates.add(
        tool("tool.started", call_id="a", name="Edit", preview="fix it", files=["/a.py"], item="p1/2")
    )
    ended = updates.add(tool("tool.finished", call_id="a", name="Edit", result="ok", check_outcome="passed"))
    assert (started[0]["title"], started[0]["locations"]) == ("Edit: fix it", [{"path": "/a.py"}])
    assert started[0]["_meta"] == {"punchlist/item": "p1/2"}
    assert ended[0]["content"][0]["content"]["text"] == "ok"
    assert ended[0]["_meta"] == {"punchlist/check_outcome": "passed"}


def test_a_todo_tool_is_of_no_kind() -> None:
    assert Updates("s1").add(tool("tool.started", call_id="a", name="TodoWrite"))[0]["kind"] == "other"


TEXTS = st.text(max_size=8)
VALUES = st.none() | st.integers(0, 3) | TEXTS | st.lists(TEXTS, max_size=2) | st.dictionaries(TEXTS, TEXTS, max_size=2)
KEYS = [
    "call_id",
    "name",
    "files",
    "result",
    "revision",
    "ids",
    "item",
    "index",
    "id",
    "set",
    "plan",
    "text",
    "plan_id",
]
KINDS = ["tool.started", "tool.updated", "tool.finished", "item.added", "item.started", "list.replaced", "list.wiped"]
EVENTS = st.tuples(
    st.sampled_from([*KINDS, "approval.proposed", "turn.ended"]),
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5),
)


@given(st.lists(EVENTS, max_size=8))
def test_no_record_however_broken_raises(events: list[tuple[str, dict[str, Any]]]) -> None:
    updates = Updates("s1", plans=True)
    for seq, (kind, data) in enumerate(events):
        updates.add(replace(tool(kind, seq), data=data))
