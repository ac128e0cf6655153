"""Writers are killed at random: nothing acknowledged is lost, nothing is applied twice, followers miss nothing."""

import os
import random
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import wait
from pathlib import Path

from punchlist import Board
from punchlist.core.events import Event
from tests.sizes import size
from tests.store.writers import PATIENCE, Killable, operation, operations_of, write_on

WRITERS = 8


class Storm:
    """Eight writers on one list. Whoever is killed is followed by another who repeats what was not acknowledged."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = str(path)
        self.rng = random.Random(seed)
        self.acknowledged: set[str] = set()
        self.next = [0] * WRITERS
        self.writers = [self._writer(slot) for slot in range(WRITERS)]

    def _writer(self, slot: int) -> Killable:
        return Killable(write_on, self.path, f"w{slot}", self.next[slot], "full")

    def _heard(self, slot: int, lines: list[str]) -> None:
        for line in lines:
            self.acknowledged.add(f"w{slot}n{line}")
            self.next[slot] = int(line) + 1

    def kill_one(self) -> None:
        """Waits until somebody got on, then kills one of them, wherever it is."""
        for _ in range(self.rng.randrange(1, 6)):
            ready = wait([writer.fileno() for writer in self.writers], timeout=PATIENCE)
            assert ready, "no writer gets on"
            for slot, writer in enumerate(self.writers):
                if writer.fileno() in ready:
                    self._heard(slot, writer.said())
                    assert not writer.ended, "a writer ended by itself"
        slot = self.rng.randrange(WRITERS)
        self._heard(slot, self.writers[slot].kill())
        self.writers[slot] = self._writer(slot)

    def end(self) -> None:
        for slot, writer in enumerate(self.writers):
            self._heard(slot, writer.kill())


def _until_plan_mode(board: Board) -> Iterator[Event]:
    for event in board.follow():
        yield event
        if event.kind == "mode.changed":
            return


def test_killed_writers_lose_nothing_and_repeat_nothing_and_followers_miss_nothing(tmp_path: Path) -> None:
    seed = int(os.environ.get("PUNCHLIST_SEED", "1"))
    kills = size(40, 5000)
    path = tmp_path / "board.db"
    seen: list[Event] = []
    with Board.open(path) as board:
        follower = threading.Thread(target=lambda: seen.extend(_until_plan_mode(board)))
        follower.start()
        storm = Storm(path, seed)
        try:
            for _ in range(kills):
                storm.kill_one()
        finally:
            storm.end()
        for slot in range(WRITERS):
            name = f"w{slot}n{storm.next[slot]}"
            operation(board, name)
            storm.acknowledged.add(name)
        board.agent("last", session="end", project="/projects/storm").enter_plan_mode()
        follower.join(PATIENCE)
        events = list(board.events())
    print(f"seed {seed}: {kills} kills, {len(storm.acknowledged)} acknowledged, {len(events)} events")
    applied = Counter(operations_of(events))
    assert storm.acknowledged - set(applied) == set()
    assert [name for name, count in applied.items() if count != 1] == []
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert seen == events
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
