"""How SQLite answers the named queries: by an index, however large the board."""

import sqlite3
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.store.records import queries

VALUES: dict[str, int] = dict.fromkeys(
    (
        "session", "name", "agent", "project", "limit", "after", "upto", "author", "parent", "spawn_id", "before",
        "list", "label", "owner", "now", "until", "lease", "reserved", "task", "topic", "correlation_id", "blocker",
        "by", "runs_after", "status", "most", "id", "item", "plan_id", "source", "place", "sum", "mark", "call_id",
        "fingerprint", "first", "last", "from", "to", "since",
    ),
    1,
)  # fmt: skip
ITS_LIST = "SEARCH l USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN"
_FAMILY = [
    "MATERIALIZE family",
    "SETUP",
    "SCAN CONSTANT ROW",
    "RECURSIVE STEP",
    "SCAN f",
    "SEARCH a USING COVERING INDEX agents_of_parent (parent=?)",
]
"""The agent and its subagents, of which each is found by the index: a brief asks so for every item under way."""
_HEADER = [
    "SCALAR SUBQUERY 1",
    "SEARCH e",
    "SCALAR SUBQUERY 2",
    "SCAN task_lists USING COVERING INDEX task_lists_of_project",
]
"""The last event, and the first list of tasks, if there is any. The table `board` has one row."""
HOT = {
    "find_agent": [
        "SCAN b",
        "SEARCH a USING INDEX sqlite_autoindex_agents_1 (session=? AND name=?) LEFT-JOIN",
        ITS_LIST,
        "SEARCH s USING PRIMARY KEY (id=?) LEFT-JOIN",
        "SEARCH c USING PRIMARY KEY (agent=? AND call_id=?) LEFT-JOIN",
        *_HEADER,
        "CORRELATED SCALAR SUBQUERY 3",
        "SEARCH t USING INDEX tasks_of_agent (agent=?)",
        "CORRELATED SCALAR SUBQUERY 4",
        "SEARCH d USING COVERING INDEX completions_in_order (agent=?)",
        "CORRELATED SCALAR SUBQUERY 5",
        "SEARCH d USING INDEX completions_in_order (agent=?)",
    ],
    "save_agent": ["SEARCH agents USING INTEGER PRIMARY KEY (rowid=?)"],
    "lists_of_project": ["SEARCH a USING INDEX agents_by_project (project=?)", ITS_LIST],
    "lists_of_board": ["SCAN a USING INDEX agents_by_time", ITS_LIST],
    "agents_of_session": [
        "SEARCH a USING INDEX sqlite_autoindex_agents_1 (session=?)",
        ITS_LIST,
        "USE TEMP B-TREE FOR ORDER BY",
    ],
    "events_after": [
        "SEARCH e USING INTEGER PRIMARY KEY (rowid>?)",
        "SEARCH a USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN",
        "SEARCH l USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN",
    ],
    "last_events": [
        "SCAN e",
        "SEARCH a USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN",
        "SEARCH l USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN",
    ],
    "events_of_list": ["SEARCH events USING INDEX events_of_agent (agent=? AND revision>? AND revision<?)"],
    "changes_by_author": ["SEARCH events USING INDEX events_of_agent (agent=? AND revision>?)"],
    "last_write": ["SEARCH events USING INDEX events_of_agent (agent=? AND revision>?)"],
    "said_again": ["SEARCH events USING INDEX events_of_agent (agent=? AND revision=?)"],
    "answered": [
        "SEARCH a USING INDEX agents_by_project (project=?)",
        "SEARCH c USING PRIMARY KEY (agent=? AND call_id=?)",
    ],
    "snapshot_before": ["SEARCH snapshots USING PRIMARY KEY (agent=? AND revision<?)"],
    "find_memory": ["SEARCH agents USING INTEGER PRIMARY KEY (rowid=?)"],
    "find_tool_call": ["SEARCH tool_calls USING PRIMARY KEY (agent=? AND id=?)"],
    "loop_window": ["SEARCH tool_calls USING INDEX loop_window (agent=? AND loop_seq>?)"],
    "open_tool_calls": ["SEARCH tool_calls USING INDEX open_calls (agent=?)"],
    "oldest_open_tool_call": ["SEARCH tool_calls USING INDEX open_calls (agent=?)", "USE TEMP B-TREE FOR ORDER BY"],
    "tool_calls_since": [
        "COMPOUND QUERY",
        "LEFT-MOST SUBQUERY",
        "SEARCH tool_calls USING INDEX calls_ended (agent=? AND ended>?)",
        "UNION ALL",
        "SEARCH tool_calls USING INDEX open_calls (agent=? AND seq>?)",
    ],
    "tool_calls_in_window": [
        "MERGE (UNION ALL)",
        "LEFT",
        *_FAMILY,
        "SCAN f",
        "SEARCH c USING INDEX calls_ended (agent=? AND ended>?)",
        "USE TEMP B-TREE FOR ORDER BY",
        "RIGHT",
        "SCAN f",
        "SEARCH c USING INDEX open_calls (agent=? AND seq<?)",
        "USE TEMP B-TREE FOR ORDER BY",
    ],
    "children_of_agent": ["SEARCH agents USING INDEX agents_of_parent (parent=?)"],
    "find_spawned": ["SEARCH agents USING INDEX agents_of_parent (parent=?)"],
    "previous_completion": ["SEARCH completions USING INDEX completions_in_order (agent=?)"],
    "findings_of_agent": [
        "SEARCH a USING INTEGER PRIMARY KEY (rowid=?)",
        "SEARCH e USING INDEX events_of_agent (agent=? AND revision=? AND rowid>?)",
    ],
    "find_mark": ["SEARCH marks USING INDEX sqlite_autoindex_marks_1 (name=?)"],
    "parent_of_agent": [
        "SEARCH a USING INTEGER PRIMARY KEY (rowid=?)",
        "SEARCH p USING INTEGER PRIMARY KEY (rowid=?)",
    ],
    "find_call": ["SEARCH calls USING PRIMARY KEY (agent=? AND call_id=?)"],
    "sessions_of_board": [
        "SCAN s USING INDEX sessions_by_time",
        "CORRELATED SCALAR SUBQUERY 1",
        "SEARCH a USING COVERING INDEX sqlite_autoindex_agents_1 (session=?)",
        "CORRELATED SCALAR SUBQUERY 2",
        "SEARCH a USING INDEX sqlite_autoindex_agents_1 (session=?)",
    ],
    "sessions_of_project": [
        "SEARCH s USING INDEX sessions_by_project (project=?)",
        "CORRELATED SCALAR SUBQUERY 1",
        "SEARCH a USING COVERING INDEX sqlite_autoindex_agents_1 (session=?)",
        "CORRELATED SCALAR SUBQUERY 2",
        "SEARCH a USING INDEX sqlite_autoindex_agents_1 (session=?)",
    ],
    "current_plan": ["SEARCH plans USING INDEX sqlite_autoindex_plans_2 (agent=?)"],
    "find_plan": [
        "SEARCH p USING INDEX sqlite_autoindex_plans_1 (id=?)",
        "SEARCH a USING INTEGER PRIMARY KEY (rowid=?)",
    ],
    "proposed_plans": ["SCAN p USING INDEX plans_proposed", "SEARCH a USING INTEGER PRIMARY KEY (rowid=?)"],
    "open_questions": ["SCAN q USING INDEX questions_open", "SEARCH a USING INTEGER PRIMARY KEY (rowid=?)"],
    "answered_questions": ["SEARCH questions USING INDEX questions_answered (agent=?)"],
    "latest_question": ["SEARCH questions USING INDEX sqlite_autoindex_questions_1 (agent=?)"],
    "delete_events": [
        "SEARCH events USING INDEX events_of_agent (agent=?)",
        "SCALAR SUBQUERY 1",
        "SEARCH events",
    ],
}
"""`SCAN … USING INDEX` and the bare `SCAN e` end at their limit: they walk in the order that is asked for."""

_LABEL = ["CORRELATED SCALAR SUBQUERY 1", "SEARCH g USING PRIMARY KEY (task=? AND label=?)"]
TASKS = {
    "find_task_list": [
        "SCAN b",
        "SEARCH k USING INDEX sqlite_autoindex_task_lists_1 (name=?) LEFT-JOIN",
        *_HEADER,
        "CORRELATED SCALAR SUBQUERY 3",
        "SEARCH t USING COVERING INDEX tasks_due (list=? AND due_at<?)",
    ],
    "next_task_id": ["SEARCH task_lists USING INTEGER PRIMARY KEY (rowid=?)"],
    "task_by_id": ["SEARCH tasks USING INDEX sqlite_autoindex_tasks_1 (list=? AND id=?)"],
    "task_by_number": ["SEARCH tasks USING INTEGER PRIMARY KEY (rowid=?)"],
    "save_task": ["SEARCH tasks USING INTEGER PRIMARY KEY (rowid=?)"],
    "ready_tasks": ["SEARCH tasks USING INDEX tasks_ready (list=?)"],
    "ready_tasks_of_label": ["SEARCH tasks USING INDEX tasks_ready (list=?)", *_LABEL],
    "claim_tasks": [
        "SEARCH tasks USING INTEGER PRIMARY KEY (rowid=?)",
        "LIST SUBQUERY 1",
        "SEARCH tasks USING INDEX tasks_ready (list=?)",
    ],
    "claim_tasks_of_owner": [
        "SEARCH tasks USING INTEGER PRIMARY KEY (rowid=?)",
        "LIST SUBQUERY 2",
        "SEARCH tasks USING INDEX tasks_of_owner (list=? AND owner=?)",
        *_LABEL,
    ],
    "has_tasks_of_owner": ["SEARCH tasks USING INDEX tasks_of_owner (list=? AND owner=?)", *_LABEL],
    "due_tasks": ["SEARCH tasks USING COVERING INDEX tasks_due (list=? AND due_at<?)"],
    "leases_too_long": ["SEARCH tasks USING INDEX tasks_due (list=? AND due_at>?)"],
    "tasks_waiting_for": ["SEARCH tasks USING COVERING INDEX tasks_of_event (list=? AND topic=? AND correlation_id=?)"],
    "renew_leases": ["SEARCH tasks USING INDEX tasks_of_agent (agent=?)"],
    "tasks_of_agent": [
        "COMPOUND QUERY",
        "LEFT-MOST SUBQUERY",
        "SEARCH tasks USING INDEX tasks_of_agent (agent=?)",
        "UNION USING TEMP B-TREE",
        "SEARCH tasks USING INDEX tasks_failed_of_agent (agent=?)",
        "CORRELATED SCALAR SUBQUERY 2",
        "SEARCH f USING INTEGER PRIMARY KEY (rowid=?)",
        "UNION USING TEMP B-TREE",
        "SEARCH l USING COVERING INDEX task_lists_of_session (session=?)",
        "SEARCH t USING INDEX tasks_of_owner (list=? AND owner=?)",
        "UNION USING TEMP B-TREE",
        "SEARCH l USING COVERING INDEX task_lists_of_session (session=?)",
        "SEARCH t USING INDEX tasks_failed (list=? AND owner=?)",
        "UNION USING TEMP B-TREE",
        "SEARCH l USING INDEX task_lists_of_no_session (project=?)",
        "SEARCH t USING INDEX tasks_of_owner (list=? AND owner=?)",
        "CORRELATED SCALAR SUBQUERY 6",
        "SEARCH f USING INTEGER PRIMARY KEY (rowid=?)",
        "UNION USING TEMP B-TREE",
        "SEARCH l USING INDEX task_lists_of_no_session (project=?)",
        "SEARCH t USING INDEX tasks_failed (list=? AND owner=?)",
        "CORRELATED SCALAR SUBQUERY 8",
        "SEARCH f USING INTEGER PRIMARY KEY (rowid=?)",
    ],
    "blockers_between": [
        "SEARCH t USING COVERING INDEX sqlite_autoindex_tasks_1 (list=? AND id>? AND id<?)",
        "SEARCH e USING PRIMARY KEY (task=?)",
        "SEARCH b USING INTEGER PRIMARY KEY (rowid=?)",
        "USE TEMP B-TREE FOR RIGHT PART OF ORDER BY",
    ],
    "dependents_between": [
        "SEARCH b USING COVERING INDEX sqlite_autoindex_tasks_1 (list=? AND id>? AND id<?)",
        "SEARCH e USING COVERING INDEX task_edges_of_blocker (blocker=?)",
        "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)",
        "USE TEMP B-TREE FOR RIGHT PART OF ORDER BY",
    ],
    "find_edge": ["SEARCH task_edges USING COVERING INDEX task_edges_of_blocker (blocker=? AND task=?)"],
    "neighbours_of_task": [
        "COMPOUND QUERY",
        "LEFT-MOST SUBQUERY",
        "SEARCH e USING PRIMARY KEY (task=?)",
        "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)",
        "UNION ALL",
        "SEARCH e USING COVERING INDEX task_edges_of_blocker (blocker=?)",
        "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)",
    ],
    "shift_dependents": [
        "SEARCH tasks USING INTEGER PRIMARY KEY (rowid=?)",
        "LIST SUBQUERY 1",
        "SEARCH task_edges USING COVERING INDEX task_edges_of_blocker (blocker=?)",
    ],
    "find_reading": ["SEARCH task_readings USING INDEX sqlite_autoindex_task_readings_1 (list=? AND source=?)"],
    "find_task_call": ["SEARCH task_calls USING PRIMARY KEY (list=? AND call_id=?)"],
    "events_of_task": [
        "SEARCH l USING INTEGER PRIMARY KEY (rowid=?)",
        "SEARCH e USING INDEX events_of_task (task_list=? AND task=?)",
        "SEARCH a USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN",
    ],
    "task_lists_due_of_agent": [
        "SEARCH l USING INTEGER PRIMARY KEY (rowid=?)",
        "LIST SUBQUERY 5",
        "COMPOUND QUERY",
        "LEFT-MOST SUBQUERY",
        "SEARCH t USING INDEX tasks_of_agent (agent=?)",
        "UNION USING TEMP B-TREE",
        "SEARCH o USING COVERING INDEX task_lists_of_session (session=?)",
        "CORRELATED SCALAR SUBQUERY 2",
        "SEARCH t USING COVERING INDEX tasks_due (list=? AND due_at<?)",
        "UNION USING TEMP B-TREE",
        "SEARCH o USING COVERING INDEX sqlite_autoindex_task_lists_1 (name=?)",
        "CORRELATED SCALAR SUBQUERY 4",
        "SEARCH t USING COVERING INDEX tasks_due (list=? AND due_at<?)",
    ],
    "reservations_of_project": [
        "SEARCH l USING INDEX task_lists_of_project (project=?)",
        "SEARCH t USING INDEX tasks_reserving (list=?)",
    ],
}
"""Of a list of 100,000 tasks none of these reads more than it returns, but for a label that few have."""


@pytest.fixture
def connection(tmp_path: Path) -> sqlite3.Connection:
    Board.open(tmp_path / "board.db").close()
    return sqlite3.connect(tmp_path / "board.db")


FLOWS = {
    "find_flow": ["SEARCH flows USING INDEX sqlite_autoindex_flows_1 (id=?)"],
    "flows_like": ["SEARCH flows USING INDEX sqlite_autoindex_flows_1 (id>? AND id<?)"],
    "flows_of_owner": ["SEARCH flows USING INDEX flows_of_owner (owner=?)"],
    "flows_of_status": ["SEARCH flows USING INDEX flows_of_status (status=?)"],
    "flows_of_board": ["SCAN flows"],
    "find_flow_step": ["SEARCH flow_steps USING INDEX sqlite_autoindex_flow_steps_1 (flow=? AND run_id=?)"],
}
"""`SCAN flows` walks backwards by the key and ends at its limit."""

PLANS = {**HOT, **TASKS, **FLOWS}


@pytest.mark.parametrize("name", sorted(PLANS))
def test_a_query_of_the_hot_paths_keeps_its_plan(connection: sqlite3.Connection, name: str) -> None:
    statement = queries()[name]
    values = (1,) * statement.count("?") or {**VALUES, "at": 1}
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    connection.close()
    assert plan == PLANS[name]


def test_every_query_is_valid_and_used(connection: sqlite3.Connection) -> None:
    more = (
        "at",
        "position",
        "but",
        "source",
        "target",
        "sum",
        "payload",
        "mode",
        "body",
        "revision",
        "state",
        "number",
        "seq",
        "kind",
        "data",
        "host",
        "conversation",
        "pid",
        "event",
        "spawns",
        "label",
        "most",
        "answer",
        "generation",
        "place",
        "told",
        "token",
        "sent",
        "path",
        "file",
        "other",
        "part",
        "digest",
        "scope",
        "subject",
        "pattern",
        "first",
        "last",
        "is_person",
        "without",
    )
    values: dict[str, int] = {**VALUES, **dict.fromkeys(more, 1)}
    sources = "".join(path.read_text() for path in Path("src/punchlist/store").glob("*.py"))
    for name, statement in queries().items():
        given = (1,) * statement.count("?") or values
        connection.execute(f"EXPLAIN {statement}", given)
        assert f'"{name}"' in sources, f"nobody uses {name}"
    connection.close()
