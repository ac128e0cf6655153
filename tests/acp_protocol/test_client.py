"""Updates as a real client gets them: the SDK's own, at the other end of two pipes; and the published schemas."""

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest
from acp import InitializeResponse, connect_to_agent, run_agent, session_notification
from acp.contrib import SessionAccumulator
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    PlanCapabilities,
    RequestPermissionResponse,
    SessionNotification,
)
from jsonschema import Draft202012Validator

from punchlist import Agent, Board
from punchlist.acp.reporter import Reporter, ask_approval, takes_plans
from punchlist.acp.updates import plan_entries, replay
from punchlist.core.approval import PlanState
from punchlist.errors import ExtraMissing, PlanMissing
from tests.dialects.boards import memory_board, todo
from tests.projections.board_events import events_of, worked


@pytest.fixture
def board() -> Iterator[Board]:
    with memory_board() as board:
        yield board


class Editor:
    """The client's side: keeps what it is told, as an editor would."""

    def __init__(self) -> None:
        self.updates: list[dict[str, Any]] = []
        self.state = SessionAccumulator()
        self.choice: str | None = None
        self.asked: list[str] = []
        self._told = asyncio.Condition()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update.model_dump(mode="json", by_alias=True, exclude_none=True))
        self.state.apply(session_notification(session_id, update))
        async with self._told:
            self._told.notify_all()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_: Any
    ) -> RequestPermissionResponse:
        self.asked.append(tool_call.content[0].content.text)
        if self.choice is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        (option,) = [option for option in options if option.option_id == self.choice]
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option.option_id))

    async def until(self, count: int) -> None:
        async with asyncio.timeout(60), self._told:
            await self._told.wait_for(lambda: len(self.updates) >= count)

    def on_connect(self, conn: Any) -> None:
        pass


class Host:
    """The agent's side, as far as a client sees it here."""

    def __init__(self) -> None:
        self.connection: Any = None
        self.capabilities: ClientCapabilities | None = None

    def on_connect(self, conn: Any) -> None:
        self.connection = conn

    async def initialize(
        self, protocol_version: int, client_capabilities: ClientCapabilities | None = None, **_: Any
    ) -> InitializeResponse:
        self.capabilities = client_capabilities
        return InitializeResponse(protocol_version=protocol_version)


@asynccontextmanager
async def pipe() -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    loop = asyncio.get_running_loop()
    ends = os.pipe()
    reader = asyncio.StreamReader()
    source, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ends[0], "rb"))
    sink, flow = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(ends[1], "wb"))
    try:
        yield reader, asyncio.StreamWriter(sink, flow, None, loop)
    finally:
        sink.close()
        source.close()
        await asyncio.sleep(0)


@asynccontextmanager
async def connected(*, plans: bool = False) -> AsyncGenerator[tuple[Editor, Host]]:
    """A client and a host that have met over two pipes."""
    editor, host = Editor(), Host()
    async with pipe() as (client_reads, host_writes), pipe() as (host_reads, client_writes):
        serving = asyncio.create_task(run_agent(cast("Any", host), host_writes, host_reads))
        client = connect_to_agent(cast("Any", editor), client_writes, client_reads)
        try:
            said = ClientCapabilities(plan=PlanCapabilities()) if plans else ClientCapabilities()
            await client.initialize(1, client_capabilities=said)
            yield editor, host
        finally:
            await client.close()
            serving.cancel()
            with suppress(asyncio.CancelledError):
                await serving


def test_the_sdks_client_gets_the_list_and_the_calls_over_a_pipe(board: Board) -> None:
    async def run() -> None:
        async with connected() as (editor, host):
            agent = board.agent("main", session="s1")
            todo(agent, set=["Read", "Write"])
            reporter = Reporter(host.connection, agent)
            assert await reporter.send() == 1
            agent.tool_started("c1", "Bash", {"command": "make"})
            agent.tool_finished("c1", "ok")
            todo(agent, done="1")
            assert await reporter.send() == 3
            assert await reporter.send() == 0
            await editor.until(4)
            state = editor.state.snapshot()
            assert [entry.status for entry in state.plan_entries] == ["completed", "in_progress"]
            assert [(entry.field_meta or {})["punchlist/id"] for entry in state.plan_entries] == ["1", "2"]
            assert (state.tool_calls["c1"].kind, state.tool_calls["c1"].status) == ("execute", "completed")

    asyncio.run(run())


def test_a_loaded_session_is_replayed_and_then_goes_on(board: Board) -> None:
    async def run() -> None:
        async with connected(plans=True) as (editor, host):
            agent = worked(board)
            reporter = Reporter(host.connection, agent, session_id="editor-7", capabilities=host.capabilities)
            sent = await reporter.replay()
            expected = list(replay(events_of(board), "s1", plans=True))
            assert sent == len(expected)
            todo(agent, done="2")
            assert await reporter.send() == 1
            await editor.until(sent + 1)
            assert [update["sessionUpdate"] for update in editor.updates[:-1]] == [
                update["sessionUpdate"] for update in expected
            ]
            assert editor.updates[-1]["plan"]["entries"] == plan_entries(agent.todos)

    asyncio.run(run())


@pytest.mark.requirement("acp.plan-update")
def test_a_client_that_takes_plans_begins_with_all_that_stand(board: Board) -> None:
    async def run() -> None:
        async with connected(plans=True) as (editor, host):
            agent = worked(board)
            reporter = Reporter(host.connection, agent, capabilities=host.capabilities)
            assert await reporter.send() == 3
            agent.reject_plan("no", by="ada")
            todo(board.agent("explore", session="s1"), done="1")
            assert await reporter.send() == 2
            await editor.until(5)
            assert [update["plan"]["planId"].split(":")[0] for update in editor.updates[:3]] == [
                "main",
                "explore",
                "plan",
            ]
            assert editor.updates[3] == {
                "sessionUpdate": "plan_removed",
                "planId": editor.updates[2]["plan"]["planId"],
            }
            assert editor.updates[4]["plan"]["entries"][0]["status"] == "completed"

    asyncio.run(run())


def test_what_happens_is_followed_until_the_board_is_closed() -> None:
    async def run() -> None:
        async with connected() as (editor, host):
            with memory_board() as board:
                agent = board.agent("main", session="s1")
                todo(agent, set=["A"])
                following = asyncio.create_task(Reporter(host.connection, agent).follow())
                await editor.until(1)
                await asyncio.to_thread(todo, agent, done="1")
                await editor.until(2)
            await following
            assert editor.updates[-1]["entries"][0]["status"] == "completed"

    asyncio.run(run())


def test_a_host_that_has_more_to_say_of_a_call_says_it_and_the_board_does_not_repeat_it(board: Board) -> None:
    async def run() -> None:
        async with connected() as (editor, host):
            agent = board.agent("main", session="s1")
            reporter = Reporter(host.connection, agent)
            await reporter.send()
            await reporter.tool_started("c1", "read", {"path": "/a.py"})
            agent.tool_started("c1", "read", {"path": "/a.py"})
            await reporter.tool_updated("c1", "half")
            await reporter.tool_finished("c1", "whole")
            agent.tool_finished("c1", "whole")
            assert await reporter.send() == 0
            await editor.until(3)
            assert [update.get("rawOutput") for update in editor.updates] == [None, "half", "whole"]
            assert editor.updates[0]["rawInput"] == {"path": "/a.py"}

    asyncio.run(run())


@pytest.mark.requirement("acp.call-abandoned")
def test_a_call_that_the_host_has_told_of_itself_is_given_up_with_its_turn(board: Board) -> None:
    async def run() -> None:
        async with connected() as (editor, host):
            agent = board.agent("main", session="s1")
            reporter = Reporter(host.connection, agent)
            await reporter.tool_started("c0", "Bash", {"command": "make"})
            agent.tool_started("c0", "Bash", {"command": "make"})
            await reporter.send()  # the first time, which begins with what is so
            await reporter.tool_started("c1", "Bash", {"command": "make"})
            agent.tool_started("c1", "Bash", {"command": "make"})
            agent.user_turn()
            await reporter.tool_started("c2", "Bash", {"command": "make"})  # before the end of the turn is passed on
            agent.tool_started("c2", "Bash", {"command": "make"})
            assert await reporter.send() == 2
            await editor.until(5)
            assert [(update["toolCallId"], update["status"]) for update in editor.updates] == [
                ("c0", "in_progress"),
                ("c1", "in_progress"),
                ("c2", "in_progress"),
                ("c0", "failed"),
                ("c1", "failed"),
            ]
            assert editor.updates[-1]["_meta"] == {"punchlist/outcome": "abandoned"}

    asyncio.run(run())


@pytest.mark.requirement("acp.todo-call")
def test_a_call_of_a_todo_tool_shows_the_list(board: Board) -> None:
    async def run() -> None:
        async with connected() as (editor, host):
            agent = board.agent("main", session="s1", dialect="hermes")
            reporter = Reporter(host.connection, agent)
            arguments = {"todos": [{"id": "a", "content": "Read", "status": "in_progress"}]}
            await reporter.tool_started("c1", "todo", arguments)
            reply = agent.call("todo", arguments)
            await reporter.tool_finished("c1", reply.text)
            await reporter.tool_finished("c1", reply.text)
            assert await reporter.send() == 1
            await editor.until(3)
            started, ended, plan = editor.updates
            assert (started["title"], started["kind"]) == ("todo (1 item)", "other")
            assert "rawInput" not in started
            assert "rawOutput" not in ended
            assert ended["content"][0]["content"]["text"].startswith("**Todo list**")
            assert plan["entries"][0]["content"] == "Read"

    asyncio.run(run())


@pytest.mark.requirement("acp.approval")
@pytest.mark.parametrize(
    ("choice", "state"),
    [("approve", PlanState.APPROVED), ("reject", PlanState.REJECTED), (None, PlanState.PROPOSED)],
)
def test_the_person_at_the_editor_decides_on_a_plan(board: Board, choice: str | None, state: PlanState) -> None:
    async def run() -> None:
        async with connected() as (editor, host):
            agent = worked(board)
            editor.choice = choice
            plan = await ask_approval(host.connection, agent, by="ada")
            assert (plan.state, agent.mode) == (state, "execute" if choice == "approve" else "plan")
            assert editor.asked == ["# Plan\n\n1. First"]
            if choice is not None:
                assert plan.decided_by == "ada"
                with pytest.raises(PlanMissing):
                    await ask_approval(host.connection, agent)

    asyncio.run(run())


@pytest.mark.requirement("acp.approval")
def test_a_decision_is_about_the_revision_that_was_shown_and_a_client_may_be_gone(board: Board) -> None:
    class Slow:
        async def request_permission(self, session_id: str, tool_call: Any, options: list[Any], **_: Any) -> Any:
            agent.propose_plan("# Another plan")
            return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id="approve"))

    class Silent:
        async def request_permission(self, session_id: str, tool_call: Any, options: list[Any], **_: Any) -> Any:
            raise ConnectionResetError

    agent = worked(board)
    for connection in (Slow(), Silent()):
        plan = asyncio.run(ask_approval(connection, agent))
        assert (plan.state, plan.text) == (PlanState.PROPOSED, "# Another plan")


class Gone:
    """A connection whose other end has left."""

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        raise ConnectionResetError


def test_a_client_that_is_gone_never_reaches_the_agent(board: Board, caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        agent = board.agent("main", session="s1")
        todo(agent, set=["A"])
        reporter = Reporter(Gone(), agent)
        assert await reporter.send() == 0
        assert reporter.is_broken
        await reporter.follow()

    with caplog.at_level(logging.ERROR, "punchlist.acp.reporter"):
        asyncio.run(run())
    assert "s1" in caplog.text


def test_without_the_sdk_one_sentence_says_what_to_install(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "acp", None)
    with pytest.raises(ExtraMissing, match=r"\[acp\]"):
        Reporter(Gone(), board.agent("main", session="s1"))


def test_the_sdk_is_not_imported_before_something_is_sent() -> None:
    """It takes most of a second."""
    program = "import sys, punchlist.acp.reporter, punchlist.acp.reporter; sys.exit('acp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize(
    ("capabilities", "takes"),
    [
        (None, False),
        ({}, False),
        ({"plan": None}, False),
        ({"plan": {}}, True),
        (ClientCapabilities(), False),
        (ClientCapabilities(plan=PlanCapabilities()), True),
    ],
)
@pytest.mark.requirement("acp.plan-update")
def test_only_a_client_that_says_so_is_sent_plans_by_id(capabilities: object, takes: bool) -> None:
    assert takes_plans(capabilities) is takes


def _notifications(board: Board, *, plans: bool) -> list[dict[str, Any]]:
    agent: Agent = worked(board)
    agent.reject_plan("no", by="ada")
    return [{"sessionId": "s1", "update": update} for update in replay(events_of(board), "s1", plans=plans)]


@pytest.mark.parametrize("plans", [False, True])
def test_every_update_is_one_of_the_sdks(board: Board, plans: bool) -> None:
    for notification in _notifications(board, plans=plans):
        read = SessionNotification.model_validate(notification)
        assert read.model_dump(mode="json", by_alias=True, exclude_none=True) == notification


@pytest.mark.needs("acp-schemas")
@pytest.mark.parametrize(
    ("plans", "file"), [(False, "schema.json"), (False, "schema.unstable.json"), (True, "schema.unstable.json")]
)
def test_every_update_is_valid_by_the_published_schema(board: Board, plans: bool, file: str) -> None:
    folder = Path(os.environ["PUNCHLIST_ACP_SCHEMAS"])
    schema = json.loads((folder / "v1" / file).read_text(encoding="utf-8"))
    strict = cast("Any", Draft202012Validator({"$ref": "#/$defs/SessionNotification", "$defs": schema["$defs"]}))
    notifications = _notifications(board, plans=plans)
    assert notifications
    for notification in notifications:
        strict.validate(json.loads(json.dumps(notification)))
    with pytest.raises(Exception, match="plan_of_another_kind"):
        strict.validate({"sessionId": "s1", "update": {"sessionUpdate": "plan_of_another_kind"}})
