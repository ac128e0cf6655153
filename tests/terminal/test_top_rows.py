"""The rows of `punchlist top`: the groups of the brief, with room for what an agent does."""

import pytest
from tools.night import EVENING, write_night

from punchlist import Board
from punchlist.presence.roster import load_roster
from punchlist.presence.screen_feed import BriefCache
from punchlist.terminal.now import Detail, TopFrame, TopRows, arrange_rows, key_of, top_lines
from punchlist.terminal.spans import Display, cells, plain
from punchlist.testing import FakeClock
from punchlist.views.grades import check_words
from punchlist_statusline import UNICODE, render_rows


def draw(columns: int, height: int) -> tuple[TopRows, list[str]]:
    clock = FakeClock(EVENING)
    with Board.open("memory:", clock=clock) as board:
        write_night(board, clock)
        roster, display = load_roster(board, present=()), Display(columns=columns)
        groups = BriefCache(board, has_page=False).load("ada", roster)[0].groups
        rows = arrange_rows(groups, roster, display, "")
        chosen, *others = [row for row in rows.rows if row.agent and row.agent.total]
        frame = TopFrame(
            rows=rows,
            now=board.now(),
            selected=key_of(chosen.of),
            detail=Detail(str(chosen.owner), chosen, rows=board.work(session=chosen.row.session)),
            lists=[(row, board.work(session=row.row.session)) for row in others],
        )
        lines = top_lines(frame, display, height)
        assert all(cells(line) <= columns for line in lines)
        return rows, [plain(line) for line in lines]


def test_the_groups_stand_in_the_order_of_need() -> None:
    rows, lines = draw(120, 40)
    assert [section.name for section in rows.sections] == ["do_now", "look_first", "at_work", "checked"]
    assert lines[0].startswith(" Punchlist  3 wait for you · 2 to look at first · 1 at work ")
    assert any("Not checked: docs 7 changes" in line for line in lines)


@pytest.mark.parametrize("columns", [80, 100, 120, 160, 200])
def test_what_an_agent_does_has_at_least_30_cells(columns: int) -> None:
    rows, _ = draw(columns, 40)
    assert rows.layout.said >= 30
    assert rows.layout.time


def test_the_pane_takes_a_third_from_120_columns_on() -> None:
    _, lines = draw(120, 40)
    assert {line.index("│") for line in lines if "│" in line} == {80}


def test_lists_fill_the_room_below_the_agents_and_none_is_left() -> None:
    _, tall = draw(120, 40)
    assert any("  List of docs · codex 31ad99  ━──── 1/5 · no test ran yet" in line for line in tall)
    _, short = draw(120, 18)
    assert not any("List of" in line for line in short)


@pytest.mark.parametrize(
    ("state", "check", "changes"), [("red", "pytest", 0), ("unchecked", "pytest", 3), ("unchecked", "", 0)]
)
def test_checks_are_said_as_in_the_rows_under_a_prompt(state: str, check: str, changes: int) -> None:
    line = {"focus": "x", "state": state, "check": check, "changes": changes}
    first = render_rows(line, now=0, columns=80, glyphs=UNICODE)[0]
    assert check_words(state, check, changes) in "".join(text for text, _ in first)


def test_the_rows_under_a_prompt_say_of_a_full_bar_that_no_test_ran() -> None:
    first, *_ = render_rows({"done": 3, "total": 3}, now=0, columns=80, glyphs=UNICODE)
    assert "".join(text for text, _ in first) == "━━━ 3/3 · no test ran yet"


@pytest.mark.parametrize("sign", ["a", "日", "👨‍👩‍👧", "x\u0301"])
def test_the_end_of_a_long_answer_is_shown_in_whole_signs(sign: str) -> None:
    frame = TopFrame(rows=TopRows(), now=EVENING, prompt="Answer:", typed=sign * 2_000)
    line = top_lines(frame, Display(columns=80), 24)[-1]
    shown = plain(line).removeprefix(" Answer: ").removesuffix("▏")
    assert shown
    assert shown.replace(sign, "") == ""
    assert 78 < cells(line) <= 80
