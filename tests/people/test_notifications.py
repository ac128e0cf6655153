"""Ways to tell a person something: real servers and programs get the words, and nothing but words."""

import json
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from email.header import decode_header, make_header
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import msgspec
import pytest

from punchlist.core.presence import PersonNotice
from punchlist.errors import ConfigInvalid
from punchlist.people.notices import (
    ChatWebhook,
    NoticeCommand,
    NtfyTopic,
    Retrying,
    encode_header,
    find_terminal_forms,
    make_escapes,
    notice_data,
)
from punchlist.people.sinks import Outbox, describe_failure

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
ESCAPES = "\x1b]0;owned\x07\x1b[31mred\u202e\x9b5n"
NOTICE = PersonNotice(
    kind="waits",
    title="shop · claude waits on you",
    text="“Which region?”",
    at=NOON,
    session="s1",
    answer="3",
    subject="k",
)


class Answers:
    """A server on this machine that keeps each request, and answers with one status after the other."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.retry_after = ""
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        answers = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answers.requests.append((self.path, dict(self.headers), body))
                self.send_response(answers.statuses.pop(0) if answers.statuses else 200)
                if answers.retry_after:
                    self.send_header("Retry-After", answers.retry_after)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/secret-topic"

    def __enter__(self) -> "Answers":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Answers]:
    with Answers() as server:
        yield server


def body(notice: PersonNotice = NOTICE) -> bytes:
    return msgspec.json.encode(notice_data(notice))


# Terminals.


def test_a_terminal_gets_our_escapes_and_the_words() -> None:
    assert make_escapes(NOTICE, ("bell",)) == "\a"
    assert make_escapes(NOTICE, ("bell", "osc9")) == (
        "\x1b]9;Punchlist: shop · claude waits on you: “Which region?”\x07\a"
    )
    assert make_escapes(NOTICE, ("osc777",)) == "\x1b]777;notify;shop · claude waits on you;“Which region?”\x07"


def test_no_control_character_of_a_model_reaches_a_terminal() -> None:
    hostile = PersonNotice(kind="waits", title=f"4;3;50{ESCAPES}", text=f"\x1b\\{ESCAPES}\n;a;b" + "x" * 9000)
    sent = make_escapes(hostile, ("osc9", "osc777", "bell"))
    assert sum(not character.isprintable() for character in sent) == 5
    first, second, rest = sent.split("\x07", 2)
    assert first.startswith("\x1b]9;Punchlist: 4,3,50")
    assert second.startswith("\x1b]777;notify;")
    assert second.count(";") == 3
    assert rest == "\x07"
    assert len(sent) < 1500


def test_tmux_is_asked_to_pass_an_escape_on() -> None:
    sent = make_escapes(PersonNotice(kind="red", title="x"), ("osc9", "bell"), in_tmux=True)
    assert sent == "\x1bPtmux;\x1b\x1b]9;Punchlist: x\x07\x1b\\\a"


@pytest.mark.parametrize(
    ("term", "forms"),
    [
        ("xterm-256color", ("bell", "osc9")),
        ("foot", ("bell", "osc777")),
        ("rxvt-unicode", ("bell", "osc777")),
        ("linux", ("bell",)),
        ("dumb", ("bell",)),
        ("", ("bell",)),
    ],
)
def test_the_form_is_what_the_terminal_is_likely_to_know(term: str, forms: tuple[str, ...]) -> None:
    assert find_terminal_forms({"TERM": term}) == forms


# Commands.


def test_a_command_gets_json_and_variables_and_no_words_in_its_line(tmp_path: Path) -> None:
    out = tmp_path / "out"
    program = (
        "import json, os, sys;"
        "found = {k: v for k, v in os.environ.items() if k.startswith('PUNCHLIST_NOTICE_')};"
        f"open({str(out)!r}, 'w').write(json.dumps([sys.argv[1:], json.load(sys.stdin), found]))"
    )
    hostile = PersonNotice(kind="red", title="$(touch x); `id` -rf", text="'; rm -rf / #\n\x00", project="/p")
    NoticeCommand([sys.executable, "-c", program, "word"]).deliver(body(hostile))
    words, given, variables = json.loads(out.read_text())
    assert words == ["word"]
    assert (given["kind"], given["title"]) == ("red", hostile.title)
    assert variables["PUNCHLIST_NOTICE_TITLE"] == hostile.title
    assert variables["PUNCHLIST_NOTICE_TEXT"] == "'; rm -rf / #\n"
    assert "PUNCHLIST_NOTICE_SUBJECT" not in variables


def test_a_command_that_fails_or_is_missing_is_a_failure() -> None:
    with pytest.raises(OSError, match="exit code 3"):
        NoticeCommand([sys.executable, "-c", "raise SystemExit(3)"]).deliver(body())
    with pytest.raises(OSError) as missing:
        NoticeCommand(["/nonexistent/program"]).deliver(body())
    assert describe_failure(missing.value) == "No such file or directory"


# ntfy.


def test_ntfy_gets_the_text_with_title_priority_and_tags(server: Answers) -> None:
    NtfyTopic(server.url, token="tk_1").deliver(body())
    ((path, headers, sent),) = server.requests
    assert (path, sent.decode()) == ("/secret-topic", "“Which region?”")
    assert (headers["Priority"], headers["Tags"], headers["Authorization"]) == ("high", "question", "Bearer tk_1")
    assert str(make_header(decode_header(headers["Title"]))) == NOTICE.title


@pytest.mark.parametrize(
    "title", ["plain", "a\r\nX-Evil: 1", "ü" * 200, "=?UTF-8?B?eA==?=", "👩‍👩‍👧" * 20, "\ud800", "", "  "]
)
def test_any_title_is_one_header(title: str, server: Answers) -> None:
    value = encode_header(title)
    assert value.isascii()
    assert all(character.isprintable() for character in value)
    assert str(make_header(decode_header(value))) == " ".join(title.encode(errors="replace").decode().split())
    NtfyTopic(server.url).deliver(body(PersonNotice(kind="finished", title=title.encode(errors="replace").decode())))
    assert not any(name.lower() == "x-evil" for name in server.requests[0][1])


# Webhooks.


def test_a_webhook_gets_all_fields(server: Answers) -> None:
    ChatWebhook(server.url, token="t").deliver(body())
    ((_, headers, sent),) = server.requests
    assert headers["Authorization"] == "Bearer t"
    assert json.loads(sent) == {
        "source": "punchlist",
        "kind": "waits",
        "title": NOTICE.title,
        "text": NOTICE.text,
        "at": "2026-05-04T12:00:00Z",
        "project": "",
        "host": "",
        "session": "s1",
        "agent": "",
        "answer": "3",
    }


def test_nobody_in_a_chat_is_pinged_by_the_words_of_a_model(server: Answers) -> None:
    hostile = PersonNotice(kind="waits", title="x", text="<!channel> <@U1> @everyone & <http://evil|click>")
    ChatWebhook(server.url, "slack").deliver(body(hostile))
    ChatWebhook(server.url, "discord").deliver(body(hostile))
    slack, discord = (json.loads(sent) for _, _, sent in server.requests)
    assert slack == {"text": "x\n&lt;!channel&gt; &lt;@U1&gt; @everyone &amp; &lt;http://evil|click&gt;"}
    assert discord == {"content": f"x\n{hostile.text}", "allowed_mentions": {"parse": []}}


def test_a_server_that_fails_twice_gets_the_message_the_third_time(server: Answers) -> None:
    server.statuses = [500, 429, 200]
    with Outbox(Retrying(ChatWebhook(server.url), pauses=(0, 0, 0))) as outbox:
        outbox.put(notice_data(NOTICE))
    assert (len(server.requests), outbox.delivered, outbox.dropped) == (3, 1, 0)


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 410])
def test_a_refusal_is_not_tried_again(server: Answers, status: int) -> None:
    server.statuses = [status] * 5
    problems: list[str] = []
    with Outbox(Retrying(ChatWebhook(server.url), pauses=(0, 0)), on_drop=problems.append) as outbox:
        outbox.put(notice_data(NOTICE))
    assert len(server.requests) == 1
    assert problems == [f"webhook http://127.0.0.1: not delivered, HTTP {status}"]


def test_tries_end(server: Answers, caplog: pytest.LogCaptureFixture) -> None:
    server.statuses = [503] * 9
    problems: list[str] = []
    with Outbox(Retrying(NtfyTopic(server.url), pauses=(0, 0)), on_drop=problems.append) as outbox:
        outbox.put(notice_data(NOTICE))
    assert len(server.requests) == 3
    assert problems == ["ntfy http://127.0.0.1: not delivered, HTTP 503"]
    assert caplog.text == ""


def test_a_program_that_ends_does_not_wait_out_the_pauses(server: Answers) -> None:
    server.statuses = [503, 200]
    server.retry_after = "55"
    sink = Retrying(ChatWebhook(server.url), pauses=(50,))
    sink.hurry()
    sink.deliver(body())
    assert len(server.requests) == 2


def test_a_closed_port_is_a_failure_without_the_address() -> None:
    with pytest.raises(OSError) as refused:
        Retrying(ChatWebhook("http://127.0.0.1:9/secret"), pauses=(0,)).deliver(body())
    assert describe_failure(refused.value) == "Connection refused"


def test_an_error_names_neither_address_nor_token(server: Answers) -> None:
    server.statuses = [403]
    with pytest.raises(HTTPError) as refused:
        NtfyTopic(server.url, token="tk_secret").deliver(body())
    assert describe_failure(refused.value) == "HTTP 403"
    with pytest.raises(ConfigInvalid) as invalid:
        NtfyTopic("ftp://example.org/secret-topic")
    assert "secret-topic" not in str(invalid.value)
    with pytest.raises(ConfigInvalid) as bad_token:
        NtfyTopic(server.url, token="secret\n")
    assert "secret" not in str(bad_token.value)
