"""`punchlist serve` as a process: in the foreground and the background, its record, its end, and what it prints."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from punchlist.cli import main
from punchlist.server.run_files import ServerRecord, find_running, load_secret, log_path, stop_running
from punchlist.store import store_path

pytestmark = pytest.mark.usefixtures("person")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A board of its own; its server is stopped at the end."""
    board = str(tmp_path / "board.db")
    monkeypatch.setenv("PUNCHLIST_DB", board)
    yield board
    stop_running(board)


def fetch(url: str, headers: dict[str, str] | None = None) -> httpx.Response:
    return httpx.get(url, headers=headers, timeout=120)


def start(*words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "punchlist", "serve", "--port", "0", "--no-watch", *words]
    return subprocess.Popen(command, stdin=sys.stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def read_link(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    found = re.search(r"http://\S+", server.stdout.readline())
    assert found is not None
    return found[0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_quietly_with_streams_open(path: str, number: signal.Signals):
    with start() as server:
        link = read_link(server)
        with httpx.Client(timeout=120) as client:
            assert client.get(link).status_code == 303
            with client.stream("GET", f"{link.partition('?')[0]}api/v1/events/stream") as stream:
                assert stream.status_code == 200
                server.send_signal(number)
                assert list(stream.iter_lines())[:1] == ["retry: 1000"]
        assert server.wait(120) == 0
        assert server.stderr is not None
        assert server.stderr.read() == ""
    assert find_running(path) is None


def test_a_board_has_one_server_and_asking_again_prints_its_link(path: str, capsys: pytest.CaptureFixture[str]):
    assert main(["serve", "--background", "--port", "0", "--no-watch"]) == 0
    link = re.findall(r"http://\S+", capsys.readouterr().out)[0]
    assert fetch(link).status_code == 303
    for words in (["serve"], ["serve", "--background"], ["serve", "--status"]):
        assert main(words) == 0
        assert link in capsys.readouterr().out
    assert main(["serve", "--port", "9"]) == 1
    assert main(["serve", "--stop"]) == 0
    assert main(["serve", "--status"]) == 1
    with pytest.raises(httpx.ConnectError):
        fetch(link)


@pytest.mark.parametrize("is_agent", [True, False])
def test_no_agent_and_no_script_is_shown_the_owners_token(path: str, is_agent: bool):
    """With the real command: by the server itself, when it is started in the background, and by `--status`."""
    stdin = sys.stdin if is_agent else subprocess.DEVNULL
    environment = {**os.environ, "CLAUDECODE": "1" if is_agent else ""}
    why = "CLAUDECODE is set, so Claude Code runs this command" if is_agent else "stdin is no terminal"
    for words in (["--background", "--port", "0", "--no-watch"], ["--background"], ["--status"], []):
        command = [sys.executable, "-m", "punchlist", "serve", *words]
        done = subprocess.run(command, stdin=stdin, env=environment, capture_output=True, text=True, check=True)
        first, second = done.stdout.splitlines()[:2]
        assert re.fullmatch(r"Punchlist is at http://127.0.0.1:\d+/", first)
        assert second == f"Its token is not shown: {why}. `punchlist serve --status` in your own terminal shows it."
        assert load_secret(path) not in done.stdout + done.stderr


def test_a_deleted_token_counts_until_the_server_starts_again(path: str, capsys: pytest.CaptureFixture[str]):
    assert main(["serve", "--background", "--port", "0", "--no-watch"]) == 0
    first = re.findall(r"http://\S+", capsys.readouterr().out)[0]
    os.remove(f"{path}.token")
    for words in (["serve", "--status"], ["serve"], ["serve", "--background"]):
        assert main(words) == 0
        assert "token=" not in capsys.readouterr().out
    assert not os.path.exists(f"{path}.token")
    assert fetch(first).status_code == 303
    stop_running(path)
    assert main(["serve", "--background", "--port", "0", "--no-watch"]) == 0
    second = re.findall(r"http://\S+", capsys.readouterr().out)[0]
    assert fetch(second).status_code == 303
    address, _, secret = second.partition("?token=")
    assert fetch(f"{address}?token={first.partition('?token=')[2]}").status_code == 401
    assert secret not in first


def test_the_folder_of_the_first_board_is_made_for_its_owner_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PUNCHLIST_DB", raising=False)
    folder = Path(store_path(None)).parent
    assert not folder.exists()
    try:
        assert main(["serve", "--background", "--port", "0", "--no-watch"]) == 0
    finally:
        assert main(["serve", "--stop"]) == 0
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_look_at_the_record_does_not_stop_a_start(path: str):
    look = "import sys, punchlist.server.run_files as runs\nprint(flush=True)\nwhile 1: runs.find_running(sys.argv[1])"
    with subprocess.Popen([sys.executable, "-c", look, path], stdout=subprocess.PIPE) as looker:
        assert looker.stdout is not None
        looker.stdout.readline()
        claims: list[bool] = []
        for _ in range(2000):
            with ServerRecord(path) as record:
                claims.append(record.claim())
        looker.kill()
    assert all(claims)


def test_the_token_is_neither_in_the_log_nor_in_the_list_of_processes(path: str):
    assert main(["serve", "--background", "--port", "0", "--no-watch"]) == 0
    running, secret = find_running(path), load_secret(path)
    assert running is not None
    fetch(running.make_link(path))
    fetch(f"{running.origin}/?token=wrong{secret}")
    fetch(f"{running.origin}/nothing?token={secret}", headers={"Authorization": f"Bearer {secret}"})
    stop_running(path)
    assert secret not in Path(log_path(path)).read_text()
    words = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert secret not in words


def test_a_server_that_cannot_start_says_why(path: str, capsys: pytest.CaptureFixture[str]):
    with httpx.Client():
        assert main(["serve", "--background", "--port", "0", "--host", "203.0.113.1"]) == 1
    assert "token create" in capsys.readouterr().err


def test_a_killed_server_leaves_nothing_that_stops_the_next(path: str):
    with start() as server:
        first = read_link(server)
        server.kill()
    with start() as server:
        assert read_link(server).partition("?")[2] == first.partition("?")[2]
        os.kill(server.pid, signal.SIGTERM)


def test_the_unit_names_the_board_and_no_secret(path: str, capsys: pytest.CaptureFixture[str]):
    secret = load_secret(path)
    assert main(["serve", "--systemd", "--port", "9000"]) == 0
    unit = capsys.readouterr().out
    assert f"--db {path} serve --no-link --port 9000" in unit
    assert secret not in unit
