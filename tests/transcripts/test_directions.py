"""One decoder per format: read for its lists or step by step, a log tells the same lists."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from punchlist import Board
from punchlist.transcripts.formats import LOGS, open_transcript
from punchlist.transcripts.steps import CallEnd, ListWrite, StepReader
from punchlist.transcripts.values import name_write
from tests.transcripts.chats import HermesChat, OhMyPiChat
from tests.transcripts.records import output
from tests.transcripts.sessions import ClaudeSession, CodexSession
from tests.transcripts.test_oh_my_pi import edit, phase

Records = list[dict[str, Any]]


def claude_code() -> Records:
    session = ClaudeSession()
    session.user("Paint the shed")
    session.todo("> Sand", "Paint")
    session.bash("make", "ok")
    session.tool("TodoWrite", {"todos": []}, "InputValidationError", error=True)
    old = [{"content": "Sand", "status": "in_progress", "priority": "high", "id": "1"}]
    session.tool("TodoWrite", {"todos": old}, "Todos have been modified successfully.")
    session.todo("x Sand", "> Paint")
    return [json.loads(line) for line in session.lines]


def codex() -> Records:
    session = CodexSession()
    session.plan("> Sand", "Paint")
    session.shell("make", "ok")
    session.call("update_plan", {"plan": [{"step": "Burn", "status": "pending"}]}, "failed to parse function arguments")
    session.plan("x Sand", "> Paint")
    return [json.loads(line) for line in session.lines]


def oh_my_pi() -> Records:
    chat = OhMyPiChat()
    chat.todo("> Sand", "Paint")
    chat.run("make", "ok")
    chat.tool("todo_write", {"ops": []}, "no ops", error=True, data={"phases": []})
    chat.records.append(edit(phase("Work", "x Sand", "Paint"), timestamp=chat.stamp()))
    chat.todo("x Sand", "> Paint")
    chat.tool("todo", {"ops": []}, "", data={"phases": [phase("Work", "x Sand", "> Paint", "Dry")]})
    return chat.records


def hermes() -> Records:
    chat = HermesChat()
    chat.todo("> Sand", "Paint")
    chat.run("make", "ok")
    chat.tool("todo", {"todos": 5}, '{"error": "todos must be a list"}')
    chat.todo("x Sand", "> Paint")
    return chat.records


FORMATS: dict[str, Callable[[], Records]] = {
    "claude-code": claude_code,
    "codex": codex,
    "oh-my-pi": oh_my_pi,
    "hermes": hermes,
}


@pytest.mark.parametrize("format", FORMATS)
def test_the_lists_of_a_log_are_those_of_its_steps(format: str) -> None:
    records = FORMATS[format]()
    found, reader = open_transcript(records, format), StepReader(LOGS[format], None)
    writes = [step for record in records for step in reader.take(record) if isinstance(step, ListWrite)]
    latest, history = found.latest(), list(found.history())
    assert latest == history[-1]
    assert [name_write(written) for written in history] == [step.call_id for step in writes]
    with Board.open("memory:") as board:
        restored = board.agent("main", session="restored", dialect=found.dialect)
        assert restored.restore(records, format)
        for step in writes:
            board.agent("main", session="replayed", dialect=step.dialect).call(step.name, step.args)
        replayed = board.agent("main", session="replayed", dialect=found.dialect)
        lists = [[(item.content, item.status) for item in one.todos.items] for one in (restored, replayed)]
    assert lists[0] == lists[1] != []


@pytest.mark.parametrize("call", [["shell", None, "/projects/shop"], ["shell", None, "/projects/shop", "c1"]])
def test_the_place_that_an_earlier_version_saved_is_read_on(call: list[Any]) -> None:
    saved: dict[str, Any] = {"calls": {"c1": call}, "codes": {"c1": 3}, "cwd": "/projects/shop"}
    reader = StepReader(LOGS["codex"], None, saved)
    (end,) = reader.take(output("c1", "no such file"))
    assert isinstance(end, CallEnd)
    assert (end.call_id, end.name, end.exit_code, reader.cwd) == ("c1", "shell", 3, "/projects/shop")
