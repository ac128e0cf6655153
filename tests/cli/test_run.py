"""`make run`: the page, its link, and what was looked for."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from punchlist import Board

pytestmark = pytest.mark.usefixtures("person")

ROOT = Path(__file__).parents[2]


def write_program(path: Path, script: str = "") -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@contextmanager
def running(home: Path, *, installed: tuple[str, ...] = ("claude",)) -> Generator[Iterator[str]]:
    """Run it with its output in a pipe, on a free port; yield its lines. It ends well when it is told to."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PUNCHLIST_", "XDG_"))}
    for name in installed:
        write_program(home / "bin" / name)
    with subprocess.Popen(
        [sys.executable, ROOT / "tools" / "run.py", "--port", "0"],
        env=kept | {"HOME": str(home), "PATH": f"{home / 'bin'}:/usr/bin:/bin", "LANG": "C.UTF-8"},
        stdin=sys.stdin,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield iter(process.stdout)
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0


def test_without_agents_it_prints_the_link_says_what_was_looked_for_and_plays_the_demo(tmp_path: Path) -> None:
    with running(tmp_path) as lines:
        link = next(lines).split()[-1]
        assert "`pipx install .` puts the command `punchlist` on your path" in next(lines)
        said = next(lines)
        assert "here is a demo" in said
        while "~/.claude/sessions" not in said:
            said += next(lines)
        assert "No agent runs on this machine" in said
        assert "punchlist attach claude-code" in said
        while "three agents at work" not in said:
            said += next(lines)
        page = httpx.get(link, timeout=120)
        assert page.status_code == 303
        page = httpx.get(link.partition("?")[0], cookies=page.cookies, timeout=120)
        assert "Play the demo" in page.text


def test_with_agents_it_prints_the_link_and_keeps_serving(tmp_path: Path) -> None:
    file = tmp_path / ".local" / "share" / "punchlist" / "board.db"
    file.parent.mkdir(parents=True)
    with Board.open(file) as board:
        agent = board.agent(session="s1", project=tmp_path)
        agent.call("todo", {"set": ["paint"], "start": "1"})
        agent.ask("1", "Which colour?")
    with running(tmp_path, installed=("claude", "punchlist")) as lines:
        link = next(lines).split()[-1]
        assert "pipx install" not in (said := next(lines))  # the command is on the path
        assert "the agents of this machine" in said
        with httpx.Client(timeout=120) as browser:
            browser.get(link)
            assert "Which colour?" in browser.get(link.partition("?")[0]).text


def test_it_says_what_it_does_while_it_installs_and_only_then(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
    # Programs that install nothing: all that takes a minute is theirs.
    write_program(tmp_path / "bin" / "uv")
    write_program(tmp_path / "bin" / "python", "mkdir -p .venv/bin; ln -sf /bin/true .venv/bin/python")
    for said in ("Setting up .venv, about a minute", ""):
        command = ["make", "--silent", "--no-print-directory", f"PYTHON={tmp_path / 'bin' / 'python'}", "run"]
        path = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
        ran = subprocess.run(command, cwd=tmp_path, env=path, capture_output=True, text=True, check=True, timeout=60)
        assert ran.stdout.startswith(said)
        assert ran.stdout.count("\n") == len(said[:1])
