"""Tell a person when an agent waits on them, finishes, stalls or turns red, by the ways of their settings.

A fact is claimed on the board in a transaction before it is sent: of several programs that look at the same time, one
tells it. So a program that is killed while it sends may leave a fact untold, and none is told twice.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import msgspec

from punchlist.board import Board
from punchlist.bridges.lists import looking_into, pass_on
from punchlist.bridges.notifications import (
    PAUSES,
    ChatWebhook,
    NoticeCommand,
    NtfyTopic,
    Retrying,
    TerminalForm,
    find_terminal_forms,
    is_in_tmux,
    make_escapes,
    notice_data,
)
from punchlist.bridges.relay import AgentProgress, ProgressFeed
from punchlist.bridges.sinks import Outbox, Sink, describe_failure
from punchlist.core.presence import GONE_SHOWN, NoticeMemory, PersonNotice
from punchlist.errors import ConfigInvalid
from punchlist.settings.environment import own_secrets
from punchlist.settings.table import NotifySettings
from punchlist.store import Transaction
from punchlist.views.notices import (
    clean_text,
    drop_settled,
    find_news,
    key_of_agent,
    key_of_wait,
    mask_notice,
    name_agents,
    parse_quiet_hours,
    summarise_facts,
)
from punchlist.views.now import Roster

_MOST_AT_ONCE: Final = 4
"""Facts of one look that are told one by one; more are one message."""

_LOOK_KEPT: Final = timedelta(minutes=10)
"""How often it is recorded that a program looks, while nothing happens."""

_CLOSE_SECONDS: Final = 5.0
_PROGRESS_LEASE: Final = timedelta(minutes=1)


class Told(NamedTuple):
    """The facts of one look: told at once, held back for the quiet hours, and told now that those are over."""

    facts: Sequence[PersonNotice] = ()
    held: Sequence[PersonNotice] = ()
    released: Sequence[PersonNotice] = ()


class Notifier:
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
        self._names: dict[str, str] = {}
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

    def __enter__(self) -> Notifier:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Facts.

    def look(self, roster: Roster) -> Told:
        """Tell what has begun since any program last looked; return it."""
        names = name_agents(roster.agents)
        self._names = {row.list_session: names[key_of_agent(row)] for row in roster.agents if row.list_session}
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
        folder = clean_text(os.path.basename(progress.project))
        name = self._names.get(progress.session) or " · ".join(filter(None, (folder, clean_text(progress.agent))))
        notice = PersonNotice(
            kind="progress",
            title=name,
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
