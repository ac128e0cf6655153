"""The first screen of a program that goes on: looks of other programs, and loads that fail."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.core.presence import Presence
from punchlist.errors import SettingsFileInvalid
from punchlist.presence.roster import load_roster
from punchlist.presence.running_agents import record_states
from punchlist.presence.screen_feed import LiveRoster


def test_an_agent_that_another_program_has_just_seen_is_not_gone(tmp_path: Path):
    clock = [datetime.now(UTC)]
    with Board.open(tmp_path / "board.db", clock=lambda: clock[0]) as board:
        seen = Presence(host="codex", session="t-1", state="waiting", waits_for="approval", project="/shop")
        looked_at = clock[0]
        clock[0] += timedelta(seconds=1)
        record_states(board, [seen])
        clock[0] += timedelta(seconds=1)
        (row,) = load_roster(board, present=[], seen_at=looked_at).agents
        assert (row.host, row.session, row.state, row.waits_for) == ("codex", "t-1", "waiting", "approval")
        (row,) = load_roster(board, present=[], seen_at=clock[0]).agents
        assert (row.state, row.waits_for) == ("gone", "")


def test_a_load_that_failed_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    settings = tmp_path / "config.toml"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(settings))
    with Board.open(tmp_path / "board.db") as board:
        feed = LiveRoster(board, watches=False)
        settings.write_text("stall = 3\n")
        with pytest.raises(SettingsFileInvalid):
            feed.load()
        settings.unlink()
        assert feed.roster.agents == ()
