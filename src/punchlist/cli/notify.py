"""`punchlist notify`: tell the person when an agent waits on them, finishes, stalls or turns red."""

from __future__ import annotations

import sys
import threading
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from punchlist.bridges.notifications import notice_data
from punchlist.cli import FAILED, OK, complain
from punchlist.cli.arguments import Parser, command_parser, open_board
from punchlist.cli.terminal import detect_display, has_colours, paint, show_json
from punchlist.core.notices import FACT_KINDS, PersonNotice
from punchlist.errors import StoreBusy, StoreFull
from punchlist.hosts.live import LiveRoster
from punchlist.hosts.notices import Notifier
from punchlist.settings.table import NotifySettings, load_settings
from punchlist.surfaces.spans import Line, Span, Style, plural, safe_line
from punchlist.text import for_terminal
from punchlist.views.now import Roster

_LOOK_SECONDS = 2.0
"""How often facts that come with time are looked for, while nothing changes: an agent that is not seen any more, the
end of the quiet hours."""

_STYLES: dict[str, Style] = {"waits": "warning", "red": "bad", "stalled": "warning", "finished": "good"}
_EXAMPLES = """\
  punchlist notify                    tell me here: a line, the bell, a notification of the terminal
  punchlist notify --test             try every way that is set, and say whether it works
  punchlist notify --facts waits,red  only what needs me
  punchlist config set notify.ntfy.url https://ntfy.sh/TOPIC     on my phone, from now on
"""


def parser() -> Parser:
    about = (
        "Tells you when an agent of this machine waits on you, finishes, falls silent or turns red, each fact once: "
        "here, and by the ways of the settings file, a command, ntfy or a webhook. Reads the logs of agents meanwhile, "
        "as `punchlist watch` does. Runs until you interrupt it."
    )
    made = command_parser("notify", about, run=_notify, examples=_EXAMPLES)
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
    """Return the settings of the file, with what the command line says instead."""
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
        write = _write if sys.stdout.isatty() else None
        notifier = stack.enter_context(Notifier(board, settings, write=write, report=_warn, on_progress=print_notice))
        if options.test:
            return _test(notifier)
        live = LiveRoster(board, watches=not options.no_watch)
        changed = threading.Event()
        stack.callback(live.stop)
        found = live.roster
        if not options.json:
            _introduce(notifier, settings, found)
        live.start(changed.set)
        while True:
            for fact in _look(notifier, live):
                print_notice(fact)
            if problem := live.take_problem():
                _warn(problem)
            changed.wait(_LOOK_SECONDS)
            changed.clear()


def _look(notifier: Notifier, live: LiveRoster) -> Sequence[PersonNotice]:
    """Return the facts that are news, in quiet hours too. A board that is busy or full is looked at again later."""
    try:
        told = notifier.look(live.roster)
    except (StoreBusy, StoreFull) as error:
        _warn(str(error))
        return ()
    return (*told.facts, *told.held)


def _write(escapes: str) -> None:
    sys.stdout.write(escapes)
    sys.stdout.flush()


def _warn(problem: str) -> None:
    print(f"punchlist: {for_terminal(problem)}", file=sys.stderr, flush=True)


def _test(notifier: Notifier) -> int:
    results = list(notifier.test())
    if not results:
        return complain("No way to tell you anything is set, and this is no terminal; see `punchlist notify --help`.")
    for name, problem in results:
        print(f"{safe_line(name)}: {safe_line(problem) or 'sent'}")
    return FAILED if any(problem for _, problem in results) else OK


def _introduce(notifier: Notifier, settings: NotifySettings, found: Roster) -> None:
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
    """Return a function that prints one message: a line, or with `as_json` a JSON object."""
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
