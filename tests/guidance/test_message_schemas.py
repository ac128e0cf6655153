"""Messages with a block in them pass the checks that the APIs of Anthropic and OpenAI make.

The rules are those of their references: Messages (`messages`), Chat Completions (`messages`) and Responses (`input`).
"""

from collections.abc import Callable
from typing import Any, cast

import pytest

from punchlist.guidance.compaction import SYNTHETIC, merge_block
from tests.dialects.boards import memory_board, todo

Messages = list[dict[str, Any]]

_ANTHROPIC = {
    "text": ({"type", "text"}, {"cache_control", "citations"}),
    "image": ({"type", "source"}, {"cache_control"}),
    "tool_use": ({"type", "id", "name", "input"}, {"cache_control"}),
    "tool_result": ({"type", "tool_use_id"}, {"content", "is_error", "cache_control"}),
}
"""Blocks of a message: the keys that they need, and those that they may have."""

_CHAT = {
    "user": ({"role", "content"}, {"name"}),
    "assistant": ({"role"}, {"content", "name", "tool_calls", "refusal", "audio"}),
    "tool": ({"role", "content", "tool_call_id"}, set[str]()),
    "system": ({"role", "content"}, {"name"}),
    "developer": ({"role", "content"}, {"name"}),
}
_CHAT_PARTS = {
    "text": ({"type", "text"}, set[str]()),
    "image_url": ({"type", "image_url"}, set[str]()),
}
_RESPONSES_PARTS = {
    "input_text": ({"type", "text"}, set[str]()),
    "input_image": ({"type", "image_url"}, {"detail"}),
    "output_text": ({"type", "text", "annotations"}, set[str]()),
}


def _has_keys(value: dict[str, Any], allowed: tuple[set[str], set[str]]) -> None:
    needed, optional = allowed
    assert needed <= value.keys() <= needed | optional, f"unknown or missing keys: {sorted(value)}"


def _list_parts(content: Any) -> Messages:
    return cast("Messages", content) if isinstance(content, list) else []


def check_anthropic(messages: Messages) -> None:
    assert messages
    assert messages[0]["role"] == "user"
    awaited: set[str] = set()
    for message in messages:
        _has_keys(message, ({"role", "content"}, set()))
        assert message["role"] in ("user", "assistant")
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        assert parts, "content is empty"
        for part in parts:
            _has_keys(part, _ANTHROPIC[part["type"]])
            assert part["type"] != "text" or part["text"].strip(), "a text is blank"
        results = [part["tool_use_id"] for part in parts if part["type"] == "tool_result"]
        assert set(results) == awaited, "tool_use without a tool_result in the next message"
        assert [part["type"] for part in parts[: len(results)]] == ["tool_result"] * len(results), "results come first"
        awaited = {part["id"] for part in parts if part["type"] == "tool_use"}


def check_chat(messages: Messages) -> None:
    assert messages
    awaited: set[str] = set()
    for message in messages:
        _has_keys(message, _CHAT[message["role"]])
        if message["role"] == "tool":
            assert message["tool_call_id"] in awaited
            awaited.discard(message["tool_call_id"])
            continue
        assert not awaited, "an assistant message with tool_calls must be followed by tool messages"
        awaited = {call["id"] for call in message.get("tool_calls", ())}
        content = message.get("content")
        assert content or awaited
        for part in _list_parts(content):
            _has_keys(part, _CHAT_PARTS[part["type"]])


def check_responses(messages: Messages) -> None:
    assert messages
    for message in messages:
        if message.get("type") in ("function_call", "function_call_output"):
            continue
        _has_keys(message, ({"role", "content"}, {"type", "status", "id"}))
        assert message["content"]
        for part in _list_parts(message["content"]):
            _has_keys(part, _RESPONSES_PARTS[part["type"]])


def _text(text: str, kind: str = "text") -> dict[str, Any]:
    return {"type": kind, "text": text}


def _user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


_CALL: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
_RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
_CALLS = [{"id": name, "type": "function", "function": {"name": "Bash", "arguments": "{}"}} for name in ("c1", "c2")]
_IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
_DONE = {"role": "assistant", "content": "Done."}

ANTHROPIC: list[Messages] = [
    [],
    [_user("go on")],
    [_user("go on"), _DONE],
    [_user([_text("look"), _IMAGE])],
    [_user("go on"), {"role": "assistant", "content": [_text("a"), _CALL]}, _user([_RESULT])],
    [_user("go on"), {"role": "assistant", "content": [_CALL]}, _user([_RESULT, _text("and hurry")]), _DONE],
    [_user([_text("go on") | {"cache_control": {"type": "ephemeral"}}]), _DONE, _user([_IMAGE])],
]
CHAT: list[Messages] = [
    [{"role": "system", "content": "Be brief."}],
    [_user("go on"), _DONE],
    [_user([_text("look"), {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}])],
    [
        _user("go on"),
        {"role": "assistant", "content": None, "tool_calls": _CALLS},
        *({"role": "tool", "tool_call_id": name, "content": "ok"} for name in ("c1", "c2")),
    ],
]
RESPONSES: list[Messages] = [
    [_user([_text("look", "input_text")])],
    [_user([{"type": "input_image", "image_url": "https://example.com/a.png"}])],
    [
        _user("go on"),
        {"type": "function_call", "call_id": "c1", "name": "Bash", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
    ],
]


def _blocks() -> list[str]:
    found: list[str] = []
    for name in ("punchlist", "hermes"):
        with memory_board() as board:
            todo(board.agent("main", session="s"), set=["Paint", "Sweep"])
            found.append(board.agent("main", session="s", dialect=name).compaction_block() or "")
    return found


OURS, HERMES = _blocks()


@pytest.mark.parametrize("block", [OURS, HERMES])
@pytest.mark.parametrize(
    ("messages", "check"),
    [
        *((messages, check_anthropic) for messages in ANTHROPIC),
        *((messages, check_chat) for messages in CHAT),
        *((messages, check_responses) for messages in RESPONSES),
    ],
)
def test_a_block_is_put_where_the_provider_takes_it(
    messages: Messages, check: Callable[[Messages], None], block: str
) -> None:
    merged = [dict(message) for message in merge_block(messages, block)]
    check(merged)
    check([dict(message) for message in merge_block(merged, OURS)])  # an older block is replaced
    assert str(merged).count("Paint") == 1
    taken = [dict(message) for message in merge_block(merged, None)]
    if taken:
        check(taken)
    assert "Paint" not in str(taken)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([{"role": "assistant", "content": [_CALL]}], [_user([_RESULT])]),
        (
            [{"role": "assistant", "content": None, "tool_calls": _CALLS}],
            [{"role": "tool", "tool_call_id": name, "content": "ok"} for name in ("c1", "c2")],
        ),
        (
            [
                {"role": "assistant", "content": None, "tool_calls": _CALLS},
                {"role": "tool", "tool_call_id": "c1", "content": "ok"},
            ],
            [{"role": "tool", "tool_call_id": "c2", "content": "ok"}],
        ),
    ],
)
def test_nothing_comes_between_a_tool_call_and_its_result(before: Messages, after: Messages) -> None:
    merged = merge_block([_user("go on"), *before], OURS)
    assert merged == [_user(f"go on\n\n{OURS}"), *before]
    check = check_anthropic if "tool_calls" not in before[0] else check_chat
    check([*map(dict, merged), *after])


def test_the_flag_of_hermes_is_read_and_never_written() -> None:
    flagged = [_user("go on"), _DONE, {**_user(HERMES), SYNTHETIC: True}]
    assert merge_block(flagged, HERMES) == [_user("go on"), _DONE, _user(HERMES)]


def test_a_text_of_which_nothing_is_left_is_taken_out() -> None:
    merged = merge_block([_user([_IMAGE, _text(f"\n\n{HERMES}\n")])], None)
    assert merged == [_user([_IMAGE])]
