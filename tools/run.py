"""`make run`: serve the page and print its link; where no agent runs, say what was looked for, and play the demo."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from argparse import ArgumentParser
from types import FrameType
from typing import Any

_PATH_HINT = (
    "`pipx install .` puts the command `punchlist` on your path; for this shell alone: "
    'export PATH="$PWD/.venv/bin:$PATH"'
)
_COMMAND = (sys.executable, "-m", "punchlist")


def main(arguments: list[str]) -> int:
    """Run `punchlist serve` until it is stopped; `arguments` are for it. Return its exit code."""
    parser = ArgumentParser(add_help=False)
    parser.add_argument("--db")
    board = parser.parse_known_args(arguments)[0].db
    server = subprocess.Popen([*_COMMAND, "serve", *arguments], stdout=subprocess.PIPE, text=True)
    running: list[subprocess.Popen[Any]] = [server]

    def stop(_signal: int, _frame: FrameType | None) -> None:
        for process in running:
            process.terminate()

    signal.signal(signal.SIGTERM, stop)  # from a supervisor: it reaches only this process
    signal.signal(signal.SIGINT, stop)
    assert server.stdout is not None
    for number, line in enumerate(server.stdout):
        print(line, end="", flush=True)
        if number == 0 and not _tell_more(
            [] if board is None else ["--db", board]
        ):  # after the link the board is there
            demo = subprocess.Popen([*_COMMAND, "demo"])
            running.append(demo)
            demo.wait()
            print(f"\nThe page is at {line.split()[-1]}", flush=True)
    return server.wait()


def _tell_more(board: list[str]) -> bool:
    """Say what the page shows; without an agent, what was looked for. Return True if there is something to show."""
    if shutil.which("punchlist") is None:
        print(_PATH_HINT, flush=True)
    done = subprocess.run([*_COMMAND, "now", "--json", *board], capture_output=True, text=True, check=False)
    if done.returncode:
        return True  # the page tells of it
    found: dict[str, Any] = json.loads(done.stdout)
    if found["waits"] or any(one["state"] != "gone" for one in found["agents"]):
        said = "It shows the agents of this machine, as `punchlist top` does in a terminal. Ctrl-C stops it."
        print(said, flush=True)
        return True
    print("Ctrl-C stops it. Until an agent runs, here is a demo, which the page plays too.\n", flush=True)
    subprocess.call([*_COMMAND, "now", *board])
    print(flush=True)
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
