"""Draw every screen of the page, into a folder: empty, with 3, 20 and 200 agents, and the night of seven projects.

Each is drawn in both themes at 390, 1440 and 1920 px. Usage: python -m tools.draw_screens FOLDER [WORD …]; with words,
only the screens whose names hold one of them.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from random import Random

from playwright.sync_api import Browser, sync_playwright
from tests.server.conftest import Running
from tools.night import EVENING, MORNING, SESSIONS, write_night

from punchlist import Board
from punchlist.testing import FakeClock

CHROMIUM = "/usr/bin/chromium"
WIDTHS = (390, 1440, 1920)
PROJECTS = ("api", "mobile", "shop", "infra", "docs", "batch", "site", "billing", "auth", "ml", "search", "web")


def write_agents(board: Board, clock: FakeClock, number: int, projects: Sequence[str] = PROJECTS) -> None:
    """Write the lists of so many agents at work; of every twenty, one asks, one is red and four are green."""
    clock.set(MORNING - timedelta(minutes=3))
    shares = range(len(projects) + 4, 4, -1)
    for place, project in enumerate(Random(7).choices(projects, shares, k=number)):
        agent = board.agent(
            "claude", session=f"{place:08x}-0000-4000-8000-{place * 7919:012x}", project=f"/home/ada/{project}"
        )
        agent.call("todo", {"set": ["Read the code", "Write the change", "Test it", "Clean up"]})
        agent.call("todo", {"done": "1"})
        agent.tool_started("edit", "Edit", {"file_path": "src/main.py"})
        agent.tool_finished("edit", "ok")
        if place % 20 == 2:
            agent.call("todo", {"ask": [{"id": "2", "text": "Which region do you mean, the old or the new one?"}]})
        if place % 5 == 1:
            is_red = place % 20 == 1
            agent.tool_started("test", "Bash", {"command": "pytest -q"})
            agent.tool_finished("test", "2 failed, 38 passed" if is_red else "40 passed", exit_code=int(is_red))
        if place % 5 == 1 and place % 20 != 1:
            agent.call("todo", {"done": ["2", "3", "4"]})
            agent.finished()
        clock.advance(0.7)
    clock.set(MORNING)


def write_tasks(board: Board, clock: FakeClock) -> None:
    """Write a list of tasks in every state: done, at work, waiting for a person, ready and blocked."""
    clock.set(MORNING - timedelta(minutes=20))
    tasks = board.tasks("archive", by="ada")
    for subject in ("List the consumers", "Choose the store", "Dump the tables"):
        done = tasks.create(subject)
        tasks.claim("codex", id=done.id)
        tasks.complete(done.id)
    blocked_by = {
        "Copy to the new store": ["3"],
        "Verify the checksums": ["4"],
        "Switch the readers": ["5"],
        "Switch the writers": ["6"],
        "Shadow reads, 1 day": ["3"],
        "Approve the downtime": [],
        "Delete the old store": ["7"],
        "Write the runbook": [],
    }
    for subject, blockers in blocked_by.items():
        tasks.create(subject, blocked_by=blockers)
    tasks.claim("main", id="4", lease=3600)
    tasks.claim("claude", id="8", lease=7200)
    tasks.wait("9")
    clock.set(MORNING)


SCREENS: dict[str, tuple[Callable[[Board, FakeClock], None], str]] = {
    "empty": (lambda board, clock: None, "/"),
    "home-3": (lambda board, clock: write_agents(board, clock, 3), "/"),
    "home-20": (lambda board, clock: write_agents(board, clock, 20), "/"),
    "home-200": (lambda board, clock: write_agents(board, clock, 200), "/"),
    "home": (write_night, "/"),
    "sessions": (write_night, "/sessions"),
    "session": (write_night, f"/sessions/{SESSIONS['api']}"),
    "plan": (write_night, f"/sessions/{SESSIONS['mobile']}/plan?agent=codex"),
    "tasks": (write_tasks, "/tasks"),
    "tasks-list": (write_tasks, "/tasks/archive"),
    "tasks-table": (write_tasks, "/tasks/archive?view=table"),
    "tasks-graph": (write_tasks, "/tasks/archive?view=graph"),
    "task": (write_tasks, "/tasks/archive/5"),
    "stats": (write_night, "/stats"),
    "search": (write_night, "/search?q=the"),
    "missing": (write_night, "/sessions/nothing"),
    "no-token": (write_night, "/?token=wrong"),
}


def draw(browser: Browser, name: str, folder: Path) -> None:
    write, path = SCREENS[name]
    clock = FakeClock(EVENING)
    with tempfile.TemporaryDirectory() as place, Board.open(Path(place) / "board.db", clock=clock) as board:
        write(board, clock)
        server = Running(board)
        server.start()
        for theme in ("light", "dark"):
            for width in WIDTHS:
                context = browser.new_context(
                    viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce"
                )
                page = context.new_page()
                page.goto(server.access.link)
                page.goto(server.origin + path)
                page.wait_for_timeout(250)
                page.screenshot(path=folder / f"{name}-{theme}-{width}.png", full_page=True)
                height = page.evaluate("document.documentElement.scrollHeight")
                print(f"{name}-{theme}-{width}: {height} px tall")
                context.close()
        server.stop()


def main() -> None:
    folder, words = Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name in SCREENS:
            if not words or any(word in name for word in words):
                draw(browser, name, folder)
        browser.close()


if __name__ == "__main__":
    main()
