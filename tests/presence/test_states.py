"""The state of an agent: by what was noted of it and a look at its process, the same on every surface."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from punchlist import Board
from punchlist.cli.statusline import stop_clock
from punchlist.core.events import Draft
from punchlist.core.presence import NoticeMemory, PresenceState, ProcessLook, decide_state
from punchlist.core.report import assemble_brief
from punchlist.hooks.events import answer_event
from punchlist.people.back_channel import find_running
from punchlist.presence.roster import load_roster
from punchlist.presence.running_agents import PresenceLog, find_presence
from punchlist.presence.screen_feed import LiveRoster
from punchlist.reports.work_reports import LoadedBrief, load_brief
from punchlist.server.pages.home import load_home
from punchlist.server.pages.rendering import element_id
from punchlist.store.current_work import load_line
from punchlist.terminal.now import arrange_rows, list_sections, now_lines
from punchlist.terminal.spans import UNICODE, Display, plain
from punchlist.testing import FakeClock
from punchlist.views.brief_groups import group_sessions
from punchlist.views.notices import find_news, key_of_agent
from punchlist.views.now import AgentNow, Roster
from punchlist_hook import mark_process
from punchlist_statusline import UNICODE as SIGNS
from punchlist_statusline import find_process, render_rows
from tests.presence.test_running_agents import start_processes, tell
from tests.sizes import size

Start = Callable[..., subprocess.Popen[bytes]]
SHOP = "/projects/shop"


def bind(board: Board, host: str, conversation: str, session: str) -> None:
    """Bind a conversation to a session, as a handoff does."""
    board.store.transact(
        lambda tx: tx.hosts.bind_conversation(host, conversation, session, project=SHOP, at=board.now())
    )


PROGRAM = """
import sys
from punchlist import Board
with Board.open(sys.argv[1]) as board:
    agent = board.agent("main", session="s1", project="/projects/shop")
    agent.call("todo", {"set": ["Run the tests", "Ship"], "start": "1"})
    agent.tool_started("c1", "Bash", {"command": "make test"})
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def start() -> Iterator[Start]:
    with start_processes() as run:
        yield run


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def board(tmp_path: Path, clock: FakeClock) -> Iterator[Board]:
    with Board.open(tmp_path / "board.db", clock=clock) as board:
        yield board


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Board]:
    """A board whose time is that of the system."""
    with Board.open(tmp_path / "board.db") as board:
        yield board


def only_row(board: Board) -> AgentNow:
    (row,) = load_roster(board, present=()).agents
    return row


def text_of(board: Board) -> str:
    roster = load_roster(board, present=())
    return "\n".join(plain(line) for line in now_lines(roster, Display(UNICODE, columns=120)))


def print_line(board: Board, session: str = "s1") -> list[str]:
    """Return the rows under a prompt, as `punchlist statusline` prints them."""
    found = board.store.read(lambda tx: load_line(tx, session, board.now()))
    line = {} if found is None else as_json(stop_clock(board, session, found))
    rows = render_rows(line, now=board.now().timestamp(), columns=100, glyphs=SIGNS)
    return ["".join(part for part, _ in row) for row in rows]


def as_json(value: Any) -> dict[str, Any]:
    import msgspec

    return msgspec.json.decode(msgspec.json.encode(value))


def run_program(start: Start, board: Board) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(board.store.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


# The end of a process.


@pytest.mark.parametrize("end", ["exit", "kill"])
def test_a_program_that_exited_or_was_killed_has_ended_on_every_screen(live: Board, start: Start, end: str) -> None:
    process = run_program(start, live)
    feed = LiveRoster(live, watches=False)
    assert [row.state for row in feed.roster.agents] == ["busy"]
    assert print_line(live)[-1].startswith("▸ Run the tests  ")
    if end == "kill":
        process.kill()
    process.communicate()
    feed._next_look = 0.0  # the next look is due, at most 1.5 s later
    feed.load()
    (row,) = feed.roster.agents
    assert (row.state, row.silent_since, row.hung) == ("gone", None, False)
    now = text_of(live)
    assert "Ended 1" in now
    assert "– shop · main s1  stopped in `make test`, 2 items open" in now
    assert "At work" not in now
    assert "silent" not in now
    groups = load_a_brief(live, feed.roster).groups
    (section,) = arrange_rows(groups, feed.roster, Display(UNICODE, columns=120), "").sections
    assert section.name == "ended"
    home = load_home(load_a_brief(live, feed.roster), feed.roster)
    assert [row.of.session for row in home["rows"]] == [row.of.session for row in home["ended"]] == ["s1"]
    assert print_line(live)[-1].startswith("‖ Run the tests")
    assert load_a_brief(live).around.stalls == []
    assert load_a_brief(live).brief.under_way == []


def load_a_brief(board: Board, roster: Roster | None = None) -> LoadedBrief:
    return load_brief(board, roster or load_roster(board, present=()), None, project=None, who="ada")


def test_an_mcp_client_that_ended_has_ended(live: Board) -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "punchlist", "mcp", "--db", str(live.store.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    hello = {"protocolVersion": "2025-06-18", "clientInfo": {"name": "editor"}, "capabilities": {}}
    call = {"name": "todo", "arguments": {"set": ["Run the tests"], "start": "1"}}
    for number, (method, params) in enumerate([("initialize", hello), ("tools/call", call)]):
        line = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        server.stdin.write(line.encode() + b"\n")
        server.stdin.flush()
        server.stdout.readline()
    assert only_row(live).state == "busy"
    server.communicate()
    assert only_row(live).state == "gone"


def test_hooks_note_the_process_of_their_host(board: Board, start: Start) -> None:
    process = start()
    start_turn(board, mark_process(process.pid))
    assert find_state(board) == "busy"
    process.kill()
    process.wait()
    assert find_state(board) == "gone"


def start_turn(board: Board, process: str) -> None:
    """Let a hook tell of a tool call that begins."""
    told = {"hook_event_name": "PreToolUse", "session_id": "g-1", "cwd": SHOP, "tool_name": "Bash"}
    event = {**told, "tool_use_id": "c1", "tool_input": {"command": "make test"}}
    answer_event(board, "gemini", event, board.now(), process=process)


def find_state(board: Board) -> str:
    (row,) = load_roster(board).agents
    return row.state


def test_a_server_of_tools_does_not_take_the_place_of_the_client_that_started_it(board: Board) -> None:
    start_turn(board, mark_process(os.getppid()))
    board.agent("main", session="g-1").call("todo", {"set": ["Ship"]})
    (known,) = board.store.read(lambda tx: tx.memory.all(session="g-1"))
    assert known.memory.process == mark_process(os.getppid())


def test_a_second_process_that_acts_for_an_agent_and_ends_does_not_end_it(live: Board, start: Start) -> None:
    process = run_program(start, live)
    deed = "Board.open(sys.argv[1]).agent('main', session='s1').call('todo', {'done': '1'})"
    script = f"import sys; from punchlist import Board; {deed}"
    subprocess.run([sys.executable, "-c", script, str(live.store.path)], check=True)
    row = only_row(live)
    assert (row.state, row.done) == ("busy", 1)
    process.kill()
    process.communicate()
    assert only_row(live).state == "gone"


# One conversation in two windows, one session in two conversations.


def send(board: Board, process: subprocess.Popen[bytes], name: str, conversation: str = "c-1", **more: Any) -> None:
    """Let the hook of a process tell of a conversation."""
    host = "codex" if conversation.startswith("t") else "claude-code"
    event = {"hook_event_name": name, "session_id": conversation, "cwd": SHOP, **more}
    answer_event(board, host, event, board.now(), process=mark_process(process.pid))


def run_call(board: Board, process: subprocess.Popen[bytes], conversation: str = "c-1") -> None:
    send(board, process, "UserPromptSubmit", conversation, prompt="Go on")
    send(board, process, "PreToolUse", conversation, tool_name="Bash", tool_use_id=f"c{process.pid}", tool_input={})


@pytest.mark.parametrize("last", [0, 1], ids=["the first acted last", "the second acted last"])
@pytest.mark.parametrize("closed", [0, 1], ids=["the first ends", "the second ends"])
@pytest.mark.parametrize("end", ["close", "kill"])
def test_a_conversation_in_two_windows_lives_until_both_have_ended(
    live: Board, start: Start, last: int, closed: int, end: str
) -> None:
    windows = [start(), start()]
    for window in (windows[0], windows[1], windows[last]):
        send(live, window, "SessionStart", source="resume")
        run_call(live, window)
    live.agent("main", session="c-1", project=SHOP).call("todo", {"set": ["Ship"]})
    new = live.agent("main", session="new", project=SHOP)
    leave(live, windows[closed], end)
    assert [row.state for row in load_roster(live).agents] == ["busy"]
    assert "still lives" in new.call("todo", {"continue": "c-1"}).text
    run_call(live, windows[1 - closed])
    assert [row.state for row in load_roster(live).agents if row.session == "c-1"] == ["busy"]
    leave(live, windows[1 - closed], end)
    assert [row.state for row in load_roster(live).agents if row.session == "c-1"] == ["gone"]
    assert not new.call("todo", {"continue": "c-1"}).is_error


def leave(board: Board, process: subprocess.Popen[bytes], end: str) -> None:
    if end == "close":
        send(board, process, "SessionEnd", reason="prompt_input_exit")
    process.kill()
    process.wait()


@pytest.mark.parametrize("killed", ["c-1", "t-1"])
def test_after_a_handoff_a_killed_agent_is_not_at_work_though_the_other_runs(
    live: Board, start: Start, killed: str
) -> None:
    processes = {"c-1": start(), "t-1": start()}
    run_call(live, processes["c-1"])
    live.agent("main", session="c-1", project=SHOP).call("todo", {"set": ["Ship"], "start": "1"})
    for _ in range(2):  # the guard says its word once
        send(live, processes["c-1"], "Stop")
    bind(live, "codex", "t-1", "c-1")
    run_call(live, processes["t-1"], "t-1")
    assert [(row.host, row.state, row.focus) for row in load_roster(live).agents] == [("codex", "busy", "Ship")]
    processes[killed].kill()
    processes[killed].wait()
    shown = [(row.host, row.state) for row in load_roster(live).agents]
    assert shown == [("codex", "busy") if killed == "c-1" else ("claude-code", "idle")]
    new = live.agent("main", session="new", project=SHOP)
    assert "still lives" in new.call("todo", {"continue": "c-1"}).text
    for process in processes.values():
        process.kill()
        process.wait()
    assert {row.state for row in load_roster(live).agents if row.list_session == "c-1"} == {"gone"}
    assert not new.call("todo", {"continue": "c-1"}).is_error


def test_a_program_that_goes_on_in_an_ended_conversation_is_at_work_while_its_process_runs(
    board: Board, clock: FakeClock, start: Start
) -> None:
    host, program = start(), start()
    start_turn(board, mark_process(host.pid))
    ended = {"hook_event_name": "SessionEnd", "session_id": "g-1", "cwd": SHOP}
    answer_event(board, "gemini", ended, board.now(), process=mark_process(host.pid))
    board.agents_process = mark_process(program.pid)
    board.agent("main", session="g-1").user_turn("Go on")
    clock.advance(3600)
    assert find_state(board) == "busy"
    program.kill()
    program.wait()
    assert find_state(board) == "gone"


# Processes that cannot be looked up.


def place_elsewhere(mark: str, *, boot: bool) -> str:
    pid, begin, boot_id, namespace = mark.split(" ")
    other = (boot_id[::-1], namespace) if boot else (boot_id, "pid:[1]")
    return " ".join((pid, begin, *other))


@pytest.mark.parametrize("boot", [True, False], ids=["another boot", "another pid namespace"])
def test_a_process_elsewhere_lives_by_its_heartbeats_and_is_then_unknown(
    board: Board, clock: FakeClock, boot: bool
) -> None:
    board.agents_process = place_elsewhere(mark_process(os.getpid()), boot=boot)
    agent = board.agent("main", session="s1", project=SHOP)
    agent.call("todo", {"set": ["Run the tests"], "start": "1"})
    clock.advance(599)
    assert only_row(board).state == "busy"
    clock.advance(2)
    assert only_row(board).state == "unknown"
    assert '? shop · main s1  stopped at "Run the tests", 1 item open' in text_of(board)
    agent.call("todo", {"append": ["Ship"]})
    assert only_row(board).state == "busy"


def test_a_pid_of_another_namespace_is_not_looked_up(board: Board, start: Start) -> None:
    process = start()
    start_turn(board, place_elsewhere(mark_process(process.pid), boot=False))
    process.kill()
    process.wait()
    (seen,) = find_presence(board)
    assert (seen.process, seen.state) == ("elsewhere", "busy")


def test_a_pid_that_came_from_another_namespace_means_no_process_here_however_long_ago(
    board: Board, clock: FakeClock
) -> None:
    start_turn(board, place_elsewhere(mark_process(os.getpid()), boot=False))
    clock.advance(13 * 3600)
    assert find_presence(board) == []
    assert board.store.read(lambda tx: find_running(tx, "g-1", clock())) is None


def test_a_process_is_known_by_id_start_boot_and_namespace(start: Start) -> None:
    process = start()
    mark = mark_process(process.pid)
    pid, begin, *place = mark.split(" ")
    assert find_process(mark) == "runs"
    assert find_process(" ".join((pid, str(int(begin) + 1), *place))) == "ended"
    assert find_process(place_elsewhere(mark, boot=True)) == "elsewhere"
    assert find_process("") == find_process("damaged") == "none"
    process.kill()
    process.wait()
    assert find_process(mark) == "ended"
    assert mark_process(process.pid) == ""


@pytest.mark.parametrize(
    ("said", "process", "quiet", "state"),
    [
        ("busy", "runs", 10**6, "busy"),
        ("busy", "ended", 0, "gone"),
        ("idle", "ended", 0, "gone"),
        ("gone", "runs", 0, "gone"),
        ("busy", "elsewhere", 10, "busy"),
        ("idle", "elsewhere", 10**6, "unknown"),
        ("busy", "none", 10**6, "unknown"),
        ("busy", "none", -(10**6), "busy"),  # a clock that was set back
    ],
)
def test_one_rule_decides(said: PresenceState, process: ProcessLook, quiet: float, state: str) -> None:
    assert decide_state(said, process, quiet) == state
    assert decide_state(said, process, quiet, is_asked=True) == (state if state in ("gone", "unknown") else "waiting")


# Heartbeats, silence and clocks.


@pytest.mark.parametrize("write", ["list", "task"])
def test_a_write_to_the_list_or_a_task_is_a_heartbeat(board: Board, clock: FakeClock, write: str) -> None:
    agent = board.agent("main", session="s1", project=SHOP)
    agent.tool_started("c1", "Bash", {"command": "make test"})
    clock.advance(299)
    if write == "list":
        agent.call("todo", {"set": ["Run the tests"]})
    else:
        board.tasks(agent=agent).create("Ship")
    clock.advance(299)
    assert board.stalls() == []
    assert only_row(board).silent_since is None
    clock.advance(2)
    assert only_row(board).hung


def test_a_call_that_hangs_is_shown_however_long_the_night_until_somebody_looked(
    board: Board, clock: FakeClock
) -> None:
    board.agents_process = ""  # nothing can be looked up: the worst case
    agent = board.agent("main", session="s1", project=SHOP)
    agent.call("todo", {"set": ["Transform"], "start": "1"})
    agent.tool_started("c1", "Bash", {"command": "python transform.py"})
    for _ in range(9):
        clock.advance(3600)
        board.tick()
    row = only_row(board)
    assert (row.state, row.hung) == ("busy", True)
    assert "hung: python transform.py" in text_of(board)
    roster = load_roster(board, present=(), who="ada")
    loaded = load_a_brief(board, roster)
    assert [(one.session, one.silent) for one in loaded.around.stalls] == [("s1", timedelta(hours=9))]
    board.store.transact(lambda tx: tx.log.save_mark(loaded.mark, loaded.brief.until))
    assert load_roster(board, present=(), who="ada").agents == ()


def test_a_call_that_hangs_in_a_living_process_stays(board: Board, clock: FakeClock) -> None:
    board.agent("main", session="s1", project=SHOP).tool_started("c1", "Bash", {"command": "sleep"})
    clock.advance(30 * 3600)
    assert [one.agent for one in board.stalls()] == ["main"]


def test_clocks_stop_with_the_turn_and_run_again_with_the_next_prompt(board: Board, clock: FakeClock) -> None:
    agent = board.agent("main", session="s1", project=SHOP)
    agent.call("todo", {"set": ["Run the tests", "Ship"], "start": "1"})
    agent.tool_started("c1", "Bash", {"command": "make test"})
    clock.advance(14)
    assert print_line(board)[-1] == "▸ Run the tests  14 s"
    agent.tool_finished("c1", "ok")
    agent.about_to_stop()
    agent.about_to_stop()  # the guard says its word once
    clock.advance(3600)
    assert print_line(board)[-1] == "‖ Run the tests"
    assert 'Idle 1\n○ shop · main s1  stopped at "Run the tests", 2 items open' in text_of(board)
    agent.user_turn()
    assert print_line(board)[-1] == "▸ Run the tests  1 h"
    assert only_row(board).state == "busy"


# One conversation, one row.


def test_a_conversation_that_its_log_tells_of_too_is_one_row_after_a_handoff(live: Board, start: Start) -> None:
    board, process = live, start()
    board.agent("main", session="a-1", project=SHOP).call("todo", {"set": ["Ship"], "start": "1"})
    tell(board, "claude-code", "a-1", "ended", None, event="SessionEnd")
    now = board.now()
    bind(board, "codex", "t-1", "a-1")
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "t-1", "cwd": SHOP, "prompt": "Go on"}
    answer_event(board, "codex", prompt, now, process=mark_process(process.pid))

    def copy(tx: Any) -> None:
        row = tx.add_agent("t-1", "main", project=SHOP, at=now)
        tx.add_events(row, [Draft("agent.copied", {"source": "log", "format": "codex"})], by="main", at=now)

    board.store.transact(copy)
    roster = load_roster(board)
    assert [(row.session, row.state, row.focus) for row in roster.agents] == [("t-1", "busy", "Ship")]
    process.kill()
    process.wait()
    roster = load_roster(board)
    assert [(row.session, row.state) for row in roster.agents] == [("t-1", "gone")]
    rows = load_home(load_a_brief(board, roster), roster)["rows"]
    assert [row.of.session for row in rows] == ["a-1"]  # Home has a row per session of the board


# All surfaces agree.

GROUPS = {
    "do_now": {"waiting", "busy", "idle", "unknown", "gone"},
    "look_first": {"busy", "idle", "unknown", "gone"},
    "at_work": {"busy"},
    "checked": {"idle", "unknown", "gone"},
    "idle": {"idle", "unknown", "waiting"},
    "ended": {"gone"},
}
"""The states that the agents of each group may have."""

CONVERSATIONS = (("gemini", "g-1"), ("gemini", "g-2"), ("qwen", "q-1"), ("qwen", "q-2"))
SESSIONS = ("g-1", "g-2", "q-1", "q-2", "p-1", "p-2")
JUMPS = (1, 30, 290, 320, 700, 8 * 3600, -3600)


class History:
    """Two sessions, each seen by hooks and by a program, whose processes are killed, with handoffs and clock jumps."""

    def __init__(self, board: Board, clock: FakeClock, chance: random.Random) -> None:
        self.board, self.clock, self.chance = board, clock, chance
        self.processes = [subprocess.Popen(["sleep", "300"]) for _ in range(3)]
        marks = [mark_process(process.pid) for process in self.processes]
        self.marks = [*marks, place_elsewhere(marks[0], boot=True), place_elsewhere(marks[1], boot=False), ""]
        self.calls = 0
        self.memory = NoticeMemory(board.now(), {}, ())

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def step(self) -> str:
        name = self.chance.choice(("hook", "hook", "hook", "program", "program", "jump", "jump", "kill", "other"))
        return f"{name} {getattr(self, f'_{name}')()}"

    def _jump(self) -> object:
        return self.clock.advance(self.chance.choice(JUMPS))

    def _kill(self) -> object:
        if self.chance.random() < 0.5:
            return "missed"
        process = self.chance.choice(self.processes)
        process.kill()
        return process.wait()

    def _hook(self) -> object:
        """Let a hook tell of a conversation."""
        name = self.chance.choice(("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "Stop", "SessionEnd"))
        host, conversation = self.chance.choice(CONVERSATIONS)
        return self._tell(name, host, conversation)

    def _tell(self, name: str, host: str, conversation: str) -> object:
        event = {"hook_event_name": name, "session_id": conversation, "cwd": SHOP, "prompt": "Go on"}
        if name in ("PreToolUse", "PostToolUse"):
            self.calls += name == "PreToolUse"
            event |= {"tool_name": "Bash", "tool_use_id": f"c{self.calls}", "tool_response": "ok"}
        mark = self.chance.choice([mark for mark in self.marks if mark])
        event |= {"tool_input": {"command": "make test"}, "stop_hook_active": True}
        answer_event(self.board, host, event, self.board.now(), process=mark)
        return name, conversation, mark[:12]

    def _program(self) -> object:
        """Let a program act for an agent, which its host may know as well."""
        session = self.chance.choice(("p-1", "p-2", "g-1"))
        self.board.agents_process = self.chance.choice(self.marks)
        agent = self.board.agent("main", session=session, project=SHOP)
        deed = self.chance.choice(("write", "write", "ask", "call", "stop", "prompt", "answer"))
        self.calls += 1
        if deed == "write":
            agent.call("todo", {"set": ["Run the tests", f"Ship {self.calls}"], "start": "1"})
        elif deed == "ask" and agent.todos.items:
            agent.call("todo", {"ask": [{"id": agent.todos.items[-1].id, "text": "Really?"}]})
        elif deed == "answer" and agent.todos.items:
            agent.edit([{"op": "start", "item": agent.todos.items[0].id}], by="ada", person=True)
        elif deed == "call":
            agent.tool_started(f"p{self.calls}", "Bash", {"command": "make test"})
        elif deed == "stop":
            agent.about_to_stop()
        else:
            agent.user_turn()
        self.board.agents_process = None
        return deed, session

    def _other(self) -> object:
        """Hand a session over, copy the list of a log, or record the states that are seen."""
        deed = self.chance.choice(("handoff", "handoff", "copy", "look"))
        if deed == "look":
            PresenceLog(self.board).look()
        elif deed == "handoff":
            host, conversation = self.chance.choice(CONVERSATIONS)
            session = self.chance.choice([name for name in SESSIONS if name != conversation])
            bind(self.board, host, conversation, session)
            self._tell("UserPromptSubmit", host, conversation)
        else:
            self.board.store.transact(self._copy)
        return deed

    def _copy(self, tx: Any) -> None:
        at = self.board.now()
        row = tx.agent("q-1", "main") or tx.add_agent("q-1", "main", project=SHOP, at=at)
        tx.add_events(row, [Draft("agent.copied", {"source": "log", "format": "qwen"})], by="main", at=at)

    def compare(self) -> None:
        """Compare all surfaces: each row has one state, whoever shows it."""
        board, feed = self.board, LiveRoster(self.board, watches=False)
        live = feed.roster  # it records the states that it sees
        roster = load_roster(board, who="ada")
        states = {(row.host, row.session, row.agent): row.state for row in roster.agents}
        assert len(states) == len(roster.agents)  # one conversation is one row, and ids are unique
        assert {(row.host, row.session, row.agent): row.state for row in live.agents} == states
        shown = {key_of_agent(row): row for row in roster.agents}
        assert len({element_id(row) for row in roster.agents}) == len(roster.agents)
        screens = (
            list_sections(group_sessions(assemble_brief((), (), (), (), after=0, until=0), roster), roster, UNICODE),
            arrange_rows(load_a_brief(board, roster).groups, roster, Display(UNICODE, columns=120), "").sections,
        )
        for sections in screens:
            places = {row.agent: section.name for section in sections for row in section.rows}
            for row in roster.agents:
                is_taken_over = row.state == "gone" and row not in places
                assert is_taken_over or row.state in GROUPS[places[row]], (row, places[row])
        for row in roster.agents:
            if row.focus and row.state != "waiting":
                printed = print_line(board, row.list_session)[1]
                assert printed.startswith("▸" if row.state == "busy" else "‖"), (row, printed)
        self._compare_brief(roster)
        home = load_home(load_a_brief(board, roster), roster)
        assert len({row.id for row in home["rows"]}) == len(home["rows"])
        shown_at_work = {row.of.session for row in home["at_work"].shown}
        assert shown_at_work <= {row.list_session or row.session for row in roster.agents if row.state == "busy"}
        news = find_news(NoticeMemory(board.now(), {}, ()), roster)
        assert {key: seen.state for key, seen in news.agents.items() if key in shown} == {
            key: row.state for key, row in shown.items() if key in news.agents
        }
        assert all(row.state == "idle" for key, row in shown.items() if key not in news.agents)
        told = find_news(self.memory, roster)
        self.memory = NoticeMemory(self.memory.began, {**self.memory.agents, **told.agents}, ())
        for fact in told.facts:
            row = shown.get(fact.subject)
            if fact.kind == "stalled":
                assert row is not None
                assert row.silent_since is not None
            if fact.kind == "finished" and row is not None:
                assert row.state in ("idle", "gone")

    def _compare_brief(self, roster: Roster) -> None:
        loaded = load_a_brief(self.board, roster)
        silent = {(row.list_session, row.agent) for row in roster.agents if row.silent_since is not None}
        assert {(one.session, one.agent) for one in loaded.around.stalls} == silent
        at_work = {row.list_session for row in roster.agents if row.state in ("busy", "waiting")}
        assert {one.subject.session for one in loaded.brief.under_way} <= at_work
        ended = {(row.list_session, row.agent) for row in roster.agents if row.state not in ("busy", "waiting")}
        known = {(row.list_session, row.agent) for row in roster.agents}
        assert {(one.session, one.agent) for one in loaded.around.stopped} & known <= ended


@pytest.mark.parametrize("part", range(10))
def test_all_surfaces_agree_on_every_agent_after_any_history(part: int) -> None:
    for number in range(size(50, 1000)):
        seed = part * 100_000 + number
        clock = FakeClock(datetime.now(UTC) + timedelta(days=2))  # clocks are set back, but not to before a process
        with Board.open("memory:", clock=clock) as board:
            history = History(board, clock, random.Random(seed))
            steps: list[str] = []
            try:
                for _ in range(history.chance.randrange(3, 16)):
                    clock.advance(0.5)
                    steps.append(history.step())
                    if history.chance.random() < 0.4:
                        history.compare()
                history.compare()
            except AssertionError as error:
                error.add_note(f"seed {seed}: {steps}")
                raise
            finally:
                history.end()
