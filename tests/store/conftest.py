"""Fixtures of the tests of stores."""

import pytest

from punchlist.store import backlog


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every report counts as close to the last, and none has waited too long."""
    monkeypatch.setattr(backlog, "BRISK", float("inf"))
    monkeypatch.setattr(backlog, "WITHIN", 3600.0)
