"""An agent whose hooks are run as processes of their own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.hooks import Host


@pytest.fixture
def host() -> Iterator[Host]:
    with tempfile.TemporaryDirectory(prefix="punchlist-") as name:  # short: sockets lie next to the board
        folder = Path(name).resolve()
        project = folder / "project"
        project.mkdir()
        yield Host(folder / "board.db", project)
