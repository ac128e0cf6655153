"""Answer the requests of an MCP client: the handshake, the tools of dialects, resources and prompts.

The board is opened by the first request that needs it. A client that only asks for the tools gets its answer in a
fraction of the time, and leaves no trace on the board.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from punchlist import __version__
from punchlist.core.commands import Elsewhere, Query
from punchlist.dialects import dialect
from punchlist.dialects.base import Dialect, Reply, Tool, reply_unknown_tool
from punchlist.dialects.repair import read_fields
from punchlist.errors import InvalidInput, PunchlistError, StoreBusy
from punchlist.mcp.dialogs import Dialogs, has_dialogs
from punchlist.mcp.resources import PROMPTS, RESOURCES, TEMPLATES, read_resource, write_prompt
from punchlist.mcp.stdio import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Connection,
    Later,
    Message,
    RpcCall,
    RpcError,
)

if TYPE_CHECKING:
    from punchlist.agent import Agent
    from punchlist.board import Board
    from punchlist.hooks.sockets import HookServer
    from punchlist.mcp.relay import Relay
    from punchlist.mcp.sessions import Caller, SessionFinder
    from punchlist.mcp.team_calls import TeamCalls
    from punchlist.settings.environment import Folder

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Protocol versions with the `initialize` handshake, oldest first. Later ones have none: `server/discover` is refused,
and clients fall back to the newest of these."""

_NEWS_SECONDS = 0.25
"""How long news wait for the lock, to be recorded as told: the call is answered already."""

_START_SECONDS = 1.0
"""A client that only lists the tools is gone by then: it costs no start of the board."""

_LOOK_SECONDS = 2.0
"""How often the inbox is looked for. Hooks write to it only while no server answers them."""

_TITLES: Mapping[str, str] = {"todo": "Todo list", "task": "Shared tasks"}

_OUTPUTS: Mapping[str, Mapping[str, str | Sequence[str]]] = {
    "punchlist": {
        "revision": "integer",
        "focus": ("string", "null"),
        "done": "integer",
        "total": "integer",
        "asked": "array",
    },
    "punchlist-tasks": {"task": ("object", "null"), "tasks": "array"},
}
"""Types of what our own tools answer besides the text, by dialect; the others answer as their originals do."""


class ToolSet:
    """The tools that one server offers, by name, with their dialects."""

    def __init__(self, dialects: Sequence[str]) -> None:
        self._found: dict[str, tuple[Dialect, Tool]] = {}
        for name in dialects:
            known = dialect(name)
            for tool in known.tools:
                if tool.name in self._found:
                    other = self._found[tool.name][0].name
                    raise InvalidInput(problem=f"`{other}` and `{name}` both have a tool `{tool.name}`: offer one.")
                self._found[tool.name] = (known, tool)

    @property
    def tools(self) -> list[Tool]:
        return [tool for _, tool in self._found.values()]

    def find_dialect(self, name: Any) -> str | None:
        """Return the dialect of a tool; None if no such tool is offered."""
        found = self._found.get(name) if isinstance(name, str) else None
        return None if found is None else found[0].name

    def has_layer(self, layer: str) -> bool:
        return any(known.layer == layer for known, _ in self._found.values())

    def only_reads(self, name: Any, arguments: Any) -> bool:
        """True for a call of an offered tool that changes nothing."""
        found = self._found.get(name) if isinstance(name, str) else None
        parsed = None if found is None else found[0].parse(name, arguments)
        return isinstance(parsed, Query | Elsewhere) and parsed.reads

    def describe(self) -> list[Message]:
        return [describe_tool(tool, known.name) for known, tool in self._found.values()]


def describe_tool(tool: Tool, dialect: str = "") -> Message:
    """Return a tool as `tools/list` has it."""
    title = _TITLES.get(tool.name, tool.name)
    reads = bool(tool.annotations.get("readOnly"))
    described = {
        **tool.to("mcp"),
        "title": title,
        "annotations": {
            "title": title,
            "readOnlyHint": reads,
            "destructiveHint": False,  # the board keeps all that a call changes or leaves out
            "idempotentHint": reads or bool(tool.annotations.get("idempotent")),
            "openWorldHint": False,
        },
        # Claude Code would else leave the tool out of the first request, until the model searches for it.
        "_meta": {"anthropic/alwaysLoad": True},
    }
    if dialect in _OUTPUTS:
        types = {"text": "string", **_OUTPUTS[dialect]}
        fields = {name: {"type": kind} for name, kind in types.items()}
        described["outputSchema"] = {"type": "object", "properties": fields, "required": ["text"]}
    return described


def describe_reply(reply: Reply, more: Sequence[str] = (), *, dialect: str = "") -> Message:
    """Return a reply as the result of `tools/call`; `more` are further texts for the model."""
    texts = [reply.text, *more]
    result: Message = {"content": [{"type": "text", "text": text} for text in texts], "isError": reply.is_error}
    if dialect in _OUTPUTS and not reply.is_error:
        # Hosts show it in place of the text, so it holds that too.
        result["structuredContent"] = {"text": "\n\n".join(texts), **read_fields(reply.data)}
    elif _is_same(reply.text, reply.data):
        result["structuredContent"] = reply.data
    return result


def _is_same(text: str, data: Any) -> bool:
    """True if the text is the JSON of the data. Only then is it sent as well: hosts show it in place of the text."""
    if not isinstance(data, dict) or not text.startswith("{"):
        return False
    try:
        return json.loads(text) == data
    except (ValueError, RecursionError):
        return False


class McpServer:
    """One server for one client. Without a connection it shows no dialogs, and leaves `StoreBusy` to its caller."""

    def __init__(
        self,
        open_board: Callable[[], Board],
        tools: ToolSet,
        connection: Connection | None = None,
        *,
        host: str | None = None,
        environment: Mapping[str, str] = os.environ,
        project: Folder = None,
        machine: str = "",
        team_calls: TeamCalls | None = None,
    ) -> None:
        self._open_board = open_board
        self._tools = tools
        self._team_calls = team_calls
        self._connection = connection
        self._named_host = host
        self._environment = environment
        self._project = project
        self._machine = machine
        self._opened: tuple[Board, SessionFinder] | None = None
        self._opening = threading.Lock()  # a call and the hooks may both be the first to need the board
        self.client = ""
        self.capabilities: Mapping[str, Any] = {}
        self._methods: Mapping[str, Callable[[RpcCall], Message | Later]] = {
            "initialize": self._initialize,
            "tools/list": lambda _: {"tools": self._tools.describe()},
            "tools/call": self._call_tool,
            "resources/list": lambda _: {"resources": list(RESOURCES)},
            "resources/templates/list": lambda _: {"resourceTemplates": list(TEMPLATES)},
            "resources/read": self._read_resource,
            "prompts/list": lambda _: {"prompts": list(PROMPTS)},
            "prompts/get": self._get_prompt,
        }

    def run(self, call: RpcCall) -> Message | Later:
        """Answer one request, or return the rest of it that has to wait for the client."""
        method = self._methods.get(call.method)
        if method is None:
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {call.method[:100]}")
        return method(call)

    def close(self) -> None:
        if self._team_calls is not None:
            self._team_calls.close()
        if self._opened is not None:
            self._opened[0].close()

    @property
    def host(self) -> str:
        """The name of the agent program: as it was given, else as the client calls itself."""
        return self._named_host or self.client

    def open(self) -> tuple[Board, SessionFinder]:
        """Return the board, which is opened once, and what finds the callers on it."""
        with self._opening:
            if self._opened is None:
                from punchlist.mcp.sessions import SessionFinder

                board = self._open_board()
                is_own, where = self._connection is not None, self._project
                sessions = SessionFinder(
                    board, self.host, self._environment, project=where, one_client=is_own, machine=self._machine
                )
                self._opened = board, sessions
        return self._opened

    # The handshake.

    def _initialize(self, call: RpcCall) -> Message:
        wanted = call.params.get("protocolVersion")
        version = wanted if wanted in VERSIONS else VERSIONS[-1]
        name = read_fields(call.params.get("clientInfo")).get("name")
        self.client = name[:100] if isinstance(name, str) else ""
        self.capabilities = read_fields(call.params.get("capabilities"))
        return {
            "protocolVersion": version,
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
            "serverInfo": {"name": "punchlist", "title": "Punchlist", "version": __version__},
        }

    # Tools.

    def _call_tool(self, call: RpcCall) -> Message | Later:
        name, arguments = call.params.get("name"), call.params.get("arguments")
        if not isinstance(name, str):
            raise RpcError(INVALID_PARAMS, "`name` is missing: the name of a tool.")
        dialect = self._tools.find_dialect(name)
        if dialect is None:
            return describe_reply(reply_unknown_tool(self._tools.tools, name))
        try:
            board, sessions = self.open()
            caller = sessions.find(call.params.get("_meta"), arguments)
            if (passed := self._pass_on(board, caller, call)) is not None:
                return passed
            profile = sessions.profile
            agent = board.agent(
                caller.agent, session=caller.session, dialect=dialect, profile=profile, project=caller.project
            )
            reply = agent.call(name, arguments, call_id=caller.call_id)
            asked = _find_asked(reply)
            connection = self._connection
            if (reply.awaits is not None or asked) and connection is not None and has_dialogs(self.capabilities):
                return lambda: self._show_dialogs(connection, call, agent, reply, asked)
            return describe_reply(reply, _list_news(agent), dialect=dialect)
        except PunchlistError as error:
            if self._connection is None and isinstance(error, StoreBusy):
                raise
            return describe_reply(Reply(str(error), is_error=True))

    def _pass_on(self, board: Board, caller: Caller, call: RpcCall) -> Message | None:
        """Return the answer of the team's server; None for a session that stays on this machine."""
        team = None if self._team_calls is None else self._team_calls.find_team(board, caller.session)
        if self._team_calls is None or team is None:
            return None
        return self._team_calls.pass_on(board, team, caller.session, call)

    def _show_dialogs(
        self, connection: Connection, call: RpcCall, agent: Agent, reply: Reply, asked: Sequence[str]
    ) -> Message:
        dialogs = Dialogs(connection, self.host, call.cancelled.is_set)
        try:
            if reply.awaits is not None:
                reply = dialogs.decide_plan(agent, reply.awaits) or reply
            told = dialogs.ask(agent, asked)
            return describe_reply(reply, [*told, *_list_news(agent)], dialect=agent.dialect)
        except PunchlistError as error:
            return describe_reply(Reply(str(error), is_error=True))

    # Resources and prompts.

    def _read_resource(self, call: RpcCall) -> Message:
        uri = call.params.get("uri")
        if not isinstance(uri, str):
            raise RpcError(INVALID_PARAMS, "`uri` is missing: the address of a resource.")
        board, caller, passed = self._open_for_reading(call)
        return passed or {"contents": [read_resource(board, caller, uri)]}

    def _get_prompt(self, call: RpcCall) -> Message:
        name, arguments = call.params.get("name"), call.params.get("arguments")
        if not isinstance(name, str) or not isinstance(arguments, dict | None):
            raise RpcError(INVALID_PARAMS, "`name` is the name of a prompt, `arguments` an object.")
        board, caller, passed = self._open_for_reading(call)
        return passed or write_prompt(board, caller, name, read_fields(arguments))

    def _open_for_reading(self, call: RpcCall) -> tuple[Board, Caller, Message | None]:
        """Return the board, the caller on it, and the answer of the team's server if the session is there."""
        try:
            board, sessions = self.open()
            caller = sessions.find(call.params.get("_meta"))
            return board, caller, self._pass_on(board, caller, call)
        except PunchlistError as error:
            raise RpcError(INTERNAL_ERROR, str(error)) from error


def _find_asked(reply: Reply) -> list[str]:
    asked = read_fields(reply.data).get("asked")
    return cast("list[str]", asked) if isinstance(asked, list) and not reply.is_error else []


def _list_news(agent: Agent) -> list[str]:
    """Return what people answered and decided since the model was last told, once."""
    from punchlist.conversations.bindings import note_reply
    from punchlist.store.sidecars import limit_wait

    with limit_wait(_NEWS_SECONDS), suppress(StoreBusy):  # what is not told now is still news at the next call
        news = agent.take_answers()
        if news is not None:
            with suppress(StoreBusy):
                note_reply(agent)
            return [news]
    return []


# Hooks of the client.


class HookListener:
    """A thread that opens the board once there is one, serves hooks on a socket and ingests the inbox.

    It starts the relay, which sends what goes to the team's server.
    """

    def __init__(self, url: str | None, open_board: Callable[[], Board], relay: Relay | None = None) -> None:
        self._url = url
        self._relay = relay
        self._open_board = open_board
        self._closed = threading.Event()
        self._server: HookServer | None = None
        self._thread = threading.Thread(target=self._run, name="mcp-hooks", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Take no further events; wait for the one that is being taken."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join(_LOOK_SECONDS)
        if self._server is not None:
            self._server.close()
        if self._relay is not None:
            self._relay.close()

    def _run(self) -> None:
        pause = _START_SECONDS
        while not self._closed.wait(pause):
            pause = _LOOK_SECONDS
            # Without the socket, or with a board that cannot be used now, hooks use the inbox.
            with suppress(PunchlistError, OSError):
                self._listen()

    def _listen(self) -> None:
        from punchlist.store import side_path
        from punchlist_hook import inbox_path

        path = side_path(self._url)
        if not os.path.exists(path) and not os.path.exists(inbox_path(path)):
            return  # there is no board yet, and nothing for it
        from punchlist.hooks.inbox import ingest
        from punchlist.hooks.sockets import HookServer
        from punchlist.people.back_channel import BackChannel

        board = self._open_board()
        if self._server is None and not self._closed.is_set():
            host = os.getppid()
            self._server = HookServer(board, host, channel=BackChannel(board, host))
        ingest(board)
        if self._relay is not None:
            self._relay.start()
