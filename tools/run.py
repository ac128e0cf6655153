"""`make run`: serve the page and print its link; where no agent runs, say what was looked for."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from argparse import ArgumentParser
from types import FrameType
from typing import Any

_COMMAND = (sys.executable, "-m", "punchlist")


def main(arguments: list[str]) -> int:
    """Run `punchlist serve` until it is stopped; `arguments` are for it. Return its exit code."""
    parser = ArgumentParser(add_help=False)
    parser.add_argument("--db")
    board = parser.parse_known_args(arguments)[0].db
    server = subprocess.Popen([*_COMMAND, "serve", *arguments], stdout=subprocess.PIPE, text=True)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        server.terminate()

    signal.signal(signal.SIGTERM, stop)  # from a supervisor: it reaches only this process
    signal.signal(signal.SIGINT, stop)
    assert server.stdout is not None
    for number, line in enumerate(server.stdout):
        print(line, end="", flush=True)
        if number == 0:  # the link: now the board is there
            _tell_more([] if board is None else ["--db", board])
    return server.wait()


def _tell_more(board: list[str]) -> None:
    """Say what the page shows; without an agent, what was looked for."""
    done = subprocess.run([*_COMMAND, "now", "--json", *board], capture_output=True, text=True, check=False)
    if done.returncode:
        return  # the page tells of it
    found: dict[str, Any] = json.loads(done.stdout)
    if found["waits"] or any(one["state"] != "gone" for one in found["agents"]):
        print(
            "It shows the agents of this machine, as `punchlist top` does in a terminal. Ctrl-C stops it.", flush=True
        )
        return
    print("It has a button that plays a demo. Ctrl-C stops it.\n", flush=True)
    subprocess.call([*_COMMAND, "now", *board])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
