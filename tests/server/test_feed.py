"""The live feed: every event once and in order, to many readers, fast or slow."""

import re
import shutil
import socket
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from punchlist.board import Board
from punchlist.core.events import Event
from tests.server.conftest import Running, make_token
from tests.server.streams import Stream, open_stream
from tests.sizes import size


def write(board: Board, text: str, *, session: str = "s", agent: str = "main") -> int:
    """Write a list of one item; return the number of the last event."""
    board.agent(agent, session=session).call("todo", {"add": [text]})
    return board.store.last_seq()


def seqs(events: list[Event]) -> list[str]:
    return [str(event.seq) for event in events]


def test_a_reader_gets_each_event_as_it_happens_with_its_number(client: httpx.Client, board: Board):
    with open_stream(client) as stream:
        write(board, "one")
        write(board, "two")
        expected = list(board.events())
        frames = stream.take(len(expected))
    assert [frame.id for frame in frames] == seqs(expected)
    assert frames[-1].data["kind"] == expected[-1].kind
    assert frames[-1].data["seq"] == expected[-1].seq


def test_a_reader_that_comes_back_misses_nothing_and_gets_nothing_twice(client: httpx.Client, board: Board):
    write(board, "before")
    got: list[str] = []
    after = 0
    for number in range(6):
        write(board, f"away {number}")
        with open_stream(client, after=after) as stream:
            write(board, f"here {number}")
            last = board.store.last_seq()
            while after < last:
                (frame,) = stream.take(1)
                got.append(frame.id)
                after = int(frame.id)
    assert got == seqs(list(board.events()))


def test_filters_choose_by_session_agent_kind_and_project(client: httpx.Client, board: Board):
    with (
        open_stream(client, session="a") as by_session,
        open_stream(client, agent="helper") as by_agent,
        open_stream(client, kind="list,agent.joined") as by_kind,
        open_stream(client, project="/nowhere") as by_project,
    ):
        write(board, "one", session="b")
        write(board, "two", session="a")
        write(board, "three", session="b", agent="helper")
        board.agent(session="c", project="/nowhere").call("todo", {"add": ["four"]})
        events = list(board.events())
        for stream, wanted in (
            (by_session, [event for event in events if event.session == "a"]),
            (by_agent, [event for event in events if event.agent == "helper"]),
            (by_kind, [event for event in events if event.kind.startswith(("list.", "agent.joined"))]),
            (by_project, [event for event in events if event.project == "/nowhere"]),
        ):
            assert [frame.id for frame in stream.take(len(wanted))] == seqs(wanted)


def test_a_snapshot_comes_first_and_then_the_events_after_it(client: httpx.Client, board: Board):
    seen = write(board, "one")
    with open_stream(client, snapshot=1) as stream:
        (first,) = stream.take(1)
        assert (first.kind, first.id) == ("snapshot", str(seen))
        assert first.data["lists"][0]["todos"]["items"][0]["content"] == "one"
        write(board, "two")
        later = list(board.events(seen))
        assert [frame.id for frame in stream.take(len(later))] == seqs(later)


def test_a_token_for_one_project_sees_nothing_of_another(running: Running, board: Board):
    secret = make_token(board, "ours", "look", "/ours")
    for project in ("/ours", "/theirs"):
        agent = board.agent(session=project.strip("/"), project=project)
        agent.call("todo", {"add": ["A secret"]})
        agent.ask("1", "Which?")
    with running.open_client(headers={"Authorization": f"Bearer {secret}"}) as client:
        queries: list[dict[str, Any]] = [{"session": "theirs"}, {"project": "/theirs"}, {"session": "ours"}, {}]
        for query in queries:
            with open_stream(client, snapshot=1, **query) as stream:
                (first,) = stream.take(1)
            shown = {row["project"] for row in (*first.data["lists"], *first.data["waits"])}
            assert shown <= {"/ours"}
            assert bool(shown) is (query.get("session") != "theirs")
        with open_stream(client, after=0) as stream:
            ours = [event for event in board.events() if event.project == "/ours"]
            assert [frame.id for frame in stream.take(len(ours))] == seqs(ours)


def test_the_streams_of_a_token_end_when_it_is_revoked(board: Board):
    ours, theirs = ({"Authorization": f"Bearer {make_token(board, name, 'look')}"} for name in ("ours", "theirs"))
    running = Running(board, tick=0.05)
    running.start()
    with (
        running.open_client(headers=ours) as client,
        running.open_client(headers=theirs) as other,
        running.open_program() as owner,
        open_stream(client) as events,
        open_stream(client, path="/live", topic="now") as page,
        open_stream(other) as kept,
        open_stream(owner) as of_owner,
    ):
        page.take(1)
        before = board.store.last_seq()
        board.store.transact(lambda tx: tx.tokens.remove("ours", by="ada", at=board.now()))
        renewed = sha256(b"another secret").digest()
        board.store.transact(lambda tx: tx.tokens.add("ours", renewed, "look", None, at=board.now()))
        assert list(events) == []
        list(page)
        assert client.get("/api/v1/events/stream").status_code == 401
        write(board, "one")
        last = list(board.events(before))
        for stream in (kept, of_owner):
            assert [frame.id for frame in stream.take(len(last))] == seqs(last)
    running.stop()


def test_a_number_of_another_board_is_answered_with_a_reset(client: httpx.Client, board: Board):
    seen = write(board, "one")
    with open_stream(client, after=seen + 1000) as stream:
        (first,) = stream.take(1)
        assert (first.kind, first.id) == ("reset", str(seen))


def read_until_end(stream: Stream) -> list[str]:
    """Return the ids of all events up to the first one of the session `end`."""
    got: list[str] = []
    for frame in stream:
        got.append(frame.id)
        if frame.data["session"] == "end":
            break
    return got


def events_until_end(board: Board) -> list[str]:
    events = list(board.events())
    first = next(place for place, event in enumerate(events) if event.session == "end")
    return seqs(events[: first + 1])


def test_a_reader_far_behind_the_window_reads_the_board_until_it_has_caught_up(
    client: httpx.Client, board: Board, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("punchlist.server.broadcast._MOST_EVENTS", 10)
    monkeypatch.setattr("punchlist.server.broadcast._PIECE", 500)

    def write_more() -> None:
        for number in range(30):
            write(board, f"more {number}")
        write(board, "over", session="end")

    for number in range(30):
        write(board, f"item {number}")
    with open_stream(client, after=0) as stream:
        writer = threading.Thread(target=write_more)
        writer.start()
        got = read_until_end(stream)
        writer.join()
    assert got == events_until_end(board)


def test_slow_readers_are_cut_off_and_others_get_everything(board: Board):
    running = Running(board, slow_seconds=size(1, 20) / 2, tick=0.1)
    running.start()
    readers, slow = size(18, 180), size(2, 20)
    broadcaster = running.state.broadcaster
    stalled = [_stall(running) for _ in range(slow)]
    with ThreadPoolExecutor(readers) as pool, running.open_program(limits=httpx.Limits()) as client:

        def read() -> list[str]:
            """Read up to the end. One of so many that is too slow itself is cut off, and goes on where it was."""
            got: list[str] = []
            while True:
                with (
                    suppress(httpx.RemoteProtocolError),
                    open_stream(client, after=int(got[-1]) if got else 0) as stream,
                ):
                    for frame in stream:
                        got.append(frame.id)
                        if frame.data["session"] == "end":
                            return got

        results = [pool.submit(read) for _ in range(readers)]
        for number in range(30):
            board.agent(session=f"s{number}").call("todo", {"add": [f"{number} {'x' * 300}"] * 50})
        while broadcaster.cut_off < slow:
            threading.Event().wait(0.05)
        write(board, "over", session="end")
        assert all(result.result() == events_until_end(board) for result in results)
        for one in stalled:
            got = _read_to_the_end(one)
            with open_stream(client, after=int(got[-1])) as stream:
                assert got + read_until_end(stream) == events_until_end(board)
    running.stop()


def _read_to_the_end(client: socket.socket) -> list[str]:
    """Return the ids of the whole events that were under way when a stream was cut off.

    It ends, and without the mark of a whole response.
    """
    client.settimeout(60)
    sent = b""
    while part := client.recv(1 << 20):
        sent += part
    client.close()
    assert not sent.endswith(b"\r\n0\r\n\r\n")
    # Each chunk of the transfer has its length in a line of its own, also where it begins inside an event.
    body = re.sub(rb"(\r\n)?[0-9a-f]+\r\n", b"", sent.partition(b"\r\n\r\n")[2])
    return [found.decode() for found in re.findall(rb"id: (\d+)\ndata: .*\n\n", body)]


def _stall(running: Running) -> socket.socket:
    """Open a stream and read nothing of it."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", running.access.port))
    head = f"GET /api/v1/events/stream?after=0 HTTP/1.1\r\nHost: 127.0.0.1:{running.access.port}\r\n"
    client.sendall(f"{head}Authorization: Bearer {running.access.secret}\r\n\r\n".encode())
    return client


def test_streams_end_when_events_that_they_sent_are_gone(client: httpx.Client, board: Board):
    """As after a crash of PostgreSQL. Whoever comes back is told to begin again."""
    for number in range(20):
        write(board, f"{number}")
    last = board.store.last_seq()
    with (
        open_stream(client, after=0) as events,
        closing(sqlite3.connect(board.store.path, isolation_level=None)) as connection,
        ThreadPoolExecutor(1) as pool,
    ):
        events.take(last)
        reading = pool.submit(list, events)
        while not reading.done():
            for _ in range(5):
                write(board, "again")
            connection.execute("DELETE FROM events WHERE seq > 5")
    with open_stream(client, after=last) as events:
        assert events.take(1)[0].kind == "reset"


def test_open_streams_do_not_keep_the_server_from_stopping(running: Running, client: httpx.Client):
    with open_stream(client) as one, open_stream(client) as two:
        running.stop()
        assert [list(one), list(two)] == [[], []]


@pytest.mark.parametrize("way", ["deleted", "replaced"])
def test_a_board_that_is_deleted_or_replaced_is_not_served_any_more(
    running: Running, client: httpx.Client, board: Board, way: str
):
    write(board, "one")
    path = Path(board.store.path)
    with open_stream(client, after=0) as events, open_stream(client, path="/live", topic="now") as page:
        if way == "deleted":
            path.unlink()
        else:
            copy = path.with_name("other.db")
            shutil.copy(path, copy)
            copy.replace(path)
        list(events)  # both end
        list(page)
    for asked in ("/api/v1/now", "/api/v1/events/stream", "/live?topic=now", "/"):
        answer = client.get(asked)
        assert (answer.status_code, answer.json()["code"]) == (503, "store_replaced")
    with running.open_client() as stranger:
        health = stranger.get("/healthz")
        assert (health.status_code, health.text) == (503, "store_replaced\n")
        assert stranger.get("/api/v1/now").status_code == 401
