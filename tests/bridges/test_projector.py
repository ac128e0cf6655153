"""An agent's turn as messages for a chat. The rules are those of manifest.toml, section projector."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.bridges.chat import ChatFeed
from punchlist.bridges.projector import (
    VISIBLE,
    Message,
    Projector,
    ProjectorOptions,
    RuntimeEvent,
    projector_options,
    split_text,
    tool_summary,
)
from punchlist.errors import ConfigInvalid
from tests.bridges.acp_session import tool
from tests.dialects.boards import memory_board, todo

START = datetime(2026, 1, 1, tzinfo=UTC)
CALLS = {"tool_call": True, "tool_call_update": True}


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def said(text: str, tag: str | None = "agent_message_chunk", **more: Any) -> RuntimeEvent:
    return RuntimeEvent(type="text_delta", text=text, tag=tag, **more)


def call(call_id: str | None, status: str, *, tag: str = "tool_call_update", title: str = "Run") -> RuntimeEvent:
    return RuntimeEvent(type="tool_call", tag=tag, call_id=call_id, status=status, title=title)


def told(*events: RuntimeEvent, gate: Callable[[], bool] = lambda: True, **options: Any) -> list[Message]:
    """All messages of one turn."""
    projector = Projector(ProjectorOptions(**options), gate=gate)
    return [message for event in (*events, RuntimeEvent(type="done")) for message in projector.add(event, START)]


def lines(messages: list[Message]) -> list[str]:
    return [message.text for message in messages]


@pytest.mark.requirement("projector.defaults")
def test_the_defaults_are_the_originals() -> None:
    options = ProjectorOptions()
    assert (options.delivery, options.between, options.suppress_repeats) == ("final_only", "\n\n", True)
    assert ProjectorOptions(delivery="live").between == " "
    assert (options.output_characters, options.update_characters) == (24_000, 320)
    assert (options.idle_milliseconds, options.chunk_characters) == (350, 1_800)


@pytest.mark.requirement("projector.settings")
def test_a_number_out_of_its_bounds_is_the_nearest_within() -> None:
    low = projector_options(
        {"output_characters": 0, "update_characters": 1, "idle_milliseconds": -5, "chunk_characters": 1}
    )
    assert (low.output_characters, low.update_characters, low.idle_milliseconds, low.chunk_characters) == (1, 64, 0, 50)
    high = projector_options(dict.fromkeys(("output_characters", "update_characters", "chunk_characters"), 10**9))
    assert (high.output_characters, high.update_characters, high.chunk_characters) == (500_000, 8_000, 4_000)


@pytest.mark.requirement("projector.settings")
@pytest.mark.parametrize(
    "given",
    [
        {"delivery": "later"},
        {"separator": "tab"},
        {"tags": ["plan"]},
        {"tags": {"plan": "yes"}},
        {"suppress_repeats": 1},
        {"output_characters": "many"},
        {"colour": 1},
        7,
    ],
)
def test_what_cannot_be_meant_is_refused(given: object) -> None:
    with pytest.raises(ConfigInvalid):
        projector_options(given)


@pytest.mark.requirement("projector.tags")
def test_only_the_agents_message_is_visible_and_what_is_unknown() -> None:
    shown = [tag for tag in VISIBLE if ProjectorOptions().shows(tag)]
    assert shown == ["agent_message_chunk"]
    assert ProjectorOptions().shows(None)
    assert ProjectorOptions().shows("something_new")
    assert ProjectorOptions(tags={"plan": True}).shows("plan")
    assert not ProjectorOptions(tags={"something_new": False}).shows("something_new")


@pytest.mark.requirement("projector.tags")
def test_thoughts_and_other_streams_are_not_shown() -> None:
    events = [
        said("a"),
        said("b", "agent_thought_chunk"),
        said("c", stream="thought"),
        said("d", None, stream="output"),
    ]
    assert lines(told(*events)) == ["ad"]


@pytest.mark.requirement("projector.tool-summary")
@pytest.mark.parametrize(
    ("event", "text"),
    [
        (call("c", "in_progress"), "🧰 Tool Call: Run · status=in_progress"),
        (RuntimeEvent(type="tool_call", title=" Run "), "🧰 Tool Call: Run"),
        (RuntimeEvent(type="tool_call", status="done"), "🧰 Tool Call: status=done"),
        (RuntimeEvent(type="tool_call", text="ran it"), "🧰 Tool Call: ran it"),
        (RuntimeEvent(type="tool_call"), "🧰 Tool Call: tool call"),
    ],
)
def test_a_call_is_told_by_title_and_status(event: RuntimeEvent, text: str) -> None:
    assert tool_summary(event) == text


@pytest.mark.requirement("projector.tool-summary")
def test_a_long_summary_is_cut_with_an_ellipsis() -> None:
    (line,) = lines(told(call("c", "completed", title="x" * 500), tags=CALLS))
    assert len(line) == 320
    assert line.endswith("…")


@pytest.mark.requirement("projector.repeats")
def test_a_second_start_a_second_end_and_the_same_again_are_suppressed() -> None:
    events = [
        call("c", "in_progress", tag="tool_call"),
        call("c", "in_progress"),
        call("c", "pending"),
        call("c", "pending"),
        call("c", "completed"),
        call("c", "failed"),
    ]
    statuses = [line.rpartition("=")[2] for line in lines(told(*events, tags=CALLS))]
    assert statuses == ["in_progress", "pending", "completed"]
    assert len(told(*events, tags=CALLS, suppress_repeats=False)) == 6


@pytest.mark.requirement("projector.repeats")
def test_the_full_text_counts_not_what_is_left_of_it() -> None:
    events = [call("c", "pending", title="x" * 400 + end) for end in "ab"]
    assert len(told(*events, tags=CALLS)) == 2


@pytest.mark.requirement("projector.repeats")
def test_without_an_id_only_the_same_in_a_row_is_suppressed() -> None:
    events = [call(None, "pending"), call(None, "pending"), call(None, "done"), call(None, "pending")]
    assert len(told(*events, tags=CALLS)) == 3


@pytest.mark.requirement("projector.meta")
def test_only_an_update_with_an_id_may_edit_what_was_sent() -> None:
    first, second, third = told(
        call("c", "in_progress", tag="tool_call"), call("c", " Completed "), call(None, ""), tags=CALLS
    )
    assert first.meta == {"tag": "tool_call", "toolCallId": "c", "toolStatus": "in_progress", "allowEdit": False}
    assert second.meta == {"tag": "tool_call_update", "toolCallId": "c", "toolStatus": "completed", "allowEdit": True}
    assert third.meta == {"tag": "tool_call_update", "allowEdit": False}


@pytest.mark.requirement("projector.status")
def test_a_status_line_has_its_mark_and_is_not_repeated() -> None:
    events = [RuntimeEvent(type="status", text=text) for text in ("busy", "busy", " ", "idle", "⚙️ own mark")]
    assert lines(told(*events)) == ["⚙️ busy", "⚙️ idle", "⚙️ own mark"]


@pytest.mark.requirement("projector.usage")
def test_usage_is_told_when_it_changes() -> None:
    def usage(used: float | None, text: str) -> RuntimeEvent:
        return RuntimeEvent(type="status", tag="usage_update", text=text, used=used, size=100)

    events = [usage(1, "a"), usage(1, "b"), usage(2, "c"), usage(None, "d"), usage(None, " d ")]
    assert lines(told(*events, tags={"usage_update": True})) == ["⚙️ a", "⚙️ c", "⚙️ d"]


@pytest.mark.requirement("projector.truncation")
def test_a_turn_has_so_many_characters_and_says_once_that_it_was_cut() -> None:
    messages = told(said("abc"), said("def"), said("ghi"), said("jkl"), output_characters=5)
    assert lines(messages) == ["⚙️ output truncated", "abcde"]
    assert messages[0].meta == {"tag": "session_info_update"}


@pytest.mark.requirement("projector.turns")
def test_the_next_turn_begins_anew() -> None:
    projector = Projector(ProjectorOptions(output_characters=3))
    for _ in range(2):
        projector.add(said("abcdef"), START)
        assert lines(projector.add(RuntimeEvent(type="error"), START)) == ["⚙️ output truncated", "abc"]


@pytest.mark.requirement("projector.final-only")
def test_lines_about_tools_come_first_at_the_end_and_not_if_they_are_no_longer_wanted() -> None:
    wanted = [True]
    projector = Projector(ProjectorOptions(tags=CALLS), gate=lambda: wanted[0])
    for _ in range(2):
        assert projector.add(said("Hello"), START) == []
        assert projector.add(call("c", "completed"), START) == []
        assert [message.kind for message in projector.add(RuntimeEvent(type="done"), START)] == ["tool", "block"]
        projector.add(call("c", "completed"), START)
        wanted[0] = False
        assert projector.add(RuntimeEvent(type="done"), START) == []
        wanted[0] = True


@pytest.mark.requirement("projector.boundary")
@pytest.mark.parametrize(
    ("before", "status", "tag", "after", "shown"),
    [
        ("One.", "in_progress", "tool_call", "Two", "One.\n\nTwo"),
        ("One.", "completed", "tool_call_update", "Two", "One.\n\nTwo"),
        ("One.", "in_progress", "tool_call_update", "Two", "One.Two"),
        ("One.", "in_progress", "tool_call", " Two", "One. Two"),
        ("One.\n", "in_progress", "tool_call", "Two", "One.\nTwo"),
        ("", "in_progress", "tool_call", "Two", "Two"),
    ],
)
def test_a_hidden_call_leaves_a_separator(before: str, status: str, tag: str, after: str, shown: str) -> None:
    assert lines(told(said(before), call("c", status, tag=tag), said(after))) == [shown]


@pytest.mark.requirement("projector.boundary")
def test_the_separator_is_a_setting() -> None:
    events = [said("One"), call("c", "", tag="tool_call"), said("Two")]
    assert lines(told(*events, separator="none")) == ["OneTwo"]
    assert lines(told(*events, separator="newline")) == ["One\nTwo"]
    assert lines(told(*events, delivery="live")) == ["One Two"]


@pytest.mark.requirement("projector.progress")
def test_everything_is_progress_before_anything_is_left_out() -> None:
    seen: list[RuntimeEvent] = []
    projector = Projector(on_progress=seen.append)
    events = [said("x", "agent_thought_chunk"), call("c", "done"), RuntimeEvent(type="done")]
    for event in events:
        projector.add(event, START)
    assert seen == events


@pytest.mark.requirement("projector.live")
@pytest.mark.parametrize("text", ["x" * 480, "One\n\n", "Done. ", 'He said "no!" ', "word " * 44])
def test_live_text_goes_out_at_a_boundary(text: str) -> None:
    assert lines(Projector(ProjectorOptions(delivery="live")).add(said(text), START)) == [text]


@pytest.mark.requirement("projector.live")
@pytest.mark.parametrize("text", ["Working on it", "x" * 479, "version 1.2", "word " * 43])
def test_other_live_text_waits(text: str) -> None:
    assert Projector(ProjectorOptions(delivery="live")).add(said(text), START) == []


@pytest.mark.requirement("projector.idle")
@pytest.mark.parametrize(
    ("text", "goes"), [("x" * 80, True), ("Done.", True), ("a\nb", True), ("Working on it", False)]
)
def test_live_text_goes_out_after_a_rest_if_it_can_stand_alone(text: str, goes: bool) -> None:
    projector = Projector(ProjectorOptions(delivery="live"))
    projector.add(said(text), START)
    assert projector.tick(at(0.7)) == []
    assert lines(projector.tick(at(0.75))) == ([text] if goes else [])


@pytest.mark.requirement("projector.live")
def test_a_line_about_a_tool_comes_behind_the_text_before_it() -> None:
    projector = Projector(ProjectorOptions(delivery="live", tags=CALLS))
    projector.add(said("Let me"), START)
    assert [message.kind for message in projector.add(call("c", "in_progress"), START)] == ["block", "tool"]


@pytest.mark.requirement("projector.chunks")
def test_a_long_text_is_cut_at_paragraphs_lines_sentences_or_words() -> None:
    assert list(split_text("one two\n\nthree four", 14)) == ["one two", "three four"]
    assert list(split_text("one two\nthree four", 14)) == ["one two", "three four"]
    assert list(split_text("One two. Three four", 14)) == ["One two. ", "Three four"]
    assert list(split_text("one two three four", 14)) == ["one two ", "three four"]
    assert list(split_text("x" * 30, 14)) == ["x" * 14, "x" * 14, "xx"]
    assert list(split_text(" \n ", 14)) == []


@given(st.text(), st.integers(2, 50))
def test_pieces_are_short_and_hold_every_character_that_shows(text: str, most: int) -> None:
    found = list(split_text(text, most))
    assert all(len(piece) <= most for piece in found)
    assert "".join("".join(found).split()) == "".join(text.split())


@given(
    st.lists(
        st.builds(
            RuntimeEvent,
            type=st.sampled_from(["text_delta", "status", "tool_call", "done", "error"]),
            text=st.text(),
            tag=st.sampled_from([None, "plan", *VISIBLE]),
            call_id=st.sampled_from([None, "a", "b"]),
            status=st.none() | st.text(),
            title=st.none() | st.text(),
        )
    ),
    st.sampled_from(["final_only", "live"]),
)
def test_whatever_comes_messages_are_bounded_and_encode(events: list[RuntimeEvent], delivery: Any) -> None:
    options = ProjectorOptions(
        delivery=delivery, chunk_characters=50, update_characters=64, tags=dict.fromkeys(VISIBLE, True)
    )
    projector = Projector(options)
    messages = [message for event in events for message in projector.add(event, START)] + projector.flush()
    for message in messages:
        message.text.encode()
        assert 0 < len(message.text) <= 64 + len("⚙️ ")
        assert "\x1b" not in message.text


# From the events of a board.


def test_a_session_on_a_board_is_told_to_a_chat() -> None:
    options = ProjectorOptions(delivery="live", tags={"plan": True, **CALLS})
    feed = ChatFeed("s1", options=options)
    with memory_board() as board:
        agent = board.agent("main", session="s1")
        todo(agent, set=["Read", "Write", "Drop"])
        todo(agent, done="1", drop="3")
        agent.tool_started("c1", "Bash", {"command": "make"})
        agent.tool_finished("c1", "ok")
        messages = [message for event in board.events() for message in feed.add(event)]
    assert lines(messages) == [
        "⚙️ plan: 0/3 · Read",
        "⚙️ plan: 1/2 · Write",
        "🧰 Tool Call: Bash: command: make · status=in_progress",
        "🧰 Tool Call: Bash: command: make · status=completed",
    ]


def test_a_chat_hears_nothing_of_lists_and_calls_unless_it_wants_to() -> None:
    feed = ChatFeed("s1")
    assert feed.add(tool("tool.started", call_id="a", name="Bash")) == []
    for text in ("Hello", "Bye"):
        assert feed.add(tool("agent.output", preview=text)) == []
    assert lines(feed.add(tool("turn.ended"))) == ["Hello\n\nBye\n\n"]
    assert feed.tick(at(9)) == feed.turn_ended(at(9)) == []


def test_a_chat_gets_all_that_an_agent_says_and_is_told_where_it_is_cut() -> None:
    said = " ".join(f"word{number}" for number in range(400)) + "\n\nsecond paragraph."
    feed = ChatFeed("s1")
    with memory_board() as board:
        agent = board.agent("main", session="s1")
        agent.output(said)
        agent.user_turn()
        agent.output("a b " * 10_000)
        agent.user_turn()
        messages = [message.text for event in board.events() for message in feed.add(event)]
    long = messages.index("⚙️ output truncated")
    assert " ".join("".join(messages[:long]).split()) == " ".join(said.split())
    assert sum(map(len, messages[long + 1 :])) > 23_000
