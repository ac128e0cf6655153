"""The README is short, and its agent loop runs as it stands, with a stand-in for the model."""

import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tools import check_docs

from punchlist import Board

README = (check_docs.ROOT / "README.md").read_text(encoding="utf-8")
BUG = "def total(prices): return sum(prices[:-1])"
TEST = "import unittest, shop\nclass Test(unittest.TestCase):\n def test(self): self.assertEqual(shop.total([2, 3]), 5)"


def test_the_readme_has_at_most_150_lines() -> None:
    assert len(README.splitlines()) <= 150


def test_the_first_lines_to_type_install_attach_and_start_an_agent() -> None:
    first = next(check_docs.FENCE.finditer(README))["body"].splitlines()
    typed = [line.partition("#")[0].strip() for line in first]
    assert typed == ["pipx install punchlist", "punchlist attach claude-code", "claude"]


def test_the_readme_shows_the_rows_and_says_what_attaching_adds_and_what_wakes_an_agent() -> None:
    start = README.partition("## ")[0]
    assert "(docs/images/rows.svg)" in start
    for words in ("Not attached", "Attached", "What wakes an idle agent", "costs"):
        assert words in start


def test_the_loop_of_the_readme_runs_and_prints_what_is_shown(tmp_path: Path) -> None:
    fences = list(check_docs.FENCE.finditer(README))
    (place,) = (place for place, fence in enumerate(fences) if "from anthropic import" in fence["body"])
    loop, shown = fences[place]["body"], fences[place + 1]["body"]
    assert len([line for line in loop.splitlines() if line]) <= 24
    shutil.copy(check_docs.ROOT / "examples" / "stand_in.py", tmp_path / "anthropic.py")
    (tmp_path / "shop.py").write_text(BUG, encoding="utf-8")
    (tmp_path / "test_shop.py").write_text(TEST, encoding="utf-8")
    (tmp_path / "loop.py").write_text(loop, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, tmp_path / "loop.py"],
        cwd=tmp_path,
        env=check_docs.environment(str(tmp_path)) | {"PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=check_docs.SECONDS,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout == shown
    with Board.open(check_docs.environment(str(tmp_path))["PUNCHLIST_DB"]) as board:
        kinds = [event.kind for event in board.events()]
        assert (kinds.count("turn.ended"), kinds.count("agent.finished")) == (1, 1)


def test_the_report_of_the_readme_is_what_such_a_session_gives(tmp_path: Path) -> None:
    environment, project = check_docs.environment(str(tmp_path)), tmp_path / "api"
    project.mkdir()
    with Board.open(environment["PUNCHLIST_DB"]) as board:
        _fail_after_completion(board, project)
    command = [Path(sys.executable).parent / "punchlist", "report"]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, encoding="utf-8", check=True)
    (fence,) = (fence for fence in check_docs.FENCE.finditer(README) if fence["body"].startswith("$ punchlist report"))
    shown = fence["body"].partition("\n")[2].replace("...\n", "...")
    printed = _without_times(done.stdout)
    assert doctest.OutputChecker().check_output(_without_times(shown), printed, doctest.ELLIPSIS), printed


def _fail_after_completion(board: Board, project: Path) -> None:
    agent = board.agent("main", session="s1", project=project)

    def edit(call_id: str, path: str) -> None:
        agent.tool_started(call_id, "Edit", {"file_path": path, "old_string": "a", "new_string": "b"})
        agent.tool_finished(call_id, "ok", is_error=False)

    def check(call_id: str, output: str, exit_code: int) -> None:
        agent.tool_started(call_id, "Bash", {"command": "pytest -q"})
        agent.tool_finished(call_id, output, exit_code=exit_code)

    agent.call("todo", {"set": ["Parse dates", "Handle time zones", "Update the changelog"]})
    edit("1", "src/dates.py")
    check("2", "3 passed in 0.1s", 0)
    agent.call("todo", {"done": "1"})
    edit("3", "src/zones.py")
    agent.call("todo", {"done": "2"})
    check("4", "FAILED tests/test_zones.py::test_dst - assert 1 == 2\n1 failed, 3 passed in 0.12s", 1)


def _without_times(text: str) -> str:
    """Return the text with one word for each time of day, and one for each duration of an item."""
    text = re.sub(r"(failed|passed|since)(,?) \d\d:\d\d", r"\1\2 TIME", text)
    return re.sub(r"(?m)^    \d+ (s|min) · ", "    TIME · ", text)
