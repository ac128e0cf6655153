"""Killed, or failed by the disk, at each system call that writes: the state is before or after, never between."""

import json
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from punchlist import Board
from punchlist.core.todo import TodoList
from punchlist.store.files import SCHEMA
from tests.sizes import size
from tests.store.boards import OLD_BOARDS, keep_common, read_rows, unpack_board
from tests.store.task_writers import storm_list
from tests.store.writers import operation, operations_of, run

# The calls that write, and those of them that are disturbed where not all of them are: around the first commit, and
# at the end.
REPLACE_CALLS = {"pwrite64": (1, 13, 24), "fdatasync": (1, 2), "ftruncate": (1, 2), "unlink": (1,)}
CLAIM_CALLS = {"pwrite64": (1, 28, 52), "fdatasync": (1,)}
MIGRATION_CALLS = {
    "pwrite64": (60, 131, 137),
    "fdatasync": (1, 3),
    "fsync": (1,),
    "ftruncate": (1, 2),
    "unlink": (1, 2),
    "rename": (1,),
}
FAILED_CALLS = {"pwrite64": (1, 10, 16), "fdatasync": (1,)}
ERRORS = ("EIO", "ENOSPC")
MOST = 1000
"""No transaction of ours makes so many calls of one kind; the search for the last one ends before."""

_REPLACE = """
import sys
from punchlist import Board
from punchlist.errors import StoreError
from tests.store.writers import operation
with Board.open("memory:") as warm:
    operation(warm, "everything is imported")
import json
codes = []
try:
    with Board.open(sys.argv[1]) as board:
        for name in ("first", "second"):
            try:
                operation(board, name)
                codes.append("ok")
            except StoreError as error:
                codes.append(error.code)
except StoreError as error:
    codes.append("open " + error.code)
print(json.dumps(codes), flush=True)
"""

_CLAIM = """
import sys
from punchlist import Board
from punchlist.errors import StoreError
from tests.store.task_writers import storm_list, warm
warm()
import json
codes = []
try:
    with Board.open(sys.argv[1]) as board:
        for name in ("first", "second"):
            try:
                task = storm_list(board).claim("worker", call_id=name)
                codes.append(f"ok {task.id} {task.fence}")
            except StoreError as error:
                codes.append(error.code)
except StoreError as error:
    codes.append("open " + error.code)
print(json.dumps(codes), flush=True)
"""

_MIGRATE = """
import json, sys
from punchlist import Board
from punchlist.errors import StoreError
Board.open("memory:").close()
try:
    Board.open(sys.argv[1]).close()
    code = "ok"
except StoreError as error:
    code = error.code
print(json.dumps([code]), flush=True)
"""

pytestmark = pytest.mark.needs("strace")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board that has a past."""
    path = tmp_path_factory.mktemp("template") / "board.db"
    with Board.open(path) as board:
        for number in range(5):
            operation(board, f"past{number}")
    return path


@pytest.fixture(scope="module")
def claimable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board with tasks of which the second waits for a blocker that is done."""
    path = tmp_path_factory.mktemp("claimable") / "board.db"
    with Board.open(path) as board:
        tasks = storm_list(board)
        for number in range(1, 5):
            tasks.create(f"task {number}", blocked_by=[str(number - 1)] if number == 2 else [])
        tasks.complete("1")
    return path


def _run(template: Path, folder: Path, call: str, inject: str, script: str = _REPLACE) -> tuple[Path, list[str] | None]:
    """The board after a run in which a call was disturbed, and what the run said: None if it did not come to that."""
    path = folder / "board.db"
    for file in folder.iterdir():
        file.unlink()
    shutil.copy(template, path)
    log = folder / "strace.log"
    tracing = ("strace", "-f", "-qq", "-o", str(log), "-e", f"trace={call}", "-e", f"inject={call}:{inject}")
    done = run(script, str(path), before=tracing)
    assert "Traceback" not in done.stderr, done.stderr
    disturbed = "(INJECTED)" in log.read_text() or "killed by SIGKILL" in log.read_text()
    if not disturbed:
        return path, None
    return path, json.loads(done.stdout) if done.stdout else []


def _check(path: Path, said: list[str]) -> list[str]:
    """The operations of the run that were applied. Whatever happened, the board is whole."""
    with Board.open(path) as board:
        events = list(board.events())
        agent = board.agent("main", session="storm")
        names = operations_of(events)[5:]
        assert names in ([], ["first"], ["second"], ["first", "second"])
        assert len(events) == 1 + 4 * (5 + len(names))
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert agent.todos.revision == 5 + len(names)
        assert agent.at(agent.todos.revision) == agent.todos
        assert isinstance(agent.todos, TodoList)
        for name, code in zip(("first", "second"), said, strict=False):
            assert name in names or code != "ok", f"{name} was acknowledged and is lost"
        operation(board, "first")
        operation(board, "next")
        assert operations_of(list(board.events())).count("first") == 1
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    return names


def _check_claims(path: Path, said: list[str]) -> int:
    """How many of the two claims were made. Each was made wholly or not at all, and is answered the same again."""
    with Board.open(path) as board:
        tasks = storm_list(board)
        events = [event for event in board.events() if event.kind == "task.claimed"]
        taken = [task for task in tasks.list() if task.status == "in_progress"]
        assert [event.data["id"] for event in events] == [task.id for task in taken] == ["2", "3"][: len(taken)]
        assert {(task.owner, task.fence, task.attempts, task.revision) for task in taken} <= {("worker", 1, 1, 1)}
        assert [task.id for task in tasks.ready()] == ["2", "3", "4"][len(taken) :]
        acknowledged = [code.split()[1] for code in said if code.startswith("ok")]
        assert set(acknowledged) <= {task.id for task in taken}, "a claim was acknowledged and is lost"
        for name, code in zip(("first", "second"), said, strict=False):
            again = tasks.claim("worker", call_id=name)
            assert again is not None
            assert not code.startswith("ok") or code == f"ok {again.id} {again.fence}"
        assert board.store.transact(lambda tx: tx.tasks.rebuild()) == 0
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    return len(taken)


def _check_migration(path: Path, before: dict[str, list[Any]], schema: int) -> int:
    """The schema after the run. The board is the old one or the new one; so is a backup, if there is one."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
    assert found in (schema, SCHEMA)
    rows = read_rows(path)
    assert rows == before if found == schema else keep_common(rows, before) == keep_common(before, rows)
    backup = Path(f"{path}.before-{schema}")
    assert backup.exists() or found == schema, "migrated without a backup"
    if backup.exists():
        assert read_rows(backup) == before
    Board.open(path).close()
    rows = read_rows(path)
    assert keep_common(rows, before) == keep_common(before, rows)
    assert read_rows(backup) == before
    assert not Path(f"{backup}.part").exists()
    for file in (path, backup):
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return found


def _points(few: Iterable[int]) -> Iterable[int]:
    """The calls to disturb: every one in a storm, else a few."""
    return size(few, range(1, MOST))


@pytest.mark.parametrize("call", REPLACE_CALLS)
def test_killed_at_any_write_the_list_is_as_before_or_as_after(template: Path, tmp_path: Path, call: str) -> None:
    outcomes: list[str] = []
    for number in _points(REPLACE_CALLS[call]):
        path, said = _run(template, tmp_path, call, f"signal=KILL:when={number}")
        if said is None:
            break
        outcomes.append("+".join(_check(path, said)) or "-")
    print(f"killed at {call}: {outcomes}")


@pytest.mark.parametrize("call", FAILED_CALLS)
@pytest.mark.parametrize("error", ERRORS)
def test_an_error_at_any_write_is_told_and_the_next_call_works(
    template: Path, tmp_path: Path, call: str, error: str
) -> None:
    outcomes: list[str] = []
    for number in _points(FAILED_CALLS[call]):
        path, said = _run(template, tmp_path, call, f"error={error}:when={number}")
        if said is None:
            break
        outcomes.append(" ".join(said))
        assert set(said) <= {"ok", "store_failed", "store_full", "open store_failed", "open store_full"}
        assert sum(code != "ok" for code in said) <= 1
        _check(path, said)
    print(f"{error} at {call}: {outcomes}")
    assert outcomes or call == "fdatasync"


@pytest.mark.parametrize("call", CLAIM_CALLS)
@pytest.mark.parametrize("inject", ["signal=KILL", *(f"error={error}" for error in ERRORS)])
def test_disturbed_at_any_write_a_claim_is_made_or_it_is_not(
    claimable: Path, tmp_path: Path, call: str, inject: str
) -> None:
    outcomes: list[int] = []
    calls = CLAIM_CALLS if inject == "signal=KILL" else FAILED_CALLS
    for number in _points(calls[call]):
        path, said = _run(claimable, tmp_path, call, f"{inject}:when={number}", _CLAIM)
        if said is None:
            break
        assert all(code.startswith("ok") or "store_f" in code for code in said)
        outcomes.append(_check_claims(path, said))
    print(f"{inject} at {call}: {outcomes}")
    assert outcomes or call == "fdatasync"


@pytest.fixture(scope="module", params=OLD_BOARDS, ids=lambda packed: packed.name)
def old_board(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A board of the past, and its schema."""
    path = unpack_board(request.param, tmp_path_factory.mktemp("old"))
    return path, int(request.param.name.split("-")[1].partition(".")[0])


@pytest.mark.parametrize("call", MIGRATION_CALLS)
def test_killed_while_it_is_migrated_a_board_is_the_old_one_or_the_new_one(
    old_board: tuple[Path, int], tmp_path: Path, call: str
) -> None:
    template, schema = old_board
    before = read_rows(template)
    outcomes: list[int] = []
    for number in _points(MIGRATION_CALLS[call]):
        path, said = _run(template, tmp_path, call, f"signal=KILL:when={number}", _MIGRATE)
        if said is None:
            break
        outcomes.append(_check_migration(path, before, schema))
    print(f"killed at {call}: {outcomes}")
    assert outcomes


@pytest.mark.parametrize("error", ERRORS)
def test_a_disk_that_fails_while_a_board_is_migrated_leaves_the_old_one_and_says_so(
    old_board: tuple[Path, int], tmp_path: Path, error: str
) -> None:
    template, schema = old_board
    before = read_rows(template)
    outcomes: list[str] = []
    for number in _points((60,)):  # within the backup
        path, said = _run(template, tmp_path, "pwrite64", f"error={error}:when={number}", _MIGRATE)
        if said is None:
            break
        outcomes += said
        left = [file.name for file in tmp_path.iterdir() if ".before-" in file.name]
        assert left in ([], [f"board.db.before-{schema}"])
        _check_migration(path, before, schema)
    print(f"{error}: {outcomes}")
    assert set(outcomes) <= {"ok", "store_failed", "store_full"}
    assert ("store_full" if error == "ENOSPC" else "store_failed") in outcomes
