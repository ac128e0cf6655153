"""Boards live on: a board that an older version made is opened with everything that was on it."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import pytest

from punchlist import Board
from punchlist.cli import main
from punchlist.errors import StoreDamaged
from punchlist.store.files import SCHEMA
from punchlist.store.migrate import list_backups
from tests.store.boards import OLD_BOARDS, keep_common, read_rows, unpack_board
from tests.store.boards.make_board import list_empty_tables
from tests.store.writers import operation, operations_of, run

_BOARD_107 = next(packed for packed in OLD_BOARDS if packed.name.startswith("schema-107"))


@pytest.fixture(params=OLD_BOARDS, ids=lambda packed: packed.name)
def old_board(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return unpack_board(request.param, tmp_path)


def test_a_board_of_the_past_has_a_row_in_every_table(old_board: Path) -> None:
    assert list_empty_tables(old_board) == []


def test_a_board_of_the_past_is_opened_with_all_that_was_on_it(old_board: Path) -> None:
    with Board.open(old_board) as board:
        night = board.agent("main", session="night").todos
        assert [item.content for item in night.items] == ["Next plan", "Ask the users", "Überprüfe die Preise"]
        grades = {item.item.content: item.grade for item in board.report(session="checked").items}
        assert grades == {
            "Fix the form": "failing",
            "Test it": "failing",
            "Write it down": "unseen",
            "Ship it": None,
            "Read the code": None,
        }
        assert board.tasks("default").get("2").blocked_by == ("1",)
        assert [event.seq for event in board.events(0)] == list(range(1, board.store.last_seq() + 1))


def test_a_migrated_board_has_every_row_that_it_had(old_board: Path) -> None:
    before = read_rows(old_board)
    with Board.open(old_board) as board:
        agents = [board.agent(row["name"], session=row["session"]) for row in before["agents"]]
        assert [agent.todos for agent in agents] == [agent.at(agent.todos.revision) for agent in agents]
    after = read_rows(old_board)
    assert keep_common(after, before) == keep_common(before, after)
    assert _schema(old_board) == SCHEMA


_DAMAGE = {
    "a list": "UPDATE lists SET todos = CAST(replace(CAST(todos AS TEXT), 'Next', 'Last') AS BLOB)",
    "a list that is no JSON": "UPDATE lists SET todos = x'FF00'",
    "changes of a list": "UPDATE agents SET since = CAST(replace(CAST(since AS TEXT), 'Ask', 'Tax') AS BLOB)",
    "changes that are no JSON": "UPDATE agents SET since = x'FF00'",
    "what an agent was shown": "UPDATE agents SET shown = x'5B5D'",
    "the name of an agent": "UPDATE agents SET name = CAST(x'FF' AS TEXT)",
}


@pytest.mark.parametrize("damage", _DAMAGE.values(), ids=_DAMAGE)
def test_a_damaged_row_is_still_known_to_be_one_and_keeps_no_other_from_its_upgrade(
    tmp_path: Path, damage: str
) -> None:
    board_file = unpack_board(_BOARD_107, tmp_path)
    with closing(sqlite3.connect(board_file)) as connection:
        number = "(SELECT id FROM agents WHERE session = 'night')"
        key = "agent" if damage.startswith("UPDATE lists") else "id"
        assert connection.execute(f"{damage} WHERE {key} = {number}").rowcount == 1
        connection.commit()
    with Board.open(board_file) as board:
        with pytest.raises(StoreDamaged):
            board.store.lists(session="night")
        assert board.agent("main", session="checked").todos.items[0].content == "Fix the form"
    assert _schema(board_file) == SCHEMA


_STRAY_ROWS = {
    "a list without an agent": "INSERT INTO lists (agent, sum, todos) VALUES (999, 1, x'7B7D')",
    "changes without a list": "UPDATE agents SET since = x'FF00' WHERE session = 'hooked'",
    "a memory that is a number": "UPDATE agents SET memory = 5 WHERE session = 'night'",
    "an empty memory": "UPDATE agents SET memory = x'00000000' WHERE session = 'night'",
    "a memory of another kind": "UPDATE agents SET memory = x'90' || x'' WHERE session = 'night'",
}


@pytest.mark.parametrize("stray", _STRAY_ROWS.values(), ids=_STRAY_ROWS)
def test_a_stray_row_does_not_keep_a_board_from_its_upgrade(tmp_path: Path, stray: str) -> None:
    board_file = unpack_board(_BOARD_107, tmp_path)
    with closing(sqlite3.connect(board_file)) as connection:
        connection.execute(stray)
        connection.commit()
    with Board.open(board_file) as board:
        assert board.store.lists(session="night")[0].todos.items[0].content == "Next plan"


_OLD_HASH = "read:0123456789abcdef"
_OLD_CALL = ["toolu_1", "read", _OLD_HASH, "", "plain", "fedcba9876543210", None]
_OLD_MEMORY: dict[str, Any] = {
    "watched": True,
    "counts": [0, 3, 0, "", 0, [], 0, 0, {}],
    "loops": {
        "since": 4,
        "warned": [["00112233aabbccdd", 1]],
        "guard": {"left": 2, "seen": 1, "same": f"{_OLD_HASH}=fedcba9876543210"},
        "held": [_OLD_CALL],
        "raised": [["generic_repeat", "read"]],
    },
    "guardrail": {
        "state": {"failures": {_OLD_HASH: 2}, "failing": {"read": 2}, "repeats": {_OLD_HASH: ["99aabbcc", 2]}},
        "running": {"toolu_2": ["read", "0123456789abcdef", True, False]},
    },
}


def test_no_hash_of_unmasked_arguments_or_results_is_left_on_a_migrated_board(tmp_path: Path) -> None:
    old_board = unpack_board(_BOARD_107, tmp_path)  # from 109 on there are none
    body = msgspec.msgpack.encode(_OLD_MEMORY)
    with closing(sqlite3.connect(old_board)) as connection:
        sealed = body + crc32(body).to_bytes(4)
        connection.execute("UPDATE agents SET memory = ? WHERE session = 'night'", (sealed,))
        connection.commit()
        loops = [msgspec.msgpack.decode(loop) for (loop,) in connection.execute(_RECORDED_LOOPS)]
    hashes = {word.rpartition(":")[2] for call in loops for word in (call[2], call[5]) if word}
    hashes |= {"0123456789abcdef", "fedcba9876543210", "00112233aabbccdd", "99aabbcc"}
    assert len(hashes) > 8
    Board.open(old_board).close()
    whole = old_board.read_bytes()
    assert [each for each in hashes if each.encode() in whole] == []
    with Board.open(old_board) as board:
        agent = board.agent("main", session="night", project="/projects/shop")
        assert agent.tool_started("toolu_9", "Read", {"file_path": "a.py"}).level == "ok"
        row = board.store.agent("night", "main")
        assert row is not None
        memory = board.store.read(lambda tx: tx.memory.load(row.number))
    assert (memory.watched, memory.counts.writes, memory.loops.since) == (True, 3, 4)
    assert memory.guardrail is not None
    assert memory.guardrail.state.failing == {"read": 2}


_RECORDED_LOOPS = "SELECT loop FROM tool_calls WHERE loop IS NOT NULL"


def test_each_board_has_a_key_of_its_own(old_board: Path, tmp_path: Path) -> None:
    with Board.open(old_board) as old, Board.open(tmp_path / "new.db") as new, Board.open("memory:") as brief:
        keys = {old.store.key, new.store.key, brief.store.key}
    assert len(keys) == 3
    assert {len(key) for key in keys} == {32}
    with Board.open(old_board) as again:
        assert again.store.key in keys


def test_a_board_is_backed_up_before_it_is_migrated(old_board: Path) -> None:
    before, schema = read_rows(old_board), _schema(old_board)
    Board.open(old_board).close()
    backup = Path(f"{old_board}.before-{schema}")
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert (_schema(backup), read_rows(backup)) == (schema, before)
    assert sorted(os.listdir(old_board.parent)) == sorted(
        [old_board.name, backup.name, "board.db.lock", "board.db.notify"]
    )


def test_what_only_the_log_holds_is_in_the_backup_too(old_board: Path) -> None:
    schema = _schema(old_board)
    with closing(sqlite3.connect(old_board)) as killed:  # its log stays, because the connection is not the last
        killed.execute("INSERT INTO marks (name, seq) VALUES ('late', 1)")
        killed.commit()
        Board.open(old_board).close()
    backup = Path(f"{old_board}.before-{schema}")
    assert "late" in {row["name"] for row in read_rows(backup)["marks"]}


def test_the_last_two_backups_are_kept(old_board: Path) -> None:
    schema = _schema(old_board)
    for number, age in ((90, 3), (91, 1), (105, 2)):
        path = Path(f"{old_board}.before-{number}")
        path.touch()
        os.utime(path, (1_000_000_000 - age, 1_000_000_000 - age))
    Path(f"{old_board}.before-lunch").touch()
    Board.open(old_board).close()
    assert list_backups(str(old_board)) == [f"{old_board}.before-{schema}", f"{old_board}.before-91"]
    assert Path(f"{old_board}.before-lunch").exists()


def test_what_is_no_file_counts_as_no_backup_and_is_left_alone(old_board: Path) -> None:
    schema = _schema(old_board)
    Path(f"{old_board}.before-90").symlink_to("nowhere")
    Path(f"{old_board}.before-91").mkdir()
    Board.open(old_board).close()
    assert list_backups(str(old_board)) == [f"{old_board}.before-{schema}"]
    assert Path(f"{old_board}.before-90").is_symlink()


def test_a_board_of_today_is_not_backed_up(tmp_path: Path) -> None:
    for _ in range(2):
        Board.open(tmp_path / "board.db").close()
    assert list_backups(str(tmp_path / "board.db")) == []


def test_a_planted_link_in_the_place_of_the_backup_is_not_followed(old_board: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for suffix in (f".before-{_schema(old_board)}", f".before-{_schema(old_board)}.part"):
        Path(f"{old_board}{suffix}").symlink_to(victim)
    Board.open(old_board).close()
    assert victim.read_text() == "mine"
    assert not Path(list_backups(str(old_board))[0]).is_symlink()


_WRITE_AND_DIE = """
import os, signal, sys
from punchlist import Board
from tests.store.writers import operation
board = Board.open(sys.argv[1])
operation(board, "after the upgrade")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_steps_back_of_the_docs_bring_the_old_board_back(old_board: Path) -> None:
    before, schema = read_rows(old_board), _schema(old_board)
    run(_WRITE_AND_DIE, str(old_board))
    for suffix in ("-wal", "-shm"):
        Path(f"{old_board}{suffix}").unlink()
    Path(f"{old_board}.before-{schema}").replace(old_board)
    assert (_schema(old_board), read_rows(old_board)) == (schema, before)
    with Board.open(old_board) as board:
        operation(board, "upgraded again")
        assert operations_of(list(board.events()))[-1] == "upgraded again"


def test_doctor_changes_nothing_on_a_board_of_the_past(old_board: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema, content = _schema(old_board), old_board.read_bytes()
    findings = _examine(old_board, capsys)
    assert findings["format"]["text"].startswith(f"{schema}; the next command upgrades the board to {SCHEMA}")
    assert old_board.read_bytes() == content
    assert list_backups(str(old_board)) == []


def test_doctor_names_the_backups(old_board: Path, capsys: pytest.CaptureFixture[str]) -> None:
    backup = f"{old_board}.before-{_schema(old_board)}"
    Board.open(old_board).close()
    findings = _examine(old_board, capsys)
    assert findings["backup"]["text"].startswith(backup)
    assert "format" not in findings
    os.chmod(backup, 0o644)
    assert _examine(old_board, capsys)["file"]["fix"] == f"chmod 600 {backup}"


def _schema(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def _examine(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    main(["doctor", "--json", "--db", str(path)])
    return {finding["name"]: finding for finding in json.loads(capsys.readouterr().out)["findings"]}


def test_doctor_is_content_with_a_board_of_the_past(old_board: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Board.open(old_board).close()
    assert main(["doctor", "--db", str(old_board)]) == 0, capsys.readouterr().out
