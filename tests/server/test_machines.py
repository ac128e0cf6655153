"""Machines of a team report to the server: lines once and in order, grades by what ran there, words back to them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import httpx
import msgspec
import pytest

from punchlist.agent.processes import look_up_process
from punchlist.board import Board
from punchlist.cli import main
from punchlist.core.events import Event
from punchlist.people.back_channel import find_wakes
from tests.server.conftest import Running
from tests.server.streams import open_stream
from tests.server.team import SHOP, Machine, close_machines, make_machine_token


@pytest.fixture(autouse=True)
def closing() -> Iterator[None]:
    yield
    close_machines()


def events_of(board: Board, session: str, kind: str) -> list[Event]:
    return [event for event in board.events() if event.session == session and event.kind == kind]


def test_an_item_is_verified_by_a_check_that_ran_on_another_machine(running: Running, board: Board):
    laptop = Machine(running, "laptop-1")
    laptop.send(laptop.line("SessionStart", "s1", source="startup"), laptop.line("UserPromptSubmit", "s1", prompt="Go"))
    assert laptop.call("s1", "todo", {"add": [{"text": "Fix the sum"}], "start": "1"}).json()["is_error"] is False
    edit, begun = laptop.start("s1", "c1", "Edit", {"file_path": "/home/x/shop/sum.py", "old_string": "a"})
    ended = laptop.describe_end("Edit", "ok", begun, is_error=False)
    laptop.send(edit, laptop.line("PostToolUse", "s1", tool_name="Edit", tool_use_id="c1", call=ended))
    laptop.send(*laptop.run("s1", "c2", "pytest -q", "1 passed in 0.01s"))
    laptop.call("s1", "todo", {"done": ["1"]})
    (item,) = board.report(session="s1").items
    assert item.grade == "verified"
    row = board.store.agent("s1", "main")
    assert row is not None
    assert (row.project, row.folder) == (f"repo://{SHOP}", "host://laptop-1/home/x/shop")


def test_a_line_that_is_sent_again_is_taken_once_and_gets_its_first_answer(running: Running, board: Board):
    laptop = Machine(running, "laptop-1")
    laptop.call("s1", "todo", {"add": [{"text": "Fix"}], "start": "1"})
    lines = [*laptop.run("s1", "c1", "ls", "x"), laptop.line("Stop", "s1", last_assistant_message="Done.")]
    first = laptop.send(*lines)
    assert "still open" in str(first)
    assert laptop.send(*lines) == first
    assert laptop.send(lines[-1]) == {lines[-1]["id"]: first[lines[-1]["id"]]}
    assert len(events_of(board, "s1", "tool.finished")) == 1


def test_the_id_of_another_machines_line_brings_nothing_of_its_answer(running: Running):
    laptop, desk = Machine(running, "laptop-1"), Machine(running, "desk")
    laptop.call("s1", "todo", {"add": [{"text": "Secret work"}], "start": "1"})
    line = laptop.line("Stop", "s1", last_assistant_message="Done.")
    assert "Secret work" in str(laptop.send(line))
    other = {**desk.line("Stop", "s2", last_assistant_message="Done."), "id": line["id"]}
    assert "Secret work" not in str(desk.post(other).json())


def test_of_two_sessions_of_a_machine_with_the_same_call_id_at_once_each_writes_its_own_list(
    running: Running, board: Board
):
    laptop = Machine(running, "laptop-1")
    call = {"tool_name": "mcp__plugin_punchlist_punchlist__todo", "tool_use_id": "call_1"}
    server = {"name": "plugin:punchlist:punchlist", "source": "plugin"}
    for session in ("one", "two"):
        laptop.send(laptop.line("PreToolUse", session, mcp_server=server, tool_input={}, **call))
    for session in ("one", "two"):
        params = {"name": "todo", "arguments": {"add": ["Paint"]}, "_meta": {"claudecode/toolUseId": "call_1"}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        reply = laptop.client.post("/mcp", params={"session": session, "project": SHOP}, json=body)
        assert reply.json()["result"]["isError"] is False
    assert {row.session: len(row.todos.items) for row in board.lists()} == {"one": 1, "two": 1}


def test_the_order_of_a_machine_is_kept_and_its_clock_is_corrected(running: Running, board: Board):
    laptop = Machine(running, "laptop-1")
    lines = [line for number in range(20) for line in laptop.run("s1", f"c{number}", f"echo {number}", str(number))]
    slow = 3600.0
    for line in lines:
        line["at"] -= slow
    reply = laptop.post(*lines, **{"X-Punchlist-At": str(time.time() - slow)})
    assert reply.json()["taken"] == 40
    found = events_of(board, "s1", "tool.started")
    assert [event.data["call_id"] for event in found] == [f"c{number}" for number in range(20)]
    assert all(board.now() - event.at < timedelta(seconds=600) for event in found)


def test_clones_of_one_repository_on_two_machines_are_one_project_with_one_list_of_tasks(running: Running):
    laptop, desk = Machine(running, "laptop-1"), Machine(running, "desk")
    desk.remote = "ada@git.example.org/shop"
    laptop.send(laptop.line("SessionStart", "s1", source="startup"))
    desk.send(desk.line("SessionStart", "s2", source="startup"))
    added = laptop.call("s1", "task", {"do": "add", "text": "Paint"}, dialect="punchlist-tasks").json()
    assert added["is_error"] is False, added
    taken = desk.call("s2", "task", {"do": "claim", "id": "1"}, dialect="punchlist-tasks").json()
    assert taken["is_error"] is False, taken
    assert desk.client.get(f"/api/v1/task-lists/project:repo:%2F%2F{SHOP.replace('/', '%2F')}/tasks").json()["tasks"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"remote": "https://git.example.org/other"}, "project_refused"),
        ({"remote": "", "folder": "/home/x/shop"}, "project_refused"),
        ({"remote": "", "folder": "/../../etc"}, "project_refused"),
        ({"remote": 7}, "line_malformed"),
        ({"event": {"hook_event_name": "Stop"}}, "line_malformed"),
        ({"call": {"name": "Bash"}}, "call_malformed"),
        ({"call": None}, "call_malformed"),
        ({"dropped": -1}, "line_malformed"),
    ],
)
def test_a_line_that_may_not_be_sent_is_refused_by_name_and_changes_nothing(
    shared: Running, change: dict[str, Any], code: str
):
    name = f"m{abs(hash(str(change)))}"
    machine = Machine(shared, name)
    line, _ = machine.start(name, "c1", "Bash", {"command": "ls"})
    before = shared.board.store.last_seq()
    assert machine.refusal({**line, **change}) == code
    assert shared.board.store.last_seq() == before


def test_a_line_among_good_ones_is_refused_alone(running: Running):
    laptop = Machine(running, "laptop-1")
    good = laptop.line("SessionStart", "s1", source="startup")
    found = laptop.post({**good, "id": "a"}, {**good, "id": "b", "remote": "x/y"}, {**good, "id": "c"}).json()
    assert (found["taken"], list(found["refused"])) == (2, ["b"])


def test_a_description_cannot_bring_secrets_control_characters_or_fields_of_its_own(running: Running, board: Board):
    laptop = Machine(running, "laptop-1")
    line, begun = laptop.start("s1", "c1", "Bash", {"command": "ls"})
    facts = {**begun.facts, "preview": "\x1b[2J ghp_" + "a1B2c3D4e5" * 4, "call_id": "other", "item": "1/1", "x": "y"}
    told = msgspec.to_builtins(msgspec.structs.replace(begun, facts=facts))
    laptop.send({**line, "call": told})
    (event,) = events_of(board, "s1", "tool.started")
    assert event.data["call_id"] == "c1"
    assert "x" not in event.data
    assert "item" not in event.data
    assert "ghp_" not in str(event.data)
    assert "\x1b" not in str(event.data)


def test_nothing_that_a_machine_reports_is_a_persons(running: Running, board: Board):
    laptop = Machine(running, "laptop-1")
    plan = {"tool_name": "ExitPlanMode", "tool_use_id": "p1", "permission_mode": "default"}
    laptop.send(laptop.line("PreToolUse", "s1", tool_input={"plan": "# Plan\n1. Do it"}, **plan))
    laptop.send(laptop.line("PostToolUse", "s1", tool_input={}, tool_response={"plan": "x"}, **plan))
    (event,) = events_of(board, "s1", "approval.approved")
    assert event.by == "claude-code"
    assert event.data.get("person") is not True


def test_a_late_line_is_recorded_and_tells_the_model_nothing(running: Running, board: Board):
    laptop = Machine(running, "laptop-1")
    laptop.call("s1", "todo", {"add": [{"text": "Fix"}], "start": "1"})
    assert laptop.send(laptop.line("Stop", "s1", line_late=True, last_assistant_message="Done.")) == {}
    assert "still open" in str(laptop.send(laptop.line("Stop", "s1", last_assistant_message="Done.")))


def test_lines_that_were_dropped_on_the_machine_are_told(running: Running, board: Board):
    laptop = Machine(running, "laptop-1")
    laptop.send(laptop.line("UserPromptSubmit", "s1", prompt="Go", line_dropped=7))
    assert [event.data["count"] for event in events_of(board, "s1", "reports.dropped")] == [7]


def test_a_machine_that_is_heard_of_has_living_agents_and_a_silent_one_cannot_be_reached(
    running: Running, board: Board
):
    laptop = Machine(running, "laptop-1")
    laptop.send(laptop.line("SessionStart", "s1", source="startup"))
    conversation = board.store.read(lambda tx: tx.hosts.find_conversation("claude-code", "s1"))
    assert conversation is not None
    assert (conversation.machine, conversation.pid) == (laptop.id, None)

    def look(after: float = 0) -> str:
        now = board.now() + timedelta(seconds=after)
        return board.store.read(lambda tx: look_up_process(tx, conversation, now))

    assert look() == "none"
    laptop.beat({"host": "claude-code", "conversation": "s1", "pid": 1})
    assert look() == "runs"
    assert look(20) == "unreachable"
    assert laptop.beat()["owner"] == "ada"
    assert look() == "ended"


def test_an_agent_of_a_machine_that_falls_silent_is_shown_as_unreachable_and_not_as_gone(
    running: Running, board: Board, capsys: pytest.CaptureFixture[str]
):
    laptop = Machine(running, "laptop-1")
    laptop.send(laptop.line("SessionStart", "s1", source="startup"), laptop.line("UserPromptSubmit", "s1", prompt="Go"))
    laptop.call("s1", "todo", {"add": [{"text": "Fix"}], "start": "1"})
    laptop.beat({"host": "claude-code", "conversation": "s1", "pid": 1, "state": "busy"})

    def look() -> tuple[dict[str, Any], str]:
        assert main(["--db", board.store.path, "now", "--json"]) == 0
        (agent,) = json.loads(capsys.readouterr().out)["agents"]
        assert agent["machine"] == "laptop-1"
        assert main(["--db", board.store.path, "now"]) == 0
        return agent, capsys.readouterr().out

    assert look()[0]["state"] == "busy"
    silent = board.now() - timedelta(seconds=16)
    board.store.transact(lambda tx: tx.machines.save(laptop.id, "laptop-1", "ada", "owner", "[]", at=silent))
    agent, text = look()
    assert agent["state"] == "unknown"
    # Its last call came after that heartbeat, perhaps in the next minute.
    since = datetime.fromisoformat(agent["since"])
    assert silent < since <= board.now()
    assert f"machine laptop-1 unreachable since {since.astimezone():%H:%M}" in text
    laptop.beat({"host": "claude-code", "conversation": "s1", "pid": 1, "state": "busy"})
    assert look()[0]["state"] == "busy"


def test_an_answer_reaches_the_stream_of_the_machine_and_its_receipt_the_board(running: Running, board: Board):
    laptop = Machine(running, "laptop-1")
    laptop.send(laptop.line("SessionStart", "s1", source="startup"))
    laptop.call("s1", "todo", {"add": [{"text": "Which colour?"}], "start": "1"})
    agent = board.agent("main", session="s1", project=f"repo://{SHOP}")
    agent.ask("1", "Blue or red?")
    with open_stream(laptop.client, path="/api/v1/machine/stream") as stream:
        agent.answer("1", "Blue", by="ada")
        wake = next(frame.data for frame in stream if frame.kind == "wake")
        assert wake["conversation"] == "s1"
        assert wake["by"] == ["ada"]
        assert "ada answered your question" in wake["text"]
        receipt = {"host": "claude-code", "conversation": "s1", "step": "sent", "upto": wake["upto"]}
        assert laptop.client.post("/api/v1/machine/receipts", json=receipt).json() == {"known": True}
    assert events_of(board, "s1", "news.sent")
    assert find_wakes(board, laptop.id, "ada") == []  # a receipt is no news
    agent.ask("1", "Which red?")
    agent.answer("1", "Crimson", by="ada")
    assert len(find_wakes(board, laptop.id, "ada")) == 1


def test_the_stream_ends_when_the_token_is_revoked_or_expires(board: Board, running: Running):
    laptop = Machine(running, "laptop-1")
    with open_stream(laptop.client, path="/api/v1/machine/stream") as stream:
        board.store.transact(lambda tx: tx.tokens.remove("laptop-1", by="ada", at=board.now()))
        assert [frame for frame in stream if frame.kind != "rows"] == []  # and it ends
    assert laptop.client.post("/api/v1/machine/heartbeat", json={"at": 1}).status_code == 401


def test_pruning_a_machine_deletes_what_it_sent_and_nothing_of_others(
    running: Running, board: Board, capsys: pytest.CaptureFixture[str]
):
    laptop, desk = Machine(running, "laptop-1"), Machine(running, "desk")
    for session, machine in (("larch-1", laptop), ("birch-1", desk)):
        machine.send(machine.line("SessionStart", session, source="startup"))
        machine.call(session, "todo", {"add": [{"text": f"Paint the {session}"}]})
        machine.beat({"host": "claude-code", "conversation": session, "pid": 1})
    assert main(["--db", board.store.path, "prune", "--machine", "laptop-1", "--yes"]) == 0
    assert main(["--db", board.store.path, "prune", "--machine", "nobody", "--yes"]) == 1
    assert {event.session for event in board.events() if event.session} == {"birch-1"}
    assert [one.name for one in board.store.read(lambda tx: tx.machines.list())] == ["desk"]
    assert [one.id for one in board.store.read(lambda tx: tx.hosts.conversations())] == ["birch-1"]
    capsys.readouterr()


def test_a_token_that_has_expired_is_unknown(running: Running, board: Board):
    secret = make_machine_token(board, "old", lifetime=-1)
    reply = httpx.post(f"{running.origin}/api/v1/hooks", json={}, headers={"Authorization": f"Bearer {secret}"})
    assert reply.status_code == 401
