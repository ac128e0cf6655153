"""Home as values: its cache says what the board says, and the night is drawn as it went."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import httpx
import pytest
from tools.draw_screens import write_agents
from tools.night import EVENING, SESSIONS, write_night

from punchlist.board import Board
from punchlist.reports.work_reports import load_brief
from punchlist.server.state import BriefCache
from punchlist.settings.environment import login_name
from punchlist.testing import FakeClock
from punchlist.views.brief_groups import count_to_do
from tests.server.conftest import Running


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(EVENING)


@pytest.fixture
def board(tmp_path: Path, clock: FakeClock) -> Iterator[Board]:
    with Board.open(tmp_path / "data" / "board.db", clock=clock) as board:
        yield board


def test_cached_brief_is_what_the_board_says(running: Running, board: Board, clock: FakeClock) -> None:
    write_night(board, clock)
    cache, who = BriefCache(board), login_name()
    for text in ("", "Which day?", "Which hour?"):
        if text:
            board.agent("claude", session=SESSIONS["api"]).ask("4", text)
        roster = running.state.load_roster()
        loaded, _ = cache.load(who, roster)
        again, _ = cache.load(who, roster)
        assert loaded == again == load_brief(board, roster, None, project=None, who=who)
        assert count_to_do(roster) == len(loaded.groups.do_now)


def test_live_page_sees_waits_at_once_without_another_brief(running: Running, board: Board, clock: FakeClock) -> None:
    write_night(board, clock)
    cache, who = BriefCache(board), login_name()
    before, _ = cache.load(who, running.state.load_roster())
    board.agent("codex", session=SESSIONS["docs"]).ask("2", "Which version?")
    after, _ = cache.load(who, running.state.load_roster(), is_live=True)
    assert after.brief is before.brief
    assert "answer: “Which version?”" in [row.sentence for row in after.groups.do_now]


def test_night_has_a_lane_per_session_and_a_link_for_each_check(
    browser: httpx.Client, board: Board, clock: FakeClock
) -> None:
    write_night(board, clock)
    page = unescape(browser.get("/").text)
    lanes = re.findall(r'<div class="track">.*?</div>', page, re.DOTALL)
    assert [re.findall(r"<strong>(\w+)</strong>", lane)[0] for lane in lanes] == [
        "infra", "mobile", "batch", "api", "site", "docs", "shop"
    ]  # fmt: skip
    infra, _, _, api, site, *_ = lanes
    assert 'class="lane-wait"' in infra
    assert re.search(r"<title>waits for you 23:00 to \d\d:\d\d</title>", infra)
    moments = re.findall(r'<a href="([^"]*)" aria-label="([^"]*)"', api)
    assert [words for _, words in moments] == ["01:00 pytest passed", "07:12 pytest failed", "07:12 ended"]
    assert browser.get(moments[1][0]).status_code == 200
    assert "before=" in moments[1][0]
    assert site.count("#k-done") == 4
    assert "02:00 ended" in site


@pytest.mark.parametrize(("number", "lanes"), [(1, 1), (40, 40), (41, 0)])
def test_night_is_drawn_for_1_to_40_sessions(
    browser: httpx.Client, board: Board, clock: FakeClock, number: int, lanes: int
) -> None:
    write_agents(board, clock, number)
    assert browser.get("/").text.count('<div class="track">') == lanes
