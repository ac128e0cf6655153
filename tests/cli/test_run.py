"""`make run`: the agents of this machine, or the demo."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_without_agents_it_says_what_was_looked_for_and_plays_the_demo(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PUNCHLIST_", "XDG_"))}
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    ran = subprocess.run(
        [sys.executable, ROOT / "tools" / "run.py", "--speed", "0"],
        env=kept | {"HOME": str(tmp_path), "PATH": f"{program.parent}:/usr/bin:/bin", "LANG": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "No agent runs on this machine" in ran.stdout
    assert "punchlist attach claude-code" in ran.stdout
    assert "~/.claude/sessions" in ran.stdout
    assert "Three agents plan their work" in ran.stdout
