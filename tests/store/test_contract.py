"""The store contracts, kept by SQLite on disk and in memory, and by a store that only delays."""

from pathlib import Path

import pytest

from punchlist.store import Store, open_store
from punchlist.testing import FaultyStore
from tests.sizes import size
from tests.store.contracts.flows import FlowContract
from tests.store.contracts.stores import StoreContract
from tests.store.contracts.tasks import TaskContract
from tests.store.contracts.work import WorkContract


class TestOnDisk(StoreContract, WorkContract):
    histories = size(60, 10_000)
    folder: Path

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make_store(self) -> Store:
        return open_store(self.folder / "board.db", durability="normal")


class TestInMemory(StoreContract, WorkContract):
    histories = 20

    def make_store(self) -> Store:
        return open_store("memory:")


class TestBehindDelays(StoreContract, WorkContract):
    histories = 10

    def make_store(self) -> Store:
        return FaultyStore(open_store("memory:"), seed=1, delay=0.05, seconds=0.0001)


class TestTasksOnDisk(TaskContract):
    histories = size(60, 5_000)
    folder: Path

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make_store(self) -> Store:
        return open_store(self.folder / "board.db", durability="normal")


class TestTasksBehindDelays(TaskContract):
    histories = 5

    def make_store(self) -> Store:
        return FaultyStore(open_store("memory:"), seed=1, delay=0.05, seconds=0.0001)


class TestFlowsOnDisk(FlowContract):
    histories = size(30, 5_000)
    folder: Path

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make_store(self) -> Store:
        return open_store(self.folder / "board.db", durability="normal")


class TestFlowsBehindDelays(FlowContract):
    histories = 5

    def make_store(self) -> Store:
        return FaultyStore(open_store("memory:"), seed=1, delay=0.05, seconds=0.0001)
