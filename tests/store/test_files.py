"""The files of a board: who may read them, what is refused, and what happens when several open it at once."""

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.errors import NotABoard, StoreOutdated, StoreReplaced, StoreTooNew, StoreUnavailable
from punchlist.store.files import APPLICATION_ID, SCHEMA, WAL_BYTES
from punchlist.store.records import migrations, statements
from tests.sizes import size
from tests.store.boards import OLD_BOARDS, unpack_board
from tests.store.writers import (
    keep_reading,
    open_at_once,
    operation,
    operations_of,
    run,
    start,
    two_way,
    write_more_than_the_log_may_keep,
)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_all_files_are_their_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        path = tmp_path / "new" / "board.db"
        with Board.open(path) as board:
            operation(board, "one")
            assert board.store.last_seq() > 0
            found = {file.name: _mode(file) for file in path.parent.iterdir()}
        assert found == dict.fromkeys(
            ("board.db", "board.db-wal", "board.db-shm", "board.db.lock", "board.db.notify"), 0o600
        )
        assert _mode(path.parent) == 0o700
    finally:
        os.umask(old)


def test_a_folder_is_no_board(tmp_path: Path) -> None:
    (tmp_path / "board.db").mkdir()
    with pytest.raises(NotABoard) as caught:
        Board.open(tmp_path / "board.db")
    assert str(tmp_path / "board.db") in str(caught.value)
    assert [file.name for file in tmp_path.iterdir()] == ["board.db"]


def test_a_pipe_is_no_board(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "board.db")
    with pytest.raises(NotABoard):
        Board.open(tmp_path / "board.db")


def test_a_file_where_a_folder_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnavailable) as caught:
        Board.open(tmp_path / "file" / "board.db")
    assert str(tmp_path / "file" / "board.db") in str(caught.value)


def test_missing_folders_are_made(tmp_path: Path) -> None:
    with Board.open(tmp_path / "a" / "b" / "board.db") as board:
        operation(board, "one")


def test_a_link_and_its_target_are_one_board_with_one_lock(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "board.db")
    with Board.open(tmp_path / "link.db") as linked, Board.open(tmp_path / "real" / "board.db") as direct:
        operation(linked, "one")
        operation(direct, "two")
        assert operations_of(list(linked.events())) == ["one", "two"]
    assert not (tmp_path / "link.db.lock").exists()
    assert (tmp_path / "real" / "board.db.lock").exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    script = """
import os, sys
from punchlist import Board
from punchlist.errors import StoreUnavailable
from tests.store.writers import operation
with Board.open("memory:") as board:
    operation(board, "all is imported")
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    Board.open(sys.argv[1])
except StoreUnavailable as error:
    print(error)
"""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o555)
    folder.chmod(0o555)
    for above in (tmp_path, *tmp_path.parents):
        if above.stat().st_uid == os.geteuid() and above != Path("/"):
            above.chmod(above.stat().st_mode | 0o111)
    done = run(script, str(folder / "board.db"))
    assert str(folder / "board.db") in done.stdout, done.stderr


def test_a_newer_format_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    Board.open(path).close()
    _set_schema(path, 199)
    before = path.read_bytes()
    with pytest.raises(StoreTooNew) as caught:
        Board.open(path)
    assert caught.value.data["found"] == 199
    assert str(caught.value).endswith("; upgrade Punchlist.")
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE notes (text)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(NotABoard) as caught:
        Board.open(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("pragma", ["application_id = 1", "user_version = 3"])
def test_an_empty_database_with_another_mark_is_refused(tmp_path: Path, pragma: str) -> None:
    path = tmp_path / "theirs.db"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA {pragma}")
    connection.close()
    with pytest.raises(NotABoard):
        Board.open(path)


def test_a_text_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to be taken for one\n" * 100)
    before = path.read_bytes()
    with pytest.raises(NotABoard) as caught:
        Board.open(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def test_an_empty_file_becomes_a_board(tmp_path: Path) -> None:
    (tmp_path / "board.db").touch()
    with Board.open(tmp_path / "board.db") as board:
        operation(board, "one")


def test_a_refused_file_leaves_no_handle_open(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database" * 100)
    before = os.listdir("/dev/fd")
    for _ in range(5):
        with pytest.raises(NotABoard):
            Board.open(path)
    assert len(os.listdir("/dev/fd")) == len(before)


@pytest.mark.parametrize("found", ["nothing", "an empty file", "an unfinished first step"])
def test_processes_that_open_a_new_board_at_once_all_succeed(tmp_path: Path, found: str) -> None:
    path = tmp_path / "board.db"
    if found != "nothing":
        path.touch()
    if found == "an unfinished first step":
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        for statement in statements(migrations()[0])[:3]:
            connection.execute(statement)
        connection.close()
    for _ in range(size(2, 50)):
        pipes = [two_way() for _ in range(6)]
        processes = [start(open_at_once, str(path), there) for _, there in pipes]
        for here, _ in pipes:
            assert here.recv() == "ready"
        for here, _ in pipes:
            here.send("go")
        assert [here.recv() for here, _ in pipes] == [None] * 6
        for process in processes:
            process.join()
    with Board.open(path) as board:
        events = list(board.events())
    assert len(operations_of(events)) == 6 * size(2, 50)
    assert [event.kind for event in events].count("agent.joined") == 1


def test_a_board_of_the_first_schema_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    connection = sqlite3.connect(path)
    for statement in statements(migrations()[0]):
        connection.execute(statement)
    connection.execute("INSERT INTO sessions (id, project, created_at, recent) VALUES ('old', '/p', 1, 1)")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("PRAGMA user_version = 101")
    connection.commit()
    connection.close()
    with Board.open(path) as board:
        assert [row.id for row in board.sessions()] == ["old"]
        board.agent("main", session="old", project="/p").call("todo", {"set": ["Paint"]})
        checks = board.store.read(lambda tx: tx.find_checks("old"))
    assert checks is not None
    assert '"focus":"Paint"' in (checks.line or "")
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA,)
    connection.close()


def test_the_header_says_whose_file_it_is(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    Board.open(path).close()
    assert int.from_bytes(path.read_bytes()[68:72], "big") == APPLICATION_ID


_AUDIT = """
import os, sys, threading
from punchlist import Board
from punchlist.store.sqlite import inspect
from tests.store.writers import operation

path = os.path.realpath(sys.argv[1])
opened = []
connected = []

def audit(event, args):
    if event == "sqlite3.connect":
        connected.append(args[0])
    elif event == "open" and connected and isinstance(args[0], (str, bytes, os.PathLike)):
        where = os.path.realpath(os.fsdecode(args[0]))
        if where in (path, path + "-wal", path + "-shm"):
            opened.append(where)

sys.addaudithook(audit)
with Board.open(sys.argv[1]) as board, Board.open(sys.argv[1]) as second:
    operation(board, "one")
    operation(second, "two")
    list(board.events()), board.lists(), board.sessions(), list(board.follow(timeout=0))
    inspect(path)
    board.copy_session("storm", "copy")
    board.prune(board.now())
    if os.fork() == 0:
        operation(board, "three")
        os._exit(0)
    os.wait()
    operation(board, "four")
with Board.open(sys.argv[1]) as board:
    operation(board, "five")
print(len(connected), opened)
"""


@pytest.mark.parametrize("is_old", [False, True])
def test_a_process_never_opens_its_own_live_database_file(tmp_path: Path, is_old: bool) -> None:
    """Closing it again would drop the locks of the process's connections: three of three such runs were corrupt."""
    path = unpack_board(OLD_BOARDS[0], tmp_path) if is_old else tmp_path / "board.db"
    done = run(_AUDIT, str(path))
    connected, _, opened = done.stdout.strip().partition(" ")
    assert opened == "[]", done.stdout + done.stderr
    assert int(connected) >= 5


@pytest.mark.parametrize("version", [1, 12, 99])
def test_a_board_of_an_unreleased_version_is_refused_with_the_way_out(tmp_path: Path, version: int) -> None:
    path = tmp_path / "board.db"
    Board.open(path).close()
    _set_schema(path, version)
    before = path.read_bytes()
    with pytest.raises(StoreOutdated, match="export it with that version") as caught:
        Board.open(path)
    assert caught.value.data == {"path": str(path), "found": version}
    assert path.read_bytes() == before


def test_a_running_process_notices_that_a_newer_program_changed_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        operation(board, "one")
        with closing(sqlite3.connect(path)) as newer:
            newer.execute("ALTER TABLE agents RENAME COLUMN name TO called")
            newer.execute(f"PRAGMA user_version = {SCHEMA + 1}")
        for use in (board.lists, lambda: operation(board, "two"), lambda: list(board.events())):
            with pytest.raises(StoreTooNew, match="a newer Punchlist has upgraded it, so restart this program"):
                use()


def test_reports_to_a_board_that_is_too_new_are_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "board.db"
    with Board.open(path) as board:
        agent = board.agent("main", session="s")
        with closing(sqlite3.connect(path)) as newer:
            newer.execute(f"PRAGMA user_version = {SCHEMA + 1}")
            newer.execute("UPDATE board SET version = version + 1")
            newer.commit()
        for number in range(3):
            agent.tool_started(f"call-{number}", "Read", {})
    assert len(caplog.records) == 1


def test_the_log_is_cut_to_its_limit_once_a_long_reader_has_left(tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    log = Path(f"{path}-wal")
    with Board.open(path) as board:
        operation(board, "one")
        with keep_reading(path):
            write_more_than_the_log_may_keep(path)
            operation(board, "two")
            assert log.stat().st_size > WAL_BYTES
        for name in ("three", "four"):  # the first copies the log into the database, the second begins it again
            operation(board, name)
        assert log.stat().st_size <= WAL_BYTES
        assert operations_of(list(board.events())) == ["one", "two", "three", "four"]


def _set_schema(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute(f"PRAGMA user_version = {version}")


@pytest.mark.parametrize("way", ["deleted", "deleted with the files next to it", "replaced", "folder moved"])
def test_nothing_is_acknowledged_that_goes_to_a_file_which_is_no_longer_the_board(tmp_path: Path, way: str) -> None:
    path = tmp_path / "boards" / "board.db"
    with Board.open(path) as board, Board.open(tmp_path / "other.db") as other:
        agent = board.agent("main", session="s")
        agent.call("todo", {"set": ["Kept"]})
        other.agent("main", session="s").call("todo", {"set": ["Other"]})
        other.close()
        if way == "deleted":
            path.unlink()
        elif way == "replaced":
            for suffix in ("-wal", "-shm"):
                Path(f"{path}{suffix}").unlink()
            (tmp_path / "other.db").replace(path)
        elif way == "folder moved":
            path.parent.rename(tmp_path / "moved")
        else:
            for file in path.parent.iterdir():
                file.unlink()
        for _ in range(2):
            with pytest.raises(StoreReplaced, match="was deleted or replaced"):
                agent.call("todo", {"set": ["Lost"]})
    if way in ("replaced", "folder moved"):
        with Board.open(path if way == "replaced" else tmp_path / "moved" / "board.db") as board:
            items = board.agent("main", session="s").todos.items
            assert [item.content for item in items] == ["Other" if way == "replaced" else "Kept"]
