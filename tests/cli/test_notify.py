"""`punchlist notify`: the command tells what agents of this machine do, on a terminal and by the settings."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from punchlist import Board
from tests.cli.conftest import Run
from tests.cli.terminals import PATIENCE, Terminal, open_terminal

ESCAPES = "\x1b]0;owned\x07\x1b[31mred\u202e"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(tmp_path / "config.toml"))
    return tmp_path


class Claude:
    """A process, and what Claude Code would write about it."""

    def __init__(self, home: Path, session: str) -> None:
        self.process = subprocess.Popen(["sleep", "300"])
        self._session = session
        self._file = home / ".claude" / "sessions" / f"{self.process.pid}.json"
        self._file.parent.mkdir(parents=True, exist_ok=True)
        (home / "shop" / ".git").mkdir(parents=True, exist_ok=True)
        self._cwd = str(home / "shop")

    def set(self, status: str, **fields: Any) -> None:
        ticks = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[19]
        at = int(datetime.now(UTC).timestamp() * 1000)
        told = {"pid": self.process.pid, "sessionId": self._session, "cwd": self._cwd, "procStart": ticks}
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps({**told, "status": status, "statusUpdatedAt": at, **fields}))
        part.rename(self._file)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def claude(home: Path) -> Iterator[Claude]:
    with ExitStack() as stack:
        made = Claude(home, "s-1")
        stack.callback(made.end)
        yield made


def wait_for_bytes(terminal: Terminal, text: str) -> None:
    ends = time.monotonic() + PATIENCE
    while text.encode() not in terminal.shown:
        assert time.monotonic() < ends, terminal.shown
        terminal.read(0.5)


def wait_until_seen(board: Board, state: str) -> None:
    """Wait until a program has seen an agent in this state."""
    ends = time.monotonic() + PATIENCE
    while True:
        memory = board.store.read(lambda tx: tx.notices.load()).memory
        if memory is not None and any(seen.state == state for seen in memory.agents.values()):
            return
        assert time.monotonic() < ends
        time.sleep(0.05)


def test_a_terminal_shows_a_line_and_rings(claude: Claude, board: Board) -> None:
    claude.set("busy")
    with open_terminal(100, 30, "notify", "--no-watch") as terminal:
        wait_for_bytes(terminal, "1 agent now. You are told by a line here, bell, osc9.")
        wait_for_bytes(terminal, "notify --test")
        wait_until_seen(board, "busy")
        claude.set("waiting", waitingFor=f"permission {ESCAPES}prompt")
        wait_for_bytes(terminal, "shop · claude s-1 waits on you\x1b[0m: permission")
        wait_for_bytes(terminal, "\x1b]9;Punchlist: shop · claude s-1 waits on you: permission")
        claude.set("busy")
        wait_until_seen(board, "busy")
        claude.end()
        wait_for_bytes(terminal, "shop · claude s-1 ended")
    assert b"owned\x07" not in terminal.shown.replace(b"\x1b]9;Punchlist", b"")
    assert b"\x1b[31mred" not in terminal.shown
    assert "\u202e".encode() not in terminal.shown


def test_the_first_line_counts_those_who_wait_already(claude: Claude) -> None:
    claude.set("waiting", waitingFor="input needed")
    with open_terminal(100, 30, "notify", "--no-watch") as terminal:
        wait_for_bytes(terminal, "1 agent now, 1 of them waiting on you. You are told by a line here")


def test_two_programs_tell_each_fact_once_and_a_restart_repeats_none(home: Path, claude: Claude, board: Board) -> None:
    log = home / "log"
    (home / "config.toml").write_text(f"[notify]\nterminal = []\ncommand = ['tee', '-a', '{log}']\n")
    claude.set("busy")
    command = [sys.executable, "-m", "punchlist", "notify", "--no-watch", "--json"]
    with ExitStack() as stack:

        def start() -> "subprocess.Popen[bytes]":
            program = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            stack.callback(lambda: (program.kill(), program.wait()))
            return program

        def wait_for(count: int) -> None:
            ends = time.monotonic() + PATIENCE
            while not log.exists() or log.read_text().count('"kind"') < count:
                assert time.monotonic() < ends
                time.sleep(0.05)

        programs = [start(), start()]
        wait_until_seen(board, "busy")
        claude.set("waiting", waitingFor="permission prompt")
        wait_for(1)
        claude.set("busy")
        for program in programs:
            program.terminate()
            program.wait()
        start()
        # Each fact of the second session comes after whatever would repeat the first.
        second = Claude(home, "s-2")
        stack.callback(second.end)
        second.set("waiting", waitingFor="input needed")
        wait_for(2)
    facts = [json.loads(line) for line in log.read_text().replace("}{", "}\n{").splitlines()]
    assert [(fact["kind"], fact["session"]) for fact in facts] == [("waits", "s-1"), ("waits", "s-2")]


def test_a_fact_that_was_held_in_quiet_hours_is_printed_once(home: Path, claude: Claude, board: Board) -> None:
    log = home / "log"
    (home / "config.toml").write_text(f"[notify]\nterminal = []\ncommand = ['tee', '-a', '{log}']\n")
    now = datetime.now(UTC).astimezone()
    hours = f"{now - timedelta(hours=1):%H:%M}-{now + timedelta(hours=1):%H:%M}"
    claude.set("busy")
    with ExitStack() as stack:
        printed = stack.enter_context((home / "printed").open("w+"))

        def start(*words: str) -> "subprocess.Popen[bytes]":
            command = [sys.executable, "-m", "punchlist", "notify", "--no-watch", "--json", *words]
            program = subprocess.Popen(command, stdout=printed)
            stack.callback(lambda: (program.kill(), program.wait()))
            return program

        def wait_for(file: Path, text: str) -> None:
            ends = time.monotonic() + PATIENCE
            while not file.exists() or text not in file.read_text():
                assert time.monotonic() < ends
                time.sleep(0.05)

        quiet = start("--quiet", hours)
        wait_until_seen(board, "busy")
        claude.set("waiting", waitingFor="one")
        wait_for(home / "printed", "one")
        quiet.terminate()
        quiet.wait()
        assert not log.exists()
        start()
        wait_for(log, "one")
        claude.set("busy")
        wait_until_seen(board, "busy")
        claude.set("waiting", waitingFor="two")
        wait_for(home / "printed", "two")
    facts = [json.loads(line) for line in (home / "printed").read_text().splitlines()]
    assert [fact["text"] for fact in facts] == ["one", "two"]


def test_a_test_tries_every_way_and_fails_if_one_does(home: Path, run: Run) -> None:
    (home / "config.toml").write_text(
        f"[notify]\ncommand = ['tee', '{home / 'out'}']\n[notify.webhook]\nurl = 'http://127.0.0.1:9/secret'\n"
    )
    ran = run("notify", "--test")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.splitlines() == ["command tee: sent", "webhook http://127.0.0.1: Connection refused"]
    assert json.loads((home / "out").read_text())["title"] == "Punchlist can reach you"


def test_flags_are_above_the_settings(home: Path, run: Run) -> None:
    (home / "config.toml").write_text("[notify.webhook]\nurl = 'http://127.0.0.1:9/secret'\ntoken = 't'\n")
    ran = run("notify", "--test", "--webhook", "http://localhost:9/other", "--ntfy", "http://localhost:9/topic")
    assert [line.partition(":")[0] for line in ran.out.splitlines()] == ["ntfy http", "webhook http"]
    assert "localhost" in ran.out
    assert "topic" not in ran.out
    assert "other" not in ran.out


def test_without_any_way_a_test_says_so(run: Run) -> None:
    ran = run("notify", "--test")
    assert ran.code == 2
    assert "No way to tell you anything is set" in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--facts", "waits,blue"), "`blue` is none of waits, finished, stalled, red"),
        (("--quiet", "22-7"), "22:00-07:00"),
        (("--webhook", "ftp://host/secret"), "use an address with http:// or https://"),
    ],
)
def test_what_cannot_be_meant_is_refused(run: Run, words: tuple[str, ...], said: str) -> None:
    ran = run("notify", *words)
    assert ran.code == 2
    assert said in ran.err
    assert "secret" not in ran.err


def test_an_unknown_key_is_refused_with_its_name(home: Path, run: Run) -> None:
    (home / "config.toml").write_text("[notify]\nsound = true\n")
    ran = run("notify", "--test")
    assert ran.code == 2
    assert "notify.sound" in ran.err


def test_nothing_of_an_address_is_in_the_environment_of_a_command(home: Path, run: Run) -> None:
    out = home / "out"
    (home / "config.toml").write_text(
        f"[notify]\ncommand = ['sh', '-c', 'env > {out}']\n[notify.ntfy]\nurl = 'http://127.0.0.1:9/topic-secret'\n"
    )
    run("notify", "--test")
    assert "topic-secret" not in out.read_text()
    assert f"PUNCHLIST_NOTICE_TITLE=Punchlist can reach you{os.linesep}" in out.read_text()
