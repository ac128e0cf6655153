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
    "focus": "▸", "pause": "‖", "pending": "○", "blocked": "⊘", "completed": "✓", "failed": "✗", "doubt": "?",
    "ellipsis": "…", "dot": "·", "full": "━", "empty": "─", "branch": "⤷",
}  # fmt: skip
ASCII = {
    "focus": ">", "pause": "[=]", "pending": "[ ]", "blocked": "[!]", "completed": "[x]", "failed": "[f]",
    "doubt": "[?]", "ellipsis": "...", "dot": "-", "full": "#", "empty": ".", "branch": "\\",
}  # fmt: skip
COLOURS = {"dim": "2", "bold": "1", "focus": "1;36", "good": "32", "warning": "33", "bad": "31", "accent": "35"}
_STATES = {"red": "bad", "unchecked": "warning", "green": "good"}


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
    """Return up to five rows of styled text: the focus, the count, what is next, the checks, and what waits on you."""
    rows = [
        _focus_row(line, now, columns, glyphs),
        _count_row(line, columns, glyphs),
        _next_row(line, columns, glyphs) if _text(line, "focus") else [],
        _state_row(line, columns, glyphs),
        _wait_row(line, columns, glyphs),
    ]
    return [row for row in rows if row]


def _focus_row(line: Line, now: float, columns: int, glyphs: Mapping[str, str]) -> list[Span]:
    done, total = _number(line, "done"), _number(line, "total")
    if focus := _text(line, "focus"):
        since = _number(line, "since")
        if ended := _number(line, "stopped"):
            clock = f", stopped after {_clock(ended - since)}" if 0 < since <= ended else ", stopped"
            return [*_fit(f"{glyphs['pause']} ", focus, "dim", columns - len(clock), glyphs), (clock, "dim")]
        clock = f" {_clock(now - since)}" if since else ""
        return [*_fit(f"{glyphs['focus']} ", focus, "focus", columns - len(clock), glyphs), (clock, "dim")]
    if row := _next_row(line, columns, glyphs):
        return row
    if blocked := _text(line, "blocked"):
        return _fit(f"{glyphs['blocked']} ", blocked, "warning", columns, glyphs)
    if failed := _text(line, "failed"):
        return _fit(f"{glyphs['failed']} ", failed, "bad", columns, glyphs)
    if not total or done != total:
        return []
    if _number(line, "doubtful") or _text(line, "state") == "red":
        return _fit(f"{glyphs['doubt']} ", "All marked done", "plain", columns, glyphs)
    return _fit(f"{glyphs['completed']} ", "All done", "good", columns, glyphs)


def _next_row(line: Line, columns: int, glyphs: Mapping[str, str]) -> list[Span]:
    following = _text(line, "next")
    return _fit(f"{glyphs['pending']} Next: ", following, "plain", columns, glyphs) if following else []


def _count_row(line: Line, columns: int, glyphs: Mapping[str, str]) -> list[Span]:
    done, total, doubtful = _number(line, "done"), _number(line, "total"), _number(line, "doubtful")
    subagents = _subagent_words(line)
    row: list[Span] = []
    if total:
        percent = (200 * done + total) // (2 * total)
        count = f" {done}/{total} {percent} %"
        room = max(0, min(_LONGEST_BAR, columns - len(count)))
        full = min(room, room * done // total)
        style = "good" if done == total else "focus"
        row = [(glyphs["full"] * full, style), (glyphs["empty"] * (room - full), "dim"), (count, "bold")]
        if doubtful:
            row.append((f" {glyphs['dot']} {doubtful} doubtful", "warning"))
    if subagents:
        used = sum(len(text) for text, _ in row)
        row += _fit(f"{' ' if row else ''}{glyphs['branch']} ", subagents, "accent", columns - used, glyphs)
    return row


def _subagent_words(line: Line) -> str:
    """Return the subagents at work, as in `explore 1/2, test`."""
    words: list[str] = []
    found: Any = line.get("subagents")
    for name, done, total in found if _is_of(list, found) else ():
        words.append(f"{_clean(name)} {int(done)}/{int(total)}" if total else _clean(name))
    if more := _number(line, "more"):
        words.append(f"+{more}")
    return ", ".join(words)


def _state_row(line: Line, columns: int, glyphs: Mapping[str, str]) -> list[Span]:
    state, check = _text(line, "state"), _text(line, "check")
    if not state:
        return []
    sign = {"red": "failed", "green": "completed"}.get(state, "doubt")
    words = f"{state}: {check}" if check else state
    if state == "unchecked":
        changes = _number(line, "changes")
        words = f"not checked since {changes} change{'' if changes == 1 else 's'}" if changes else "not checked"
    return _fit(f"{glyphs[sign]} ", words, _STATES.get(state, "plain"), columns, glyphs)


def _wait_row(line: Line, columns: int, glyphs: Mapping[str, str]) -> list[Span]:
    waits, first = _number(line, "waits"), _text(line, "wait")
    if not waits:
        return []
    more = f" (+{waits - 1} more)" if waits > 1 else ""
    return [*_fit("? Waits on you: ", first, "warning", columns - len(more), glyphs), (more, "warning")]


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


def _clock(seconds: float) -> str:
    whole = max(0, int(seconds))
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


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
