"""Messages to a webhook and to a command: bounded, timed, and never raising."""

import json
import logging
import socket
import sys
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from punchlist.errors import ConfigInvalid
from punchlist.people.sinks import Command, Outbox, Sink, Webhook, web_address
from punchlist.projections.relay import Notice


class Receiver:
    """A server on this machine that keeps what is posted to it, and answers as it is told."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.logins: list[str | None] = []
        self.status = 204
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                receiver.logins.append(self.headers.get("Authorization"))
                receiver.bodies.append((self.headers.get("X-Key"), json.loads(self.rfile.read(length))))
                self.send_response(receiver.status)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook?token=secret"

    def __enter__(self) -> "Receiver":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def test_a_webhook_gets_each_message_as_json(receiver: Receiver) -> None:
    with Outbox(Webhook(receiver.url, headers={"X-Key": "k"})) as outbox:
        assert outbox.put({"text": "héllo"})
        assert outbox.put(Notice("done", "kid run completed.", "acp-spawn:r1:done", datetime(2026, 1, 1, tzinfo=UTC)))
    assert receiver.bodies == [
        ("k", {"text": "héllo"}),
        (
            "k",
            {
                "kind": "done",
                "text": "kid run completed.",
                "context": "acp-spawn:r1:done",
                "at": "2026-01-01T00:00:00Z",
                "summary": "",
            },
        ),
    ]
    assert (outbox.delivered, outbox.dropped) == (2, 0)


@pytest.mark.parametrize("status", [302, 400, 500])
def test_an_answer_that_is_no_success_is_logged_without_the_address(
    receiver: Receiver, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.status = status
    outbox = Outbox(Webhook(receiver.url))
    assert outbox.put({"text": "x"})
    assert not outbox.close()
    assert len(receiver.bodies) == 1
    assert outbox.dropped == 1
    assert "127.0.0.1" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.org",
        "example.org",
        "http://",
        "http://[::1",
        "http://example.org:99999/",
        "http://example.org:http/",
        "http://example org/",
        "http://exa\\mple/",
        f"http://{'x' * 70}.org/",
    ],
)
def test_only_addresses_that_can_be_sent_to_are_taken(url: str) -> None:
    with pytest.raises(ConfigInvalid):
        Webhook(url)


@pytest.mark.parametrize("headers", [{"X-Key": "a\r\nb"}, {"X Key": "a"}, {"": "a"}, {"X-Key": "→"}])
def test_headers_that_cannot_be_sent_are_refused_without_their_values(headers: dict[str, str]) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        Webhook("http://example.org/", headers=headers)
    assert "a" not in str(refused.value).split("`")[3]


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("http://example.org:8080/a?b=c%20d#e", "http://example.org:8080/a?b=c%20d"),
        ("http://example.org/ä b?ö=ü", "http://example.org/%C3%A4%20b?%C3%B6=%C3%BC"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
        ("http://[::1]:80/", "http://[::1]:80/"),
        ("http://my_service/", "http://my_service/"),
        ("http://ada:s%40crt@example.org/", "http://example.org/"),
    ],
)
def test_an_address_is_made_ready_to_be_sent_to(url: str, sent: str) -> None:
    address = web_address(url)
    assert address.url == sent
    assert ("Authorization" in address.headers) == ("@" in url)
    assert "crt" not in address.place


def test_a_name_and_a_password_in_the_address_are_sent_with_the_message(receiver: Receiver) -> None:
    url = receiver.url.replace("http://", "http://ada:s%40crt@").replace("/hook", "/hök")
    with Outbox(Webhook(url)) as outbox:
        assert outbox.put({"text": "x"})
    assert (outbox.delivered, receiver.logins) == (1, ["Basic " + b64encode(b"ada:s@crt").decode()])


def test_a_command_reads_the_message_on_its_standard_input(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    program = "import sys; open(sys.argv[1], 'ab').write(sys.stdin.buffer.read() + b'\\n')"
    with Outbox(Command([sys.executable, "-c", program, str(kept)])) as outbox:
        outbox.put({"text": "$(touch hacked); `id`"})
        outbox.put({"text": "two"})
    assert [json.loads(line) for line in kept.read_text().splitlines()] == [
        {"text": "$(touch hacked); `id`"},
        {"text": "two"},
    ]
    assert not Path("hacked").exists()


@pytest.mark.parametrize("command", ["exit 3", ["/no/such/program"], "sleep 60"])
def test_a_command_that_fails_is_dropped_and_the_next_one_tried(
    command: str | list[str], caplog: pytest.LogCaptureFixture
) -> None:
    outbox = Outbox(Command(command, seconds=0.2))
    with caplog.at_level(logging.WARNING):
        outbox.put({"text": "x"})
        outbox.put({"text": "y"})
        assert not outbox.close(30)
    assert (outbox.delivered, outbox.dropped) == (0, 2)
    assert "was dropped" in caplog.text


def test_a_command_is_called_by_its_program_alone() -> None:
    assert Command("TOKEN=secret /usr/bin/curl --header secret").name == "curl"
    assert Command(["/bin/cat", "secret"]).name == "cat"
    assert Command("TOKEN=secret").name == "command"


class Dripping:
    """A server that sends one line of an answer at a time: of its head, or of what follows."""

    def __init__(self, first: bytes, line: bytes, last: bytes) -> None:
        self._parts = (first, *[line] * 200, last)
        self._over = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/"

    def _serve(self) -> None:
        with suppress(OSError), self._socket.accept()[0] as client:
            client.recv(65_536)
            for part in self._parts:
                client.sendall(part)
                if self._over.wait(0.02):
                    return

    def __enter__(self) -> "Dripping":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._socket.close()
        self._thread.join()


def test_what_follows_the_head_of_an_answer_is_not_waited_for() -> None:
    with Dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n", b"x", b"") as server:
        Webhook(server.url, seconds=0.5).deliver(b"{}")


class Stuck:
    """A sink that takes its time until it is let go."""

    name = "stuck"

    def __init__(self) -> None:
        self.began = threading.Event()
        self.go = threading.Event()

    def deliver(self, body: bytes) -> None:
        self.began.set()
        self.go.wait(30)


def test_a_full_queue_drops_and_never_blocks(caplog: pytest.LogCaptureFixture) -> None:
    stuck = Stuck()
    sink: Sink = stuck
    outbox = Outbox(sink, length=2)
    outbox.put({"number": 0})
    assert stuck.began.wait(30)
    taken = [outbox.put({"number": number}) for number in range(1, 50)]
    assert taken == [True, True, *[False] * 47]
    stuck.go.set()
    assert not outbox.close(30)
    assert (outbox.delivered, outbox.dropped) == (3, 47)
    assert caplog.text.count("was dropped") == 1
    assert not outbox.put({"text": "too late"})


def test_what_is_no_json_is_dropped_and_what_is_unknown_is_written_as_text() -> None:
    with Outbox(Command("cat >/dev/null")) as outbox:
        assert outbox.put({"path": Path("/a")})
        assert not outbox.put({"text": "\ud800"})


@pytest.mark.parametrize("seconds", [0, -1, 61])
def test_a_delivery_has_an_end(seconds: float) -> None:
    with pytest.raises(ConfigInvalid):
        Command("true", seconds=seconds)
    with pytest.raises(ConfigInvalid):
        Command("")
