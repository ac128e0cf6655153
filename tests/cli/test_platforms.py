"""What other systems lack: macOS has neither /proc nor inotify, and Windows has no locks of files."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HIDDEN = """\
import builtins, ctypes, os, sys, types

def hide(module, name):
    real = getattr(module, name)
    def call(path=".", *rest, **options):
        if not isinstance(path, int) and os.fsdecode(path).startswith("/proc"):
            raise FileNotFoundError(2, "no such file", path)
        return real(path, *rest, **options)
    setattr(module, name, call)

def refuse(*rest, **options):
    raise AssertionError("a library of another system is loaded")

sys.platform = "darwin"
sys.modules["_scproxy"] = types.SimpleNamespace(_get_proxy_settings=dict, _get_proxies=dict)  # Python's own, of macOS
for module, name in (
    (builtins, "open"), (os, "open"), (os, "stat"), (os, "lstat"), (os, "listdir"), (os, "scandir"), (os, "readlink"),
):
    hide(module, name)
ctypes.CDLL = refuse
"""
RUN = f"""{HIDDEN}
from punchlist.__main__ import program
sys.argv = ["punchlist", *sys.argv[1:]]
sys.exit(program())
"""
FOLLOW = f"""{HIDDEN}
import threading
from punchlist import Board
from punchlist.logs.discovery import Polling, open_changes

assert isinstance(open_changes(), Polling)
with Board.open() as board, Board.open() as other:
    events = board.follow(board.store.last_seq(), timeout=60)
    threading.Thread(target=lambda: other.agent("main").call("todo", {{"set": ["Paint"]}})).start()
    print(next(events).kind)
"""
EVENT = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": "/", "prompt": "Paint the door"})
HELLO = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}})


def run(folder: Path, script: str, *words: str, given: str = "") -> "subprocess.CompletedProcess[str]":
    """Run a script on a home of its own, with no programs on the path but a shell and git."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    for name in ("sh", "git"):
        if not (programs / name).exists():
            (programs / name).symlink_to(shutil.which(name) or "/bin/sh")
    environment = {
        "HOME": str(folder),
        "PATH": str(programs),
        "LOGNAME": "anna",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    return subprocess.run(
        [sys.executable, "-c", script, *words],
        input=given,
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        check=False,
    )


def test_every_look_works_without_proc_and_inotify(tmp_path: Path) -> None:
    for words, given in (
        (["hook", "claude-code"], EVENT),
        (["todo", "append", "Paint the door"], ""),
        (["todos"], ""),
        (["now"], ""),
        (["brief"], ""),
        (["watch", "--once"], ""),
        (["status"], ""),
        (["report"], ""),
        (["statusline"], "{}"),
        (["mcp"], HELLO + "\n"),
        (["tasks", "add", "Write it"], ""),
        (["tasks", "work", "--drain", "--", "sh", "-c", "true"], ""),
        (["attach", "claude-code", "--yes", "--force", "--statusline"], ""),
        (["detach", "claude-code", "--yes"], ""),
        (["serve", "--status"], ""),
        (["doctor"], ""),
    ):
        done = run(tmp_path, RUN, *words, given=given)
        assert "Traceback" not in done.stderr, (words, done.stderr)
        assert done.returncode in ((0, 1) if words[0] in ("serve", "doctor") else (0,)), (
            words,
            done.stdout,
            done.stderr,
        )
    assert (tmp_path / "Library/Application Support/punchlist/board.db").is_file()


def test_a_feed_is_followed_without_inotify(tmp_path: Path) -> None:
    done = run(tmp_path, FOLLOW)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "agent.joined"


@pytest.mark.parametrize("start", ["from punchlist.__main__ import program; program()", "import punchlist_hook"])
def test_windows_gets_one_sentence_and_no_traceback(tmp_path: Path, start: str) -> None:
    done = run(tmp_path, f"import sys; sys.modules['fcntl'] = None; {start}", "now")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "punchlist: Punchlist runs on Linux and macOS; on Windows, use WSL.\n"


def test_a_program_on_windows_is_told_so_where_it_imports_the_library(tmp_path: Path) -> None:
    done = run(tmp_path, "import sys; sys.modules['fcntl'] = None; from punchlist import Board")
    assert done.stderr.endswith("\nImportError: Punchlist runs on Linux and macOS; on Windows, use WSL.\n")
