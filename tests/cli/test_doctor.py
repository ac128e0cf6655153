"""`punchlist doctor`: what it looks at, and what it says about it."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import punchlist_hook
from punchlist import Board
from punchlist.cli.doctor import check_file_system, find_lock_holder, find_readers
from punchlist.settings.environment import list_variables
from punchlist.store.sidecars import SidecarLock
from tests.cli.conftest import Run
from tests.store.writers import keep_reading, operation, write_more_than_the_log_may_keep


def _findings(run: Run, *arguments: str) -> dict[str, Any]:
    said = json.loads(run("doctor", "--json", *arguments).out)
    return {finding["name"]: finding for finding in said["findings"]}


@pytest.fixture
def path(run: Run, tmp_path: Path) -> Path:
    run("todo", "append", "one")
    return tmp_path / "data" / "board.db"


@pytest.mark.usefixtures("path")
def test_a_healthy_board_is_well(run: Run):
    ran = run("doctor")
    assert ran.code == 0
    assert ran.out.endswith("All is well.\n")
    found = _findings(run)
    assert found["content"]["text"].startswith("1 session, 1 agent, ")
    assert {"punchlist", "python", "sqlite", "board", "file", "folder", "disk", "lock", "pages"} <= set(found)
    assert {f"${name}" for name in list_variables()} <= set(found)


def test_a_board_that_is_not_there_yet_is_not_made(run: Run, tmp_path: Path):
    assert _findings(run)["board"]["state"] == "info"
    assert not (tmp_path / "data").exists()
    assert _findings(run, "--db", "memory:")["board"]["state"] == "info"


def test_open_permissions_are_wrong_and_the_fix_is_a_command(run: Run, path: Path):
    path.chmod(0o644)
    path.parent.chmod(0o777)
    assert run("doctor").code == 1
    found = _findings(run)
    for name, fix in (("file", f"chmod 600 {path}"), ("folder", f"chmod 700 {path.parent}")):
        assert found[name]["fix"].startswith(fix)
        subprocess.run(["sh", "-c", found[name]["fix"]], check=True, timeout=60)
    assert run("doctor").code == 0


@pytest.mark.parametrize("version", [12, 9_999])
def test_a_board_of_another_schema_is_wrong(run: Run, path: Path, version: int):
    run("todo", "append", "x")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
        connection.commit()
    said = run("doctor")
    assert said.code == 1
    assert f"format {version}" in said.out


def test_damaged_pages_are_found(run: Run, path: Path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    body = bytearray(path.read_bytes())
    body[4096 + 8 : 8192] = b"\xff" * (4096 - 8)
    path.write_bytes(bytes(body))
    ran = run("doctor")
    assert ran.code == 1
    assert "Traceback" not in ran.err


def test_rebuild_makes_the_rows_that_a_brief_reads_anew(run: Run, path: Path):
    run("todo", "start", "1")
    before = json.loads(run("brief", "--json", "--keep").out)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE agents SET activity = x'00'")
        connection.execute("DELETE FROM kept_items")
        connection.commit()
    assert run("doctor", "--rebuild").code == 0
    after = json.loads(run("brief", "--json", "--keep").out)
    assert [item["id"] for item in after["under_way"]] == [item["id"] for item in before["under_way"]] == ["1"]


def test_a_brief_does_not_wait_for_a_process_that_was_stopped_with_the_lock(run: Run, path: Path):
    lock = SidecarLock(f"{path}.lock")
    with Board.open(path), closing(lock), lock.hold():  # an open board, so that its shared memory is there
        assert run("brief").code == 0


def test_a_lock_that_is_held_is_reported_with_its_holder(run: Run, path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("punchlist.cli.doctor._LOCK_SECONDS", 0.01)
    lock = SidecarLock(f"{path}.lock")
    with closing(lock), lock.hold():
        found = _findings(run)["lock"]
    assert found["state"] == "wrong"
    assert str(os.getpid()) in found["text"] or not os.path.exists("/proc/locks")


def test_a_log_that_has_grown_is_reported_with_the_process_that_reads_an_old_state(run: Run, path: Path):
    with Board.open(path) as board:
        operation(board, "one")
        assert "wal" not in _findings(run)
        with keep_reading(path):
            write_more_than_the_log_may_keep(path)
            found = _findings(run)["wal"]
            assert found["state"] == "note"
            assert f"process {os.getpid()} " in found["text"] or not os.path.exists("/proc/locks")
        assert _findings(run)["wal"]["state"] == "ok"


def test_a_process_that_only_has_the_board_open_is_no_reader(path: Path):
    with Board.open(path) as board:
        operation(board, "one")
        assert find_readers(f"{path}-shm") == []
        with keep_reading(path):
            assert find_readers(f"{path}-shm") != [] or not os.path.exists("/proc/locks")


def test_the_holder_is_unknown_where_the_system_does_not_say(path: Path, tmp_path: Path):
    assert find_lock_holder(f"{path}.lock", locks=str(tmp_path / "nothing")) is None


@pytest.mark.parametrize(
    ("mounts", "state"),
    [
        ("/dev/sda / ext4 rw 0 0\n", "ok"),
        ("/dev/sda / ext4 rw 0 0\nserver:/x {} nfs4 rw 0 0\n", "wrong"),
        ("/dev/sda / ext4 rw 0 0\nhost:/x {} fuse.sshfs rw 0 0\n", "wrong"),
        ("/dev/sda / ext4 rw 0 0\ntmpfs {} tmpfs rw 0 0\n", "note"),
        ("server:/x / nfs4 rw 0 0\n/dev/sda {} ext4 rw 0 0\n", "ok"),
        ("/dev/sda / ext4 rw 0 0\nserver:/x {}x nfs4 rw 0 0\n", "ok"),
    ],
)
def test_the_innermost_mount_tells_the_file_system(tmp_path: Path, mounts: str, state: str):
    folder = tmp_path / "with blank"
    folder.mkdir()
    table = tmp_path / "mounts"
    table.write_text(mounts.format(str(os.path.realpath(folder)).replace(" ", "\\040")))
    assert check_file_system(str(folder / "board.db"), str(table)).state == state


def test_without_a_table_of_mounts_the_file_system_is_not_known(tmp_path: Path):
    assert check_file_system("/board.db", str(tmp_path / "nothing")).state == "info"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PUNCHLIST_DURABILITY", "most"),
        ("PUNCHLIST_LEASE", "soon"),
        ("PUNCHLIST_REDACT", "("),
        ("PUNCHLIST_STALL_AFTER", "never"),
        ("PUNCHLIST_TIMER_HORIZON", "a year"),
        ("PUNCHLIST_TODOS", "maybe"),
    ],
)
def test_a_setting_that_nobody_can_use_is_wrong(run: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str):
    assert run("doctor").code == 0
    monkeypatch.setenv(name, value)
    ran = run("doctor")
    assert ran.code == 1
    assert value in ran.out
    assert "1 thing to mend." in ran.out


def test_settings_that_are_not_in_use_take_one_line(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PUNCHLIST_LEASE", "60")
    said = run("doctor").out
    assert "$PUNCHLIST_LEASE" in said
    assert "$GOOSE_TODO_MAX_CHARS" not in said
    assert "more are not set" in said


@pytest.mark.parametrize("name", ["PUNCHLIST_CLAUDE_TODOS", "PUNCHLIST_CLAUDE_TASKS"])
def test_of_a_variable_that_is_no_longer_read_it_says_what_replaces_it(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
):
    assert f"${name}" not in _findings(run)
    monkeypatch.setenv(name, str(tmp_path / "files"))
    found = _findings(run)[f"${name}"]
    assert (found["state"], found["text"]) == ("note", "it is set, and no longer read")
    assert found["fix"].startswith("`punchlist watch` shows these")
    assert run("todo", "append", "--mine", "Saw").code == 0
    assert not (tmp_path / "files").exists()


@pytest.mark.parametrize("kind", ["folder", "pipe", "text", "bytes", "database"])
def test_a_path_that_is_no_board_is_called_so_and_left_alone(run: Run, tmp_path: Path, kind: str):
    path = tmp_path / "data" / "theirs"
    path.parent.mkdir()
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "text":
            path.write_text("Some notes.\n")
        case "bytes":
            path.write_bytes(bytes(range(256)) * 100)
        case _:
            with closing(sqlite3.connect(path)) as connection:
                connection.execute("CREATE TABLE notes (text)")
    for command in (("doctor",), ("todos",), ("todo", "append", "x")):
        ran = run(*command, "--db", str(path))
        said = ran.out + ran.err
        assert ran.code in (1, 2)
        assert "is not a Punchlist board" in said
        assert "damaged" not in said
        assert "chmod" not in said
        assert os.listdir(path.parent) == ["theirs"]


def test_an_empty_file_is_a_board_to_be_and_then_its_owners_alone(run: Run, tmp_path: Path):
    path = tmp_path / "data" / "board.db"
    path.parent.mkdir(mode=0o700)
    path.touch(0o644)
    found = _findings(run)
    assert (found["board"]["state"], "empty" in found["board"]["text"]) == ("info", True)
    assert "damaged" not in run("doctor").out
    assert os.listdir(path.parent) == ["board.db"]
    run("todo", "append", "one")
    assert path.stat().st_mode & 0o777 == 0o600
    assert run("doctor").code == 0


def test_a_folder_that_is_shared_is_never_to_be_closed(run: Run, path: Path):
    path.parent.chmod(0o1777)
    folder = _findings(run)["folder"]
    assert (folder["state"], folder["fix"]) == ("note", "put the board in a folder of your own")


def test_a_mistyped_folder_of_db_is_named_and_not_made(run: Run, tmp_path: Path):
    path = tmp_path / "projcets" / "board.db"
    for command in (("doctor",), ("todo", "append", "x")):
        ran = run(*command, "--db", str(path))
        assert ran.code in (1, 2)
        assert f"There is no folder `{path.parent}`" in ran.out + ran.err
    assert not path.parent.exists()


@pytest.fixture
def closed_board() -> Iterator[Path]:
    """A board in a folder that may not be opened; as root may open everything, it becomes another user."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        path = folder / "theirs" / "board.db"
        Board.open(path).close()
        path.parent.chmod(0)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65_534)
        yield path
        os.seteuid(user)
        path.parent.chmod(0o700)


def test_without_permission_the_doctor_says_what_to_do(run: Run, closed_board: Path):
    found = _findings(run, "--db", str(closed_board))
    assert found["board"]["state"] == "wrong"
    assert "have its owner let you in" in found["board"]["fix"]
    assert "file" not in found
    assert run("todos", "--db", str(closed_board)).code == 2


def test_the_doctor_says_which_agents_are_here_and_whether_they_are_connected(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert _findings(run)["agents"]["state"] == "info"
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    (tmp_path / ".codex" / "sessions").mkdir(parents=True)
    found = _findings(run)
    assert "agents" not in found
    assert found["codex"]["text"].endswith("not attached")
    assert found["claude-code"]["text"].endswith("not attached")
    monkeypatch.setenv("PATH", "/nowhere")
    run("attach", "claude-code", "--yes")
    run("attach", "codex", "--yes")
    found = [finding for finding in json.loads(run("doctor", "--json").out)["findings"] if finding["name"] == "codex"]
    assert "attached to " in found[0]["text"]
    assert "/hooks" in found[1]["text"]
    assert "attached to " in _findings(run)["claude-code"]["text"]


def test_the_doctor_says_when_a_hook_was_heard_and_what_went_wrong(run: Run, path: Path):
    assert _findings(run)["hooks"]["state"] == "info"
    event = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s1", "cwd": str(path.parent)}
    command = [sys.executable, "-I", "-S", punchlist_hook.__file__, "claude-code", "--board", str(path)]
    for given in (json.dumps(event), "no JSON"):
        subprocess.run(command, input=given, text=True, check=True, timeout=60)
    found = _findings(run)
    assert found["hooks"]["text"].startswith("last heard of claude-code: SessionStart, ")
    assert found["hook faults"]["text"].startswith("1 fault in ")
    assert run("doctor").code == 0


def test_a_mark_stands_before_each_finding(run: Run, path: Path, monkeypatch: pytest.MonkeyPatch):
    path.chmod(0o644)
    said = run("doctor").out.splitlines()
    assert any(line.startswith("✓ punchlist") for line in said)
    assert any(line.startswith("✗ file") for line in said)
    monkeypatch.setenv("LC_ALL", "C")
    assert {line[:2] for line in run("doctor").out.splitlines() if line[:1].strip()} >= {"+ ", "x "}


def test_an_exclamation_mark_is_for_what_a_person_should_mend(run: Run):
    found = run("doctor").out.splitlines()
    assert not [line for line in found if line.startswith(("! agents", "! board", "! sqlite", "! hooks"))]
    assert any(line.startswith("· board") for line in found)
