"""The contract of plans and questions, kept by SQLite on disk and in memory."""

from pathlib import Path

import pytest

from punchlist.store import Store, open_store
from tests.store.contracts.plans import WaitingContract


class TestOnDisk(WaitingContract):
    folder: Path

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make_store(self) -> Store:
        return open_store(self.folder / "board.db", durability="normal")


class TestInMemory(WaitingContract):
    def make_store(self) -> Store:
        return open_store("memory:")
