"""A flow that is not what was written is named as damage, never shown."""

import sqlite3
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.errors import StoreDamaged

DAMAGES = (
    "UPDATE flows SET owner = 'agent:eve:session:s1'",
    "UPDATE flows SET status = 'finished'",
    "UPDATE flows SET sum = sum + 1",
    "UPDATE flows SET id = 'aaaaaaaa-0000-4000-8000-000000000002'",
    "UPDATE tasks SET body = replace(body, 'kate', 'evil')",
    "UPDATE tasks SET status = 'asleep'",
    "UPDATE flow_steps SET body = replace(body, 'Look', 'Leak')",
)


@pytest.mark.sqlite
@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "board.db"
    flow = "aaaaaaaa-0000-4000-8000-000000000001"
    with Board.open(path) as board:
        flows = board.agent("kate", session="s1").flows()
        flows.create_mirrored("kate/inbox", "Sort", id=flow)
        flows.record_step_observation(flow, "r", "Look", "running")
    connection = sqlite3.connect(path)
    assert connection.execute(damage).rowcount == 1
    connection.commit()
    connection.close()
    with Board.open(path) as board, pytest.raises(StoreDamaged):
        [board.flows().list_steps(each.id) for each in board.flows().list()]
