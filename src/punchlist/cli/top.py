"""`punchlist top`: every agent of this machine, live; what waits on you is answered in the same place."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from shlex import quote
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from punchlist.agent.leftovers import continue_for_person
from punchlist.board import Board
from punchlist.cli import complain
from punchlist.cli.answer import SENT_SECONDS, describe_outcome, resolve_wait
from punchlist.cli.arguments import Parser, author, command_parser, find_doubt, open_board
from punchlist.cli.now import explain_nothing
from punchlist.cli.screen import FullScreen, Key, can_draw
from punchlist.cli.todo import ListDraft, describe_saved
from punchlist.core.commands import Append, Done, Entry, Operation, Target
from punchlist.core.overview import Activity, Offer, PersonWait
from punchlist.core.todo import Evidence, Status, TodoItem, TodoList
from punchlist.errors import EditRefused, NotOverHttp, PunchlistError
from punchlist.people.back_channel import deliver
from punchlist.people.notices import PersonNotifier
from punchlist.presence.screen_feed import LiveRoster
from punchlist.reports.work_reports import LoadedBrief, mark_seen
from punchlist.settings import settings_path
from punchlist.settings.environment import project_of
from punchlist.settings.table import load_settings, set_setting
from punchlist.store import ListRow
from punchlist.terminal.now import (
    LEAST_LIST,
    PANE_COLUMNS,
    Detail,
    NowRow,
    Subject,
    TopFrame,
    TopRows,
    TopView,
    arrange_rows,
    count_lines,
    count_scroll,
    key_of,
    top_lines,
)
from punchlist.terminal.spans import safe_line
from punchlist.text import graphemes, repair
from punchlist.views.brief_groups import BriefRow
from punchlist.views.list_owners import MAIN, explain_attaching, load_owner_activity, open_list_owner
from punchlist.views.now import AgentNow, ReceiptView, Roster

_SPIN_SECONDS: Final = 0.5
_CALM_SECONDS: Final = 30.0
"""How often a picture is drawn while an agent is at work, and while none is."""

_NOTIFY_SECONDS: Final = 5.0
"""How often the notifier looks while nothing changes: an agent may have fallen silent."""

_STATUS_SECONDS: Final = 6.0
_LONGEST_ANSWER: Final = 10_000
_GO_ON: Final = "Let it go on; a note, or nothing:"
_EXAMPLES = """\
  punchlist top                  every agent of this machine, live
  punchlist top --project .      those of this project
  punchlist top --no-watch       without reading the logs of agents
  punchlist top --server URL     those of a team's board, with your token
"""


def parser() -> Parser:
    about = (
        "Shows every agent of this machine live, what you have to do first, and lets you answer questions, decide on "
        "plans and change lists by keys; `?` lists them. Reads the logs of agents meanwhile, as `punchlist watch` does."
    )
    made = command_parser("top", about, run=_run, examples=_EXAMPLES)
    made.add_argument("--project", metavar="DIR", help="of the project to which this folder belongs")
    made.add_argument("--no-watch", action="store_true", help="do not read the logs of agents meanwhile")
    made.add_by("who answers and changes lists")
    return made


def _run(options: Namespace) -> int:
    if sys.platform == "win32" or not (can_draw() and sys.stdin.isatty()):
        return complain("`top` draws on a terminal; elsewhere use `punchlist now`, with `--json` for a program.")
    with ExitStack() as stack:
        board = stack.enter_context(open_board(options))
        who, watches = author(options), not options.no_watch
        feed = LiveRoster(board, project=options.project, who=who, watches=watches, has_brief=True)
        feed.load()  # before the screen is taken: a board that cannot be used is told as by every command
        screen = FullScreen()
        stack.callback(feed.stop)
        feed.start(screen.wake)
        sender = stack.enter_context(ThreadPoolExecutor(1, "punchlist-deliver"))
        # The terminal is restored first; what the threads still do is nothing to look at.
        if board.is_remote:
            stack.callback(board.close)  # else one of them may wait for a server that is away
        with screen, suppress(KeyboardInterrupt, EOFError):
            top = Top(board, options, screen, feed, sender)
            stack.callback(top.close)
            top.run()
    return 0


class Prompt(Struct):
    """A question in the last line, and what is done with the answer."""

    label: str
    act: Callable[[str], str]
    typed: str = ""
    on_change: Callable[[str], object] | None = None
    may_be_empty: bool = False


class Top:
    """The screen and its keys."""

    def __init__(
        self, board: Board, options: Namespace, screen: FullScreen, feed: LiveRoster, sender: ThreadPoolExecutor
    ) -> None:
        self._board = board
        self._options = options
        self._screen = screen
        self._feed = feed
        self._sender = sender
        self._display, self._height = screen.measure()
        panel = load_settings().panel
        self._roster = feed.roster
        self._frame = TopFrame(rows=TopRows(), now=board.now(), is_expanded=panel.lists)
        self._notifier: PersonNotifier | None = None
        self._looked: tuple[Roster, float] | None = None
        """The agents that the notifier saw last, and when it looks again all the same."""
        self._escapes: deque[str] = deque()
        """Escapes of the notifier for the terminal."""
        self._opened: Subject | None = None
        """The agent or the plan of the second view; a plan stays at the revision that was opened."""
        self._place = 0
        self._prompt: Prompt | None = None
        self._status_ends = 0.0
        self._is_done = False

        if panel.notify and not board.is_remote:
            self._begin_notifying()

    def close(self) -> None:
        if self._notifier is not None:
            self._notifier.close()

    def run(self) -> None:
        while not self._is_done:
            self._notify()
            self._draw()
            for key in self._screen.read_keys(self._choose_pause()):
                try:
                    self._press(key)
                except (PunchlistError, OSError) as error:
                    self._say(str(error), is_problem=True)

    def _choose_pause(self) -> float:
        """Return how long the picture may stand: clocks and spinners run while an agent is at work."""
        is_busy = any(one.state == "busy" for one in self._feed.roster.agents)
        pause = _SPIN_SECONDS if is_busy else _CALM_SECONDS
        pause = pause if self._notifier is None else min(pause, _NOTIFY_SECONDS)
        return min(pause, max(0.0, self._status_ends - time.monotonic())) if self._frame.status else pause

    # Drawing.

    def _draw(self) -> None:
        if problem := self._feed.take_problem():
            self._say(problem, is_problem=True)
        if self._frame.status and time.monotonic() >= self._status_ends:
            self._frame.status = ""
        self._display, self._height = self._screen.measure()
        self._fill_frame()
        self._screen.draw(top_lines(self._frame, self._display, self._height))

    def _fill_frame(self) -> None:
        self._arrange()
        frame = self._frame
        subject = self._find_subject()
        try:
            has_detail = self._frame.view in ("list", "plan") or (self._display.columns or 0) >= PANE_COLUMNS
            frame.detail = self._load_detail(subject) if subject is not None and has_detail else None
            frame.lists = self._choose_lists(subject) if self._frame.view == "agents" else ()
        except PunchlistError as error:
            frame.detail, frame.lists = None, ()
            self._say(str(error), is_problem=True)
        frame.now = self._board.now()
        is_here = not self._board.is_remote
        frame.nothing = () if frame.rows.sections else tuple(explain_nothing(self._options.project, is_here=is_here))
        frame.prompt = None if self._prompt is None else self._prompt.label
        frame.typed = "" if self._prompt is None else self._prompt.typed
        frame.feed = "live, watching" if self._feed.watches else "live"
        if not is_here:
            frame.feed = f"live from {urlsplit(self._board.store.path).netloc}"
        if self._notifier is not None:
            frame.feed += ", notifying"
        frame.tick = int(time.monotonic() / _SPIN_SECONDS)

    def _arrange(self) -> None:
        """Put the agents in rows as they are now. Keep the selected row; if it is gone, select the one in its place.

        Keys mean the rows of the last picture: what a person pressed was meant for what they saw.
        """
        self._roster, brief = self._feed.roster, self._brief
        self._frame.rows = arrange_rows(brief.groups, self._roster, self._display, self._frame.filter)
        keys = [key_of(row.of) for row in self._frame.rows.rows]
        if self._frame.selected in keys:
            self._place = keys.index(self._frame.selected)
        self._place = max(0, min(self._place, len(keys) - 1))
        self._frame.selected = keys[self._place] if keys else None

    def _find_subject(self) -> Subject | None:
        """Return what the second view is about, else the selected row; a plan as it was opened, an agent as it is."""
        opened = self._opened
        if isinstance(opened, AgentNow):
            return next((one for one in self._roster.agents if key_of(one) == key_of(opened)), opened)
        rows = self._frame.rows.rows
        return opened or (rows[self._place].of if rows else None)

    @property
    def _brief(self) -> LoadedBrief:
        brief = self._feed.brief
        assert brief is not None  # it is loaded with the roster
        return brief

    def _choose_lists(self, subject: Subject | None) -> list[tuple[NowRow, Sequence[ListRow]]]:
        """Return the lists that have room below the agents: the selected one, if no pane shows it, and others."""
        room = self._height - 2 - count_lines(self._frame.rows)
        rows = [row for row in self._frame.rows.rows if row.agent and row.agent.total and row.agent.list_session]
        if (self._display.columns or 0) >= PANE_COLUMNS:
            rows = [row for row in rows if row.of != subject]
        rows.sort(key=lambda row: (row.of != subject, row.row.kind in ("idle", "gone", "unknown")))
        shown = rows[: max(0, room) // LEAST_LIST]
        loaded = [(row, self._feed.load_lists(row.row.session)) for row in shown]
        return [(row, found.rows) for row, found in loaded if found is not None]

    def _load_detail(self, subject: Subject) -> Detail:
        place = find_place(subject)
        drawn = next((row for row in self._frame.rows.rows if key_of(row.of) == key_of(subject)), None)
        found = self._feed.load_lists(place.session) if place.session else None
        rows: Sequence[ListRow] = () if found is None else found.rows
        hint = ""
        if place.session and not self._board.is_remote:  # the server refuses to change a copy
            known = self._board.store.read(lambda tx: load_owner_activity(tx, place.agent, place.session))
            if known.copy_of:
                hint = f"Only watched, {explain_attaching(known, place.agent, place.session)}."
        elif place.session:
            hint = "" if found is not None else "Its list is on its way from the server."
        elif isinstance(subject, AgentNow):
            hint = explain_unattached(subject)
        elif isinstance(subject, BriefRow) and subject.list:
            hint = f"`punchlist tasks --list {quote(subject.list)}` shows these tasks."
        text = ""
        if isinstance(subject, PersonWait):
            text = subject.text or subject.title
            if subject.kind == "plan":
                title = f"Plan r{subject.id} of {place.name}: {safe_line(subject.title)}"
                return Detail(title=title, text=text, rows=() if self._frame.view == "plan" else rows)
        return Detail(place.name, drawn, text, rows, hint, {} if found is None else found.reasons)

    def _say(self, text: str, *, is_problem: bool = False) -> None:
        self._frame.status, self._frame.is_problem = text, is_problem
        self._status_ends = time.monotonic() + _STATUS_SECONDS * (1 + 2 * is_problem)

    # Keys.

    def _press(self, key: Key) -> None:
        if self._prompt is not None:
            self._press_in_prompt(self._prompt, key)
            return
        self._frame.status = ""
        match key.text or key.name:
            case "q" | "end of file":
                self._is_done = True
            case "?":
                self._open("help", None)
            case "escape" | "backspace":
                self._go_back()
            case "j" | "down":
                self._move(1)
            case "k" | "up":
                self._move(-1)
            case "page down" | " ":
                self._move(self._height - 4)
            case "page up":
                self._move(4 - self._height)
            case "home" | "g":
                self._move(-1_000_000)
            case "end" | "G":
                self._move(1_000_000)
            case "ctrl+t":
                self._frame.is_expanded = not self._frame.is_expanded
                self._frame.scroll = 0
                set_setting(settings_path(), "panel.lists", self._frame.is_expanded)
            case "n" if self._frame.view != "plan":
                self._switch_notifying()
            case "tab" if self._frame.view == "agents":
                self._move_to_group()
            case "s" if self._frame.view == "agents":
                self._mark_seen()
            case "redraw":
                self._screen.redraw()
            case "/":
                self._frame.view, self._opened = "agents", None
                change = self._change_filter
                self._prompt = Prompt("filter:", change, self._frame.filter, change, may_be_empty=True)
            case letter:
                self._press_on_subject(letter)

    def _press_on_subject(self, letter: str) -> None:
        subject = self._find_subject()
        if subject is None or self._frame.view == "help":
            return
        match letter:
            case "enter" if self._frame.view == "agents" or isinstance(subject, PersonWait):
                self._enter(subject)
            case "p":
                self._read_plan(subject)
            case "y" if self._frame.view == "plan" and isinstance(subject, PersonWait):
                self._say(self._resolve(subject, "approve"))
                self._go_back()
            case "n" if self._frame.view == "plan" and isinstance(subject, PersonWait):
                self._prompt = Prompt("Reject, because:", lambda text: self._reject(subject, text))
            case "a":
                place = self._find_list(subject)
                self._prompt = Prompt(f"Add to {place.name}:", lambda text: self._add(place, text))
            case "d":
                self._ask_done(self._find_list(subject))
            case "u":
                self._undo(self._find_list(subject))
            case "y" if isinstance(subject, AgentNow) and subject.offer is not None:
                self._accept(self._find_list(subject), subject.offer)
            case "e":
                self._edit_list(self._find_list(subject))
            case "c":
                self._continue(self._find_list(subject), is_over=getattr(subject, "state", "") == "gone")
            case _:
                pass

    def _press_in_prompt(self, prompt: Prompt, key: Key) -> None:
        match key.name:
            case "escape" | "end of file":
                self._prompt = None
                if prompt.on_change is not None:
                    prompt.on_change("")
                return
            case "enter":
                text = repair(prompt.typed).strip()
                if text or prompt.may_be_empty:
                    self._prompt = None
                    try:
                        if said := prompt.act(text):
                            self._say(said)
                    except PunchlistError:
                        self._prompt = prompt  # the person's words are not lost
                        raise
                return
            case "backspace":
                prompt.typed = "".join(list(graphemes(prompt.typed))[:-1])
            case "clear":
                prompt.typed = ""
            case "text" | "paste":
                prompt.typed = (prompt.typed + " ".join(key.text.splitlines()))[:_LONGEST_ANSWER]
            case _:
                return
        if prompt.on_change is not None:
            prompt.on_change(prompt.typed)

    def _move(self, steps: int) -> None:
        if self._frame.view == "agents":
            rows = self._frame.rows.rows
            if rows:
                self._place = max(0, min(self._place + steps, len(rows) - 1))
                self._frame.selected = key_of(rows[self._place].of)
            return
        self._fill_frame()
        most = count_scroll(self._frame, self._display, self._height)
        self._frame.scroll = max(0, min(self._frame.scroll + steps, most))

    def _move_to_group(self) -> None:
        firsts = [0]
        for section in self._frame.rows.sections[:-1]:
            firsts.append(firsts[-1] + len(section.rows))
        goal = next((place for place in firsts if place > self._place), 0)
        self._move(goal - self._place)

    def _mark_seen(self) -> None:
        mark_seen(self._board, self._brief, self._options.project)
        self._sender.submit(self._feed.reload)
        self._say("Seen: what is new from now on is shown.")

    def _open(self, view: TopView, subject: Subject | None) -> None:
        self._frame.view, self._opened, self._frame.scroll = view, subject, 0

    def _go_back(self) -> None:
        if self._frame.view == "agents":
            self._frame.filter = ""
        self._open("agents", None)

    def _change_filter(self, text: str) -> str:
        self._frame.filter, self._place, self._frame.selected = text, 0, None
        return ""

    # Notifications.

    def _switch_notifying(self) -> None:
        self._check_here("`punchlist notify`")
        if self._notifier is None:
            self._begin_notifying()
        else:
            self._sender.submit(self._notifier.close)
            self._notifier = None
        set_setting(settings_path(), "panel.notify", self._notifier is not None)
        if self._notifier is None:
            self._say("You are not notified any more.")
        else:
            ways = ", ".join(map(safe_line, self._notifier.ways)) or "nothing: see `punchlist notify --help`"
            self._say(f"You are notified by {ways}.")

    def _begin_notifying(self) -> None:
        project = project_of(self._options.project) if self._options.project else ""
        self._notifier = PersonNotifier(
            self._board, load_settings().notify, write=self._escapes.append, report=self._feed.report, project=project
        )
        self._looked = None

    def _notify(self) -> None:
        """Let the notifier look at agents that changed, in another thread; write what it has for the terminal."""
        while self._escapes:
            self._screen.write(self._escapes.popleft())
        if self._notifier is None:
            return
        roster, now = self._feed.roster, time.monotonic()
        if self._looked is None or self._looked[0] is not roster or now >= self._looked[1]:
            self._looked = (roster, now + _NOTIFY_SECONDS)
            self._sender.submit(self._look, self._notifier, replace(roster, at=self._board.now()))

    def _look(self, notifier: PersonNotifier, roster: Roster) -> None:
        try:
            notifier.look(roster)
        except (PunchlistError, OSError) as error:
            self._feed.report(str(error))
        if self._escapes:
            self._screen.wake()

    # Deeds.

    def _enter(self, subject: Subject) -> None:
        if not isinstance(subject, PersonWait):
            self._open("list", subject)
        elif subject.kind == "plan":
            self._open("plan", subject)
        elif subject.kind == "question":
            self._prompt = Prompt(f"{safe_line(subject.text)}", lambda text: self._resolve(subject, text))
        else:
            self._prompt = Prompt(_GO_ON, lambda text: self._resolve(subject, text), may_be_empty=True)

    def _read_plan(self, subject: Subject) -> None:
        place = find_place(subject)
        waits = [one for one in self._roster.waits if one.kind == "plan"]
        own = [one for one in waits if place.session and (one.session, one.agent) == (place.session, place.agent)]
        if not own:
            raise EditRefused(problem=f"No plan of {place.name} waits on you.")
        self._open("plan", own[0])

    def _resolve(self, wait: PersonWait, text: str) -> str:
        before = self._board.store.last_seq()
        outcome = resolve_wait(self._board, self._options, wait, wait.name, text)
        receipt = None
        if wait.kind not in ("task", "flow"):
            is_approval = outcome == "approved"
            sending = self._deliver(wait.session, wait.agent, before, is_approval=is_approval, wait=SENT_SECONDS)
            with suppress(TimeoutError):
                receipt = sending.result(SENT_SECONDS)
        return describe_outcome(self._board, wait, outcome, receipt)

    def _reject(self, wait: PersonWait, reason: str) -> str:
        said = self._resolve(wait, f"reject {reason}")
        self._go_back()
        return said

    def _find_list(self, subject: Subject) -> TopPlace:
        """Return the place of a list that can be changed; raise how to attach its agent, if it cannot."""
        place = find_place(subject)
        if place.session:
            open_list_owner(self._board, place.agent, place.session, place.project)
            return place
        if isinstance(subject, AgentNow):
            raise EditRefused(problem=explain_unattached(subject))
        what = subject.kind if isinstance(subject, PersonWait) else "task"
        raise EditRefused(problem=f"This {what} belongs to no agent's list.")

    def _add(self, place: TopPlace, text: str) -> str:
        def plan(todos: TodoList) -> Operation:
            return Append((Entry(content=text),), todos.phases[-1].name if todos.phases else None)

        self._edit(place, plan)
        return f"Added to {place.name}: {safe_line(text)}"

    def _ask_done(self, place: TopPlace) -> None:
        """Ask first: the agent may have gone on to another item since the picture was drawn."""
        focus = self._board.agent(place.agent, session=place.session, project=place.project).todos.focus
        if focus is None:
            raise EditRefused(problem=f"{place.name} has no item in progress.")
        label = f"Done: {safe_line(focus.content)}? Enter, or what shows it:"
        self._prompt = Prompt(label, lambda text: self._mark_done(place, focus, text), may_be_empty=True)

    def _mark_done(self, place: TopPlace, item: TodoItem, text: str) -> str:
        proof = (Evidence(text),) if text else ()
        self._edit(place, lambda _: Done(Target(item=item.id, by="id"), proof))
        return f"Marked completed: {safe_line(item.content)}; `u` takes it back"

    def _undo(self, place: TopPlace) -> None:
        before = self._board.store.last_seq()
        open_list_owner(self._board, place.agent, place.session, place.project).undo(by=author(self._options))
        self._deliver(place.session, place.agent, before)
        self._say(f"Took back your last change of {place.name}.")

    def _accept(self, place: TopPlace, offer: Offer) -> None:
        """Complete an item that looks done, if it still is the one that the person saw."""
        todos = self._board.agent(place.agent, session=place.session, project=place.project).todos
        item = todos.find(offer.item) if todos.plan_id == offer.plan else None
        if item is None or item.status is not Status.IN_PROGRESS or item.content != offer.text:
            raise EditRefused(problem="That item is no longer in progress; nothing was changed.")
        self._say(self._mark_done(place, item, offer.proof or offer.check))

    def _continue(self, place: TopPlace, *, is_over: bool) -> None:
        """Take over what an ended agent left, or, for an agent at work, what the last one that ended there left."""
        self._check_here("`punchlist todo continue`")
        folder = self._board.agent(place.agent, session=place.session).folder
        ends, into = (place.session, "") if is_over else ("", place.session)
        before = self._board.store.last_seq()
        done = continue_for_person(self._board, ends, folder=folder, into=into, by=author(self._options))
        self._deliver(done.into, MAIN, before)
        self._say(done.sentence)

    def _check_here(self, command: str) -> None:
        """Raise for what a key does on the machine of the board alone, as a command does there."""
        if self._board.is_remote:
            raise NotOverHttp(what=command, url=self._board.store.path)

    def _edit_list(self, place: TopPlace) -> None:
        self._check_here("`punchlist todo edit`")
        agent = open_list_owner(self._board, place.agent, place.session, place.project)
        if said := self._edit_draft(place, ListDraft(agent)):
            self._say(said)

    def _edit_draft(self, place: TopPlace, draft: ListDraft) -> str:
        """Give the terminal to the person's editor, then apply the text; offer to mend one that cannot be read."""
        before = self._board.store.last_seq()
        with self._screen.left():
            is_changed = draft.edit()
        if not is_changed:
            return "No changes."
        try:
            after = draft.apply(by=author(self._options), person=find_doubt(self._options) is None)
        except EditRefused as error:
            if draft.agent.todos.revision != draft.before.revision:
                self._say(str(error), is_problem=True)
                return ""
            label = f"{safe_line(str(error))} Enter edits it again."
            self._prompt = Prompt(label, lambda _: self._edit_draft(place, draft), may_be_empty=True)
            return ""
        self._deliver(place.session, place.agent, before)
        return f"{describe_saved(after)} ({place.name})"

    def _edit(self, place: TopPlace, plan: Callable[[TodoList], Operation]) -> None:
        before = self._board.store.last_seq()
        agent = open_list_owner(self._board, place.agent, place.session, place.project)
        person = find_doubt(self._options) is None
        agent.edit(plan(agent.todos), by=author(self._options), person=person)
        self._deliver(place.session, place.agent, before)

    def _deliver(
        self, session: str, agent: str, before: int, *, is_approval: bool = False, wait: float = 0.0
    ) -> Future[ReceiptView | None]:
        """Tell the agent, if it is idle; not in this thread, since a host may take seconds."""
        self._feed.forget_lists()

        def send() -> ReceiptView | None:
            with suppress(PunchlistError, OSError):  # it is told at its next turn
                return deliver(self._board, session, agent, before, is_approval=is_approval, wait=wait, until="sent")
            return None

        return self._sender.submit(send)


class TopPlace(Struct, frozen=True):
    """An agent's list on the board; `session` is empty if it has none. `name` is for people, and clean."""

    name: str
    session: str
    agent: str
    project: str


def find_place(subject: Subject) -> TopPlace:
    """Return the list of an agent, or of the agent that waits."""
    if isinstance(subject, PersonWait):
        session, name = subject.session, subject.owner or subject.kind
    elif isinstance(subject, BriefRow):
        session, name = subject.session, subject.name
    else:
        session, name = subject.list_session, subject.name
    return TopPlace(safe_line(name), session, subject.agent or MAIN, subject.project)


def explain_unattached(row: AgentNow) -> str:
    """Return how to attach an agent of which nothing is on the board."""
    how = explain_attaching(Activity(copy_format=row.host), "main", row.session)
    return f"It has no list here, {how}."
