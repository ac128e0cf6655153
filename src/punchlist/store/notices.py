"""Rows about what a person was told of agents: the memory that all programs which tell them share."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import msgspec

from punchlist.core.presence import GONE_SHOWN, News, NoticeMemory, PersonNotice, SeenAgent
from punchlist.store.records import Rows, encode, microseconds, moment

_LOOK, _LEASE, _HELD = "look", "progress", "held "
_FORGOTTEN: Final = 2 * GONE_SHOWN
"""How long an agent or a wait is remembered that is not there any more; no roster shows it for so long."""

_MOST_HELD: Final = 200
_decode_agent = msgspec.json.Decoder(SeenAgent).decode
_decode_notice = msgspec.json.Decoder(PersonNotice).decode
_decode_time = msgspec.json.Decoder(datetime).decode


class StoredNotices(NamedTuple):
    """All rows. `looked_at` is when a program last looked; None if none did."""

    memory: NoticeMemory | None
    looked_at: datetime | None
    held: list[PersonNotice]


class NoticeRows(Rows):
    """Reads and writes the memory of what was told, within one transaction."""

    def load(self) -> StoredNotices:
        agents: dict[str, SeenAgent] = {}
        waits: set[str] = set()
        held: list[PersonNotice] = []
        began = looked_at = None
        for subject, at, body in self._rows.all("list_notices"):
            try:
                if subject == _LOOK:
                    began, looked_at = _decode_time(body), moment(at)
                elif subject.startswith(_HELD):
                    held.append(_decode_notice(body))
                elif subject.startswith("agent "):
                    agents[subject] = _decode_agent(body)
                elif subject.startswith("wait "):
                    waits.add(subject)
            except msgspec.DecodeError:
                continue  # of a later version; at worst a fact is told again
        memory = None if began is None else NoticeMemory(began, agents, waits)
        return StoredNotices(memory, looked_at, held)

    def save_news(self, news: News, at: datetime) -> None:
        for subject, seen in news.agents.items():
            self._save(subject, at, encode(seen))
        for subject in news.waits:
            self._save(subject, at, b"")

    def save_look(self, began: datetime, at: datetime) -> None:
        """Record that a program looked, and from when on facts are news."""
        self._save(_LOOK, at, encode(began))

    def forget(self, present: Iterable[str], now: datetime) -> None:
        """Delete agents and waits that are not there any more, once they were not seen for a day."""
        known = set(present)
        before = microseconds(now - _FORGOTTEN)
        for subject, at, _ in self._rows.all("list_notices"):
            if subject.startswith(("agent ", "wait ")) and subject not in known and at < before:
                self._rows.run("delete_notice", {"subject": subject})

    def clear(self) -> None:
        """Delete everything: facts are told from now on."""
        for subject, _, _ in self._rows.all("list_notices"):
            self._rows.run("delete_notice", {"subject": subject})

    def hold(self, facts: Iterable[PersonNotice], at: datetime) -> None:
        """Keep facts until the quiet hours end; of very many, the first."""
        held = len(self.load().held)
        for number, fact in enumerate(facts, held):
            if number < _MOST_HELD:
                self._save(f"{_HELD}{microseconds(at)} {number:04}", at, encode(fact))

    def take_held(self) -> list[PersonNotice]:
        """Return the facts that were held back, and delete them: no other program has them."""
        held = self.load().held
        for subject, _, _ in self._rows.all("list_notices"):
            if subject.startswith(_HELD):
                self._rows.run("delete_notice", {"subject": subject})
        return held

    def lease_progress(self, owner: str, now: datetime, length: timedelta) -> bool:
        """True if this program is the one that tells of progress; it stays so for a while after each time."""
        row = self._rows.one("find_notice", {"subject": _LEASE})
        if row is not None and row[1] != owner.encode() and abs(now - moment(row[0])) < length:
            return False
        self._save(_LEASE, now, owner.encode())
        return True

    def _save(self, subject: str, at: datetime, body: bytes) -> None:
        self._rows.run("save_notice", {"subject": subject, "at": microseconds(at), "body": body})
