"""Damaged files: right data, or an error that names the file; no crash, no hang.

SQLite has no checksums for its pages, so rows carry their own. What they cannot tell is that a row is gone: then
SQLite's own check, which `punchlist doctor` runs, has to find the damage.
"""

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from punchlist import Board
from punchlist.errors import StoreDamaged, StoreError
from punchlist.store.events import in_order
from punchlist.store.records import RowDamaged
from tests.sizes import size
from tests.store.writers import code_of, operation

PAGE = 4096


class Past(NamedTuple):
    """A board's files, and what they say when they are whole."""

    files: dict[str, bytes]
    events: list[Any]
    lists: dict[tuple[str, str], list[Any]]


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Past:
    path = tmp_path_factory.mktemp("past") / "board.db"
    with Board.open(path, durability="normal") as board:
        for session in range(4):
            agent = board.agent("main", session=f"s{session}", project="/projects/damage")
            for number in range(58):
                agent.call("todo", {"add": [f"item {number} of session {session}"]}, call_id=f"c{number}")
    with Board.open(path, durability="normal") as board:
        for session in range(4):
            board.agent("main", session=f"s{session}").call("todo", {"add": ["in the log"]})
        lists = _lists(board)
        events = list(board.events())
        copy = path.with_name("copy.db")
        for suffix in ("", "-wal"):  # with the log, as a killed process leaves it
            shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    files = {suffix: Path(f"{copy}{suffix}").read_bytes() for suffix in ("", "-wal")}
    return Past(files, events, lists)


def _lists(board: Board) -> dict[tuple[str, str], list[Any]]:
    found: dict[tuple[str, str], list[Any]] = {}
    for row in board.lists(limit=100):
        revisions = range(0, row.todos.revision + 1, 20)
        found[row.session, row.agent] = [row.todos, *(board.store.list_at(row.number, each) for each in revisions)]
    return found


def _flip(rng: random.Random, data: bytearray) -> None:
    for _ in range(rng.choice((1, 1, 1, 8))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _flip_in_a_header(rng: random.Random, data: bytearray) -> None:
    page = rng.randrange(len(data) // PAGE)
    data[page * PAGE + rng.randrange(100 if page == 0 else 12)] ^= 1 << rng.randrange(8)


def _truncate(rng: random.Random, data: bytearray) -> None:
    del data[rng.randrange(len(data)) :]


def _swap(rng: random.Random, data: bytearray) -> None:
    one, two = (rng.randrange(len(data) // PAGE) * PAGE for _ in range(2))
    data[one : one + PAGE], data[two : two + PAGE] = data[two : two + PAGE], data[one : one + PAGE]


def _blank(rng: random.Random, data: bytearray) -> None:
    page = rng.randrange(len(data) // PAGE) * PAGE
    data[page : page + PAGE] = rng.choice((b"\0", b"\xff")) * PAGE


def _wrong_version(rng: random.Random, data: bytearray) -> None:
    place, width = rng.choice(((60, 4), (68, 4), (18, 1), (19, 1), (16, 2), (44, 4), (56, 4)))
    data[place : place + width] = rng.randbytes(width)


KINDS: tuple[Callable[[random.Random, bytearray], None], ...] = (
    *(_flip, _flip, _flip_in_a_header, _truncate, _swap, _blank, _wrong_version),
)


def test_a_damaged_file_gives_right_data_or_an_error_that_names_it(past: Past, tmp_path: Path) -> None:
    first = int(os.environ.get("PUNCHLIST_SEED", "0"))
    tally: dict[str, int] = {}
    for seed in range(first, first + size(50, 10_000)):
        rng = random.Random(seed)
        damage, suffix = rng.choice(KINDS), rng.choice(("", "", "", "-wal"))
        path = tmp_path / f"{seed}" / "board.db"
        path.parent.mkdir()
        for each, body in past.files.items():
            data = bytearray(body)
            if each == suffix:
                damage(rng, data)
            Path(f"{path}{each}").write_bytes(data)
        outcome = _look(path, past, suffix, f"PUNCHLIST_SEED={seed}: {damage.__name__} in board.db{suffix}")
        tally[outcome] = tally.get(outcome, 0) + 1
        shutil.rmtree(path.parent)
    print(tally)


def _look(path: Path, past: Past, suffix: str, said: str) -> str:
    """What became of it: `right`, `older` (the log lost its end), `told` (an error), or `found by doctor`."""
    found = _read_and_write(path)
    if isinstance(found, StoreError):
        assert str(path) in str(found), said
        return "told"
    events, lists, codes = found
    assert not {"store_closed", "store_busy"} & set(codes), said
    if events == past.events and lists == past.lists:
        return "right"
    assert all(event in past.events for event in events), said
    if not _sqlite_says_it_is_whole(path):
        return "found by doctor"
    assert suffix == "-wal", f"{said}: what is missing is found by nobody"
    assert events == past.events[: len(events)], said
    for key, (todos, *earlier) in lists.items():
        assert past.lists[key][1 : 1 + len(earlier)] == earlier, said
        assert todos.revision in {event.data.get("revision") for event in events if event.session == key[0]}, said
    return "older"


def _read_and_write(path: Path) -> tuple[list[Any], dict[tuple[str, str], list[Any]], list[str]] | StoreError:
    try:
        with Board.open(path, durability="normal") as board:
            events, lists = list(board.events()), _lists(board)
            return events, lists, [code_of(board.sessions), code_of(lambda: operation(board, "new"))]
    except StoreError as error:
        return error


def _sqlite_says_it_is_whole(path: Path) -> bool:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    except sqlite3.DatabaseError:
        return False
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("table", "key", "column", "text"),
    [
        ("lists", "agent", "todos", "item 3 "),
        ("events", "seq", "data", "item 3 "),
    ],
)
def test_a_changed_letter_in_a_row_is_noticed(
    past: Past, tmp_path: Path, table: str, key: str, column: str, text: str
) -> None:
    path = tmp_path / "board.db"
    path.write_bytes(past.files[""])
    with sqlite3.connect(path) as connection:
        connection.execute(
            f"UPDATE {table} SET {column} = CAST(replace(CAST({column} AS TEXT), '{text}', 'item 4 ') AS BLOB) "
            f"WHERE {key} IN (SELECT {key} FROM {table} WHERE instr(CAST({column} AS TEXT), '{text}') LIMIT 1)"
        )
        assert connection.total_changes == 1
    connection.close()
    with Board.open(path) as board, pytest.raises(StoreDamaged) as caught:
        list(board.events() if column == "data" else board.lists())
    assert str(path) in str(caught.value)


def test_events_that_lead_back_to_where_they_were_are_told_not_followed_for_ever(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        operation(board, "one")
        rows = board.store.read(lambda tx: tx.all("events_after", {"after": 0, "limit": 10}))
    assert [event.seq for event in in_order(0, rows)] == list(range(1, len(rows) + 1))
    for after, broken in ((1, rows), (0, rows + rows), (0, rows[::-1])):
        with pytest.raises(RowDamaged):
            in_order(after, broken)


@pytest.mark.parametrize("statement", ["DELETE FROM lists", "UPDATE lists SET todos = '{}', sum = NULL"])
def test_a_list_of_which_a_part_is_gone_is_damaged(past: Past, tmp_path: Path, statement: str) -> None:
    path = tmp_path / "board.db"
    path.write_bytes(past.files[""])
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()
    with Board.open(path) as board:
        with pytest.raises(StoreDamaged):
            board.lists()
        with pytest.raises(StoreDamaged):
            board.agent("main", session="s1").todos  # noqa: B018


def test_other_lists_can_be_written_beside_a_damaged_one(past: Past, tmp_path: Path) -> None:
    path = tmp_path / "board.db"
    path.write_bytes(past.files[""])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE lists SET todos = x'00' WHERE agent IN (SELECT id FROM agents WHERE session = 's1')")
    connection.close()
    with Board.open(path) as board:
        with pytest.raises(StoreDamaged):
            board.agent("main", session="s1").call("todo", {"add": ["more"]})
        assert not board.agent("main", session="s2").call("todo", {"add": ["more"]}).is_error
