"""Pass the requests of an agent of a shared project on to the team's server, after all that its hooks told before."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

from punchlist.board import Board
from punchlist.dialects.repair import read_fields
from punchlist.errors import NotOverHttp, ServerRefused, ServerUnreachable
from punchlist.hooks.outbox import LONGEST_TOLD
from punchlist.mcp.machine import clean_value
from punchlist.mcp.relay import Relay
from punchlist.mcp.stdio import INTERNAL_ERROR, Message, RpcCall, RpcError
from punchlist.remote.connection import Connection
from punchlist.settings.environment import find_project, own_secrets
from punchlist.settings.servers import read_kept_token
from punchlist.settings.table import TeamSettings
from punchlist.settings.team import find_team
from punchlist.text import cut
from punchlist.text.redaction import redact_value

_FLUSH_SECONDS: Final = 0.5
_SECONDS: Final = 1.5
"""Seconds that the server may take: together with the wait before it, an agent is held up for two at most."""

_MOST_REPLY: Final = 256 * 1024
"""Bytes of a reply: a list of 300 tasks has 40 KB."""

_IDS: Final = ("claudecode/toolUseId", "callId")
_META: Final = (*_IDS, "session_id", "sessionId", "threadId")
"""Fields of `_meta` that are sent: they name the call and its conversation."""


class TeamCalls:
    """Passes requests on over one kept connection. `relay` sends what has to be there before."""

    def __init__(self, relay: Relay, dialects: Sequence[str]) -> None:
        self._relay = relay
        self._dialects = list(dialects)
        self._kept: tuple[str, Connection] | None = None
        self._asking = threading.Lock()

    def find_team(self, board: Board, session: str) -> TeamSettings | None:
        """Return the server to which a session goes; None for one that stays on this machine."""
        team = find_team(None)
        if team is None:
            return None
        known = board.store.read(lambda tx: tx.hosts.conversations(session, 1))
        return team if not known or find_team(known[0].project) is not None else None

    def pass_on(self, board: Board, team: TeamSettings, session: str, call: RpcCall) -> Message:
        """Return the server's result of a tool call. Raise `PunchlistError` if it is away: nothing was changed then."""
        if call.method != "tools/call":
            raise NotOverHttp(what="This", url=team.server)
        self._relay.start()
        last = board.store.read(lambda tx: tx.outbox.load_state().last)
        if not board.store.wait_until(lambda tx: not tx.outbox.has_upto(last), _FLUSH_SECONDS):
            problem = "the team's server is away; what you did is kept here and goes there later. Nothing was changed"
            raise ServerRefused(url=team.server, problem=problem, next="go on with the work and try again later")
        query = {"session": session, "project": find_project().remote, "dialect": self._dialects}
        request = {"jsonrpc": "2.0", "id": 1, "method": call.method, "params": describe_call(call.params)}
        with self._asking, _explain_loss(team):
            try:
                reply = self._connect(team).request(
                    "POST", "/mcp", query=query, body=request, prefix="", repeats=True, kind=dict[str, Any]
                )
            except ServerRefused:  # the next call reads the token again
                self.close()
                raise
        if error := read_fields(reply.get("error")):
            raise RpcError(INTERNAL_ERROR, cut(clean_value(str(error.get("message"))), LONGEST_TOLD))
        return filter_result(read_fields(reply.get("result")))

    def _connect(self, team: TeamSettings) -> Connection:
        if self._kept is None or self._kept[0] != team.server:
            token = read_kept_token(team.server)
            self._kept = team.server, Connection(team.server, token, seconds=_SECONDS, most=_MOST_REPLY)
        return self._kept[1]

    def close(self) -> None:
        if self._kept is not None:
            self._kept[1].close()
            self._kept = None


def describe_call(params: Message) -> Message:
    """Return the parameters of a tool call as they are sent: without secrets, and with an id, so that it runs once."""
    given = read_fields(params.get("_meta"))
    told = {**given, **read_fields(given.get("x-codex-turn-metadata"))}
    meta = {key: told[key] for key in _META if key in told}
    if not any(key in meta for key in _IDS):
        meta["callId"] = os.urandom(16).hex()
    sent = {key: params[key] for key in ("name", "arguments") if key in params}
    return {**redact_value(sent, own_secrets()), "_meta": meta}


def filter_result(result: Message) -> Message:
    """Return of the result of a tool call its texts and its data, and no other content."""
    found = result.get("content")
    parts = map(read_fields, cast("list[Any]", found) if isinstance(found, list) else [])
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    kept: Message = {
        "content": [{"type": "text", "text": text} for text in texts],
        "isError": bool(result.get("isError")),
    }
    if data := read_fields(result.get("structuredContent")):
        kept["structuredContent"] = data
    return cast("Message", clean_value(kept, lines=True))


@contextmanager
def _explain_loss(team: TeamSettings) -> Generator[None]:
    """Say of a call whose reply was lost that it may have been applied."""
    try:
        yield
    except ServerUnreachable as error:
        problem = "it did not answer in time, so that the call may have been applied or not"
        following = "look at the list before you repeat it"
        raise ServerRefused(url=team.server, problem=problem, next=following) from error
