"""Keep the first screen up to date: the agents of this machine, the board, and the logs that agents write."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from punchlist.board import Board, Retention, settle_due
from punchlist.core.grounding.tool_call import ToolCall
from punchlist.core.presence import Presence
from punchlist.errors import StoreClosed, StoreTooNew
from punchlist.hooks.inbox import ingest
from punchlist.logs.discovery import find_beginning
from punchlist.logs.watcher import Watcher
from punchlist.presence.roster import load_roster
from punchlist.presence.running_agents import PRESENCE_SECONDS, PresenceLog
from punchlist.reports.work_reports import LoadedBrief, load_brief, name_mark
from punchlist.store.sidecars import limit_wait
from punchlist.views.brief_groups import group_sessions
from punchlist.views.list_screen import ListScreen, load_list_screen
from punchlist.views.now import Roster
from punchlist_statusline import find_process

_LOAD_SECONDS: Final = 5.0
"""How often the board is read where nothing happens: an agent may have fallen silent."""

_MOST_LISTS: Final = 20
"""Lists of one session that are loaded."""

_SHORTEST_PAUSE: Final = 0.05
_LOAD_SHARE: Final = 12
"""After a load of the board it is left alone for so many times as long, so that busy agents do not cost a core."""

_WAIT_SECONDS: Final = 0.5
"""The longest wait at a time, so that the end is noticed."""

_LOCK_SECONDS: Final = 0.25
"""How long a look waits for the lock, to record what it found: the first screen waits for the look."""

_BRIEF_SHARE: Final = 9
"""A live screen leaves the brief alone for so many times as long as it took to load."""

MOST_LANES: Final = 40
"""Sessions whose calls are read for a picture."""

SessionCalls = Mapping[str, Sequence[ToolCall]]
_NO_CALLS: Final[SessionCalls] = {}
_FAULT_SECONDS: Final = 2.0
_SINCE: Final = timedelta(days=1)
"""Logs that were last written before are not read until they grow; the settings may say less."""


class BriefCache:
    """The brief of each reader, across projects or of one. Another last event, or another mark, empties it.

    Commits that no event tells of are seen with the next event. Without a page, neither Git nor calls are looked at.
    """

    def __init__(self, board: Board, *, project: str | None = None, has_page: bool = True) -> None:
        self._board = board
        self._project = project
        self._has_page = has_page
        self._known: dict[str, tuple[tuple[int, int], float, LoadedBrief, SessionCalls]] = {}

    def load(self, who: str, roster: Roster, *, is_live: bool = False) -> tuple[LoadedBrief, SessionCalls]:
        """Return a brief with the agents of now. A live screen may see news a little late, if it takes long to load."""
        if self._board.is_remote:  # its mark is on the server
            key = self._board.store.last_seq(), 0
        else:
            mark = name_mark(who, self._project)
            key = self._board.store.read(lambda tx: (tx.last_seq(), tx.log.mark(mark)))
        held, rests_until, found, calls = self._known.get(who, ((-1, -1), 0.0, None, _NO_CALLS))
        began = time.monotonic()
        if found is None or (key != held and not (is_live and key[1] == held[1] and began < rests_until)):
            found = load_brief(self._board, roster, None, project=self._project, who=who, asks_git=self._has_page)
            calls = self._load_calls(found) if self._has_page else _NO_CALLS
            now = time.monotonic()
            self._known[who] = key, now + _BRIEF_SHARE * (now - began), found, calls
        around = found.around
        groups = group_sessions(found.brief, roster, around.agents, around.stopped, around.names)
        return replace(found, groups=groups), calls

    def forget(self) -> None:
        """Load every brief anew when it is wanted next: a mark has moved."""
        self._known.clear()

    def _load_calls(self, found: LoadedBrief) -> SessionCalls:
        """Return the calls since the reader looked, for a picture of the sessions that need them most."""
        groups = found.groups
        rows = (*groups.do_now, *groups.look_first, *groups.at_work, *groups.checked, *groups.ended)
        sessions = list(dict.fromkeys(row.session for row in rows if row.session))[:MOST_LANES]
        after = found.brief.after
        return self._board.store.read(lambda tx: {one: tx.tool_calls.ended_since(one, after) for one in sessions})


class LiveRoster:
    """The first screen as it is now. It follows the board in threads of its own, from `start` to `stop`.

    `who` is the person whose last look counts; `watches` reads the logs of agents too, as `punchlist watch` does. For
    the board of a server, the server watches and looks.
    """

    def __init__(
        self, board: Board, *, project: str | None = None, who: str = "", watches: bool = True, has_brief: bool = False
    ) -> None:
        self.board = board
        self.watches = watches and not board.is_remote
        self._project = project
        self._who = who
        self._on_change: Callable[[], object] = lambda: None
        self._ends = threading.Event()
        self._loading = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._presence = PresenceLog(board)
        self._retention = Retention(board)
        self._present: list[Presence] = []
        self._seen_at = board.now()
        self._next_look = 0.0
        self._basis: tuple[int, list[Presence], list[str]] | None = None
        """The last event, the agents that hosts know, and the processes that were noted, of which it was made."""
        self._looks: list[str] = []
        self._next_load = 0.0
        self._roster: Roster | None = None
        self._briefs = BriefCache(board, project=project, has_page=False) if has_brief else None
        self.brief: LoadedBrief | None = None
        """The brief for the agents of `roster`, and a moment newer than these."""
        self._problem = ""
        self._loader = ThreadPoolExecutor(1, "punchlist-lists")
        self._lists: dict[str, tuple[tuple[int, int], ListScreen]] = {}
        """The lists of a server by session, each with the last event and the person's edits of which it is made."""
        self._edits = 0
        self._asked: set[str] = set()
        self._ending: StoreTooNew | None = None
        """Why nothing can be read any more, whatever happens."""

    @property
    def roster(self) -> Roster:
        """The agents, and what waits; the same value as long as nothing changes. Raise once the board is too new."""
        if self._ending is not None:
            raise self._ending
        if self._roster is None:
            self.load()
        assert self._roster is not None
        return self._roster

    def find_present(self) -> tuple[Sequence[Presence], datetime]:
        """Return the agents that hosts know, and when these were asked: a few seconds ago at most."""
        if time.monotonic() >= self._next_look:
            self._look()
        seen_at = self._seen_at  # first: an agent that came after a time that is too late would seem to be gone
        return self._present, seen_at

    def take_problem(self) -> str:
        """Return why something cannot be read, once; empty if all is well."""
        problem, self._problem = self._problem, ""
        return problem

    def start(self, on_change: Callable[[], object]) -> None:
        """Begin to follow; `on_change` is called in another thread whenever there is something new."""
        self._on_change = on_change
        works = [self._follow_board, self._watch_logs] if self.watches else [self._follow_board]
        self._threads = [threading.Thread(target=self._repeat, args=(work,), daemon=True) for work in works]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End all threads; returns when they have ended."""
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def load(self) -> None:
        """Load what the board holds; look for agents too, if that is due."""
        # Of two threads that load at once, the slower one would put an older state in place of a newer one.
        with self._loading:
            if time.monotonic() >= self._next_look:
                self._look()
            basis = self.board.store.last_seq(), self._present, self._looks
            if basis == self._basis and time.monotonic() < self._next_load:
                return
            found = load_roster(
                self.board, project=self._project, who=self._who, present=self._present, seen_at=self._seen_at
            )
            self._basis, self._next_load = basis, time.monotonic() + _LOAD_SECONDS  # a load that fails is none
            brief = None if self._briefs is None else self._briefs.load(self._who, found, is_live=True)[0]
            has_news = brief is not None and (self.brief is None or brief.groups != self.brief.groups)
            if has_news:
                self.brief = brief
            if self._roster is None or has_news or replace(self._roster, at=found.at) != found:
                self._roster = found
                self._on_change()

    def reload(self) -> None:
        """Load all anew, though no event tells of the change."""
        with self._loading:
            self._basis = None
            if self._briefs is not None:
                self._briefs.forget()
        self.load()

    def load_lists(self, session: str) -> ListScreen | None:
        """Return the lists of a session. Those of a server come on a thread of their own: no key waits for them."""
        if not self.board.is_remote:
            return self._load_screen(session)
        basis = self._basis
        as_of = -1 if basis is None else basis[0], self._edits
        known_of, known = self._lists.get(session, (None, None))
        if known_of != as_of and session not in self._asked:
            self._asked.add(session)
            self._loader.submit(self._fetch_lists, session, as_of)
        return known

    def forget_lists(self) -> None:
        """Load lists of a server anew when they are wanted next: the person has changed one."""
        self._edits += 1

    def _fetch_lists(self, session: str, as_of: tuple[int, int]) -> None:
        try:
            self._lists[session] = as_of, self._load_screen(session)
            self._on_change()
        except StoreClosed:
            return
        except Exception as error:
            self.report(str(error))
        finally:
            self._asked.discard(session)

    def _load_screen(self, session: str) -> ListScreen:
        return load_list_screen(self.board, project=None, session=session, agent=None, limit=_MOST_LISTS)

    def _look(self) -> None:
        """Take what hooks left, settle tasks that are due, and ask the hosts for their agents."""
        if self.board.is_remote:
            self._next_look = time.monotonic() + PRESENCE_SECONDS
            return
        with limit_wait(_LOCK_SECONDS, in_all=True):
            ingest(self.board)
            settle_due(self.board)
            self._retention.tick()
            asked_at = self.board.now()
            self._present = self._presence.look()
            known = () if self._roster is None else self._roster.agents
            self._looks = [find_process(row.process) for row in known]
        self._seen_at = asked_at
        self._next_look = time.monotonic() + PRESENCE_SECONDS

    def _repeat(self, work: Callable[[], None]) -> None:
        """Run a step again and again; keep the fault of one, and go on."""
        while not self._ends.is_set():
            try:
                work()
            except StoreClosed:
                return
            except StoreTooNew as error:
                self._ending = error
                self._on_change()
                return
            except Exception as error:
                self.report(str(error))
                self._ends.wait(_FAULT_SECONDS)

    def _follow_board(self) -> None:
        seen = self.board.store.last_seq()
        began = time.monotonic()
        self.load()
        self._ends.wait(max(_SHORTEST_PAUSE, _LOAD_SHARE * (time.monotonic() - began)))
        while not self._ends.is_set() and (left := self._next_look - time.monotonic()) > 0:
            if self.board.store.wait(seen, min(_WAIT_SECONDS, left)):
                return

    def _watch_logs(self) -> None:
        now = self.board.now()
        since = max(find_beginning(now), now - _SINCE)
        with closing(Watcher(self.board, since=since, report=self.report)) as watcher:
            while not self._ends.is_set():
                watcher.wait(0.0 if watcher.is_behind else _WAIT_SECONDS)
                if watcher.is_behind:
                    watcher.take_slice()

    def report(self, problem: str) -> None:
        """Keep a problem until it is taken."""
        self._problem = problem
        self._on_change()
