"""The README is short, and its agent loop runs as it stands, with a stand-in for the model."""

import shutil
import subprocess
import sys
from pathlib import Path

from tools import check_docs

README = (check_docs.ROOT / "README.md").read_text(encoding="utf-8")
BUG = "def total(prices): return sum(prices[:-1])"
TEST = "import unittest, shop\nclass Test(unittest.TestCase):\n def test(self): self.assertEqual(shop.total([2, 3]), 5)"


def test_the_readme_has_at_most_150_lines() -> None:
    assert len(README.splitlines()) <= 150


def test_the_loop_of_the_readme_runs_and_prints_what_is_shown(tmp_path: Path) -> None:
    fences = list(check_docs.FENCE.finditer(README))
    (place,) = (place for place, fence in enumerate(fences) if "from anthropic import" in fence["body"])
    loop, shown = fences[place]["body"], fences[place + 1]["body"]
    assert len([line for line in loop.splitlines() if line]) <= 26
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
