"""Let the machines of a team report: hook lines, heartbeats and receipts in, and one stream out to each machine.

The token says which machine it is. A line, a receipt or a call about another machine's conversation is refused.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from punchlist.board import Board
from punchlist.conversations.bindings import add_step, check_conversation
from punchlist.hooks.machine_lines import Sender, TakenLines, read_sent_at, take_lines
from punchlist.people.back_channel import Wake, find_wakes
from punchlist.server.access import HOOKS_PATH, Grant, needs
from punchlist.server.api.calls import Answer, ApiCall
from punchlist.server.broadcast import Broadcaster, FeedReader, StreamResponse
from punchlist.server.problems import ApiProblem
from punchlist.server.state import grant_of, state_of
from punchlist.store import Transaction

CLOCK_HEADER: Final = "x-punchlist-at"
"""The time by the clock of the machine, in seconds since 1970, when it sends lines."""

_MOST_LINES: Final = 5_000
Name = Annotated[str, Meta(min_length=1, max_length=200)]


# Lines of hooks.


@needs("report")
async def take_hooks(request: Request) -> Response:
    """Answer `POST /api/v1/hooks`: one line as JSON, or many as NDJSON, in the order of the machine."""
    body, grant, state = await request.body(), grant_of(request), state_of(request)
    is_one = request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"
    lines = [body] if is_one else [line for line in body.split(b"\n") if line.strip()]
    if not 0 < len(lines) <= _MOST_LINES:
        raise ApiProblem(422, "invalid_input", f"Send 1 to {_MOST_LINES} lines.")
    sender = Sender(grant.machine, grant.name, grant.projects)
    sent_at = read_sent_at(request.headers.get(CLOCK_HEADER, ""))

    def take() -> TakenLines:
        return take_lines(state.board, sender, lines, sent_at=sent_at)

    return Response(msgspec.json.encode(await state.writes.run(take)), media_type="application/json")


# Heartbeats and receipts.


class MachineAgent(Struct, forbid_unknown_fields=True):
    """A conversation whose process runs on the machine now."""

    host: Name
    conversation: Name
    state: Literal["busy", "idle"] = "idle"
    pid: int | None = None


class MachineBeatBody(Struct, forbid_unknown_fields=True):
    """The time by the machine's clock, who may steer its agents, and those that run."""

    at: float
    agents: Annotated[list[MachineAgent], Meta(max_length=500)] = []
    steer: Literal["owner", "team"] = "owner"
    share: Literal["lines", "grades"] = "lines"


class MachineBeatView(Struct, frozen=True, kw_only=True):
    """The machine as the board knows it, and the time of the server in seconds."""

    machine: str
    name: str
    owner: str
    projects: tuple[str, ...]
    at: float


def take_heartbeat(call: ApiCall, body: MachineBeatBody) -> MachineBeatView:
    """Say that this machine is there, and which agents run on it. Repeat it every five seconds."""
    grant, now = call.grant, call.board.now()
    agents = msgspec.json.encode(body.agents).decode()

    def save(tx: Transaction) -> None:
        tx.machines.save(grant.machine, grant.name, grant.owner, body.steer, agents, at=now)

    call.board.store.transact(save, durable=False)
    return MachineBeatView(
        machine=grant.machine, name=grant.name, owner=grant.owner, projects=grant.projects, at=now.timestamp()
    )


class MachineReceiptBody(Struct, forbid_unknown_fields=True):
    """How far a `wake` went: to the host's queue or monitor (`sent`), or into a turn (`accepted`)."""

    host: Name
    conversation: Name
    step: Literal["sent", "accepted"]
    upto: Annotated[int, Meta(ge=0)]
    via: Literal["monitor", "queue"] = "monitor"


class MachineReceiptView(Struct, frozen=True):
    """True if the conversation is known."""

    known: bool


def take_receipt(call: ApiCall, body: MachineReceiptBody) -> Answer:
    """Note how far a message of a person went on this machine."""

    def note(tx: Transaction) -> MachineReceiptView:
        check_conversation(tx, call.grant.machine, body.host, body.conversation)
        known = tx.hosts.find_conversation(body.host, body.conversation)
        if known is None:
            return MachineReceiptView(False)
        upto, now = min(body.upto, tx.last_seq()), call.board.now()
        if body.step == "sent" and known.sent_upto < upto:
            tx.hosts.save_delivery(known, sent_upto=upto, told_upto=known.told_upto)
            add_step(tx, known, "news.sent", upto, now, via=body.via)
        elif body.step == "accepted":
            add_step(tx, known, "news.accepted", upto, now)
        return MachineReceiptView(True)

    return call.commit(note)


# The stream of a machine.


class MachineStream(StreamResponse):
    """Sends `wake` for each idle agent that people said something to, and `rows` for each session that changed."""

    def __init__(self, broadcaster: Broadcaster, reader: FeedReader, board: Board, grant: Grant) -> None:
        super().__init__(broadcaster, reader)
        self._board = board
        self._grant = grant
        self._is_new = True
        self._rows: dict[str, str] = {}
        self._woken: dict[tuple[str, str], int] = {}

    async def take(self) -> bytes:
        after, latest = self.reader.place, self.broadcaster.latest
        if after == latest and not self._is_new:
            return b""
        frames = await run_in_threadpool(self._load, None if self._is_new else after)
        self._is_new, self.reader.place = False, latest
        return frames

    def _load(self, after: int | None) -> bytes:
        machine = self._grant.machine
        wakes = find_wakes(self._board, machine, self._grant.owner, after=after)
        frames = [self._frame_wake(wake) for wake in wakes]
        for session, line in self._board.store.read(lambda tx: _load_lines(tx, machine, after)).items():
            if self._rows.get(session) != line:
                self._rows[session] = line
                frames.append(_frame("rows", {"session": session, "line": line}))
        return b"".join(frames)

    def _frame_wake(self, wake: Wake) -> bytes:
        key = wake.host, wake.conversation
        if self._woken.get(key, -1) >= wake.upto:
            return b""
        self._woken[key] = wake.upto
        return _frame("wake", msgspec.structs.asdict(wake))


def _load_lines(tx: Transaction, machine: str, after: int | None) -> dict[str, str]:
    sessions = {one.session for one in tx.hosts.conversations_on(machine, after)}
    found = {session: tx.find_checks(session) for session in sessions}
    return {session: checks.line for session, checks in found.items() if checks is not None and checks.line}


def _frame(kind: str, data: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), msgspec.json.encode(data))


@needs("report")
async def stream_machine(request: Request) -> Response:
    """Answer `GET /api/v1/machine/stream`."""
    state, grant = state_of(request), grant_of(request)
    reader = FeedReader(place=await run_in_threadpool(state.board.store.last_seq))
    return MachineStream(state.broadcaster, reader, state.board, grant)


routes: list[BaseRoute] = [
    Route(HOOKS_PATH, take_hooks, methods=["POST"]),
    Route("/api/v1/machine/stream", stream_machine),
]
