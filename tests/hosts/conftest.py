"""An agent whose hooks are run as processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hosts.hooks import Host


@pytest.fixture
def host(tmp_path: Path) -> Host:
    project = tmp_path / "project"
    project.mkdir()
    return Host((tmp_path / "board.db").resolve(), project)
