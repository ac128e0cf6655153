"""Claude Code's plan files."""

import os
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.errors import InvalidInput, PlanFileRefused, PlanRefused
from punchlist.logs.claude_files import ClaudePlans
from tests.dialects.boards import memory_board


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "plans"
    made.mkdir()
    for age, name in ((30, "old-one"), (10, "new-one")):
        (made / f"{name}.md").write_text(f"# {name}\n\n1. Paint\n")
        os.utime(made / f"{name}.md", ns=(10**18 - age, 10**18 - age))
    (made / "notes.txt").write_text("no plan")
    return made


def test_the_file_that_was_written_last_is_proposed(folder: Path):
    plans = ClaudePlans(folder)
    assert plans.names == ["new-one", "old-one"]
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect="claude-code")
        assert plans.propose(agent).title == "new-one"
        assert plans.propose(agent, "old-one").revision == 2


def test_a_plan_is_written_whole_and_for_its_owner_alone(tmp_path: Path):
    plans = ClaudePlans(tmp_path / "new" / "plans")
    with memory_board() as board:
        plan = board.agent("main", session="s").propose_plan("# Move\n\n")
        path = Path(plans.write(plan, "quiet-river"))
    assert path.read_text() == "# Move\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert plans.read("quiet-river") == "# Move\n"


def test_the_folder_is_claudes_own_unless_another_is_named(own_home: Path):
    plans = ClaudePlans()
    assert plans.names == []
    (own_home / ".claude" / "plans").mkdir(parents=True)
    (own_home / ".claude" / "plans" / "x.md").write_text("Paint")
    assert plans.read("x") == "Paint"


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".", "..", "a\0b", "con", "x" * 300, "a\\b"])
def test_a_name_that_is_no_plain_one_touches_nothing(folder: Path, name: str):
    plans = ClaudePlans(folder)
    before = sorted(os.listdir(folder.parent))
    with memory_board() as board:
        plan = board.agent("main", session="s").propose_plan("x")
    for use in (lambda: plans.read(name), lambda: plans.write(plan, name)):
        with pytest.raises(InvalidInput):
            use()
    assert sorted(os.listdir(folder.parent)) == before


def test_a_link_that_leads_out_is_refused(folder: Path, tmp_path: Path):
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    (folder / "link.md").symlink_to(secret)
    plans = ClaudePlans(folder)
    with pytest.raises(PlanFileRefused):
        plans.read("link")
    with memory_board() as board, pytest.raises(PlanFileRefused):
        plans.write(board.agent("main", session="s").propose_plan("x"), "link")
    assert secret.read_text() == "secret"


def test_what_is_not_there_or_too_large_is_refused(folder: Path):
    plans = ClaudePlans(folder)
    with pytest.raises(PlanFileRefused):
        plans.read("nothing")
    (folder / "huge.md").write_text("x" * 100_000)
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s")
        with pytest.raises(PlanRefused):
            plans.propose(agent, "huge")
        with pytest.raises(PlanFileRefused):
            ClaudePlans(folder / "empty").propose(agent)
