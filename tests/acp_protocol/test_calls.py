"""Tool calls as ACP updates, as OpenClaw's translator makes them. The rules are in manifest.toml, section acp."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.acp.updates import AcpCalls, call_content, call_kind, call_title
from punchlist.core.grounding.places import places

KEYS = st.text(max_size=4) | st.sampled_from(["path", "line", "content", "text"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


def said(text: str) -> list[dict[str, Any]]:
    return [{"type": "content", "content": {"type": "text", "text": text}}]


@pytest.mark.requirement("acp.call-start")
def test_a_call_begins_with_its_title_kind_input_and_places() -> None:
    assert AcpCalls().start("c1", "read", {"path": "/a.py", "line": 3}) == {
        "sessionUpdate": "tool_call",
        "toolCallId": "c1",
        "title": "read: path: /a.py, line: 3",
        "status": "in_progress",
        "rawInput": {"path": "/a.py", "line": 3},
        "kind": "read",
        "locations": [{"path": "/a.py", "line": 3}],
    }


@pytest.mark.requirement("acp.call-start")
def test_a_second_start_and_a_call_without_an_id_are_dropped() -> None:
    calls = AcpCalls()
    assert calls.start("c1", "read") is not None
    assert calls.start("c1", "read") is None
    assert calls.start("", "read") is None


@pytest.mark.requirement("acp.call-update")
def test_an_update_goes_on_with_what_came_so_far() -> None:
    calls = AcpCalls()
    calls.start("c1", "exec", {"path": "/a.py"})
    assert calls.update("c1", {"content": [{"type": "text", "text": "half"}], "filePath": "/b.py"}) == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c1",
        "status": "in_progress",
        "rawOutput": {"content": [{"type": "text", "text": "half"}], "filePath": "/b.py"},
        "content": said("half"),
        "locations": [{"path": "/a.py"}, {"path": "/b.py"}],
    }


@pytest.mark.requirement("acp.call-end")
@pytest.mark.parametrize(("is_error", "status"), [(False, "completed"), (True, "failed")])
def test_an_end_is_completed_or_failed_and_comes_once(is_error: bool, status: str) -> None:
    calls = AcpCalls()
    calls.start("c1", "exec")
    assert calls.finish("c1", "done", is_error=is_error) == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c1",
        "status": status,
        "rawOutput": "done",
        "content": said("done"),
    }
    assert calls.finish("c1", "again") is None
    assert calls.update("c1", "late") is None


@pytest.mark.requirement("acp.call-abandoned")
def test_calls_that_a_turn_leaves_open_are_given_up_once() -> None:
    calls = AcpCalls()
    calls.start("c1", "exec")
    calls.start("c2", "exec")
    calls.finish("c1")
    assert calls.give_up() == [
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "c2",
            "status": "failed",
            "_meta": {"punchlist/outcome": "abandoned"},
        }
    ]
    assert calls.give_up() == []
    late = calls.finish("c2", "late")
    assert late is not None
    assert late["status"] == "completed"  # who says later how it went is heard
    assert calls.finish("c2", "later") is None


def test_calls_that_never_end_are_forgotten_at_a_bound() -> None:
    calls = AcpCalls()
    for number in range(3000):
        calls.start(f"c{number}", "exec")
    assert len(calls.give_up()) == 1024


@pytest.mark.requirement("acp.call-title")
@pytest.mark.parametrize(
    ("name", "arguments", "title"),
    [
        ("exec", None, "exec"),
        ("exec", {}, "exec"),
        ("", {}, "tool"),
        ("exec", {"command": "ls", "deep": {"a": [1, "ü"]}}, 'exec: command: ls, deep: {"a":[1,"ü"]}'),
        ("exec", {"flag": True, "none": None}, "exec: flag: true, none: null"),
        ("exec", {"x": "y" * 101}, f"exec: x: {'y' * 100}..."),
        ("exec", {"x": "y" * 100}, f"exec: x: {'y' * 100}"),
        ("exec", {"x": "a\nb\tc\x00d\x1b[31me\u2028f"}, r"exec: x: a\nb\tc\0d\x1b[31me\u2028f"),
    ],
)
def test_a_title_is_the_name_and_what_it_was_called_with(name: str, arguments: Any, title: str) -> None:
    assert call_title(name, arguments) == title


@pytest.mark.requirement("acp.call-kind")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Read", "read"),
        ("thread_write", "read"),
        ("write_file", "edit"),
        ("MultiEdit", "edit"),
        ("delete_file", "delete"),
        ("RemoveAll", "delete"),
        ("move", "move"),
        ("rename_symbol", "move"),
        ("web_search", "search"),
        ("find", "search"),
        ("exec", "execute"),
        ("run_tests", "execute"),
        ("Bash", "execute"),
        ("web_fetch", "fetch"),
        ("http_get", "fetch"),
        ("weather", "other"),
        ("Grep", "other"),
        ("todo_write", "other"),
        ("", "other"),
    ],
)
def test_a_kind_is_read_from_the_name_in_a_fixed_order(name: str, kind: str) -> None:
    assert call_kind(name) == kind


@pytest.mark.requirement("acp.call-content")
@pytest.mark.parametrize(
    ("result", "texts"),
    [
        ("hello", ["hello"]),
        ("  ", None),
        (None, None),
        (7, None),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]}, ["a", "b"]),
        ({"content": [], "text": "t", "message": "m"}, ["t"]),
        ({"message": "m", "error": "e"}, ["m"]),
        ({"error": "e"}, ["e"]),
        ({"error": " "}, None),
    ],
)
def test_the_content_is_the_text_of_a_result(result: Any, texts: list[str] | None) -> None:
    assert call_content(result) == (None if texts is None else [block for text in texts for block in said(text)])


@pytest.mark.requirement("acp.call-places")
@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"file_path": " /a "}, [{"path": "/a"}]),
        ({"target_file": "/a", "start_line": 4.7}, [{"path": "/a", "line": 4}]),
        ({"sourcePath": "/a", "destination_path": "/b"}, [{"path": "/a"}, {"path": "/b"}]),
        ({"path": "/a", "line": 0}, [{"path": "/a"}]),
        ({"path": "/a", "line": True}, [{"path": "/a"}]),
        ({"path": "https://example.org/a"}, None),
        ({"path": "file:///a%20b"}, [{"path": "/a b"}]),
        ({"path": "a\nb"}, None),
        ("see\nFILE: /a\nMEDIA:/b\n FILE:/c", [{"path": "/a"}, {"path": "/b"}]),
        ({"content": [{"type": "text", "text": "FILE:/a"}]}, [{"path": "/a"}]),
        ([{"path": "/a"}, {"path": "/a", "line": 2}], [{"path": "/a", "line": 2}]),
        (
            [{"path": "/a", "line": 2}, {"path": "/a"}, {"path": "/a", "line": 3}],
            [{"path": "/a", "line": 2}, {"path": "/a", "line": 3}],
        ),
        ({"a": {"b": {"c": {"path": "/deep"}}}}, [{"path": "/deep"}]),
        ({"a": {"b": {"c": {"d": {"e": {"path": "/deeper"}}}}}}, None),
    ],
)
def test_places_are_found_by_key_and_by_marker(value: Any, found: Any) -> None:
    assert places(value) == found


@pytest.mark.requirement("acp.call-places")
def test_only_a_hundred_values_are_looked_at() -> None:
    assert len(places([{"path": f"/{number}"} for number in range(200)]) or []) == 50


@given(JSON, JSON)
def test_whatever_a_tool_is_given_or_gives_back_there_is_an_update(arguments: Any, result: Any) -> None:
    calls = AcpCalls()
    started = calls.start("c", "tool", arguments)
    ended = calls.finish("c", result)
    assert started is not None
    assert ended is not None
    assert started["title"].isprintable() or not started["title"].isascii()
    assert "\n" not in started["title"]
    started["title"].encode()
