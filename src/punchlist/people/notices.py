"""Tell a person when an agent waits on them, finishes, stalls or turns red, by the ways of their settings.

A fact is claimed on the board in a transaction before it is sent: of several programs that look at the same time, one
tells it. So a program that is killed while it sends may leave a fact untold, and none is told twice.

The ways are the terminal, a command, an ntfy topic, and a webhook of a chat or a program. The words of a message come
from models: they are never part of a command line, an address or a header as they are, and nothing in them pings the
people of a chat.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from email.header import Header
from typing import Any, Final, Literal, NamedTuple
from urllib.error import HTTPError

import msgspec

from punchlist.board import Board
from punchlist.core.events import json_time
from punchlist.core.presence import GONE_SHOWN, NoticeKind, NoticeMemory, PersonNotice
from punchlist.errors import ConfigInvalid
from punchlist.people.sinks import Command, Outbox, Sink, Webhook, describe_failure
from punchlist.projections.followed_lists import looking_into, pass_on
from punchlist.projections.relay import AgentProgress, ProgressFeed
from punchlist.settings.environment import own_secrets
from punchlist.settings.table import NotifySettings, WebhookFormat
from punchlist.store import Transaction
from punchlist.text import cut, for_terminal
from punchlist.views.list_owners import load_session_name
from punchlist.views.notices import (
    clean_text,
    drop_settled,
    find_news,
    key_of_agent,
    key_of_wait,
    mask_notice,
    parse_quiet_hours,
    summarise_facts,
)
from punchlist.views.now import Roster

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

_MOST_AT_ONCE: Final = 4
"""Facts of one look that are told one by one; more are one message."""

_LOOK_KEPT: Final = timedelta(minutes=10)
"""How often it is recorded that a program looks, while nothing happens."""

_CLOSE_SECONDS: Final = 5.0
_PROGRESS_LEASE: Final = timedelta(minutes=1)


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


# Facts.


class Told(NamedTuple):
    """The facts of one look: told at once, held back for the quiet hours, and told now that those are over."""

    facts: Sequence[PersonNotice] = ()
    held: Sequence[PersonNotice] = ()
    released: Sequence[PersonNotice] = ()


class PersonNotifier:
    """Tells a person by the terminal and by the ways of the settings, from its making until `close`.

    Call `look` with each new roster, from one thread. `write` prints escapes to the person's terminal; None if there
    is none. `report` gets problems with a way, and `on_progress` each message about progress, both on other threads.
    """

    def __init__(
        self,
        board: Board,
        settings: NotifySettings,
        *,
        write: Callable[[str], object] | None = None,
        report: Callable[[str], object],
        on_progress: Callable[[PersonNotice], object] | None = None,
        project: str = "",
        pauses: Sequence[float] = PAUSES,
    ) -> None:
        self._board = board
        self._settings = settings
        self._write = write
        self._report = report
        self._on_progress = on_progress
        self._project = project
        self._forms = choose_forms(settings) if write is not None else ()
        try:
            self._quiet = parse_quiet_hours(settings.quiet)
        except ValueError as error:
            raise ConfigInvalid(name="notify.quiet", value=clean_text(settings.quiet), problem=str(error)) from None
        self._sinks = make_sinks(settings)
        self._retries = [Retrying(sink, pauses) for sink in self._sinks]
        self._outboxes = [Outbox(sink, on_drop=report) for sink in self._retries]
        self._ends = threading.Event()
        self._follower: threading.Thread | None = None
        if settings.progress and (self._outboxes or on_progress is not None):
            self._follower = threading.Thread(target=self._follow_progress, name="punchlist-progress", daemon=True)
            self._follower.start()

    @property
    def ways(self) -> list[str]:
        """Names of the ways, without what may be secret in them."""
        return [*self._forms, *(sink.name for sink in self._sinks)]

    def close(self, seconds: float = _CLOSE_SECONDS) -> None:
        """Send what is still waiting, for so many seconds, and end."""
        self._ends.set()
        for sink in self._retries:
            sink.hurry()
        for outbox in self._outboxes:
            outbox.close(seconds)
        if self._follower is not None:
            self._follower.join(seconds)

    def __enter__(self) -> PersonNotifier:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Facts.

    def look(self, roster: Roster) -> Told:
        """Tell what has begun since any program last looked; return it."""
        if not self._board.store.read(lambda tx: self._has_news(tx, roster)):
            return Told()
        told = self._board.store.transact(lambda tx: self._claim(tx, roster), durable=False)
        messages = [summarise_facts(told.released, roster.at)] if told.released else []
        if len(told.facts) > _MOST_AT_ONCE:
            messages.append(summarise_facts(told.facts, roster.at))
        else:
            messages += told.facts
        for message in messages:
            self.send(message)
        return told

    def send(self, notice: PersonNotice) -> None:
        """Send a message by every way."""
        if self._write is not None and self._forms:
            self._write(make_escapes(notice, self._forms, in_tmux=is_in_tmux()))
        self._send_away(notice)

    def _send_away(self, notice: PersonNotice) -> None:
        for outbox in self._outboxes:
            outbox.put(notice_data(notice))

    def test(self) -> Iterator[tuple[str, str]]:
        """Send a message by each way, once; yield its name and why it failed, empty if it worked."""
        notice = PersonNotice(
            kind="test", title="Punchlist can reach you", text="This is a test.", at=self._board.now()
        )
        if self._write is not None and self._forms:
            self._write(make_escapes(notice, self._forms, in_tmux=is_in_tmux()))
            yield ", ".join(self._forms), ""
        body = msgspec.json.encode(notice_data(notice))
        for sink in self._sinks:
            try:
                sink.deliver(body)
            except Exception as error:
                yield sink.name, describe_failure(error)
            else:
                yield sink.name, ""

    def _has_news(self, tx: Transaction, roster: Roster) -> bool:
        kept = tx.notices.load()
        if kept.memory is None or kept.looked_at is None or roster.at - kept.looked_at > _LOOK_KEPT:
            return True
        news = find_news(self._narrow(kept.memory), roster)
        return bool(news.facts or news.agents or news.waits or (kept.held and not self._is_quiet(roster.at)))

    def _claim(self, tx: Transaction, roster: Roster) -> Told:
        """Take what is news under the lock, and remember it."""
        now = roster.at
        kept = tx.notices.load()
        memory = kept.memory
        if memory is None or kept.looked_at is None or now - kept.looked_at > GONE_SHOWN:
            tx.notices.clear()
            memory = NoticeMemory(now, {}, ())
        if memory is not kept.memory or kept.looked_at is None or now - kept.looked_at > _LOOK_KEPT:
            tx.notices.save_look(memory.began, now)
            present = {key_of_agent(row) for row in roster.agents} | {key_of_wait(wait) for wait in roster.waits}
            tx.notices.forget(present, now)
        news = find_news(self._narrow(memory), roster, secrets=own_secrets())
        tx.notices.save_news(news, now)
        wanted = [fact for fact in news.facts if fact.kind in self._settings.facts]
        if self._is_quiet(now):
            tx.notices.hold(wanted, now)
            return Told(held=wanted)
        return Told(facts=wanted, released=drop_settled(tx.notices.take_held(), roster))

    def _narrow(self, memory: NoticeMemory) -> NoticeMemory:
        """Leave out agents of other projects, which a roster of one project does not show."""
        if not self._project:
            return memory
        own = {subject: seen for subject, seen in memory.agents.items() if seen.project == self._project}
        return memory._replace(agents=own)

    def _is_quiet(self, now: datetime) -> bool:
        return self._quiet is not None and self._quiet.holds(now.astimezone())

    # Progress.

    def _follow_progress(self) -> None:
        def is_root(session: str, agent: str) -> bool:
            row = self._board.store.agent(session, agent)
            return row is not None and row.parent is None

        feed = ProgressFeed(looking_into(self._board), is_root, self._board.now)
        pass_on(self._board, feed, self._tell_progress, stop=self._ends)

    def _tell_progress(self, progress: AgentProgress) -> None:
        """Send it, unless another program does, or it is quiet."""
        now = self._board.now()
        if self._is_quiet(now) or self._ends.is_set():
            return
        owner = f"{os.getpid()}.{id(self)}"
        if not self._board.store.transact(
            lambda tx: tx.notices.lease_progress(owner, now, _PROGRESS_LEASE), durable=False
        ):
            return
        notice = PersonNotice(
            kind="progress",
            title=clean_text(load_session_name(self._board.store, progress.session, progress.agent)),
            text="\n".join(progress.lines),
            at=now,
            project=clean_text(progress.project),
            session=clean_text(progress.session),
            agent=clean_text(progress.agent),
        )
        notice = mask_notice(notice, own_secrets())
        if self._on_progress is not None:
            self._on_progress(notice)
        self._send_away(notice)


def choose_forms(settings: NotifySettings) -> tuple[TerminalForm, ...]:
    """Return the forms in which a terminal notifies, with those that `auto` means."""
    forms: dict[TerminalForm, None] = {}
    for way in settings.terminal:
        if way == "auto":
            forms |= dict.fromkeys(find_terminal_forms(os.environ))
        else:
            forms[way] = None
    return tuple(forms)


def make_sinks(settings: NotifySettings) -> list[Sink]:
    """Return the ways out of the terminal; raise `ConfigInvalid`, without the address, for one that cannot be used."""
    sinks: list[Sink] = []
    if settings.command:
        sinks.append(NoticeCommand(settings.command))
    if settings.ntfy.url:
        sinks.append(NtfyTopic(settings.ntfy.url, settings.ntfy.token))
    if settings.webhook.url:
        sinks.append(ChatWebhook(settings.webhook.url, settings.webhook.format, settings.webhook.token))
    return sinks
