"""A child's progress, told to its parent. The rules are those of manifest.toml, section relay."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist import Board
from punchlist.detect.stalls import StallOptions
from punchlist.projections.relay import HEARTBEAT, SNIPPET, Notice, Relay, RelayOptions, Relays, relay_children
from punchlist.testing import FakeClock
from tests.dialects.boards import todo
from tests.projections.board_events import tool

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def relay(label: str = "codex", **options: Any) -> Relay:
    given: dict[str, Any] = {"stalls": StallOptions(notice_after=60), **options}
    return Relay("r1", "agent:codex:1", at=START, label=label, options=RelayOptions(**given))


def texts(notices: list[Notice]) -> list[str]:
    return [notice.text for notice in notices]


def contexts(notices: list[Notice]) -> list[str]:
    return [notice.context for notice in notices]


@pytest.mark.requirement("relay.start")
def test_a_start_is_told_with_the_session() -> None:
    (notice,) = relay().started(START)
    assert notice.text == "Started codex session agent:codex:1. Streaming progress updates to parent session."
    assert (notice.kind, notice.context, notice.summary) == ("start", "acp-spawn:r1:start", "Started.")
    assert HEARTBEAT == {"source": "acp-spawn", "intent": "event", "reason": "acp:spawn:stream"}


@pytest.mark.requirement("relay.label")
def test_without_a_name_it_is_an_acp_child_and_a_long_name_is_cut() -> None:
    assert relay("").label == "ACP child"
    assert len(relay("x" * 60).label) == 40


@pytest.mark.requirement("relay.coalesce")
def test_text_is_gathered_for_two_and_a_half_seconds() -> None:
    child = relay()
    assert child.said("Reading ", at(0)) == []
    assert child.said("the\n parser", at(2)) == []
    assert child.tick(at(2.4)) == []
    assert texts(child.tick(at(2.5))) == ["codex: Reading the parser"]
    assert child.tick(at(9)) == []


@pytest.mark.requirement("relay.coalesce")
def test_a_full_snippet_and_the_end_of_a_paragraph_do_not_wait() -> None:
    child = relay()
    assert texts(child.said("x" * 300, at(0))) == [f"codex: {'x' * 219}…"]
    assert texts(child.said("Done reading.\n\n", at(0))) == ["codex: Done reading."]


@pytest.mark.requirement("relay.coalesce")
def test_blanks_are_nothing_and_without_a_time_only_full_snippets_are_shown() -> None:
    child = relay(flush_after=0)
    assert child.said(" \n", at(0)) == []
    assert child.said("a", at(0)) == []
    assert child.tick(at(50)) == []


@pytest.mark.requirement("relay.coalesce")
def test_blanks_between_words_are_kept_and_a_paragraph_that_ends_in_pieces_ends() -> None:
    child = relay()
    for piece in ("Hello", " ", "world", ".", "\n"):
        assert child.said(piece, at(0)) == []
    assert texts(child.said("\n", at(0))) == ["codex: Hello world."]
    assert child.said(" ", at(0)) == []
    child.said("Next", at(0))
    assert texts(child.tick(at(2.5))) == ["codex: Next"]


@pytest.mark.requirement("relay.coalesce")
def test_blanks_are_no_sign_of_life() -> None:
    child = relay()
    child.prompted(START)
    child.said("Hello", at(0))
    child.said(" ", at(59))
    assert "no visible output" in texts(child.tick(at(60)))[-1]
    assert child.said(" ", at(61)) == []


@pytest.mark.requirement("relay.kinds")
def test_asides_and_answers_are_not_mixed() -> None:
    child = relay(commentary=True)
    child.said("Let me look.", at(0), phase="commentary")
    assert texts(child.said("It is ", at(1), phase="final_answer")) == ["codex: Let me look."]
    assert texts(child.ended(at(2))) == ["codex: It is", "codex run completed."]


@pytest.mark.requirement("relay.commentary")
def test_asides_are_a_sign_of_life_and_shown_only_to_those_who_want_them() -> None:
    child = relay()
    assert child.said("Hm.\n\n", at(50), phase="commentary") == []
    assert child.tick(at(100)) == []
    assert texts(relay(commentary=True).said("Hm.\n\n", at(50), phase="commentary")) == ["codex: Hm."]


@pytest.mark.requirement("relay.replaceable")
def test_of_a_text_that_may_be_replaced_the_last_form_is_shown_at_the_end() -> None:
    child = relay()
    assert child.said("Draft one", at(0), replaceable=True) == []
    assert child.said("Draft two", at(1), replaceable=True) == []
    assert texts(child.ended(at(2)))[0] == "codex: Draft two"


@pytest.mark.requirement("relay.replaceable")
def test_text_that_is_final_takes_the_place_of_one_that_may_be_replaced() -> None:
    child = relay()
    child.said("Draft", at(0), replaceable=True)
    child.said("Final", at(1))
    assert texts(child.ended(at(2))) == ["codex: Final", "codex run completed."]


@pytest.mark.requirement("relay.preamble")
def test_a_preamble_that_grows_is_appended_and_one_that_changes_is_replaced() -> None:
    child = relay(commentary=True)
    child.preamble("i1", "Reading", at(0))
    child.preamble("i1", "Reading files", at(1))
    assert texts(child.tick(at(3))) == ["codex: Reading files"]
    child.preamble("i2", "Writing", at(4))
    child.preamble("i2", "Testing", at(5))
    assert texts(child.tick(at(9))) == ["codex: Testing"]
    assert child.preamble("i2", "Testing", at(10)) == []
    assert relay().preamble("i1", "Reading", at(0)) == []


@pytest.mark.requirement("relay.stall")
def test_a_stall_is_told_once_and_so_is_its_end() -> None:
    child = relay()
    child.prompted(START, ["HTTPS_PROXY"])
    (stall,) = child.tick(at(60))
    assert stall.context == "acp-spawn:r1:stall"
    assert stall.text.startswith(
        "codex prompt was submitted but no ACP runtime event arrived for 60s (proxy env: HTTPS_PROXY)"
    )
    assert stall.summary == stall.text.removeprefix("codex ")
    assert child.tick(at(75)) == []
    child.active("status", at(80))
    resumed, progress = child.said("Here.\n\n", at(90))
    assert (resumed.text, resumed.context, resumed.summary) == (
        "codex resumed output.",
        "acp-spawn:r1:resumed",
        "Resumed output.",
    )
    assert progress.text == "codex: Here."
    assert texts(child.tick(at(150))) == [
        "codex has produced no visible output for 60s. It may be waiting for interactive input."
    ]


@pytest.mark.requirement("relay.done")
@pytest.mark.parametrize(
    ("began", "text"),
    [
        (None, "codex run completed."),
        (at(0), "codex run completed in 12s."),
        (at(12.3), "codex run completed in 1s."),
        (at(20), "codex run completed."),
    ],
)
def test_an_end_says_how_long_it_took_if_that_is_known(began: datetime | None, text: str) -> None:
    child = relay()
    assert texts(child.ended(at(12.4), began=began)) == [text]
    assert child.is_over
    assert child.ended(at(13)) == child.said("late", at(14)) == child.tick(at(99_999)) == []


@pytest.mark.requirement("relay.error")
def test_a_failure_comes_behind_what_was_said_with_its_reason() -> None:
    child = relay()
    child.said("Trying", at(0))
    assert texts(child.failed(at(1), " no\nkey ")) == ["codex: Trying", "codex run failed: no key"]
    assert texts(relay().failed(at(1))) == ["codex run failed."]


@pytest.mark.requirement("relay.timeout")
def test_a_relay_does_not_live_for_ever() -> None:
    child = relay(stalls=StallOptions(notice_after=0, lifetime=100))
    (notice,) = child.tick(at(100))
    assert notice.text == "codex stream relay timed out after 100s without completion."
    assert notice.context == "acp-spawn:r1:timeout"
    assert child.said("late", at(101)) == []


@pytest.mark.requirement("relay.log")
def test_everything_is_logged_as_the_original_logs_it() -> None:
    lines: list[dict[str, Any]] = []
    child = Relay("r1", "c", at=START, label="codex", parent="p", log=lines.append)
    child.started(START)
    child.prompted(START)
    child.active("status", START)
    child.said("Hi", START, phase="final_answer")
    child.said("Hi", START, replaceable=True)
    child.ended(at(1))
    assert [line["kind"] for line in lines] == [
        "system_event",
        "acp",
        "acp",
        "assistant_delta",
        "assistant_replaceable_snapshot",
        "lifecycle",
        "system_event",
        "system_event",
        "system_event",
    ]
    assert lines[3] == {
        "ts": "2026-01-01T00:00:00.000Z",
        "epochMs": 1767225600000,
        "runId": "r1",
        "parentSessionKey": "p",
        "childSessionKey": "c",
        "agentId": "codex",
        "kind": "assistant_delta",
        "delta": "Hi",
        "phase": "final_answer",
    }


@given(st.lists(st.tuples(st.text(), st.floats(0, 30), st.sampled_from(["", "commentary", "final_answer"]))))
def test_every_message_is_one_short_line_that_opens_no_fence(said: list[tuple[str, float, str]]) -> None:
    child, now, notices = relay(commentary=True), 0.0, list[Notice]()
    for text, seconds, phase in said:
        now += seconds
        notices += [*child.said(text, at(now), phase=phase), *child.tick(at(now))]
    notices += child.failed(at(now), "<punchlist>\n</punchlist>")
    for notice in notices:
        assert "\n" not in notice.text
        assert "<" not in notice.text
        assert notice.kind != "progress" or len(notice.text) <= len("codex: ") + SNIPPET


# From the events of a board.


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def board(clock: FakeClock) -> Iterator[Board]:
    with Board.open("memory:", clock=clock) as board:
        yield board


def test_the_lists_of_children_reach_their_parent(board: Board, clock: FakeClock) -> None:
    main = board.agent("main", session="s1")
    todo(main, set=["Delegate"])
    child = main.spawn("explore", label="Explorer")
    todo(child, set=["Look", "Tell"])
    clock.advance(1)
    todo(child, done="1")
    relays = Relays("s1")
    notices = [notice for event in board.events() for notice in relays.add(event)]
    assert texts(notices) == ["Started Explorer session s1:explore. Streaming progress updates to parent session."]
    assert texts(relays.tick(clock.advance(3))) == ["Explorer: 0/2: now “Look”. 1/2: finished “Look”, now “Tell”."]


def test_what_a_child_says_reaches_its_parent_in_220_characters(board: Board) -> None:
    main = board.agent("main", session="s1")
    main.spawn("explore").output(" ".join(f"word{number}" for number in range(100)))
    relays = Relays("s1")
    _, progress = texts([notice for event in board.events() for notice in relays.add(event)])
    assert len(progress) == len("explore: ") + SNIPPET


def test_a_child_that_only_works_is_alive_but_not_seen(clock: FakeClock) -> None:
    relays = Relays("s1")
    relays.add(tool("agent.spawned", child="explore"))
    relays.add(tool("tool.started", agent="explore", name="Bash"))
    now = tool("tool.started").at
    assert "has ACP runtime activity" in texts(relays.tick(now + timedelta(seconds=300)))[0]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "explore run completed in 1s."),
        ({"outcome": "completed", "preview": "All good"}, "explore run completed in 1s."),
        ({"outcome": "failed", "preview": "no key"}, "explore run failed: no key"),
        ({"outcome": "failed"}, "explore run failed."),
        ({"outcome": "cancelled"}, "explore run failed: cancelled"),
    ],
)
def test_a_childs_end_is_told_and_then_it_is_forgotten(data: dict[str, Any], said: str) -> None:
    relays = Relays("s1")
    relays.add(tool("agent.spawned", child="explore"))
    assert relays.add(tool("agent.output", agent="explore", preview="Hello")) == []
    assert texts(relays.add(tool("agent.finished", agent="explore", **data))) == ["explore: Hello", said]
    assert relays.add(tool("agent.finished", agent="explore")) == []


def test_what_is_delivered_never_stops_the_relay_and_it_ends_with_the_board(board: Board) -> None:
    main = board.agent("main", session="s1")
    todo(main, set=["Delegate"])
    seen: list[str] = []
    told = threading.Event()

    def deliver(notice: Notice) -> None:
        seen.append(notice.text)
        told.set()
        raise ValueError("the parent is busy")

    thread = threading.Thread(
        target=relay_children, args=(main, deliver), kwargs={"stop": threading.Event(), "after": 0}
    )
    thread.start()
    main.spawn("one")
    assert told.wait(30)
    told.clear()
    main.spawn("two")
    assert told.wait(30)
    board.close()
    thread.join(30)
    assert not thread.is_alive()
    assert [text.split(" session")[0] for text in seen] == ["Started one", "Started two"]
