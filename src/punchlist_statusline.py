"""Print the rows under an agent's prompt: the work of one session, from the line that the board keeps ready for it.

A host runs this file every second, as `PYTHON -I -S punchlist_statusline.py --board B`, so it imports only what it
needs of the standard library and nothing of the package. `punchlist statusline` runs it too. It never fails: whatever
happens, it exits with 0. A host that names board and session gets that row or nothing: most sessions begin without one,
and the full program would cost ten times as much every second. What a person types may need the full program.
"""

from __future__ import annotations

import os
import sys
from time import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Line = Mapping[str, Any]
    Span = tuple[str, str]

INPUT_SECONDS = 0.2
"""Seconds to wait for each part of standard input: a host that gives none must not hold up its own status bar."""

_LONGEST_INPUT = 1.0
"""Seconds for all of it."""

MOST_INPUT = 1024 * 1024
_DEFAULT_COLUMNS = 100
_LONGEST_BAR = 20
_SHORTEST_CHECK = 8
"""Cells for which the check is shown after the count."""

_BUSY_SECONDS = 0.2
_THEIR_SECONDS = 10.0
"""Seconds that the person's own status line may take."""

_THEIR_REST = 5.0
"""Seconds between two runs of it with the same input: the host asks us every second."""

FIRST_WAIT = 1.0
"""Seconds that the rows wait for it where nothing of it can be shown yet."""

_NEXT_WAIT = 0.2
"""Seconds that they wait for what is newer than its last output."""

_DAY = 86_400.0
ENDED = "ended"
"""The mark in place of that of a process, once the agent said itself that it ended."""

_MOST_THEIRS = 64 * 1024
_PIPE_SIZE = 60_000
"""Bytes that fit into a pipe that nobody reads yet."""

UNICODE = {
    "focus": "▸", "pause": "‖", "blocked": "⊘", "failed": "✗", "wait": "◆", "ellipsis": "…", "dot": "·", "full": "━",
    "empty": "─",
}  # fmt: skip
ASCII = {
    "focus": ">", "pause": "[=]", "blocked": "[!]", "failed": "[f]", "wait": "!", "ellipsis": "...", "dot": "-",
    "full": "#", "empty": ".",
}  # fmt: skip
COLOURS = {"dim": "2", "bold": "1", "focus": "1;36", "good": "32", "warning": "33", "bad": "31", "accent": "35"}
_MOST_ROWS = 3


def main(arguments: list[str] | None = None, *, find_board: Callable[[], str] | None = None) -> int:
    """Print the rows of the session that the host or `--session` names; `find_board` returns the user's own board."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        options = _parse(words)
        body = read_input()
        given = decode_object(body) if body else {}
        if options is not None and "before" in options:
            _write(show_theirs(options, body, given))
        found = None if options is None else _find_line(options, given, find_board)
        line = None if found is None else decode_object(found)
        # The line does not hold when a process that does not run here was last heard of.
        is_still = line is not None and bool(line.get("stopped") or not line.get("focus"))
        is_known = line is not None and (is_still or find_process(_text(line, "process")) == "runs")
        if not is_known and not _is_host_call(options, given):
            _run_full_program(words if options is None else _without_theirs(options), body)
        elif line:
            _write(print_rows(line, is_host=bool(given)))
    except Exception:  # a status bar is no place for an error
        return 0
    return 0


def _parse(words: list[str]) -> dict[str, str] | None:
    """Return the options by name; None if there is one that only the full program knows."""
    options: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        name, has_value, value = word.partition("=")
        if name not in ("--board", "--db", "--session", "--before", "--every"):
            return None
        given = value if has_value else next(rest, None)
        if given is None:
            return None
        options["board" if name == "--db" else name[2:]] = given
    return options


def _is_host_call(options: dict[str, str] | None, given: Line) -> bool:
    """True for the command that `attach` writes: it names the board, and the host names the session."""
    return options is not None and "board" in options and bool(given.get("session_id"))


def _without_theirs(options: dict[str, str]) -> list[str]:
    return [word for name, value in options.items() if name not in ("before", "every") for word in (f"--{name}", value)]


def read_input() -> bytes:
    """Return what the host gives on standard input; nothing if it gives nothing at once."""
    try:
        handle = sys.stdin.fileno()
        if os.isatty(handle):
            return b""
        from select import select

        body, ends = b"", time() + _LONGEST_INPUT
        while len(body) < MOST_INPUT and time() < ends and select([handle], [], [], INPUT_SECONDS)[0]:
            part = os.read(handle, 65_536)
            if not part:
                break
            body += part
    except (AttributeError, OSError, ValueError):  # there is no standard input at all
        return b""
    return body


# The process of an agent. The package imports the rule from here: this file can import nothing of the package.


def find_process(mark: str) -> str:
    """Look for the process of a mark (`mark_process`): `runs`, `ended`, `elsewhere`, or `none` without a mark.

    A process of another boot or pid namespace cannot be looked up from here.
    """
    if mark == ENDED:
        return "ended"
    pid, *rest = mark.split(" ") if mark.count(" ") == 3 else ("",)
    if not pid.isdigit():
        return "none"
    try:
        if not os.path.exists("/proc/self/stat"):
            if rest != ["-", "-", "-"]:
                return "elsewhere"
            os.kill(int(pid), 0)
            return "runs"
        with open("/proc/sys/kernel/random/boot_id") as file:
            if [file.read(64).strip(), os.readlink("/proc/self/ns/pid")] != rest[1:]:
                return "elsewhere"
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read(4096).rpartition(b")")[2].split()
    except PermissionError:
        return "runs"
    except (OSError, OverflowError):
        return "ended"
    is_same = len(fields) > 19 and fields[19].decode() == rest[0]
    return "runs" if is_same and fields[0] not in (b"Z", b"X") else "ended"


# The line of the session.


def _find_line(options: dict[str, str], given: Line, find_board: Callable[[], str] | None) -> str | None:
    """Return the prepared line of the session, empty if there is nothing to show; None if the board has none."""
    session = options.get("session") or given.get("session_id") or os.environ.get("PUNCHLIST_SESSION")
    board = options.get("board") or os.environ.get("PUNCHLIST_DB")
    if not board and find_board is not None:
        board = find_board()
    # The full program knows the latest session of a folder, and boards with a URL.
    if not board or (":" in board and not board.startswith("/")):
        return None
    if not session or not isinstance(session, str):
        return None
    return _read_line(os.path.abspath(os.path.expanduser(board)), session)


def decode_object(body: str | bytes) -> dict[str, Any]:
    """Return a JSON object; an empty one for anything else."""
    import json

    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if _is_of(dict, value) else {}


def _is_of(kind: type, value: object) -> bool:
    return isinstance(value, kind)


_FIND_LINE = """
SELECT line FROM sessions
WHERE id = coalesce((SELECT session FROM conversations WHERE host = 'claude-code' AND id = ?), ?)
"""
"""A conversation that continues what another agent began belongs to that session."""

_FIND_TEAM_LINE = "SELECT line FROM team_lines WHERE session = ?"
"""The line of a session that is on a team's server."""


def _read_line(path: str, session: str) -> str | None:
    """Read the line of a session. Creates no file, and never checkpoints the board."""
    if not os.path.isfile(path):
        return None
    import sqlite3

    # Without a log nobody has the board open, and a connection of the usual kind would create one.
    mode = "mode=ro" if os.path.exists(f"{path}-wal") else "immutable=1"
    name = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    try:
        connection = sqlite3.connect(f"file:{name}?{mode}", uri=True, timeout=_BUSY_SECONDS)
        try:
            row = connection.execute(_FIND_LINE, (session, session)).fetchone()
            if row is None:
                row = connection.execute(_FIND_TEAM_LINE, (session,)).fetchone()
        finally:
            connection.close()
    except sqlite3.Error:
        return None
    line = None if row is None else row[0]
    return line if isinstance(line, str) else None


def _run_full_program(words: list[str], body: bytes) -> None:
    """Replace this process by the full program, with the same input. The project's folder is not on its path."""
    handle, writer = os.pipe()
    os.write(writer, body[:_PIPE_SIZE])
    os.close(writer)
    os.dup2(handle, 0)
    folder = os.path.dirname(os.path.abspath(__file__))
    start = f"import sys; sys.path.append({folder!r}); from punchlist.cli import program; sys.exit(program())"
    os.execv(sys.executable, [sys.executable, "-I", "-c", start, "statusline", *words])


# The person's own status line.


def show_theirs(options: Mapping[str, str], body: bytes, given: Line) -> bytes:
    """Return what the person's own command prints, or printed last; start it if its input or enough time has passed.

    It runs in a process of its own: a host that stops a slow status line does not stop it, and the next call finds its
    output. It runs once at a time; with the same input after 5 s at the earliest, or after its own longer interval.
    """
    from fcntl import LOCK_EX, LOCK_NB, flock

    command = options["before"]
    try:
        handle = _open_output(options["board"], str(given["session_id"]))
    except (KeyError, OSError):  # there is no session, or no room to write
        return run_theirs(command, body, FIRST_WAIT)
    last, mark = os.pread(handle, _MOST_THEIRS, 0), _mark_input(given)
    rest = max(_THEIR_REST, float(options.get("every", "0")))
    is_fresh = last.startswith(mark) and time() - os.fstat(handle).st_mtime < rest
    newer = None
    if not is_fresh:
        try:
            flock(handle, LOCK_EX | LOCK_NB)  # the process that runs the command holds it until it ends
            newer = _start_theirs(command, body, handle, mark, _NEXT_WAIT if last else FIRST_WAIT)
        except BlockingIOError:
            pass
    return last[len(mark) :] if newer is None else newer


def _mark_input(given: Line) -> bytes:
    """Return a mark of what the host says, without `cost`: the times in it move with every call."""
    from binascii import crc32

    said = {key: value for key, value in given.items() if key != "cost"}
    return f"={crc32(repr(said).encode(errors='replace')):08x}".encode()


def _open_output(board: str, session: str) -> int:
    """Open the file with the last output of a session's command: a mark of its input, and what it printed."""
    folder = f"{os.path.abspath(os.path.expanduser(board))}.theirs"
    if not os.path.isdir(folder):
        os.mkdir(folder, 0o700)
    found = os.lstat(folder)
    if found.st_uid != os.geteuid() or found.st_mode & 0o077:  # another user's, or a link, which is open to all
        raise PermissionError(folder)
    path = os.path.join(folder, session.encode().hex()[:100])
    if not os.path.exists(path):
        for old in os.scandir(folder):
            if time() - old.stat().st_mtime > _DAY:
                os.unlink(old)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def _start_theirs(command: str, body: bytes, handle: int, mark: bytes, wait: float) -> bytes | None:
    """Run the command in a process of its own, which writes down the output; return it if it comes in time."""
    from select import select

    output, sink = os.pipe()
    if os.fork() == 0:
        try:
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            for own in (0, 1, 2):  # else the host would wait for this process
                os.dup2(nothing, own)
            printed = run_theirs(command, body, _THEIR_SECONDS)
            os.write(sink, printed[:_PIPE_SIZE])
            os.pwrite(handle, mark + printed, 0)
            os.ftruncate(handle, len(mark) + len(printed))
        finally:
            os._exit(0)
    os.close(sink)
    return os.read(output, _PIPE_SIZE) if select([output], [], [], wait)[0] else None


def run_theirs(command: str, body: bytes, seconds: float) -> bytes:
    """Run a shell command with the same input, and return what it prints within its time."""
    from select import select

    source, feed = os.pipe()
    output, sink = os.pipe()
    os.write(feed, body[:_PIPE_SIZE])
    os.close(feed)
    moves = [(os.POSIX_SPAWN_DUP2, source, 0), (os.POSIX_SPAWN_DUP2, sink, 1)]
    # In a group of its own, so that all that it starts can be ended with it.
    process = os.posix_spawn("/bin/sh", ["/bin/sh", "-c", command], os.environ, file_actions=moves, setpgroup=0)
    os.close(source)
    os.close(sink)
    printed, ends = b"", time() + seconds
    while len(printed) < _MOST_THEIRS and select([output], [], [], max(0.0, ends - time()))[0]:
        part = os.read(output, 65_536)
        if not part:
            break
        printed += part
    else:
        _end_group(process)
    return printed if not printed or printed.endswith(b"\n") else printed + b"\n"


def _end_group(process: int) -> None:
    try:
        os.killpg(process, 9)
    except OSError:
        return


def _write(text: bytes) -> None:
    while text:
        text = text[os.write(1, text) :]


# Rows.


def print_rows(line: Line, *, is_host: bool = False) -> bytes:
    """Return the rows as they are printed, for a host that shows colours, or for what standard output can show."""
    encoding = getattr(sys.stdout, "encoding", None)
    is_terminal = os.isatty(1)
    has_unicode = shows_unicode(encoding)
    rows = render_rows(line, now=time(), columns=_find_columns(is_terminal), glyphs=UNICODE if has_unicode else ASCII)
    colour = shows_colours(is_host or is_terminal)
    text = "".join(f"{_paint(row) if colour else ''.join(part for part, _ in row)}\n" for row in rows)
    return text.encode("utf-8" if has_unicode else "ascii", "replace")


def shows_unicode(encoding: str | None) -> bool:
    """True if the encoding has Unicode signs and neither the locale nor the terminal says otherwise."""
    environ = os.environ.get
    if not (encoding or "").lower().startswith("utf") or environ("TERM") in ("dumb", "linux"):
        return False
    # Python itself sets LC_CTYPE to C.UTF-8 where the locale is C; then LANG is what the user said.
    locale = environ("LC_ALL") or (environ("LC_CTYPE", "").replace("C.UTF-8", "")) or environ("LANG") or "utf-8"
    return "utf" in locale.lower()


def shows_colours(is_terminal: bool) -> bool:
    """`NO_COLOR` decides first, then `FORCE_COLOR` and `CLICOLOR_FORCE`, then whether a terminal shows the output."""
    environ = os.environ.get
    if environ("NO_COLOR"):
        return False
    if any(environ(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return is_terminal and environ("TERM") != "dumb"


def _find_columns(is_terminal: bool) -> int:
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and int(given) > 0:
        return int(given)
    return os.get_terminal_size(1).columns or _DEFAULT_COLUMNS if is_terminal else _DEFAULT_COLUMNS


def render_rows(line: Line, *, now: float, columns: int, glyphs: Mapping[str, str]) -> list[list[Span]]:
    """Return up to three rows of styled text: the count and the check, the focus, then what waits or the subagents."""
    focus, wait = _focus_row(line, now, columns, glyphs), _wait_row(line, columns, glyphs)
    rows = [_count_row(line, columns, glyphs), focus, wait or _subagent_row(line, columns, glyphs)]
    if wait:
        rows.append(_fit("  ", "answer here, or: punchlist answer", "dim", columns, glyphs))
    return [row for row in rows if row][:_MOST_ROWS]


def _is_at_work(line: Line) -> bool:
    return bool(_text(line, "focus")) and not _number(line, "stopped")


def _count_row(line: Line, columns: int, glyphs: Mapping[str, str]) -> list[Span]:
    done, total = _number(line, "done"), _number(line, "total")
    said, style = _check_words(line, glyphs)
    if not total:
        return _fit("", said, style, columns, glyphs) if said else []
    count = f" {done}/{total}"
    room = max(0, min(_LONGEST_BAR, total, columns - len(count)))
    full = min(room, room * done // total)
    bar = "bad" if style == "bad" else "focus"
    row = [(glyphs["full"] * full, bar), (glyphs["empty"] * (room - full), "dim"), (count, "bold")]
    left = columns - room - len(count)
    if said and left > _SHORTEST_CHECK:
        dot = f" {glyphs['dot']} "
        row += [(dot, "dim"), *_fit("", said, style, left - len(dot), glyphs)]
    return row


def _check_words(line: Line, glyphs: Mapping[str, str]) -> Span:
    """Return how the last check went, or that none ran: `pytest green`, `12 changes, not checked`."""
    state, check, changes = _text(line, "state"), _text(line, "check") or "check", _number(line, "changes")
    if state == "red":
        return f"{glyphs['failed']} {check} red", "bad"
    if state == "green":
        return f"{check} green" if _is_at_work(line) else f"{check} green, nothing changed since", "good"
    if changes and (_text(line, "check") or not _is_at_work(line)):
        return f"{changes} change{'' if changes == 1 else 's'}, not checked", "dim"
    return "no test ran yet" if state or _is_at_work(line) or _number(line, "done") else "", "dim"


def _focus_row(line: Line, now: float, columns: int, glyphs: Mapping[str, str]) -> list[Span]:
    if focus := _text(line, "focus"):
        if not _is_at_work(line):
            return _fit(f"{glyphs['pause']} ", focus, "dim", columns, glyphs)
        since = _number(line, "since")
        clock = f"  {_span(now - since)}" if since else ""
        return [*_fit(f"{glyphs['focus']} ", focus, "focus", columns - len(clock), glyphs), (clock, "dim")]
    for name, style in (("blocked", "warning"), ("failed", "bad")):
        if (text := _text(line, name)) and not _number(line, "waits"):
            return _fit(f"{glyphs[name]} ", text, style, columns, glyphs)
    return []


def _subagent_row(line: Line, columns: int, glyphs: Mapping[str, str]) -> list[Span]:
    """Return the subagents at work, as in `2 subagents: explore 1/2, test`."""
    words: list[str] = []
    found: Any = line.get("subagents")
    for name, done, total in found if _is_of(list, found) else ():
        words.append(f"{_clean(name)} {int(done)}/{int(total)}" if total else _clean(name))
    number, more = len(words), _number(line, "more")
    if more:
        words.append(f"+{more}")
    noun = "subagent" if number + more == 1 else "subagents"
    return _fit(f"  {number + more} {noun}: ", ", ".join(words), "accent", columns, glyphs) if words else []


def _wait_row(line: Line, columns: int, glyphs: Mapping[str, str]) -> list[Span]:
    waits, first = _number(line, "waits"), _text(line, "wait")
    if not waits:
        return []
    more = f" (+{waits - 1} more)" if waits > 1 else ""
    return [
        *_fit(f"{glyphs['wait']} waits for you: ", first, "warning", columns - len(more), glyphs),
        (more, "warning"),
    ]


def _number(line: Line, name: str) -> int:
    value = line.get(name)
    return value if isinstance(value, int) else 0


def _text(line: Line, name: str) -> str:
    value = line.get(name)
    return _clean(value) if isinstance(value, str) else ""


def _clean(text: str) -> str:
    """Return a text without what a terminal could obey. It was written so; a damaged or forged row was not."""
    if text.isprintable():
        return text
    return "".join(char for char in text if char.isprintable() or char in "\u200c\u200d")


def _span(seconds: float) -> str:
    """Return a length of time as all screens have it: `12 s`, `3 min`, `1 h 20 min`, `3 days`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    hours, minutes = divmod(whole // 60, 60)
    if hours >= 48:
        return f"{hours // 24} days"
    return " ".join(([f"{hours} h"] if hours else []) + ([f"{minutes} min"] if minutes else []))


def _fit(start: str, text: str, style: str, columns: int, glyphs: Mapping[str, str]) -> list[Span]:
    room = columns - len(start)
    if room <= 0:
        return [(start[: max(0, columns)], style)]
    if _cells(text) > room:
        mark = glyphs["ellipsis"]
        used = len(mark)
        place = 0
        while place < len(text) and (used := used + _cells(text[place])) <= room:
            place += 1
        text = (text[:place] + mark)[:room]
    return [(start, style), (text, style)]


def _cells(text: str) -> int:
    """Return the cells of a terminal that a text takes, or a few too many where signs are joined into one."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def _paint(row: list[Span]) -> str:
    return "".join(f"\x1b[{COLOURS[style]}m{text}\x1b[0m" if style in COLOURS and text else text for text, style in row)


if __name__ == "__main__":
    sys.exit(main())
