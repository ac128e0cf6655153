"""Home as values: its cache says what the board says, and the night is drawn as it went."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import httpx
import pytest
from tools.draw_screens import write_agents, write_tasks
from tools.night import EVENING, SESSIONS, write_night

from punchlist.board import Board
from punchlist.presence.screen_feed import BriefCache
from punchlist.reports.work_reports import load_brief
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
    assert [words for _, words in moments] == ["07:12 ended", "01:00 pytest passed", "07:12 pytest failed"]
    assert browser.get(moments[1][0]).status_code == 200
    assert "before=" in moments[1][0]
    assert site.count("#k-done") == 4
    assert "02:00 ended" in site


def test_agents_of_one_session_have_one_lane(browser: httpx.Client, board: Board) -> None:
    for name in ("builder", "tester"):
        agent = board.agent(name, session="s1", project="/home/ada/api")
        agent.call("todo", {"set": ["Look around"], "start": "1"})
        agent.tool_started("c1", "Bash", {"command": "pytest -q"})
        agent.tool_finished("c1", "40 passed", exit_code=0)
    page = browser.get("/").text
    assert page.count('<li class="row"') == 2
    assert page.count('<div class="track">') == 1
    assert "not drawn" not in page


@pytest.mark.parametrize(("number", "lanes"), [(1, 1), (40, 40), (41, 40)])
def test_night_has_40_lanes_at_most(
    browser: httpx.Client, board: Board, clock: FakeClock, number: int, lanes: int
) -> None:
    write_agents(board, clock, number)
    assert browser.get("/").text.count('<div class="track">') == lanes


def test_night_of_a_crowd_says_how_many_more_sessions_there_are(
    browser: httpx.Client, board: Board, clock: FakeClock
) -> None:
    write_agents(board, clock, 60)
    assert "40 lanes, 20 more sessions not drawn" in " ".join(browser.get("/").text.split())


def test_each_link_of_home_leads_to_a_page(browser: httpx.Client, board: Board, clock: FakeClock) -> None:
    write_night(board, clock)
    write_tasks(board, clock)
    for path in set(re.findall(r'<a [^>]*href="(/[^"#]*)', browser.get("/").text)):
        assert browser.get(unescape(path)).status_code == 200, path


def test_names_of_subagents_are_links_to_their_lists(browser: httpx.Client, board: Board) -> None:
    agent = board.agent("main", session="s1", project="/home/ada/api")
    agent.call("todo", {"set": ["Look around"], "start": "1"})
    agent.spawn("explore").call("todo", {"set": ["Read"], "start": "1"})
    (link,) = re.findall(r'<a class="who" href="([^"]*)"><span>explore</span>', browser.get("/").text)
    path, _, element = link.partition("#")
    assert f'id="{element}"' in browser.get(path).text


def test_subagents_that_are_not_named_are_counted(browser: httpx.Client, board: Board) -> None:
    agent = board.agent("main", session="s1", project="/home/ada/api")
    agent.call("todo", {"set": ["Look around"], "start": "1"})
    for _ in range(5):
        agent.spawn("explore").call("todo", {"set": ["Read"], "start": "1"})
    page = browser.get("/").text
    named = len(re.findall(r'<a class="who" href="[^"]*"><span>explore', page))
    assert f"<span>and {5 - named} more</span>" in page


def test_page_of_an_ended_session_names_its_agent_and_is_only_read(
    browser: httpx.Client, board: Board, clock: FakeClock
) -> None:
    write_night(board, clock)
    page = browser.get(f"/sessions/{SESSIONS['api']}").text
    assert '<strong>api</strong></a><span class="soft">claude</span>' in page
    assert "<summary>Edit</summary>" not in page
    assert "stopped" in page  # the item that it left in progress has no clock that runs


def test_errors_in_a_browser_show_commands_as_code(running: Running) -> None:
    page = httpx.get(f"{running.origin}/?token=wrong<b>", headers={"accept": "text/html"})
    assert page.status_code == 401
    assert "<code>punchlist serve --status</code> shows the link" in page.text
    assert "wrong<b>" not in page.text


def test_page_of_a_problem_has_one_sentence_and_nothing_that_needs_its_script(browser: httpx.Client) -> None:
    for path in ("/nowhere", "/sessions/nothing"):
        page = browser.get(path)
        assert page.status_code == 404
        assert not re.search(r'<script|method="post"|data-opens', page.text)
    assert "<p>Nothing is at this address.</p>" in browser.get("/nowhere").text
