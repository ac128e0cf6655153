"""`punchlist watch`: put what the agents of this machine do on the board, from their own logs."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from contextlib import closing
from datetime import timedelta

from punchlist.board import Board
from punchlist.cli.arguments import Parser, command_parser, open_board, parse_age
from punchlist.cli.events import make_writer
from punchlist.cli.terminal import detect_display, glyphs, has_colours
from punchlist.core.programs import PROGRAMS
from punchlist.hosts.presence import PRESENCE_SECONDS, PresenceLog
from punchlist.hosts.watch import CodexPlans, Watcher, WatchProgress
from punchlist.hosts.watch.scope import find_beginning
from punchlist.surfaces.spans import Glyphs, plural
from punchlist.text import for_terminal

_DRAW_SECONDS = 0.1
_BAR = 24
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
        with closing(_open_watcher(board, options.since)) as watcher:  # it reads stores at once
            _catch_up(watcher)
            calls = sum(event.kind == "tool.started" for event in board.events(before))
            _describe_start(watcher, calls, time.monotonic() - began)
            if not options.once:
                with CodexPlans(board, _warn):
                    _follow(board, watcher)
    return 0


def _open_watcher(board: Board, age: timedelta | None) -> Watcher:
    now = board.now()
    return Watcher(board, since=find_beginning(now) if age is None else now - age, report=_warn)


def _warn(problem: str) -> None:
    print(f"punchlist: {for_terminal(problem)}", file=sys.stderr)


def _catch_up(watcher: Watcher) -> None:
    """Read what was written so far, with a bar on a terminal."""
    signs = glyphs(sys.stderr) if sys.stderr.isatty() else None
    drawn = 0.0
    while watcher.is_behind:
        watcher.take_slice()
        watcher.wait(0)
        if signs is not None and time.monotonic() - drawn > _DRAW_SECONDS:
            drawn = time.monotonic()
            print(f"\r{_draw_bar(watcher.progress, signs)}", end="", file=sys.stderr, flush=True)
    if drawn:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _draw_bar(progress: WatchProgress, signs: Glyphs) -> str:
    share = min(1.0, progress.done / progress.total) if progress.total else 1.0
    done = round(share * _BAR)
    size = f"{progress.done / 1e6:.0f} of {progress.total / 1e6:.0f} MB"
    return f"{signs.full * done}{signs.empty * (_BAR - done)} {share:4.0%}  {size}, {plural(progress.logs, 'log')}"


def _describe_start(watcher: Watcher, calls: int, seconds: float) -> None:
    found = [PROGRAMS[host].title for host in watcher.roots.values()]
    found += sorted(PROGRAMS[host].title for host in watcher.lists.hosts)
    if not found:
        known = ", ".join(program.title for program in PROGRAMS.values())
        print(f"No log of an agent here yet; looked for {known}.", flush=True)
        return
    hosts = ", ".join(dict.fromkeys(found))
    done = watcher.progress
    print(
        f"{hosts}: {plural(done.logs, 'log')} with news, {plural(calls, 'new tool call')} on the board, "
        f"{done.done / 1e6:.1f} MB in {seconds:.1f} s.",
        flush=True,
    )


def _follow(board: Board, watcher: Watcher) -> None:
    """Print each fact as a log tells it, until the person interrupts."""
    write = make_writer(detect_display(), colour=has_colours())
    seen = board.store.last_seq()
    presence, next_look = PresenceLog(board), 0.0
    while True:
        watcher.wait(0.0 if watcher.is_behind else max(0.0, next_look - time.monotonic()))
        watcher.take_slice()
        if time.monotonic() >= next_look:
            presence.look()
            next_look = time.monotonic() + PRESENCE_SECONDS
        for event in board.events(seen):
            seen = event.seq
            if event.data.get("watched") or event.kind == "agent.state":
                write(event)
