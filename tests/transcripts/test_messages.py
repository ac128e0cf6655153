"""Plain messages of the Anthropic and OpenAI APIs, as a host of its own keeps them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from punchlist import Board
from punchlist.errors import TranscriptUnknown, UnknownName
from punchlist.transcripts.formats import open_transcript
from punchlist.transcripts.values import Written

Calls = list[tuple[str, str, Any, str]]
"""Id, tool, arguments and result of each call."""

OWN: Calls = [
    ("c1", "todo", {"set": ["Read", "Write", {"text": "Check", "phase": "Later"}]}, "Set 3 items."),
    ("c2", "todo", {"done": "1"}, "Done: Read."),
    ("c3", "todo", {"block": {"3": "no key"}, "add": ["Ship"]}, "Added."),
]


def anthropic(calls: Calls) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Go on."}]
    for own, tool, args, said in calls:
        call = {"type": "tool_use", "id": own, "name": tool, "input": args}
        result = {"type": "tool_result", "tool_use_id": own, "content": said}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": "Now."}, call]})
        messages.append({"role": "user", "content": [result]})
    return messages


def openai(calls: Calls) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Go on."}]
    for own, tool, args, said in calls:
        function = {"name": tool, "arguments": json.dumps(args)}
        call = {"id": own, "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": own, "content": said})
    return messages


def responses(calls: Calls) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = [{"role": "user", "content": "Go on."}]
    for own, tool, args, said in calls:
        items.append({"type": "function_call", "call_id": own, "name": tool, "arguments": json.dumps(args)})
        items.append({"type": "function_call_output", "call_id": own, "output": said})
    return items


SHAPES = pytest.mark.parametrize("shape", [anthropic, openai, responses])


def told(written: Written | None) -> list[tuple[str, str]]:
    assert written is not None
    return [(entry.content, entry.status.value) for entry in written.command.entries]


@SHAPES
def test_the_list_of_our_own_tool_is_what_its_calls_made(shape: Callable[[Calls], Any]) -> None:
    found = open_transcript(shape(OWN))
    assert (found.format, found.dialect) == ("messages", "punchlist")
    assert [len(written.command.entries) for written in found.history()] == [3, 3, 4]
    with Board.open("memory:") as board:
        agent, other = board.agent("main", session="s1"), board.agent("main", session="s2")
        for own, tool, args, _ in OWN:
            agent.call(tool, args, call_id=own)
        assert other.restore(shape(OWN))
        for one in (agent, other):
            assert [phase.name for phase in one.todos.phases] == ["Later"]
        shown = [
            [(item.content, item.status, item.blocker, bool(item.phase_id)) for item in one.todos.items]
            for one in (agent, other)
        ]
        assert shown[0] == shown[1]


@SHAPES
@pytest.mark.parametrize(
    ("dialect", "tool", "item"),
    [
        ("claude-code", "TodoWrite", {"content": "Read", "status": "in_progress", "activeForm": "Reading"}),
        ("gemini", "write_todos", {"description": "Read", "status": "in_progress"}),
        ("opencode", "todowrite", {"content": "Read", "status": "in_progress", "priority": "high"}),
    ],
)
def test_the_dialect_is_told_from_the_tool(
    shape: Callable[[Calls], Any], dialect: str, tool: str, item: dict[str, str]
) -> None:
    found = open_transcript(shape([("c1", tool, {"todos": [item]}, "ok")]))
    assert (found.dialect, told(found.latest())) == (dialect, [("Read", "in_progress")])


@SHAPES
def test_a_call_without_a_result_does_not_count(shape: Callable[[Calls], Any]) -> None:
    found = open_transcript(shape(OWN[:2])[:-1])
    assert told(found.latest()) == [("Read", "in_progress"), ("Write", "pending"), ("Check", "pending")]


def test_a_call_that_was_refused_does_not_count() -> None:
    messages = anthropic(OWN[:2])
    messages[-1]["content"][0]["is_error"] = True
    assert told(open_transcript(messages).latest())[0] == ("Read", "in_progress")


@SHAPES
@pytest.mark.parametrize("whole", ["array", "object", "lines"])
def test_messages_are_read_from_a_file(shape: Callable[[Calls], Any], tmp_path: Path, whole: str) -> None:
    messages, path = shape(OWN), tmp_path / ("run.jsonl" if whole == "lines" else "run.json")
    if whole == "lines":
        path.write_text("".join(json.dumps(message) + "\n" for message in messages))
    else:
        path.write_text(json.dumps({"messages": messages} if whole == "object" else messages))
    found = open_transcript(path)
    assert (found.format, len(told(found.latest()))) == ("messages", 4)


def test_what_is_no_transcript_is_an_error_that_names_the_formats(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_text('{"a": 1}')
    for opening, kind in ((lambda: open_transcript(path), TranscriptUnknown), (_open_as_nothing, UnknownName)):
        with pytest.raises(kind) as caught:
            opening()
        assert "claude-code, codex" in str(caught.value)
        assert "messages" in str(caught.value)


def _open_as_nothing() -> object:
    return open_transcript(anthropic(OWN), "nothing")
