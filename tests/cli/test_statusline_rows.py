"""`punchlist_statusline.py`: the rows, from a file that imports nothing of the package and never fails."""

import json
import os
import shlex
import sqlite3
import subprocess
import sys
from datetime import timedelta
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import punchlist_statusline as file
from punchlist.board import Board
from punchlist.cli.terminal import _SGR
from punchlist.terminal import spans
from punchlist.views.findings import span
from tests.cli.conftest import read_rows

_LINES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a new list": ({"total": 2, "next": "Read"}, ["── 0/2"]),
    "a focus": (
        {"focus": "Reading", "since": 935, "done": 1, "total": 3, "next": "Ship"},
        ["━── 1/3 · no test ran yet", "▸ Reading  1 min"],
    ),
    "a focus for hours": (
        {"focus": "Reading", "since": -6323, "total": 1},
        ["─ 0/1 · no test ran yet", "▸ Reading  2 h 2 min"],
    ),
    "a clock that was set back": (
        {"focus": "Reading", "since": 2000, "total": 1},
        ["─ 0/1 · no test ran yet", "▸ Reading  0 s"],
    ),
    "a focus while green": (
        {"focus": "Reading", "since": 990, "done": 3, "total": 4, "state": "green", "check": "pytest"},
        ["━━━─ 3/4 · pytest green", "▸ Reading  10 s"],
    ),
    # Nothing moves at idle: no clock, and not what comes next.
    "a turn that ended": (
        {"focus": "Reading", "since": 900, "stopped": 950, "total": 1, "next": "Ship"},
        ["─ 0/1", "‖ Reading"],
    ),
    "all blocked": ({"blocked": "Deploy", "total": 1}, ["─ 0/1", "⊘ Deploy"]),
    "all failed": ({"failed": "Deploy", "total": 1}, ["─ 0/1", "✗ Deploy"]),
    "all done": ({"done": 2, "total": 2}, ["━━ 2/2 · no test ran yet"]),
    "all done while red": (
        {"done": 2, "total": 2, "state": "red", "check": "pytest"},
        ["━━ 2/2 · ✗ pytest red"],
    ),
    "a long list": ({"done": 30, "total": 40}, [f"{'━' * 15}{'─' * 5} 30/40 · no test ran yet"]),
    "red": ({"state": "red", "check": "pytest"}, ["✗ pytest red"]),
    "green": ({"state": "green", "check": "pytest"}, ["pytest green, nothing changed since"]),
    "no check": ({"state": "unchecked"}, ["no test ran yet"]),
    "one change after a check": (
        {"state": "unchecked", "check": "pytest", "changes": 1, "focus": "Reading"},
        ["1 change, not checked", "▸ Reading"],
    ),
    "changes at work without any check": (
        {"state": "unchecked", "changes": 14, "focus": "Reading"},
        ["no test ran yet", "▸ Reading"],
    ),
    "changes": ({"state": "unchecked", "changes": 14}, ["14 changes, not checked"]),
    "one waits": ({"waits": 1, "wait": "Which?"}, ["◆ waits for you: Which?", "  answer here, or: punchlist answer"]),
    "three wait": (
        {"waits": 3, "wait": "Which?"},
        ["◆ waits for you: Which? (+2 more)", "  answer here, or: punchlist answer"],
    ),
    "subagents": (
        {"total": 1, "next": "a", "subagents": [["explore", 1, 2], ["test", 0, 0]], "more": 2},
        ["─ 0/1", "  4 subagents: explore 1/2, test, +2"],
    ),
    "a subagent without a list beside it": ({"subagents": [["explore", 0, 0]]}, ["  1 subagent: explore"]),
    "nothing": ({}, []),
    "values of other kinds": ({"focus": 7, "done": "x", "total": None, "waits": [], "state": {}, "subagents": 3}, []),
}


def _render(
    line: dict[str, Any], columns: int = 100, glyphs: dict[str, str] = file.UNICODE, now: int = 1000
) -> list[str]:
    rows = file.render_rows(line, now=now, columns=columns, glyphs=glyphs)
    return ["".join(text for text, _ in row) for row in rows]


@pytest.mark.parametrize("name", _LINES)
def test_rows_for_each_state_of_a_session(name: str):
    line, expected = _LINES[name]
    assert _render(line) == expected


def test_there_are_three_rows_at_most():
    line = {name: value for line, _ in list(_LINES.values())[:-1] for name, value in line.items()}
    assert len(_render(line)) == 3


@pytest.mark.parametrize("columns", range(1, 60))
@pytest.mark.parametrize("text", ["plain words that go on", "漢字漢字漢字漢字漢字漢字", "e\u0301" * 30])
def test_no_row_is_wider_than_the_terminal(columns: int, text: str):
    line = {
        "focus": text,
        "since": 1,
        "total": 3,
        "next": text,
        "state": "red",
        "check": text,
        "waits": 2,
        "wait": text,
    }
    for row in _render({**line, "subagents": [[text, 1, 2]]}, columns):
        assert spans.cells((spans.Span(row),)) <= max(columns, 16)  # the count, and `(+1 more)`, are never cut


@pytest.mark.parametrize("line", [line for line, _ in _LINES.values()])
def test_ascii_signs_are_ascii(line: dict[str, Any]):
    assert all(row.isascii() for row in _render(line, glyphs=file.ASCII))


def test_signs_and_colours_are_those_of_the_other_surfaces():
    for ours, theirs in ((file.UNICODE, spans.UNICODE), (file.ASCII, spans.ASCII)):
        names = ("blocked", "failed")
        assert {name: ours[name] for name in names} == {name: theirs.boxes[name] for name in names}
        assert (ours["focus"], ours["ellipsis"], ours["full"], ours["empty"]) == (
            theirs.arrow, theirs.ellipsis, theirs.full, theirs.empty,
        )  # fmt: skip
    assert file.COLOURS.items() <= {str(style): code for style, code in _SGR.items()}.items()


@given(st.integers(0, 90 * 3600))
def test_a_time_is_said_as_on_the_other_surfaces(seconds: int):
    shown = _render({"focus": "x", "since": 1, "total": 0}, glyphs=file.UNICODE, now=1 + seconds)[-1]
    assert shown == f"▸ x  {span(timedelta(seconds=seconds))}"


def test_a_forged_line_gives_a_terminal_nothing_to_obey():
    evil = "\x1b[2Jred\x07\x9b1m\u202eback\r\n"
    line = {"focus": evil, "total": 1, "next": evil, "state": evil, "check": evil, "waits": 1, "wait": evil}
    text = "".join(_render({**line, "subagents": [[evil, 1, 2]]}))
    assert text.isprintable()


# The file on its own, as a host runs it.


def _run(*arguments: str, given: bytes | str = "", **settings: str) -> subprocess.CompletedProcess[bytes]:
    body = given.encode() if isinstance(given, str) else given
    command = [sys.executable, "-I", "-S", file.__file__, *arguments]
    return subprocess.run(
        command, input=body, capture_output=True, check=False, timeout=60, env={**os.environ, **settings}
    )


@pytest.fixture
def path(tmp_path: Path, board: Board) -> Path:
    with board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": [{"text": "Run tests", "doing": "Running tests"}, "Ship"]})
    return tmp_path / "data" / "board.db"


_EXPECTED = ["0/2 · no test ran yet", "▸ Running tests"]


def test_it_runs_without_site_packages_and_imports_nothing_of_the_package(path: Path):
    ran = _run("--board", str(path), given='{"session_id": "s1"}', NO_COLOR="1")
    assert (ran.returncode, read_rows(ran.stdout.decode()), ran.stderr) == (0, _EXPECTED, b"")
    source = (
        f"import sys; sys.path.insert(0, {os.path.dirname(file.__file__)!r}); import punchlist_statusline as p;"
        f"p.main(['--board', {str(path)!r}, '--session', 's1']);"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('punchlist', 'typing', 'subprocess', 'msgspec')))"
    )
    loaded = subprocess.run([sys.executable, "-I", "-S", "-c", source], capture_output=True, text=True, check=True)
    assert loaded.stdout.splitlines()[-1] == "[]"


def test_a_host_gets_its_row_wherever_the_board_is(path: Path, tmp_path: Path):
    odd = tmp_path / "a:b?c#d%20"
    path.parent.rename(odd)
    ran = _run("--board", str(odd / path.name), given='{"session_id": "s1"}', NO_COLOR="1")
    assert read_rows(ran.stdout.decode()) == _EXPECTED


def test_a_host_gets_colours_and_a_pipe_does_not(path: Path):
    assert b"\x1b[1;36m" in _run("--board", str(path), given='{"session_id": "s1"}').stdout
    for settings in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert b"\x1b" not in _run("--board", str(path), given='{"session_id": "s1"}', **settings).stdout
    assert b"\x1b" not in _run("--board", str(path), "--session", "s1").stdout


def test_width_and_signs_follow_the_environment(path: Path):
    ran = _run("--board", str(path), "--session", "s1", COLUMNS="14", LC_ALL="C")
    assert ran.stdout.isascii()
    assert read_rows(ran.stdout.decode())[1] == "> Runn..."
    assert all(len(row) <= 14 for row in ran.stdout.decode().splitlines())


def test_it_leaves_the_boards_folder_as_it_was(path: Path):
    before = sorted(os.listdir(path.parent))
    content = path.read_bytes()
    assert read_rows(_run("--board", str(path), "--session", "s1").stdout.decode()) == _EXPECTED
    assert (sorted(os.listdir(path.parent)), path.read_bytes()) == (before, content)


def test_it_sees_a_change_while_another_process_has_the_board_open(path: Path):
    with Board.open(path) as board:
        board.agent("main", session="s1").call("todo", {"done": "1"})
        assert read_rows(_run("--board", str(path), "--session", "s1").stdout.decode()) == [
            "1/2 · no test ran yet",
            "▸ Ship",
        ]


@pytest.mark.parametrize("damage", ["line", "page", "schema", "text", "empty", "folder", "none"])
def test_a_damaged_board_or_none_is_no_error(path: Path, damage: str):
    if damage == "line":
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE sessions SET line = '{broken'")
        connection.close()
    elif damage == "schema":
        with sqlite3.connect(path) as connection:
            connection.execute("ALTER TABLE sessions RENAME TO gone")
        connection.close()
    elif damage == "page":
        content = path.read_bytes()
        path.write_bytes(content[:4096] + os.urandom(len(content) - 4096))
    elif damage == "text":
        path.write_text("no board" * 1000)
    else:
        path.unlink()
        if damage == "empty":
            path.touch()
        elif damage == "folder":
            path.mkdir()
    ran = _run("--board", str(path), given='{"session_id": "s1"}')
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def test_a_session_of_an_older_board_without_a_line_is_still_shown(path: Path):
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE sessions SET line = NULL")
    connection.close()
    assert read_rows(_run("--board", str(path), "--session", "s1").stdout.decode()) == _EXPECTED


@pytest.mark.parametrize("name", ["board.db", "none.db"])
def test_a_host_that_names_board_and_session_never_starts_the_full_program(path: Path, name: str):
    source = (
        f"import os, sys; sys.path.insert(0, {os.path.dirname(file.__file__)!r}); import punchlist_statusline as p;"
        "sys.addaudithook(lambda event, _: event in ('os.exec', 'os.fork') and os._exit(9));"
        f"p.main(['--board', {str(path.with_name(name))!r}])"
    )
    command = [sys.executable, "-I", "-S", "-c", source]
    ran = subprocess.run(command, input=b'{"session_id": "new"}', capture_output=True, check=False, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    typed = subprocess.run(command, input=b"", capture_output=True, check=False, timeout=60)
    assert typed.returncode == 9  # what a person types may ask for the latest session


@pytest.mark.parametrize(
    "given",
    ["", "{", "[]", '{"session_id": 7}', '{"session_id": "s1' + "x" * 100_000 + '"}', b"\xff\x00", "[" * 100_000],
)
def test_it_survives_whatever_it_is_given(tmp_path: Path, given: bytes | str):
    ran = _run("--board", str(tmp_path / "none.db"), given=given)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def test_a_reader_that_is_gone_is_no_error(path: Path):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-I", "-S", file.__file__, "--board", str(path), "--session", "s1"]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_a_module_in_the_project_folder_is_not_imported(path: Path, project: Path):
    for name in ("json", "sqlite3", "punchlist", "msgspec", "select"):
        (project / f"{name}.py").write_text("print('owned')")
    for session in ("s1", "unknown"):
        ran = _run("--board", str(path), given=json.dumps({"session_id": session}), PYTHONPATH=".")
        assert (ran.returncode, b"owned" in ran.stdout, ran.stderr) == (0, False, b"")


# The person's own status line comes first.


def test_their_own_status_line_gets_the_same_input_and_comes_first(path: Path):
    given = '{"session_id": "s1"}'
    ran = _run("--board", str(path), "--before", "cat; printf '\\033[1mmine'", given=given, NO_COLOR="1")
    first, *rows = ran.stdout.decode().splitlines()
    assert first == f"{given}\x1b[1mmine"
    assert read_rows("\n".join(rows)) == _EXPECTED


@pytest.mark.parametrize("theirs", ["exit 3", "no-such-command-at-all 2>/dev/null", "kill -9 $$", ""])
def test_a_failure_of_theirs_does_not_hide_ours(path: Path, theirs: str):
    ran = _run("--board", str(path), "--session", "s1", "--before", theirs)
    assert (ran.returncode, read_rows(ran.stdout.decode())) == (0, _EXPECTED)


def test_theirs_is_ended_when_its_time_is_up_with_all_that_it_started(path: Path, tmp_path: Path):
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    theirs = f"echo mine; (sleep 600; echo no) > {shlex.quote(str(alive))} & sleep 600"
    handle = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    ran = _run("--board", str(path), "--session", "s1", "--before", theirs)
    assert read_rows(ran.stdout.decode()) == ["mine", *_EXPECTED]
    os.set_blocking(handle, True)
    assert os.read(handle, 10) == b""  # no writer is left
    os.close(handle)


def test_theirs_runs_once_where_the_full_program_answers(path: Path):
    ran = _run("--board", str(path), "--session", "unknown", "--before", "echo mine")
    assert (ran.returncode, ran.stdout) == (0, b"mine\n")


def _show_theirs(path: Path, theirs: str, *words: str, session: str = "s1") -> str:
    given = json.dumps({"session_id": session})
    return _run("--board", str(path), "--before", theirs, *words, given=given, NO_COLOR="1").stdout.decode()


def _wait_for_end(path: Path) -> None:
    """Wait until no command of the person's runs: its process holds the lock of the file with its output."""
    for name in os.listdir(f"{path}.theirs"):
        with open(f"{path}.theirs/{name}") as output:
            flock(output, LOCK_EX)


def test_a_slow_command_of_theirs_is_shown_by_the_next_call_and_runs_once_at_a_time(path: Path, tmp_path: Path):
    gate, runs = tmp_path / "gate", tmp_path / "runs"
    os.mkfifo(gate)
    theirs = f"echo x >> {runs}; cat {gate}; echo mine"
    for _ in range(2):
        assert read_rows(_show_theirs(path, theirs)) == _EXPECTED
    assert runs.read_text() == "x\n"
    gate.write_text("")
    _wait_for_end(path)
    assert read_rows(_show_theirs(path, theirs, "--every", "30")) == ["mine", *_EXPECTED]
    assert runs.read_text() == "x\n"
    (output,) = Path(f"{path}.theirs").iterdir()
    assert (output.stat().st_mode & 0o777, output.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_theirs_keeps_its_own_interval(path: Path, tmp_path: Path):
    theirs = f"echo x >> {tmp_path}/runs; wc -l < {tmp_path}/runs"
    assert [_show_theirs(path, theirs, "--every", "30")[0] for _ in range(3)] == ["1", "1", "1"]
    (output,) = Path(f"{path}.theirs").iterdir()
    _wait_for_end(path)
    os.utime(output, (1, output.stat().st_mtime - 31))
    assert _show_theirs(path, theirs, "--every", "30")[0] == "2"
    _wait_for_end(path)
    assert _show_theirs(path, theirs)[0] == "2"  # the host asks each second; the same input rests for 5 s
    os.utime(output, (1, output.stat().st_mtime - 6))
    assert _show_theirs(path, theirs)[0] == "3"


@pytest.mark.parametrize("kind", ["link", "open", "file"])
def test_nothing_of_theirs_is_kept_where_others_could_read_it(path: Path, tmp_path: Path, kind: str):
    folder, other = Path(f"{path}.theirs"), tmp_path / "other"
    other.mkdir(mode=0o700)
    if kind == "link":
        folder.symlink_to(other)
    elif kind == "open":
        folder.mkdir()
        folder.chmod(0o777)
    else:
        folder.touch()
    assert read_rows(_show_theirs(path, "echo mine")) == ["mine", *_EXPECTED]
    assert list(other.iterdir()) == []
    assert kind != "open" or list(folder.iterdir()) == []


def test_each_session_has_its_own_line_of_theirs_and_old_ones_go(path: Path):
    assert _show_theirs(path, "cat", session="s1").startswith('{"session_id": "s1"}')
    _wait_for_end(path)
    (output,) = Path(f"{path}.theirs").iterdir()
    os.utime(output, (1, 1))
    assert _show_theirs(path, "cat", session="../s2") == '{"session_id": "../s2"}\n'
    assert output not in set(Path(f"{path}.theirs").iterdir())


def test_theirs_runs_at_once_when_its_input_changed_but_for_the_clock(path: Path, tmp_path: Path):
    theirs = f"echo x >> {tmp_path}/runs; wc -l < {tmp_path}/runs"

    def show(model: str, milliseconds: int) -> str:
        given = json.dumps({"session_id": "s1", "model": model, "cost": {"total_duration_ms": milliseconds}})
        shown = _run("--board", str(path), "--before", theirs, given=given, NO_COLOR="1").stdout.decode()[0]
        _wait_for_end(path)
        return shown

    assert [show("opus", 1), show("opus", 2), show("sonnet", 3)] == ["1", "1", "2"]
