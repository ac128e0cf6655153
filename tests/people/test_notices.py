"""Telling a person: facts are claimed on the board, held back in quiet hours, and told once by all programs."""

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from punchlist import Board
from punchlist.core.presence import PresenceState
from punchlist.errors import ConfigInvalid
from punchlist.hooks.events import answer_event
from punchlist.people.notices import PersonNotifier, Told
from punchlist.settings.table import NotifySettings, WebhookSettings
from punchlist.views.now import AgentNow, Roster

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
SILENT = NotifySettings(terminal=())


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "board.db")


def see(hours: float, state: PresenceState = "idle", number: int = 1, *, since: float | None = None) -> AgentNow:
    began = hours if since is None else since
    at = NOON + timedelta(hours=began)
    return AgentNow(
        project=f"/home/ada/p{number}",
        host="codex",
        session=f"s{number}",
        agent="",
        state=state,
        since=at,
        waits_for="x",
    )


def show(hours: float, *agents: AgentNow) -> Roster:
    return Roster(at=NOON + timedelta(hours=hours), agents=agents, waits=())


class Listener:
    """A notifier, and what it wrote to the terminal."""

    def __init__(self, board: Board, settings: NotifySettings = SILENT, **options: Any) -> None:
        self.problems: list[str] = []
        self.written: list[str] = []
        self.notifier = PersonNotifier(
            board, settings, write=self.written.append, report=self.problems.append, **options
        )

    def hear(self, roster: Roster) -> list[str]:
        told: Told = self.notifier.look(roster)
        return [fact.title for fact in told.facts]


@pytest.fixture
def listen(path: str) -> Iterator[Callable[..., Listener]]:
    """Make a notifier with a board of its own on the same file, as another program has."""
    with ExitStack() as stack:

        def make(settings: NotifySettings = SILENT, **options: Any) -> Listener:
            made = Listener(stack.enter_context(Board.open(path)), settings, **options)
            stack.callback(made.notifier.close)
            return made

        yield make


Listen = Callable[..., Listener]


def test_a_fact_is_told_by_one_of_two_programs(listen: Listen) -> None:
    one, other = listen(), listen()
    assert one.hear(show(0, see(-1, "busy"))) == []
    assert other.hear(show(0.1, see(-1, "busy"))) == []
    done = show(1, see(0.9))
    assert (one.hear(done), other.hear(done)) == (["p1 · codex s1 finished"], [])
    back = show(2, see(1.9, "waiting"))
    assert (other.hear(back), one.hear(back)) == (["p1 · codex s1 waits on you"], [])


def test_a_restart_repeats_nothing_and_tells_what_happened_meanwhile(listen: Listen) -> None:
    first = listen()
    first.hear(show(0, see(-1, "busy", 1), see(-1, "busy", 2)))
    first.hear(show(1, see(0.9, "idle", 1), see(-1, "busy", 2)))
    again = listen()
    assert again.hear(show(2, see(0.9, "idle", 1), see(1.5, "idle", 2))) == ["p2 · codex s2 finished"]


def test_after_a_day_without_a_program_only_what_begins_from_then_on_is_told(listen: Listen) -> None:
    listen().hear(show(0, see(-1, "busy")))
    assert listen().hear(show(30, see(20, "waiting"), see(29, "waiting", 2))) == []
    assert listen().hear(show(31, see(20, "waiting"), see(30.5, "waiting", 2))) == []


def test_a_program_that_only_looks_stays_known(listen: Listen) -> None:
    one = listen()
    busy = see(-1, "busy")
    for hour in range(0, 40, 6):
        assert one.hear(show(hour, busy)) == []
    assert one.hear(show(40, see(39.9))) == ["p1 · codex s1 finished"]


def test_only_the_facts_that_are_wanted_are_told(listen: Listen) -> None:
    one = listen(NotifySettings(terminal=("bell",), facts=("waits",)))
    one.hear(show(0, see(-1, "busy")))
    assert one.hear(show(1, see(0.9))) == []
    assert one.written == []
    assert one.hear(show(2, see(1.9, "waiting"))) == ["p1 · codex s1 waits on you"]
    assert one.written == ["\a"]


def test_many_facts_at_once_are_one_message(listen: Listen) -> None:
    one = listen(NotifySettings(terminal=("osc9",)))
    one.hear(show(0, *(see(-1, "busy", n) for n in range(9))))
    assert len(one.hear(show(1, *(see(0.9, "idle", n) for n in range(9))))) == 9
    assert one.written == [one.written[0]]
    assert one.written[0].startswith("\x1b]9;Punchlist: 9 finished: ")


def test_what_happens_in_quiet_hours_is_told_in_one_message_at_their_end(listen: Listen) -> None:
    settings = NotifySettings(terminal=("osc9",), quiet="22:00-07:00")
    one = listen(settings)
    rows = [see(-1, "busy", n) for n in range(3)]
    assert one.hear(show(9.9, *rows)) == []  # 21:54
    rows[0] = see(11, "idle", 0)
    held = one.notifier.look(show(11.1, *rows))  # 23:06
    assert ([fact.title for fact in held.held], held.facts) == (["p0 · codex s0 finished"], ())
    rows[1], rows[2] = see(14, "waiting", 1), see(14, "waiting", 2)
    one.hear(show(14.1, *rows))  # 02:06
    assert one.written == []
    rows[2] = see(15, "busy", 2)  # somebody answered
    other = listen(settings)
    assert other.hear(show(18.9, *rows)) == []  # 06:54, after a restart
    told = other.notifier.look(show(19, *rows))  # 07:00
    assert [fact.title for fact in told.released] == ["p0 · codex s0 finished", "p1 · codex s1 waits on you"]
    assert len(other.written) == 1
    assert "1 waits on you, 1 finished" in other.written[0]
    assert not any(one.notifier.look(show(19.1, *rows)))


def test_a_look_at_one_project_does_not_take_others_for_gone(listen: Listen) -> None:
    listen().hear(show(0, see(-1, "busy", 1), see(-1, "busy", 2)))
    narrow = listen(project="/home/ada/p1")
    assert narrow.hear(show(1, see(-1, "busy", 1))) == []
    assert narrow.hear(show(2, see(-1, "busy", 1))) == []


def test_hours_that_are_none_are_refused(listen: Listen) -> None:
    with pytest.raises(ConfigInvalid, match="notify"):
        listen(NotifySettings(quiet="22:00-22:00"))


PROGRAM = """
import sys
from datetime import UTC, datetime, timedelta
from punchlist import Board
from punchlist.people.notices import PersonNotifier
from punchlist.settings.table import NotifySettings
from tests.people.test_notices import see, show

settings = NotifySettings(terminal=(), command=("tee", "-a", sys.argv[2]))
with Board.open(sys.argv[1]) as board:
    with PersonNotifier(board, settings, report=print) as notifier:
        notifier.look(show(0, *(see(-1, "busy", n) for n in range(20))))
        print("ready", flush=True)
        sys.stdin.readline()
        for step in range(20):
            ended = [see(n / 10, "idle", n) for n in range(step + 1)]
            working = [see(-1, "busy", n) for n in range(step + 1, 20)]
            done = [*ended, *working]
            for fact in notifier.look(show(step / 10 + 0.01, *done)).facts:
                print(fact.title, flush=True)
"""


def test_two_processes_at_once_tell_each_fact_once(path: str, tmp_path: Path) -> None:
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, path, str(tmp_path / f"told-{number}")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for number in range(2)
    ]
    for program in programs:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
    heard = [program.communicate("go\n", timeout=60)[0].splitlines() for program in programs]
    assert sorted(heard[0] + heard[1]) == sorted(f"p{n} · codex s{n} finished" for n in range(20))
    sent = "".join(file.read_text() for file in tmp_path.glob("told-*"))
    assert sent.count('"kind":"finished"') == 20


def test_a_test_says_for_each_way_if_it_worked(listen: Listen, tmp_path: Path) -> None:
    settings = NotifySettings(
        terminal=("bell",),
        command=("tee", str(tmp_path / "out")),
        webhook=WebhookSettings(url="http://127.0.0.1:9/secret"),
    )
    one = listen(settings)
    assert list(one.notifier.test()) == [
        ("bell", ""),
        ("command tee", ""),
        ("webhook http://127.0.0.1", "Connection refused"),
    ]
    assert json.loads((tmp_path / "out").read_text())["kind"] == "test"
    assert one.written == ["\a"]


def test_progress_is_sent_in_the_words_of_the_relay(path: str, tmp_path: Path) -> None:
    clock = [NOON]
    came = threading.Event()
    heard: list[tuple[str, str]] = []
    with Board.open(path, clock=lambda: clock[0]) as board:
        agent = board.agent("main", session="s1", dialect="claude-code", project=str(tmp_path))
        prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": str(tmp_path), "prompt": "Go"}
        answer_event(board, "claude-code", prompt, NOON)

        def hear(notice: Any) -> None:
            heard.append((notice.title, notice.text))
            came.set()

        settings = NotifySettings(terminal=(), progress=True)
        with PersonNotifier(board, settings, report=print, on_progress=hear):
            ends = time.monotonic() + 60
            number = 0
            while not came.is_set() and time.monotonic() < ends:  # the feed starts in a thread of its own
                number += 1
                todo = {"content": f"Step {number}", "activeForm": f"Doing step {number}", "status": "in_progress"}
                agent.call("TodoWrite", {"todos": [todo]})
                clock[0] += timedelta(seconds=11)
                came.wait(0.2)
    title, text = heard[0]
    assert re.fullmatch(r"test_progress_is_sent.*… · claude s1", title)
    assert "main: 0/1: now “Doing step" in text
