"""Which agents run on this machine and what they do: from files and processes, the daemon's socket, and hooks."""

import base64
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from punchlist import Board
from punchlist.core.events import Draft
from punchlist.core.presence import Presence, find_missing, join_roads
from punchlist.presence.roster import load_roster
from punchlist.presence.running_agents import PresenceLog, find_presence, record_states
from punchlist.store import Transaction
from punchlist.store.hosts import Conversation
from punchlist_hook import mark_process

ESCAPES = "\x1b]0;owned\x07\x1b[31mred\u202e"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, with a short path: that of a unix socket is limited to 108 bytes."""
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    with Board.open(tmp_path / "board.db") as board:
        yield board


@contextmanager
def start_processes() -> Generator[Callable[..., subprocess.Popen[bytes]]]:
    """Start processes that end with the context."""
    with ExitStack() as stack:

        def run(*argv: str, stdin: Any = None, cwd: Path | None = None) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(argv or ("sleep", "300"), stdin=stdin, cwd=cwd)
            stack.callback(lambda: (process.kill(), process.wait()))
            return process

        yield run


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start processes that end with the test."""
    with start_processes() as run:
        yield run


Start = Callable[..., subprocess.Popen[bytes]]


def started_at(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def write_session(home: Path, pid: int, session: str = "c-1", status: str = "busy", **fields: Any) -> Path:
    """Write what Claude Code writes about a process."""
    file = home / ".claude" / "sessions" / f"{pid}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    now = milliseconds(datetime.now(UTC))
    found = {"pid": pid, "sessionId": session, "cwd": str(home / "shop"), "startedAt": now, "status": status}
    times = {"procStart": started_at(pid), "statusUpdatedAt": now, "name": "shop-d2", "nameSource": "derived"}
    file.write_text(json.dumps(found | times | fields))
    return file


def write_transcript(home: Path, session: str, *records: dict[str, Any]) -> Path:
    folder = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(home / "shop"))
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{session}.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


def use(tool: str, args: dict[str, Any], id: str = "t-1") -> dict[str, Any]:
    block = {"type": "tool_use", "id": id, "name": tool, "input": args}
    return {"type": "assistant", "message": {"role": "assistant", "content": [block]}}


def result(id: str = "t-1") -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": id, "content": "ok"}
    return {"type": "user", "message": {"role": "user", "content": [block]}}


def find_one(board: Board | None = None) -> Presence:
    (found,) = find_presence(board)
    return found


# Claude Code.


@pytest.mark.parametrize(
    ("status", "state"), [("compacting", "busy"), (["busy"], "busy"), ("shell", "idle"), (None, "idle")]
)
def test_a_state_that_we_do_not_know_is_one_of_work(home: Path, start: Start, status: Any, state: str):
    write_session(home, start().pid, status=status)
    assert find_one().state == state


@pytest.mark.parametrize("status", ["busy", "waiting", "idle"])
def test_a_running_claude_has_the_state_of_its_file(home: Path, start: Start, status: str):
    process = start()
    at = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=3)
    write_session(home, process.pid, status=status, waitingFor="input needed", statusUpdatedAt=milliseconds(at))
    found = find_one()
    assert (found.host, found.session, found.state, found.since) == ("claude-code", "c-1", status, at)
    assert (found.project, found.pid) == (str(home / "shop"), process.pid)
    assert found.waits_for == ("input needed" if status == "waiting" else "")


def test_another_home_is_looked_at_where_the_environment_names_it(
    home: Path, start: Start, monkeypatch: pytest.MonkeyPatch
):
    write_session(home, start().pid)
    (home / ".claude").rename(home / "elsewhere")
    assert find_presence() == []
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "elsewhere"))
    assert find_one().session == "c-1"


def test_a_killed_process_is_gone(home: Path, start: Start):
    process = start()
    write_session(home, process.pid, status="waiting", waitingFor="permission prompt")
    process.kill()
    assert wait_for_state("gone").waits_for == ""  # a zombie until it is waited for
    process.wait()
    assert find_one().state == "gone"


def wait_for_state(state: str) -> Presence:
    while find_one().state != state:
        time.sleep(0.01)
    return find_one()


def test_another_process_with_the_same_id_is_not_the_agent(home: Path, start: Start):
    write_session(home, start().pid, procStart="1")
    assert find_one().state == "gone"


def test_a_process_that_started_after_the_agent_was_seen_is_not_the_agent(home: Path, start: Start):
    long_ago = milliseconds(datetime.now(UTC) - timedelta(hours=1))
    write_session(home, start().pid, procStart=None, statusUpdatedAt=long_ago)
    assert find_one().state == "gone"


def test_an_agent_that_is_gone_for_long_is_not_shown(home: Path, start: Start):
    write_session(home, start().pid, procStart="1", statusUpdatedAt=milliseconds(datetime.now(UTC) - timedelta(days=2)))
    assert find_presence() == []


def test_the_question_itself_is_what_an_agent_waits_for(home: Path, start: Start):
    write_session(home, start().pid, status="waiting", waitingFor="input needed")
    questions = [{"question": "Which region: eu or us?", "header": "Region"}]
    write_transcript(
        home, "c-1", use("Bash", {"command": "ls"}, "t-0"), use("AskUserQuestion", {"questions": questions})
    )
    assert find_one().waits_for == "Which region: eu or us?"


def test_a_permission_prompt_names_the_call_without_its_secrets(home: Path, start: Start):
    write_session(home, start().pid, status="waiting", waitingFor="permission prompt")
    write_transcript(home, "c-1", use("Bash", {"command": "deploy --token ghp_0123456789abcdefghijABCDEFGHIJ012345"}))
    found = find_one().waits_for
    assert found.startswith("permission: deploy --token")
    assert "ghp_0123456789" not in found


def test_the_user_says_what_is_secret_and_how_much_of_a_call_is_shown(
    home: Path, start: Start, board: Board, monkeypatch: pytest.MonkeyPatch
):
    settings = home / "config.toml"
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(settings))
    settings.write_text('redact = ["ACME-[0-9]+"]\n')
    write_session(home, start().pid, status="waiting", waitingFor="permission prompt", name="ACME-1", nameSource="user")
    write_transcript(home, "c-1", use("Bash", {"command": "deploy --key ACME-4242"}))
    PresenceLog(board).look()
    found = find_one()
    assert (found.waits_for, found.title) == ("permission: deploy --key ***", "***")
    states = [event.data for event in board.events() if event.kind == "agent.state"]
    assert [state["waits_for"] for state in states] == [found.waits_for]
    settings.write_text("previews = 0\n")
    assert find_one().waits_for == "permission: Bash"
    settings.write_text("previews = 9\n")
    assert find_one().doing == "deploy -…"


def test_a_busy_agent_shows_its_last_call(home: Path, start: Start):
    write_session(home, start().pid)
    write_transcript(
        home, "c-1", use("Bash", {"command": "ls"}), result(), use("Edit", {"file_path": "/x/README.md"}, "t-2")
    )
    assert find_one().doing == "Edit README.md"


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'{"pid": "x"}', b"\xff\xfe", b'{"pid":' * 10_000, b'{"pid": %d}', b"9" * 200_000],
)
def test_files_that_say_nothing_are_passed_over(home: Path, start: Start, body: bytes):
    pid = start().pid
    file = write_session(home, pid)
    file.write_bytes(body.replace(b"%d", str(pid).encode()))
    assert find_presence() == []


def test_links_pipes_and_files_of_other_processes_are_passed_over(home: Path, start: Start):
    pid = start().pid
    file = write_session(home, pid)
    outside = home / "outside.json"
    file.rename(outside)
    file.symlink_to(outside)
    folder = file.parent
    os.mkfifo(folder / "77.json")
    shutil.copy(outside, folder / "78.json")  # its name says another process
    shutil.copy(outside, folder / f"{pid}.json.tmp")
    assert find_presence() == []


def test_transcripts_outside_the_home_are_not_read(home: Path, start: Start):
    write_session(home, start().pid, status="waiting", waitingFor="permission prompt")
    folder = write_transcript(home, "c-1", use("Bash", {"command": "ls"})).parent
    folder.rename(home / "outside")
    folder.symlink_to(home / "outside")
    assert (find_one().waits_for, find_one().doing) == ("permission prompt", "")


def test_escapes_reach_no_text(home: Path, start: Start):
    waits = {"status": "waiting", "waitingFor": ESCAPES, "name": ESCAPES, "nameSource": "user"}
    folder = home / f"shop{ESCAPES}"
    folder.mkdir()
    write_session(home, start().pid, cwd=str(folder), **waits)
    found = find_one()
    for text in (found.waits_for, found.title, found.project):
        assert text.isprintable()
        assert "red" in text
    write_session(home, start().pid, session=f"c{ESCAPES}")
    assert [one.session for one in find_presence()] == ["c-1"]  # no id has escapes


# Codex.


def write_rollout(home: Path, thread: str, *events: tuple[str, dict[str, Any]], age: timedelta = timedelta()) -> Path:
    folder = home / ".codex" / "sessions" / "2026" / "11" / "16"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"rollout-2026-11-16T10-00-00-{thread}.jsonl"
    meta = {"id": thread, "cwd": str(home / "shop"), "originator": "codex-tui"}
    at = (datetime.now(UTC) - age).isoformat()
    records = [{"type": "session_meta", "payload": meta}]
    records += [{"type": kind, "timestamp": at, "payload": payload} for kind, payload in events]
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    written = time.time() - age.total_seconds()
    os.utime(file, (written, written))
    return file


STARTED = ("event_msg", {"type": "task_started"})
ARGUMENTS = '{"cmd": "pytest -q"}'
CALLED = (
    "response_item",
    {"type": "function_call", "name": "exec_command", "call_id": "call_1", "arguments": ARGUMENTS},
)
ENDED = ("event_msg", {"type": "task_complete"})


def run_codex(home: Path, start: Start, rollout: Path) -> subprocess.Popen[bytes]:
    """Start a process called `codex` that has a rollout open."""
    return run_program(home, start, "codex", rollout)


def run_program(home: Path, start: Start, name: str, opened: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start a process of this name in the project that has a file open."""
    program = home / name
    if not program.exists():
        shutil.copy("/bin/sh", program)
    with opened.open("rb") as file:
        process = start(str(program), "-c", "kill -STOP $$", *words, stdin=file, cwd=home / "shop")
    while Path(f"/proc/{process.pid}/comm").read_text().strip() != name:
        time.sleep(0.001)  # the kernel sets the name a moment after the program is loaded
    return process


def test_codex_is_busy_or_idle_by_the_rollout_that_it_has_open(home: Path, start: Start):
    busy = run_codex(home, start, write_rollout(home, "b-1", STARTED, ENDED, STARTED, CALLED))
    idle = run_codex(home, start, write_rollout(home, "i-1", STARTED, CALLED, ENDED))
    found = {one.session: one for one in find_presence()}
    assert {name: (one.host, one.state, one.pid, one.doing) for name, one in found.items()} == {
        "b-1": ("codex", "busy", busy.pid, "pytest -q"),
        "i-1": ("codex", "idle", idle.pid, ""),
    }
    assert {one.project for one in found.values()} == {str(home / "shop")}


def test_a_codex_that_was_killed_within_a_turn_is_gone_and_one_that_ended_is_not_shown(home: Path, start: Start):
    process = run_codex(home, start, write_rollout(home, "b-1", STARTED, CALLED))
    write_rollout(home, "i-1", STARTED, ENDED)
    write_rollout(home, "old", STARTED, age=timedelta(days=1))
    assert find_one().state == "busy"
    process.kill()
    process.wait()
    assert (find_one().session, find_one().state) == ("b-1", "gone")


def test_a_codex_that_has_been_idle_for_days_is_idle(home: Path, start: Start):
    run_codex(home, start, write_rollout(home, "i-1", STARTED, ENDED, age=timedelta(days=3)))
    assert find_one().state == "idle"


class Daemon(threading.Thread):
    """A stand-in for Codex's daemon: answers each request over a WebSocket, or sends what a test wants."""

    def __init__(self, home: Path, threads: list[dict[str, Any]], raw: bytes | None = None) -> None:
        super().__init__(daemon=True)
        folder = home / ".codex" / "app-server-control"
        folder.mkdir(parents=True)
        self._threads, self._raw = threads, raw
        self._server = socket.socket(socket.AF_UNIX)
        # From within the folder: the path of a test's folder may be too long for a socket.
        before = os.getcwd()
        os.chdir(folder)
        self._server.bind("app-server-control.sock")
        os.chdir(before)
        self._server.listen()
        self.start()

    def run(self) -> None:
        with suppress(OSError):
            while True:
                with self._server.accept()[0] as client, suppress(OSError, ValueError):
                    self._serve(client)

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _serve(self, client: socket.socket) -> None:
        client.recv(4096)
        client.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")
        while (head := client.recv(2)) and len(head) == 2:
            size = head[1] & 127
            if size == 126:
                (size,) = struct.unpack(">H", client.recv(2))
            mask = client.recv(4)
            body = bytes(byte ^ mask[place % 4] for place, byte in enumerate(client.recv(size)))
            if head[0] & 15 == 10:  # the answer to a ping
                continue
            asked = json.loads(body)
            if self._raw is not None:
                client.sendall(self._raw)
            elif "id" in asked:
                self._send(client, {"method": "configWarning", "params": {}})
                self._send(client, {"id": asked["id"], "result": {"data": self._threads}})

    def _send(self, client: socket.socket, value: Any) -> None:
        body = json.dumps(value).encode()
        client.sendall(b"\x89\x02hi")  # a ping in between
        client.sendall(b"\x01" + bytes([5]) + body[:5])  # a message in two frames
        client.sendall(b"\x80\x7e" + struct.pack(">H", len(body) - 5) + body[5:])


@pytest.fixture
def serve(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Daemon]]:
    with ExitStack() as stack:

        def run(threads: list[dict[str, Any]], raw: bytes | None = None) -> Daemon:
            # A short way to the home, for the same reason.
            short = Path(f"/tmp/pl-{base64.b32encode(os.urandom(5)).decode()}")
            short.symlink_to(home / ".codex")
            monkeypatch.setenv("CODEX_HOME", str(short))
            stack.callback(short.unlink)
            daemon = Daemon(home, threads, raw)
            stack.callback(daemon.close)
            return daemon

        yield run


def thread(home: Path, id: str, **fields: Any) -> dict[str, Any]:
    told = {"cwd": str(home / "shop"), "updatedAt": int(time.time()), "preview": "Paint the door", "name": None}
    return {"id": id, "parentThreadId": None, "status": {"type": "idle"}} | told | fields


def test_the_daemon_tells_the_state_of_each_thread(home: Path, serve: Callable[..., Daemon]):
    approval = {"type": "active", "activeFlags": ["waitingOnApproval"]}
    serve(
        [
            thread(home, "t-1", status={"type": "active", "activeFlags": []}),
            thread(home, "t-2", status=approval, name="Shop"),
            thread(home, "t-3"),
            thread(home, "t-4", status={"type": "notLoaded"}),
            thread(home, "t-5", parentThreadId="t-1"),
            {"id": 5},
        ]
    )
    found = {one.session: (one.state, one.waits_for, one.title, one.pid) for one in find_presence()}
    assert found == {
        "t-1": ("busy", "", "Paint the door", os.getpid()),
        "t-2": ("waiting", "approval", "Shop", os.getpid()),
        "t-3": ("idle", "", "Paint the door", os.getpid()),
    }


def test_a_thread_whose_terminal_was_closed_is_gone(home: Path, start: Start, serve: Callable[..., Daemon]):
    began = {"originator": "codex-tui"}
    waiting = {"type": "active", "activeFlags": ["waitingOnApproval"]}
    serve(
        [
            thread(home, "t-1", **began),
            thread(home, "t-2", status=waiting, **began),
            thread(home, "t-3", status={"type": "active", "activeFlags": []}, **began),
            thread(home, "t-4"),
        ]
    )

    def states() -> list[str]:
        return [one.state for one in sorted(find_presence(), key=lambda one: one.session)]

    assert states() == ["gone", "gone", "busy", "idle"]  # the daemon goes on with a turn; another client has the last
    rollout = write_rollout(home, "t-1", STARTED, ENDED)
    terminal = run_codex(home, start, rollout)
    assert states() == ["idle", "gone", "busy", "idle"]
    terminal.kill()
    terminal.wait()
    run_program(home, start, "codex", rollout, "resume")
    assert states() == ["idle", "waiting", "busy", "idle"]  # it may show any of them


def test_the_daemon_and_a_rollout_of_one_thread_are_one_agent(home: Path, start: Start, serve: Callable[..., Daemon]):
    run_codex(home, start, write_rollout(home, "t-1", STARTED, CALLED))
    serve([thread(home, "t-1", status={"type": "active", "activeFlags": ["waitingOnApproval"]})])
    found = find_one()
    assert (found.state, found.waits_for, found.doing) == ("waiting", "approval", "pytest -q")


@pytest.mark.parametrize(
    "raw",
    [b"\x81\x7f" + b"\xff" * 8, b"\x88\x00", b"\x81\x02[]" * 20 + b"\x88\x00", b'\x81\x05{"id"\x88\x00', b""],
    ids=["too much", "closed", "no answer", "half", "silence"],
)
def test_a_daemon_that_does_not_answer_costs_nothing_but_its_threads(
    home: Path, start: Start, serve: Callable[..., Daemon], raw: bytes
):
    write_session(home, start().pid)
    serve([], raw)
    assert find_one().session == "c-1"


def test_a_socket_that_is_no_socket_is_passed_over(home: Path):
    folder = home / ".codex" / "app-server-control"
    folder.mkdir(parents=True)
    (folder / "app-server-control.sock").write_text("no socket")
    assert find_presence() == []


# Hooks, and one agent by two roads.


def tell(board: Board, host: str, id: str, state: Any, pid: int | None, *, event: str = "Stop") -> None:
    """Record what a hook of an attached agent told."""
    at = board.now()

    def work(tx: Transaction) -> None:
        known = tx.hosts.find_conversation(host, id)
        session, since = (id, at) if known is None else (known.session, known.since if known.state == state else at)
        process = "" if pid is None else mark_process(pid)
        tx.hosts.save_conversation(Conversation(host, id, session, "/shop", process, state, event, since, at))

    board.store.transact(work)


def test_hooks_tell_of_agents_that_write_no_state(board: Board, start: Start):
    alive, dead = start(), start()
    tell(board, "gemini", "g-1", "busy", alive.pid)
    tell(board, "gemini", "g-2", "busy", dead.pid)
    tell(board, "opencode", "o-1", "ended", alive.pid)
    dead.kill()
    dead.wait()
    found = {one.session: one.state for one in find_presence(board)}
    assert found == {"g-1": "busy", "g-2": "gone", "o-1": "gone"}


def test_an_agent_seen_by_its_file_and_by_hooks_is_one(home: Path, board: Board, start: Start):
    process = start()
    write_session(home, process.pid, status="waiting", waitingFor="input needed")
    tell(board, "claude-code", "c-1", "busy", process.pid)
    assert (find_one(board).state, find_one(board).waits_for) == ("waiting", "input needed")


def test_a_conversation_that_its_process_left_for_another_is_gone(home: Path, board: Board, start: Start):
    process = start()
    tell(board, "claude-code", "c-0", "idle", process.pid)
    write_session(home, process.pid)
    assert {one.session: one.state for one in find_presence(board)} == {"c-0": "gone", "c-1": "busy"}


def test_a_living_process_counts_more_than_a_dead_one_and_the_host_more_than_hooks():
    seen = Presence(host="h", session="s", state="gone", road="host", title="Door")
    hooks = Presence(host="h", session="s", state="idle", road="hooks", pid=5)
    host = Presence(host="h", session="s", state="busy", road="host")
    (joined,) = join_roads([seen, hooks])
    assert (joined.state, joined.title, joined.pid) == ("idle", "Door", 5)
    (joined,) = join_roads([hooks, host, seen])
    assert joined.state == "busy"


# Events.


def test_each_change_of_state_is_recorded_once(board: Board):
    at = datetime.now(UTC)
    busy = Presence(host="claude-code", session="c-1", state="busy", project="/shop", since=at, pid=7)
    waiting = Presence(host="claude-code", session="c-1", state="waiting", project="/shop", waits_for="Which?")
    stranger = Presence(host="codex", session="t-9", state="gone")
    recorded = [record_states(board, [state, stranger]) for state in (busy, busy, waiting, waiting, busy)]
    assert recorded == [1, 0, 1, 0, 1]
    events = [event for event in board.events() if event.kind == "agent.state"]
    assert [(event.session, event.data["state"], event.data.get("waits_for")) for event in events] == [
        ("c-1", "busy", None),
        ("c-1", "waiting", "Which?"),
        ("c-1", "busy", None),
    ]
    assert (events[0].by, events[0].project, events[0].data["pid"]) == ("claude-code", "/shop", 7)
    board.rebuild_overviews()
    assert record_states(board, [busy]) == 0


def test_an_agent_that_is_not_seen_any_more_is_gone(board: Board):
    at = datetime.now(UTC)
    before = [Presence(host="codex", session=name, state="idle") for name in ("t-1", "t-2")]
    gone = find_missing(before, before[:1], at)
    assert [(one.session, one.state, one.since) for one in gone] == [("t-2", "gone", at)]
    assert (record_states(board, before), record_states(board, gone)) == (2, 1)


def test_a_change_of_state_is_no_news_and_ends_no_turn(board: Board):
    agent = board.agent("main", session="c-1")
    agent.call("todo", {"set": ["paint"], "start": "1"})
    after = board.store.last_seq()
    record_states(board, [Presence(host="claude-code", session="c-1", state="idle")])
    assert board.brief(after).is_empty
    agent.user_turn()
    assert [event.kind for event in board.events()].count("turn.ended") == 1
    record_states(board, [Presence(host="claude-code", session="c-1", state="busy")])
    agent.user_turn()
    assert [event.kind for event in board.events()].count("turn.ended") == 1


def read_states(board: Board) -> list[tuple[str | None, str]]:
    return [(event.session, event.data["state"]) for event in board.events() if event.kind == "agent.state"]


def test_two_processes_that_look_record_each_change_once(home: Path, board: Board, start: Start):
    process = start()
    looks = [PresenceLog(board), PresenceLog(board)]
    for status in ("busy", "waiting", "idle"):
        file = write_session(home, process.pid, status=status)
        for _ in range(2):
            assert [one.look()[0].state for one in looks] == [status, status]
    file.unlink()
    assert [one.look() for one in looks] == [[], []]
    assert read_states(board) == [("c-1", state) for state in ("busy", "waiting", "idle", "gone")]


def test_an_agent_that_ended_while_nobody_looked_is_gone(home: Path, board: Board, start: Start):
    file = write_session(home, start().pid)
    PresenceLog(board).look()
    file.unlink()
    PresenceLog(board).look()
    assert read_states(board) == [("c-1", "busy"), ("c-1", "gone")]


def test_a_look_that_began_before_a_later_one_was_recorded_changes_nothing(board: Board):
    at = board.now()
    idle = Presence(host="codex", session="t-1", state="idle")
    record_states(board, [idle])
    assert record_states(board, [Presence(host="codex", session="t-1", state="busy")], looked_at=at) == 0
    assert record_states(board, [Presence(host="codex", session="t-1", state="busy")], looked_at=board.now()) == 1


def test_of_two_conversations_of_one_session_the_living_one_has_its_state(board: Board):
    gone = Presence(host="claude-code", session="c-1", state="gone", list_session="s-1")
    busy = Presence(host="codex", session="t-1", state="busy", list_session="s-1")
    board.agent("main", session="s-1").call("todo", {"set": ["paint"]})
    assert [record_states(board, states) for states in ([gone, busy], [busy, gone])] == [1, 0]
    assert read_states(board) == [("s-1", "busy")]


# With the board.


def test_an_agent_of_which_only_its_state_is_known_has_no_list(home: Path, board: Board, start: Start):
    file = write_session(home, start().pid)
    look = PresenceLog(board)
    look.look()
    (row,) = load_roster(board).agents
    assert (row.state, row.on_board, row.list_session) == ("busy", False, "")
    file.unlink()
    for _ in range(2):  # before it is recorded, and after
        (row,) = load_roster(board).agents
        assert (row.host, row.state, row.on_board, row.list_session) == ("claude-code", "gone", False, "")
        look.look()


def copy_list(board: Board, host: str, session: str, at: datetime) -> None:
    """Put a list on the board as a watched log tells it."""

    def note(tx: Any) -> None:
        row = tx.add_agent(session, "main", project="/shop", at=at)
        tx.add_events(row, [Draft("agent.copied", {"source": "log", "format": host})], by="main", at=at)

    board.store.transact(note)


def test_watched_agents_without_a_process_are_idle_and_then_unknown(board: Board):
    now = board.now()
    copy_list(board, "hermes", "h-1", now - timedelta(minutes=1))
    copy_list(board, "hermes", "h-2", now - timedelta(hours=1))
    copy_list(board, "hermes", "h-3", now - timedelta(hours=7))
    copy_list(board, "claude-code", "c-1", now)
    found = {row.session: (row.host, row.state, row.list_session) for row in load_roster(board).agents}
    assert found == {
        "h-1": ("hermes", "idle", "h-1"),
        "h-2": ("hermes", "unknown", "h-2"),  # no process of it can be looked up
        "c-1": ("claude-code", "gone", "c-1"),
    }


def test_an_agent_of_the_board_and_its_process_are_one_row(home: Path, board: Board, start: Start):
    process = start()
    write_session(home, process.pid)
    agent = board.agent("main", session="c-1", project=home / "shop")
    agent.call("todo", {"set": ["paint", "dry"], "start": "1"})
    (row,) = load_roster(board).agents
    assert (row.host, row.state, row.pid, row.focus, row.total) == (
        "claude-code",
        "busy",
        process.pid,
        "paint",
        2,
    )


def test_a_conversation_that_continues_a_session_shows_its_list(home: Path, board: Board, start: Start):
    process = start()
    board.agent("main", session="s-1", project=home / "shop").call("todo", {"set": ["paint"], "start": "1"})
    tell(board, "claude-code", "c-1", "busy", process.pid)
    board.store.transact(
        lambda tx: tx.hosts.bind_conversation("claude-code", "c-1", "s-1", project="/shop", at=board.now())
    )
    write_session(home, process.pid)
    (row,) = load_roster(board).agents
    assert (row.session, row.list_session, row.focus) == ("c-1", "s-1", "paint")
