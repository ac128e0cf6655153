"""A machine of a team, as its relay speaks to the server: it describes calls on its own board, and sends lines."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from hashlib import sha256
from itertools import count
from typing import Any

import httpx
import msgspec

from punchlist.agent.described_calls import EndedCall, StartedCall
from punchlist.board import Board
from tests.server.conftest import Running

SHOP = "git.example.org/shop"
Json = dict[str, Any]


def make_machine_token(
    board: Board, name: str, *projects: str, owner: str = "ada", machine: str = "", lifetime: float = 3600
) -> str:
    """Make a token of scope `report` and return its secret."""
    secret, now = f"secret of {name}", board.now()
    digest = sha256(secret.encode()).digest()
    known_as, ends = machine or f"id-of-{name}", now + timedelta(seconds=lifetime)
    board.store.transact(
        lambda tx: tx.tokens.add(
            name,
            digest,
            "report",
            None,
            at=now,
            machine=known_as,
            projects=projects or (SHOP,),
            owner=owner,
            expires_at=ends,
        )
    )
    return secret


_open: list[Machine] = []


def close_machines() -> None:
    """Close the clients and boards of all machines; for the end of a test."""
    while _open:
        _open.pop().close()


class Machine:
    """One machine: `run` is a tool call from its beginning to its end, `send` posts lines as NDJSON."""

    def __init__(self, running: Running, name: str, *projects: str, owner: str = "ada", remote: str = SHOP) -> None:
        self.name, self.id, self.remote = name, f"id-of-{name}", remote
        self.secret = make_machine_token(running.board, name, *projects, owner=owner)
        self.client = running.open_client(headers={"Authorization": f"Bearer {self.secret}"})
        self._board = Board.open("memory:")
        self._describer = self._board.agent("main", session="describer", project="/home/x/shop")
        _open.append(self)
        self._ids = (f"{name}-{number}" for number in count())

    def close(self) -> None:
        self.client.close()
        self._board.close()

    def describe_end(self, tool: str, result: Any, begun: StartedCall, **how: Any) -> EndedCall:
        return self._describer.describe_end(tool, result, started=begun, **how)

    def line(self, name: str, session: str, *, call: Any = None, **more: Any) -> Json:
        """Return a line of version 2 about an event; `line_` in front of a field puts it beside the event."""
        beside = {key.removeprefix("line_"): more.pop(key) for key in list(more) if key.startswith("line_")}
        event = {"hook_event_name": name, "session_id": session, "cwd": "/home/x/shop", **more}
        told = {} if call is None else {"call": json.loads(msgspec.json.encode(call))}
        head = {"v": 2, "id": next(self._ids), "host": "claude-code", "at": time.time(), "pid": 1, "attended": True}
        return {
            **head,
            "remote": f"https://{self.remote}.git",
            "folder": "/home/x/shop",
            "event": event,
            **told,
            **beside,
        }

    def start(self, session: str, call_id: str, tool: str, args: Json) -> tuple[Json, StartedCall]:
        begun = self._describer.describe_start(tool, args)
        return self.line("PreToolUse", session, tool_name=tool, tool_use_id=call_id, call=begun), begun

    def run(self, session: str, call_id: str, command: str, result: str, *, failed: bool = False) -> list[Json]:
        """Return the lines about a shell command."""
        first, begun = self.start(session, call_id, "Bash", {"command": command})
        ended = self.describe_end("Bash", result, begun, is_error=failed, exit_code=int(failed))
        name = "PostToolUseFailure" if failed else "PostToolUse"
        return [first, self.line(name, session, tool_name="Bash", tool_use_id=call_id, call=ended)]

    def post(self, *lines: Json, **headers: str) -> httpx.Response:
        body = "\n".join(json.dumps(line) for line in lines)
        kinds = {"Content-Type": "application/x-ndjson", **headers}
        return self.client.post("/api/v1/hooks", content=body, headers=kinds)

    def send(self, *lines: Json) -> Json:
        """Send lines, none of which is refused; return their answers."""
        reply = self.post(*lines)
        assert reply.status_code == 200, reply.text
        found = reply.json()
        assert found["refused"] == {}
        assert found["taken"] == len(lines)
        return found["answers"]

    def refusal(self, line: Json) -> str:
        """Send a line that is refused; return the code."""
        found = self.post(line).json()
        assert found["taken"] == 0
        return found["refused"][line["id"]]["code"]

    def call(self, session: str, tool: str, arguments: Json, **more: Any) -> httpx.Response:
        body = {"tool": tool, "arguments": arguments, "project": self.remote, **more}
        return self.client.post(f"/api/v1/sessions/{session}/agents/main/call", json=body)

    def beat(self, *agents: Json, **more: Any) -> Json:
        body = {"at": time.time(), "agents": list(agents), **more}
        reply = self.client.post("/api/v1/machine/heartbeat", json=body)
        assert reply.status_code == 200, reply.text
        return reply.json()
