"""Ways to tell a person something: the terminal, a command, an ntfy topic, a webhook of a chat or a program.

Each is a sink for `sinks.Outbox`; a message is a `PersonNotice`. Its words come from models: they are never part of a
command line, an address or a header as they are, and nothing in them pings the people of a chat.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from email.header import Header
from typing import Any, Final, Literal
from urllib.error import HTTPError

import msgspec

from punchlist.bridges.sinks import Command, Sink, Webhook
from punchlist.core.events import json_time
from punchlist.core.presence import NoticeKind, PersonNotice
from punchlist.settings.table import WebhookFormat
from punchlist.text import cut, for_terminal

TerminalForm = Literal["bell", "osc9", "osc777"]

SOURCE: Final = "Punchlist"
PAUSES: Final = (1.0, 5.0, 20.0)
"""Seconds before each new try of a delivery that failed."""

_LONGEST_PAUSE: Final = 60.0
_TRIED_AGAIN: Final = (408, 429)
"""Answers that are no fault of the message, though they are 4xx."""

_LONGEST_TITLE: Final = 120
_LONGEST_ESCAPE: Final = 400
"""Characters of a notification of a terminal; few show more, and tmux cuts long escapes."""

_LONGEST_VARIABLE: Final = 2_000
_PRIORITIES: Final[Mapping[NoticeKind, str]] = {"waits": "high", "red": "high", "progress": "low"}
_TAGS: Final[Mapping[NoticeKind, str]] = {
    "waits": "question",
    "finished": "white_check_mark",
    "stalled": "hourglass",
    "red": "x",
    "progress": "arrow_forward",
}
"""Tags that ntfy shows as a sign before the title."""


def notice_data(notice: PersonNotice) -> dict[str, Any]:
    """Return a message as JSON values, as programs get it."""
    given = msgspec.structs.asdict(notice)
    del given["subject"]
    return {"source": SOURCE.lower(), **given, "at": None if notice.at is None else json_time(notice.at)}


def _read_notice(body: bytes) -> PersonNotice:
    return msgspec.json.decode(body, type=PersonNotice)


# The terminal.


def find_terminal_forms(environment: Mapping[str, str]) -> tuple[TerminalForm, ...]:
    """Return how the terminal of this environment shows a notification, as far as one can know: at least the bell."""
    term = environment.get("TERM", "")
    if term in ("", "dumb", "linux"):  # the console of Linux may print an escape that it does not know
        return ("bell",)
    return ("bell", "osc777" if term.startswith(("foot", "rxvt")) else "osc9")


def make_escapes(notice: PersonNotice, forms: Collection[TerminalForm], *, in_tmux: bool = False) -> str:
    """Return what makes a terminal notify; only the control characters in it are ours."""
    title, text = _clean_field(notice.title, _LONGEST_TITLE), _clean_field(notice.text, _LONGEST_ESCAPE)
    escapes: list[str] = []
    if "osc9" in forms:
        # The name comes first: some terminals take text that begins with a digit for another command.
        words = f"{SOURCE}: {title}: {text}" if text else f"{SOURCE}: {title}"
        escapes.append(f"\x1b]9;{words}\x07")
    if "osc777" in forms:
        escapes.append(f"\x1b]777;notify;{title};{text}\x07")
    if in_tmux:  # which passes on what is wrapped, if `allow-passthrough` is on
        escapes = [f"\x1bPtmux;{escape.replace(chr(27), chr(27) * 2)}\x1b\\" for escape in escapes]
    return "".join([*escapes, "\a" if "bell" in forms else ""])


def _clean_field(text: str, length: int) -> str:
    """Return a text for a field of an escape: a semicolon would begin the next field."""
    return cut(for_terminal(text), length).replace(";", ",")


# Sinks.


class NoticeCommand:
    """Runs a command of the user's; it gets the message as JSON on standard input, and its parts as variables."""

    def __init__(self, words: Sequence[str]) -> None:
        self._command = Command(words)
        self.name = f"command {self._command.name}"

    def deliver(self, body: bytes) -> None:
        given = {key: value for key, value in msgspec.json.decode(body).items() if isinstance(value, str)}
        variables = {
            f"PUNCHLIST_NOTICE_{key.upper()}": cut(value, _LONGEST_VARIABLE).replace("\0", "")
            for key, value in given.items()
        }
        self._command.deliver(body, variables)


class NtfyTopic:
    """Publishes to a topic of ntfy, `https://ntfy.sh/TOPIC` or one of an own server."""

    def __init__(self, url: str, token: str = "") -> None:
        self._webhook = Webhook(url, headers=_authorise(token))
        self.name = f"ntfy {self._webhook.name}"

    def deliver(self, body: bytes) -> None:
        notice = _read_notice(body)
        headers = {
            "Content-Type": "text/plain; charset=utf-8",
            "Title": encode_header(cut(notice.title, _LONGEST_TITLE)),
            "Priority": _PRIORITIES.get(notice.kind, "default"),
        }
        if notice.kind in _TAGS:
            headers["Tags"] = _TAGS[notice.kind]
        self._webhook.deliver((notice.text or notice.title).encode(), headers)


class ChatWebhook:
    """Posts to a webhook: all fields as JSON, or the words alone in the form that Slack or Discord takes."""

    def __init__(self, url: str, form: WebhookFormat = "json", token: str = "") -> None:
        self._webhook = Webhook(url, headers=_authorise(token))
        self._form = form
        self.name = f"webhook {self._webhook.name}"

    def deliver(self, body: bytes) -> None:
        if self._form == "json":
            self._webhook.deliver(body)
            return
        notice = _read_notice(body)
        words = f"{notice.title}\n{notice.text}" if notice.text else notice.title
        if self._form == "slack":
            # Slack reads `<!channel>` and links in what is not escaped.
            escaped = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            message: dict[str, Any] = {"text": escaped}
        else:
            message = {"content": cut(words, 1_900), "allowed_mentions": {"parse": []}}
        self._webhook.deliver(msgspec.json.encode(message))


class Retrying:
    """Tries a delivery again after a pause, a few times, unless the other side says that it never will take it."""

    def __init__(self, sink: Sink, pauses: Iterable[float] = PAUSES) -> None:
        self._sink = sink
        self._pauses = tuple(pauses)
        self._ends = threading.Event()
        self.name = sink.name

    def deliver(self, body: bytes) -> None:
        for pause in self._pauses:
            try:
                self._sink.deliver(body)
            except OSError as error:
                if isinstance(error, HTTPError) and error.code < 500 and error.code not in _TRIED_AGAIN:
                    raise
                self._ends.wait(max(pause, _read_retry_after(error)))
            else:
                return
        self._sink.deliver(body)

    def hurry(self) -> None:
        """Make the pauses short from now on: the program wants to end."""
        self._ends.set()


def _read_retry_after(error: OSError) -> float:
    """Return the seconds that the other side asks to wait, a minute at most."""
    asked = error.headers.get("Retry-After", "") if isinstance(error, HTTPError) and error.headers else ""
    return min(float(asked), _LONGEST_PAUSE) if asked.isascii() and asked.isdigit() and len(asked) < 9 else 0.0


def _authorise(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


def encode_header(text: str) -> str:
    """Return a text as the value of a header: as it is if it is plain ASCII, else as encoded words of RFC 2047."""
    line = " ".join(text.split())
    if line.isascii() and line.isprintable() and "=?" not in line:
        return line
    return Header(line.encode(errors="replace"), "utf-8").encode(linesep="")


def is_in_tmux() -> bool:
    return bool(os.environ.get("TMUX"))
