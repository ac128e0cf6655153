"""`punchlist watch` and `notify`: put what agents do on the board, and tell the person what needs them."""

import sys
import threading
import time
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from datetime import UTC, datetime
from functools import partial
from typing import Any

from msgspec.structs import replace

from punchlist.board import Board, Retention
from punchlist.cli import FAILED, OK, complain
from punchlist.cli.arguments import Parser, command_parser, open_board, parse_age
from punchlist.cli.events import make_writer
from punchlist.cli.terminal import detect_display, has_colours, paint, show_json, warn
from punchlist.core.presence import FACT_KINDS, PersonNotice
from punchlist.core.programs import PROGRAMS
from punchlist.errors import StoreBusy, StoreFull
from punchlist.logs.discovery import find_beginning
from punchlist.logs.watcher import Watcher
from punchlist.people.notices import PersonNotifier, notice_data
from punchlist.presence.running_agents import PRESENCE_SECONDS, PresenceLog
from punchlist.presence.screen_feed import LiveRoster
from punchlist.settings.table import NotifySettings, load_settings
from punchlist.terminal.spans import Line, Span, Style, safe_line
from punchlist.text import plural
from punchlist.views.now import Roster

_DRAW_SECONDS = 0.1
_EXAMPLES = """\
  punchlist watch                    read the logs of the last 7 days, then follow them
  punchlist watch --since 30d --once   read those of the last 30 days, and end
"""


def parser() -> Parser:
    about = (
        "Reads what agents write down themselves (Claude Code, Codex, opencode, Gemini CLI, Qwen Code, oh-my-pi, "
        "OpenClaw, Hermes), and puts lists, plans, tasks and tool calls on the board: none has to be attached, and "
        "nothing of theirs is changed. Then prints one line for each thing that happens, until you interrupt it."
    )
    made = command_parser("watch", about, run=_watch, examples=_EXAMPLES)
    made.add_argument(
        "--since",
        type=parse_age,
        metavar="AGE",
        help="begin with logs that were written in this time: 12h, 30d or 8w (default: the setting watch.since, 7d)",
    )
    made.add_argument("--once", action="store_true", help="end once all logs are read")
    return made


def _watch(options: Namespace) -> int:
    with open_board(options) as board:
        before, began = board.store.last_seq(), time.monotonic()
        since = find_beginning(board.now()) if options.since is None else board.now() - options.since
        with closing(Watcher(board, since=since, report=warn)) as watcher:  # it reads stores at once
            _catch_up(watcher)
            calls = sum(event.kind == "tool.started" for event in board.events(before))
            _describe_start(watcher, calls, time.monotonic() - began)
            if not options.once:
                with _open_relay(board):
                    _follow(board, watcher)
    return 0


def _open_relay(board: Board) -> AbstractContextManager[object]:
    """Send what goes to the team's server, if there is one, while `punchlist watch` runs."""
    if not load_settings().team.server:
        return nullcontext()
    from punchlist.mcp.relay import Relay  # HTTP and TLS, which others need not load

    relay = Relay(lambda: board)
    relay.start()
    return closing(relay)


def _catch_up(watcher: Watcher) -> None:
    """Read what was written so far; a terminal is told how far that is."""
    is_told, drawn = sys.stderr.isatty(), 0.0
    while watcher.is_behind:
        watcher.take_slice()
        watcher.wait(0)
        if is_told and time.monotonic() - drawn > _DRAW_SECONDS:
            drawn, done = time.monotonic(), watcher.progress
            print(f"\r{done.done / 1e6:.0f} of {done.total / 1e6:.0f} MB", end="", file=sys.stderr, flush=True)
    if drawn:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _describe_start(watcher: Watcher, calls: int, seconds: float) -> None:
    found = [PROGRAMS[host].title for host in watcher.roots.values()]
    found += sorted(PROGRAMS[host].title for host in watcher.lists.hosts)
    if not found:
        known = ", ".join(program.title for program in PROGRAMS.values())
        print(f"No log of an agent here yet; looked for {known}.", flush=True)
        return
    hosts, done = ", ".join(dict.fromkeys(found)), watcher.progress
    news = f"{plural(done.logs, 'log')} with news, {plural(calls, 'new tool call')} on the board"
    print(f"{hosts}: {news}, {done.done / 1e6:.1f} MB in {seconds:.1f} s.", flush=True)


def _follow(board: Board, watcher: Watcher) -> None:
    write = make_writer(board)
    seen = board.store.last_seq()
    presence, retention, next_look = PresenceLog(board), Retention(board), 0.0
    while True:
        watcher.wait(0.0 if watcher.is_behind else max(0.0, next_look - time.monotonic()))
        watcher.take_slice()
        if time.monotonic() >= next_look:
            presence.look()
            retention.tick()
            next_look = time.monotonic() + PRESENCE_SECONDS
        for event in board.events(seen):
            seen = event.seq
            if event.data.get("watched") or event.kind == "agent.state":
                write(event)


# Notifications.

_LOOK_SECONDS = 2.0
"""How often facts that come with time are looked for, while nothing changes: an agent that is not seen any more, the
end of the quiet hours."""

_STYLES: dict[str, Style] = {"waits": "warning", "red": "bad", "stalled": "warning", "finished": "good"}
_NOTIFY_EXAMPLES = """\
  punchlist notify                    tell me here: a line, the bell, a notification of the terminal
  punchlist notify --test             try every way that is set, and say whether it works
  punchlist notify --facts waits,red  only what needs me
  punchlist config set notify.ntfy.url https://ntfy.sh/TOPIC     on my phone, from now on
"""


def notify_parser() -> Parser:
    about = (
        "Tells you when an agent of this machine waits on you, finishes, falls silent or turns red, each fact once: "
        "here, and by the ways of the settings file, a command, ntfy or a webhook. Reads the logs of agents meanwhile, "
        "as `punchlist watch` does. Runs until you interrupt it."
    )
    made = command_parser("notify", about, run=_notify, examples=_NOTIFY_EXAMPLES)
    made.add_argument(
        "--facts", type=_parse_facts, metavar="KINDS", help=f"only these, of {','.join(FACT_KINDS)} (default: all)"
    )
    made.add_argument("--ntfy", metavar="URL", help="publish to this topic; better in the settings, as others see it")
    made.add_argument("--webhook", metavar="URL", help="post to this address; better in the settings, as others see it")
    made.add_argument("--quiet", metavar="HOURS", help="quiet hours, such as 22:00-07:00")
    made.add_argument("--progress", action="store_true", help="also tell what agents have done and do next")
    made.add_argument("--no-watch", action="store_true", help="do not read the logs of agents meanwhile")
    made.add_argument("--test", action="store_true", help="send a message by every way, say how it went, and end")
    made.add_json(lines=True)
    return made


def _parse_facts(text: str) -> tuple[Any, ...]:
    kinds = [kind.strip() for kind in text.split(",") if kind.strip()]
    for kind in kinds:
        if kind not in FACT_KINDS:
            raise ArgumentTypeError(f"`{kind}` is none of {', '.join(FACT_KINDS)}")
    return tuple(kinds)


def _choose_settings(options: Namespace) -> NotifySettings:
    chosen = load_settings().notify
    if options.facts:
        chosen = replace(chosen, facts=options.facts)
    if options.ntfy:
        chosen = replace(chosen, ntfy=replace(chosen.ntfy, url=options.ntfy, token=""))
    if options.webhook:
        chosen = replace(chosen, webhook=replace(chosen.webhook, url=options.webhook, token=""))
    if options.quiet is not None:
        chosen = replace(chosen, quiet=options.quiet)
    return replace(chosen, progress=True) if options.progress else chosen


def _notify(options: Namespace) -> int:
    settings = _choose_settings(options)
    print_notice = _make_printer(as_json=options.json)
    with ExitStack() as stack:
        board = stack.enter_context(open_board(options))
        write = partial(print, end="", flush=True) if sys.stdout.isatty() else None
        notifier = stack.enter_context(
            PersonNotifier(board, settings, write=write, report=warn, on_progress=print_notice)
        )
        if options.test:
            return _test(notifier)
        live = LiveRoster(board, watches=not options.no_watch)
        changed = threading.Event()
        stack.callback(live.stop)
        found = live.roster

        def look(roster: Roster) -> None:
            try:
                told = notifier.look(roster)
                for fact in (*told.facts, *told.held):  # held back in quiet hours, but shown here
                    print_notice(fact)
            except (StoreBusy, StoreFull) as error:
                warn(str(error))  # the board is looked at again later

        look(found)  # what begins from now on is news, however long the next look takes
        if not options.json:
            _introduce(notifier, settings, found)
        live.start(changed.set)
        while True:
            look(live.roster)
            if problem := live.take_problem():
                warn(problem)
            changed.wait(_LOOK_SECONDS)
            changed.clear()


def _test(notifier: PersonNotifier) -> int:
    results = list(notifier.test())
    if not results:
        return complain("No way to tell you anything is set, and this is no terminal; see `punchlist notify --help`.")
    for name, problem in results:
        print(f"{safe_line(name)}: {safe_line(problem) or 'sent'}")
    return FAILED if any(problem for _, problem in results) else OK


def _introduce(notifier: PersonNotifier, settings: NotifySettings, found: Roster) -> None:
    living = [row for row in found.agents if row.state != "gone"]
    waiting = [row for row in living if row.state == "waiting"]
    # Of those that wait already no message comes at the first start.
    now = f"{plural(len(living), 'agent')} now" + (f", {len(waiting)} of them waiting on you" if waiting else "")
    here = "a line here" if not notifier.ways else f"a line here, {', '.join(map(safe_line, notifier.ways))}"
    quiet = f" Quiet from {settings.quiet.replace('-', ' to ')}." if settings.quiet else ""
    print(f"{now}. You are told by {here}.{quiet}")
    if not (settings.command or settings.ntfy.url or settings.webhook.url):
        print("On your phone or in a chat: `punchlist config set notify.ntfy.url https://ntfy.sh/TOPIC`, or")
        print("`notify.webhook.url`, `notify.command`; then `punchlist notify --test`.")
    sys.stdout.flush()


def _make_printer(*, as_json: bool) -> Callable[[PersonNotice], None]:
    display, colour = detect_display(), has_colours()

    def print_notice(notice: PersonNotice) -> None:
        if as_json:
            show_json(notice_data(notice), indent=0)
            return
        # In one piece: progress is printed by another thread.
        print("\n".join(paint(display.cut(line), colour=colour) for line in _notice_lines(notice)), flush=True)

    return print_notice


def _notice_lines(notice: PersonNotice) -> list[Line]:
    clock = Span(f"{datetime.now(UTC).astimezone():%H:%M}  ", "dim")
    style = _STYLES.get(notice.kind, "plain")
    first, *more = notice.text.split("\n") if notice.text else [""]
    words = f": {safe_line(first)}" if first else ""
    lines: list[Line] = [(clock, Span(safe_line(notice.title), style), Span(words))]
    lines += [(Span("       "), Span(safe_line(line), "dim")) for line in more]
    if notice.answer:
        lines.append((Span("       "), Span(f"punchlist answer {safe_line(notice.answer)} …", "dim")))
    return lines
