"""Other trackers of tasks on the command line, each with a list of its own to work on."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from benchmarks.measure import child_environment

Blockers = Sequence[tuple[int, ...]]
"""For each task of a list the places of those that it waits for."""

Commands = dict[str, tuple[list[str], Path]]
"""What shows the ready tasks, and what adds one: the words, and the folder to say them in."""


def taskwarrior(folder: Path, blockers: Blockers) -> Commands | None:
    """A list of taskwarrior's; None where it is not installed. Another program is called `task`, too."""
    program = _version("task", starts=("2.", "3."))
    if program is None:
        return None
    place = folder / "taskwarrior"
    place.mkdir()
    settings = place / "taskrc"
    settings.write_text(f"data.location={place}\nconfirmation=off\nverbose=nothing\nhooks=off\n")
    ids = [str(UUID(int=number + 2**100, version=4)) for number in range(len(blockers))]
    entries = [
        {
            "description": f"task {number}",
            "status": "pending",
            "entry": "20260101T000000Z",
            "uuid": ids[number],
            **({"depends": [ids[each] for each in before]} if before else {}),
        }
        for number, before in enumerate(blockers)
    ]
    (place / "tasks.json").write_text(json.dumps(entries))
    command = [program, f"rc:{settings}"]
    _run([*command, "import", str(place / "tasks.json")], place)
    return {"ready": ([*command, "ready", "limit:20"], place), "add": ([*command, "add", "one more"], place)}


def backlog(folder: Path, blockers: Blockers) -> Commands | None:
    """A folder of Backlog.md's, one file a task; None where it is not installed."""
    program = _version("backlog", starts=("1.", "2."))
    if program is None:
        return None
    place = folder / "backlog.md"
    place.mkdir()
    _run(["git", "init", "-q", "."], place)
    _run([program, "init", "bench", "--defaults"], place)
    _run([program, "config", "set", "remoteOperations", "false"], place)
    for number, before in enumerate(blockers, 1):
        waits = "".join(f"\n  - TASK-{each + 1}" for each in before) or " []"
        (place / "backlog" / "tasks" / f"task-{number} - task-{number}.md").write_text(
            f"---\nid: TASK-{number}\ntitle: task {number}\nstatus: To Do\nassignee: []\n"
            f"created_date: '2026-01-01 00:00'\nlabels: []\ndependencies:{waits}\nordinal: {number}000\n---\n"
        )
    return {
        "ready": ([program, "task", "list", "--ready", "--limit", "20", "--plain"], place),
        "add": ([program, "task", "create", "one more", "--plain"], place),
    }


def _version(name: str, *, starts: tuple[str, ...]) -> str | None:
    program = shutil.which(name)
    if program is None:
        return None
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=60).stdout
    return program if said.strip().startswith(starts) else None


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(
        command, cwd=folder, env=child_environment(), stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
