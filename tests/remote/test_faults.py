"""What a network, a wrong token or a hostile server does: nothing is applied twice, and each fault is one sentence."""

import pickle
import socket
import threading
from collections.abc import Callable

import pytest

from punchlist import Board
from punchlist.errors import (
    CallReused,
    NotOverHttp,
    PunchlistError,
    ServerInvalid,
    ServerRefused,
    ServerUnreachable,
    StoreClosed,
    TaskUnknown,
    TokenMissing,
)
from punchlist.remote.board import RemoteBoard
from punchlist.remote.connection import Connection
from tests.remote.conftest import Served
from tests.remote.wire import forward, serve

Connect = Callable[..., RemoteBoard]


def test_a_lost_reply_is_applied_once(served: Served, connect: Connect):
    lost: list[bytes] = []

    def cut_first(connection: socket.socket, request: bytes) -> None:
        answer = forward(served.url, request)
        if request.split(b"\r\n")[0] + request.partition(b"\r\n\r\n")[2] in lost or request.startswith(b"GET"):
            connection.sendall(answer)
        else:  # the server has applied it, and nobody hears of that
            lost.append(request.split(b"\r\n")[0] + request.partition(b"\r\n\r\n")[2])

    with serve(cut_first) as url:
        board = connect(url)
        agent = board.agent(session="cut")
        agent.call("todo", {"set": ["One"]}, call_id="1")
        agent.edit([{"op": "append", "items": ["Two"]}], by="ada")
        agent.propose_plan("1. Read")
        child = agent.spawn("explore")
        agent.user_turn("Go on")
        tasks = board.tasks("cut")
        tasks.create("Write it")
        task = tasks.claim("worker")
        assert task is not None
        assert tasks.complete(task.id, fence=task.fence).status == "completed"
    with connect() as direct:
        assert [item.content for item in direct.agent(session="cut").todos.items] == ["One", "Two"]
        assert len(direct.agent(session="cut").plans) == 1
        assert child.name == "explore"
        assert [one.subject for one in direct.tasks("cut").list()] == ["Write it"]
        kinds = [event.kind for event in direct.events() if event.session == "cut"]
        assert kinds.count("agent.spawned") == 1
    assert len(lost) == 8


def test_a_server_that_is_away_is_told_in_one_sentence_and_stops_no_agent(connect: Connect):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    agent = connect(url).agent(session="away")
    with pytest.raises(ServerUnreachable, match="cannot be reached"):
        agent.call("todo", {"set": ["One"]})
    agent.user_turn("Go on")
    assert agent.assistant_turn(["Bash"]) == []
    assert agent.about_to_stop() is None
    assert agent.compaction_block() is None


def test_a_wrong_token_is_refused_by_name(connect: Connect):
    with pytest.raises(ServerRefused, match="unknown or was revoked"):
        connect(token="pl_wrong").overview()


def test_a_redirect_is_not_followed(connect: Connect):
    def lead_on(connection: socket.socket, _: bytes) -> None:
        connection.sendall(b"HTTP/1.1 307 X\r\nLocation: http://203.0.113.1/\r\nContent-Length: 0\r\n\r\n")

    with serve(lead_on) as url, pytest.raises(ServerRefused, match=r"203\.0\.113\.1.*not followed"):
        connect(url).overview()


@pytest.mark.parametrize("part", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["head", "body"])
def test_an_answer_without_an_end_is_given_up(part: bytes):
    def drip(connection: socket.socket, _: bytes) -> None:
        connection.sendall(part)
        while True:
            connection.sendall(b"x")

    with serve(drip) as url, pytest.raises((ServerUnreachable, ServerRefused)):
        Connection(url, "token", seconds=0.2).request("GET", "/events")


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (404, b"hello", "answered 404"),
        (200, b"<html>", "is not Punchlist's"),
        (200, b'{"a": 1}', "is not Punchlist's"),
        (200, b"[" * 100_000, "is not Punchlist's"),
    ],
    ids=["another page", "no JSON", "another form", "nested too deep"],
)
def test_another_server_is_told_from_ours(connect: Connect, status: int, body: bytes, problem: str):
    def answer(connection: socket.socket, _: bytes) -> None:
        connection.sendall(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body)

    with serve(answer) as url, pytest.raises(ServerRefused, match=problem):
        connect(url).overview()


@pytest.mark.parametrize(
    "url", ["http://board.example.org", "https://ada:x@board.example.org", "https://board.example.org/a", "https://"]
)
def test_an_address_that_would_leak_the_token_is_refused(url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PUNCHLIST_TOKEN", "secret")
    with pytest.raises(ServerInvalid):
        Board.open(url)


def test_without_a_token_the_error_names_its_file(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PUNCHLIST_TOKEN", raising=False)
    with pytest.raises(TokenMissing, match=r"tokens/board\.example\.org_8443"):
        Board.open("https://board.example.org:8443")


def test_errors_are_those_of_a_local_board(remote: RemoteBoard):
    tasks = remote.tasks("errors")
    tasks.create("Write it", call_id="a")
    with pytest.raises(TaskUnknown) as found:
        tasks.get("9")
    assert type(pickle.loads(pickle.dumps(found.value))) is TaskUnknown
    with pytest.raises(CallReused):
        tasks.create("Something else", call_id="a")


def test_what_is_for_the_machine_of_the_board_says_so(remote: RemoteBoard):
    agent = remote.agent(session="limits")
    for call in (
        lambda: remote.prune(remote.now()),
        remote.flows,
        lambda: agent.restore("transcript.jsonl"),
        lambda: agent.edit([{"op": "done"}], by="ada", person=True),
        lambda: remote.tasks("x").prune(remote.now()),
        lambda: remote.store.read(lambda tx: tx.last_seq()),
    ):
        with pytest.raises(NotOverHttp, match="on the machine of the board"):
            call()
    assert isinstance(NotOverHttp(what="This", url="x"), PunchlistError)


def test_who_closes_a_connection_waits_for_no_server_that_is_silent():
    is_asked, is_over = threading.Event(), threading.Event()
    raised: list[Exception] = []

    def stay_silent(_connection: socket.socket, _request: bytes) -> None:
        is_asked.set()
        is_over.wait()

    with serve(stay_silent) as url:
        connection = Connection(url, "token", seconds=3600)

        def ask() -> None:
            try:
                connection.request("GET", "/now")
            except PunchlistError as error:
                raised.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        is_asked.wait()
        connection.close()
        asking.join()
        is_over.set()
    assert [type(error) for error in raised] == [StoreClosed]
    with pytest.raises(StoreClosed):
        connection.request("GET", "/now")
