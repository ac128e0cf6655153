"""`make run`: show the agents of this machine live; with none, say what was looked for, and play the demo."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

_COMMAND = (sys.executable, "-m", "punchlist")


def main(arguments: list[str]) -> int:
    """Run the commands that fit; `arguments` are for the demo. Return the exit code."""
    is_live = sys.stdin.isatty() and sys.stdout.isatty()
    has_agents = _has_agents()
    if has_agents and is_live:
        return subprocess.call([*_COMMAND, "top"])
    code = subprocess.call([*_COMMAND, "now"])
    if code:
        return code
    print(flush=True)
    return subprocess.call([*_COMMAND, "demo", *arguments])


def _has_agents() -> bool:
    """True if an agent runs here, or something waits on the person."""
    done = subprocess.run([*_COMMAND, "now", "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        return False  # `now` says why
    found: dict[str, Any] = json.loads(done.stdout)
    return bool(found["waits"]) or any(one["state"] != "gone" for one in found["agents"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
