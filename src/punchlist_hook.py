"""Hand a hook event of an agent to Punchlist: `python -I -S punchlist_hook.py HOST --board B`, the event on stdin.

An agent starts this file for every tool call, so it imports a few modules of the standard library and nothing of the
package. It appends the event to the inbox next to the board before it waits for anybody. Then it tells the session's
running `punchlist mcp` (a unix socket), else a running `punchlist serve`, which ingests it; without one, the next
process does. For the few events that need an answer, and no server gives one, `main` loads the package. Whatever goes
wrong, the agent gets exit code 0 and an empty answer, and `B.hooks.log` has a line.

The package imports the places and forms of these files from here, so that each rule exists once.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
import time

try:
    import fcntl
except ImportError:
    sys.exit("punchlist: Punchlist runs on Linux and macOS; on Windows, use WSL.")

TYPE_CHECKING = False  # `typing` would take as long to import as `json`
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, NoReturn

LONGEST_LINE = 1024 * 1024
"""Bytes of a line in the inbox; of an event that is larger, only the head is kept."""

LONGEST_TEXT = 64 * 1024
"""Characters of one text in an event; of a longer one head and tail are kept."""

_LONGEST_INPUT = 32 * 1024 * 1024
_LONGEST_PROMPT = 200
"""Characters of a person's prompt that are kept: only its first words are looked at."""

_LONGEST_REPLY = 1024 * 1024
_LONGEST_LOG = 64 * 1024
_LONGEST_SOCKET = 100
"""Bytes of the path of a unix socket: systems allow 104 to 108."""

_DEEPEST = 32
_ANCESTORS = 6
"""Generations of processes between a hook and its agent that are looked at."""

ANY_HOST = 0
"""In the name of a socket, in place of the process id of an agent: it is served for every agent of the board."""

GATES = ("TaskCreated", "TaskCompleted")
ANSWERED = ("UserPromptSubmit", "Stop", "SubagentStop", *GATES)
"""Events whose answer is waited for; besides them `SessionStart`, if there may be open work, and a few calls."""

TASK_WRITERS = ("TaskCreate", "TaskUpdate")
"""Claude Code's own tools that write a list, which may be refused in favour of ours."""

_NEW_SESSIONS = ("startup", "clear")
"""Sources of a `SessionStart` at which a conversation has no open work yet."""

SILENT_SECONDS, ANSWER_SECONDS, GATE_SECONDS = 1.5, 5.0, 12.0
"""Limits of a hook: for a silent event, for one that is answered, and for a gate, which may ask a command."""

OWN_SERVER = "plugin:punchlist:punchlist"
"""Our MCP server as Claude Code names it in hook events. A project can name a server of its own `punchlist`, but it
cannot make it part of a plugin of the user."""

_OWN_TOOLS = "mcp__plugin_punchlist_punchlist__"
TASK_NOTIFICATION = "<task-notification>"
"""The beginning of a prompt that Claude Code itself writes: a monitor's line, or the end of a background task."""

_CUT = "\n[… cut by punchlist-hook …]\n"


def main() -> NoReturn:
    """Run the hook, and exit with 0 whatever happens."""
    where = None
    if sys.argv[1:2] == ["monitor"]:
        run_monitor(_arguments(sys.argv[2:])[0])
    try:
        board, host = _arguments(sys.argv[1:])
        where = board
        _limit(board, GATE_SECONDS + 1)
        event = read_event(sys.stdin.fileno())
        answer = handle(board, host, event)
        if answer:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
    except BaseException as error:
        if where:
            name = type(error).__name__
            # Each hook until the next upgrade meets a board that is too new.
            log_error(where, f"{name}: {error}", once=name == "StoreTooNew")
    os._exit(0)  # quick, and no error of a closed stdout at the end


def _arguments(words: list[str]) -> tuple[str, str]:
    """Return the path of the board and the name of the host."""
    place = words.index("--board") if "--board" in words[:-1] else len(words)
    board, rest = words[place + 1 : place + 2], words[:place] + words[place + 2 :]
    if board and len(rest) == 1:
        return os.path.realpath(board[0]), rest[0]
    if len(rest) == 1:  # by hand, or by the plugin of a marketplace: the board that the package means
        _load_package()
        from punchlist.store import store_path

        path = os.path.realpath(store_path())
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # no `attach` made it
        return path, rest[0]
    raise ValueError("usage: punchlist-hook [monitor] HOST [--board PATH]")


def _limit(board: str, seconds: float) -> None:
    """End this process after so many seconds, quietly: an agent waits for its hooks."""

    def give_up(_number: int, _frame: object) -> None:
        log_error(board, "the hook took too long and was ended")
        os._exit(0)

    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def read_event(handle: int) -> dict[str, Any]:
    """Read one event, a JSON object, from an open file."""
    parts: list[bytes] = []
    size = 0
    while part := os.read(handle, 1024 * 1024):
        size += len(part)
        if size <= _LONGEST_INPUT:  # the rest is read too: the agent must be able to write it
            parts.append(part)
    if size > _LONGEST_INPUT:
        raise ValueError(f"an event of {size} bytes is too large")
    event = _as_object(json.loads(b"".join(parts)))
    if event is None:
        raise ValueError("the event is no JSON object")
    return event


def _as_object(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType]


def handle(board: str, host: str, event: dict[str, Any]) -> dict[str, Any]:
    """Hand an event over; return the answer for the agent, empty for none."""
    name = str(event.get("hook_event_name", ""))
    allowed = _permission(host, name, event)
    if allowed:  # the agent waits until this process ends; so the answer may go first, whatever happens after it
        sys.stdout.write(json.dumps(allowed) + "\n")
        sys.stdout.flush()
    if not os.path.isdir(os.path.dirname(board)):
        return {}
    line = make_line(host, event)
    waits = is_answered(host, event)
    seconds = GATE_SECONDS if name in GATES else ANSWER_SECONDS if waits else SILENT_SECONDS
    _limit(board, seconds + 0.5)
    try:
        append_line(board, line)  # first: a server may accept and never answer, and this process be killed meanwhile
    except OSError as error:  # a full disk, or a file that is not ours: a server may still take the event
        log_error(board, f"{type(error).__name__}: {error}")
    reply = ask_server(board, line, seconds if name in GATES else SILENT_SECONDS)
    if reply is not None:
        return reply
    if not waits:
        return {}
    _load_package()
    # By its name, as an entry point is: the module imports this file.
    inbox = __import__("punchlist.hooks.inbox", fromlist=["answer_hook"])
    return inbox.answer_hook(board, line)


def is_answered(host: str, event: Mapping[str, Any]) -> bool:
    """True for an event whose answer is waited for."""
    name = event.get("hook_event_name")
    return (
        name in ANSWERED
        or (name == "SessionStart" and event.get("source") not in _NEW_SESSIONS)
        or (name == "PreToolUse" and event.get("tool_name") in TASK_WRITERS)
        or (name == "PostToolUse" and is_own_call(host, event))
    )


def _load_package() -> None:
    """Make the package importable: `-S` and `-I` leave out the folders where it and its dependencies may be."""
    import gc

    gc.disable()  # so short a life is not worth collecting its garbage
    # msgspec loads `typing_extensions` where it is installed, and needs nothing of it: a tenth of all the time here.
    sys.modules.setdefault("typing_extensions", None)  # pyright: ignore[reportArgumentType]
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    if sys.flags.no_site:
        from importlib import import_module

        try:
            import_module("msgspec")  # it usually lies next to this file, and then no other folder is needed
        except ModuleNotFoundError:
            import site

            site.main()


def _permission(host: str, name: str, event: dict[str, Any]) -> dict[str, Any]:
    """Return the answer that permits a call of our own tool, and of no other; else nothing."""
    if host != "claude-code" or name != "PreToolUse" or not is_own_call(host, event):
        return {}
    said = {"permissionDecision": "allow", "permissionDecisionReason": "Punchlist's own list"}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **said}}


def is_own_call(host: str, event: Mapping[str, Any]) -> bool:
    """True for an event about a call of our own tool.

    Claude Code says whose server it is, older versions of it and other hosts only its name. A server of a project that
    takes our name there is a program that the person let run already.
    """
    tool = str(event.get("tool_name", ""))
    if host != "claude-code":
        return tool.startswith("mcp__punchlist__")
    server = _as_object(event.get("mcp_server", {"name": OWN_SERVER, "source": "plugin"})) or {}
    is_ours = server.get("name") == OWN_SERVER and server.get("source") == "plugin"
    return is_ours and tool.startswith(_OWN_TOOLS)


# Events as lines.


def make_line(host: str, event: dict[str, Any]) -> bytes:
    """Return an event as a line of the inbox, with the id by which it is known from now on."""
    head = {
        "v": 1,
        "id": os.urandom(12).hex(),
        "host": host,
        "at": time.time(),
        "process": mark_process(find_host()),
        # Whether a person sits at the agent, as Claude Code tells its hooks; None if nothing is said.
        "attended": {"0": False, "1": True}.get(os.environ.get("CLAUDE_CODE_SESSION_ATTENDED", "")),
    }
    prompt = event.get("prompt")
    if isinstance(prompt, str) and not prompt.startswith(TASK_NOTIFICATION):
        event = {**event, "prompt": prompt[:_LONGEST_PROMPT]}
    line = _dump({**head, "event": event})
    if len(line) > LONGEST_TEXT:
        line = _dump({**head, "event": _shorten(event, 0)})
    if len(line) > LONGEST_LINE:
        event = {key: _as_text(value) if key.startswith("tool_") else value for key, value in event.items()}
        line = _dump({**head, "event": _shorten(event, 0)})
    if len(line) > LONGEST_LINE:
        event = {key: value[:500] for key, value in event.items() if isinstance(value, str)}
        line = _dump({**head, "event": dict(list(event.items())[:50])})
    return line


def _dump(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _shorten(value: Any, depth: int) -> Any:
    """Return a value with head and tail of its long texts, and without what is nested too deeply."""
    if isinstance(value, str):
        half = LONGEST_TEXT // 2
        return value if len(value) <= LONGEST_TEXT else value[:half] + _CUT + value[-half:]
    if depth == _DEEPEST:
        return None
    fields = _as_object(value)
    if fields is not None:
        return {key: _shorten(each, depth + 1) for key, each in fields.items()}
    if isinstance(value, list):
        return [_shorten(each, depth + 1) for each in value]  # pyright: ignore[reportUnknownVariableType]
    return value


# The files next to the board. Another user, or a project, may have put something else there.


def inbox_path(board: str) -> str:
    return board + ".inbox"


def log_path(board: str) -> str:
    return board + ".hooks.log"


def open_private(path: str, flags: int) -> int:
    """Open or create a file of our own, and only that: no link, no FIFO, no file of another user, not shared."""
    flags |= os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    handle = os.open(path, flags, 0o600)
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_nlink > 1:
        os.close(handle)
        raise OSError(f"`{os.path.basename(path)}` is not a file of our own")
    return handle


def lock_inbox(board: str) -> int:
    """Open the inbox and lock it; return its handle. Closing it releases the lock."""
    path = inbox_path(board)
    while True:
        handle = open_private(path, os.O_RDWR | os.O_APPEND)
        fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            if os.path.samestat(os.fstat(handle), os.lstat(path)):
                return handle
        except FileNotFoundError:
            pass
        os.close(handle)  # it was ingested and deleted while we waited


def append_line(board: str, line: bytes) -> None:
    """Append a line to the inbox, which begins with a line that names its generation."""
    handle = lock_inbox(board)
    try:
        size = os.fstat(handle).st_size
        if size and b"\n" not in os.pread(handle, 4096, 0):  # not even its first line was written
            os.ftruncate(handle, 0)
            size = 0
        if size and os.pread(handle, 1, size - 1) != b"\n":  # a writer was killed in the middle of its line
            line = b"\n" + line
        if size == 0:
            line = b'{"inbox":1,"generation":"' + os.urandom(12).hex().encode() + b'"}\n' + line
        while line:
            line = line[os.write(handle, line) :]
    finally:
        os.close(handle)


def log_error(board: str, problem: str, *, once: bool = False) -> None:
    """Append a fault to the log that `punchlist doctor` reads, with `once` unless the last line has it. Never raise."""
    try:
        path = log_path(board)
        handle = open_private(path, os.O_RDWR | os.O_APPEND)
        try:
            size = os.fstat(handle).st_size
            end = f'"problem":{json.dumps(problem[:500])}}}\n'.encode()
            if once and os.pread(handle, len(end), max(0, size - len(end))) == end:
                return
            if size > _LONGEST_LOG:
                os.replace(path, path + ".1")
            os.write(handle, _dump({"at": time.time(), "problem": problem[:500]}))
        finally:
            os.close(handle)
    except OSError:
        pass


# The socket of a running `punchlist mcp`.


def socket_folder(board: str) -> str:
    """Return the folder for the sockets of a board: next to it, or a short one where that would be too long."""
    folder = board + ".run"
    if len(os.fsencode(folder)) + len("/4194304.4194304.sock") <= _LONGEST_SOCKET:
        return folder
    import hashlib

    return f"/tmp/punchlist-{os.geteuid()}-{hashlib.blake2b(os.fsencode(board), digest_size=8).hexdigest()}"


def is_private_folder(folder: str) -> bool:
    """True if a folder is there, is no link, and only we can write to it and read it."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def find_host() -> int:
    """Return the process id of the agent: what it says itself, else our parent."""
    said = os.environ.get("CLAUDE_PID", "")
    return int(said) if said.isascii() and said.isdigit() and len(said) < 10 else os.getppid()


def mark_process(pid: int) -> str:
    """Return a process by its id, its start, and the boot and the pid namespace in which it has that id.

    Empty if there is none. Where the system does not show processes, the id alone is known.
    """
    if not os.path.exists("/proc/self/stat"):
        return f"{pid} - - -"
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            start = file.read(4096).rpartition(b")")[2].split()[19].decode()
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read(64).strip()
        return f"{pid} {start} {boot} {os.readlink('/proc/self/ns/pid')}"
    except (OSError, IndexError):
        return ""


def _ancestors(*others: int) -> Iterator[int]:
    """Yield the ids of the processes that may be the agent, the likeliest first, then others."""
    yield from (find_host(), *_parents(), *others)


def _parents() -> Iterator[int]:
    pid = os.getppid()
    for _ in range(_ANCESTORS):
        yield pid
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return
        if pid <= 1:
            return


def ask_server(board: str, line: bytes, seconds: float) -> dict[str, Any] | None:
    """Hand a line to the `punchlist mcp` of this agent, else to `punchlist serve`; return the reply, None for none."""
    ends = time.monotonic() + seconds
    for path in _find_sockets(board, _ancestors(ANY_HOST)):
        reply = _exchange(path, line, ends)
        if reply is not None:
            return reply
    return None


def _find_sockets(board: str, hosts: Iterable[int]) -> Iterator[str]:
    """Yield the sockets of the processes that serve the hooks of these agents, in this order."""
    folder = socket_folder(board)
    if not is_private_folder(folder):
        return
    names = [name for name in os.listdir(folder) if name.endswith(".sock")]
    if not names:
        return
    by_host: dict[str, list[str]] = {}
    for name in sorted(names):
        by_host.setdefault(name.partition(".")[0], []).append(name)
    for pid in dict.fromkeys(hosts):
        for name in by_host.get(str(pid), ()):
            yield os.path.join(folder, name)


def _exchange(path: str, line: bytes, ends: float) -> dict[str, Any] | None:
    """Send a line to a socket and return the reply, an object; None without one, whatever the reason."""
    import _socket  # `socket` around it takes as long to import as all the rest

    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        server.settimeout(max(0.01, ends - time.monotonic()))
        try:
            server.connect(path)
        except ConnectionRefusedError:  # left by a process that was killed
            os.unlink(path)
            return None
        sent = 0
        while sent < len(line):
            server.settimeout(max(0.01, ends - time.monotonic()))
            sent += server.send(line[sent:])
        reply = b""
        while not reply.endswith(b"\n"):
            server.settimeout(max(0.01, ends - time.monotonic()))
            part = server.recv(65536)
            if not part or len(reply) > _LONGEST_REPLY:
                return None
            reply += part
        return _as_object(json.loads(reply))
    except (OSError, ValueError):
        return None
    finally:
        server.close()


def wake_monitor(board: str, host_pid: int, text: str) -> bool:
    """Have the `punchlist mcp` of an agent send a line to its monitor; True if it did."""
    line = _dump({"wake": text})
    ends = time.monotonic() + SILENT_SECONDS
    return any((_exchange(path, line, ends) or {}).get("sent") is True for path in _find_sockets(board, (host_pid,)))


# The monitor of the plugin for Claude Code: each line on its standard output begins a turn of an idle session.

MONITOR_LINE = b'{"monitor":1}\n'
"""The line by which a connection is a monitor's: nothing else is sent on it, and it stays open."""

_LOOK_SECONDS = 5.0
"""A monitor looks so often for its parent, and for a server that it can listen to."""


def run_monitor(board: str) -> NoReturn:
    """Print each line that the `punchlist mcp` of this agent sends, until the agent is gone.

    It must not end before, whatever goes wrong: the end of a monitor begins a turn of the model, too.
    """
    parent, pause = os.getppid(), 0.2
    while _has_parent(parent):
        try:
            for path in _find_sockets(board, _ancestors()):
                _print_lines(path, parent)
                pause = 0.2
        except BrokenPipeError:
            break  # nobody reads what it prints: the agent is gone
        except Exception as error:
            log_error(board, f"the monitor met a fault: {type(error).__name__}: {error}")
            pause = _LOOK_SECONDS
        time.sleep(pause)
        pause = min(_LOOK_SECONDS, 1.5 * pause)
    os._exit(0)


def _has_parent(parent: int) -> bool:
    """True while our parent is the same, and the agent is there."""
    try:
        os.kill(find_host(), 0)
    except OSError:
        return False
    return os.getppid() == parent


def _print_lines(path: str, parent: int) -> None:
    """Print the lines of one server until it closes the connection, or the parent is gone."""
    import _socket

    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        server.settimeout(_LOOK_SECONDS)
        try:
            server.connect(path)
            server.send(MONITOR_LINE)
        except OSError:
            return
        rest = b""
        while _has_parent(parent):
            try:
                part = server.recv(65536)
            except TimeoutError:
                continue
            except OSError:
                return
            if not part:
                return
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                os.write(1, line + b"\n")
    finally:
        server.close()


if __name__ == "__main__":
    main()
