"""What goes to an editor of a tool's arguments and results: JSON, whatever the host had in its hands."""

import asyncio
import json
import logging
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist import Board
from punchlist.acp.reporter import Reporter
from punchlist.acp.updates import CHARACTERS, VALUES, AcpCalls, raw
from tests.acp_protocol.test_client import connected
from tests.dialects.boards import memory_board, todo


def circular() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


@dataclass
class Row:
    text: str


class Model:
    """As the results of MCP's SDK are."""

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "42"}]}


class Unreadable(dict[str, Any]):
    def items(self) -> Any:
        raise OSError


ODD: list[tuple[Any, Any]] = [
    ({"a": [1, 2.5, True, None, "x"]}, {"a": [1, 2.5, True, None, "x"]}),
    (("a", "b"), ["a", "b"]),
    ({"x"}, ["x"]),
    ({1: "a", None: "b", (1, 2): "c"}, {"1": "a", "None": "b", "[tuple]": "c"}),
    (b"caf\xc3\xa9 \xff", "café �"),
    (ValueError("no key"), {"name": "ValueError", "message": "no key"}),
    (Row("x"), {"text": "x"}),
    (Model(), {"content": [{"type": "text", "text": "42"}]}),
    (Path("/a"), "/a"),
    (date(2026, 1, 1), "2026-01-01"),
    (float("nan"), None),
    (2**64, 1.8446744073709552e19),
    (10**400, None),
    ("\ud800", "�"),
    (circular(), {"self": "[Circular]"}),
    (object(), "[object]"),
    ({"good": 1, "bad": Unreadable()}, {"good": 1, "bad": "[Unreadable]"}),
]


@pytest.mark.parametrize(("value", "shown"), ODD)
def test_every_value_has_a_form_in_json(value: Any, shown: Any) -> None:
    assert raw(value) == shown
    json.dumps(raw(value), allow_nan=False).encode()


def test_what_is_too_long_too_wide_or_too_deep_is_cut() -> None:
    assert raw("x" * (CHARACTERS + 9)) == "x" * CHARACTERS + "…"
    assert len(raw(["y" * 1000] * 1000)) < 300
    assert raw([0] * (VALUES + 9)) == [*[0] * VALUES, "…"]
    assert "[Deep]" in json.dumps(raw(deep(5000)))


@given(
    st.recursive(
        st.text() | st.floats() | st.binary() | st.integers(), lambda inner: st.lists(inner) | st.tuples(inner)
    )
)
def test_whatever_it_is_an_encoder_takes_it(value: Any) -> None:
    json.dumps(raw(value), allow_nan=False).encode()


def test_what_a_tool_raised_is_the_text_of_its_call() -> None:
    ended = AcpCalls().finish("c1", ValueError("no key"), is_error=True)
    assert ended is not None
    assert ended["content"][0]["content"]["text"] == "no key"


@pytest.mark.parametrize("value", [value for value, _ in ODD] + [deep(300)])
def test_an_odd_value_does_not_make_the_editor_a_lost_one(value: Any) -> None:
    async def run(board: Board) -> None:
        async with connected() as (editor, host):
            agent = board.agent("main", session="s1")
            reporter = Reporter(host.connection, agent)
            await reporter.tool_started("c1", "x", {"a": value})
            await reporter.tool_updated("c1", value)
            await reporter.tool_finished("c1", value)
            todo(agent, set=["A"])
            assert await reporter.send() == 1
            assert not reporter.is_broken
            await editor.until(4)

    with memory_board() as board:
        asyncio.run(run(board))


def test_an_id_that_is_no_text_is_made_one(board: Board) -> None:
    async def run() -> None:
        async with connected() as (editor, host):
            reporter = Reporter(host.connection, board.agent("main", session="s1"))
            await reporter.tool_started(7, "x")  # pyright: ignore[reportArgumentType]
            await reporter.tool_finished(7)  # pyright: ignore[reportArgumentType]
            await editor.until(2)
            assert [update["toolCallId"] for update in editor.updates] == ["7", "7"]

    asyncio.run(run())


def test_an_update_that_cannot_be_written_is_left_out_and_the_next_one_sent(
    board: Board, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        async with connected() as (editor, host):
            agent = board.agent("main", session="s1")
            todo(agent, set=["A"])
            reporter = Reporter(host.connection, agent, session_id=cast("Any", 7))
            with caplog.at_level(logging.ERROR, "punchlist.acp.reporter"):
                assert await reporter.send() == 0
            assert not reporter.is_broken
            reporter.session_id = "s1"
            todo(agent, done="1")
            assert await reporter.send() == 1
            await editor.until(1)

    asyncio.run(run())
    assert "could not be sent" in caplog.text
