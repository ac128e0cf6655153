"""`punchlist now`: every agent in one line, what waits on the person first."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from punchlist import Board
from punchlist.terminal.now import now_lines
from punchlist.terminal.spans import Display, plain_text
from punchlist.text import width
from punchlist.views.now import AgentNow, Roster
from tests.cli.conftest import Run

ESCAPES = "\x1b]0;owned\x07\x1b[31mred\u202e"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return tmp_path


@pytest.fixture
def start_claude(home: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start a process, and write what Claude Code would write about it."""
    with ExitStack() as stack:

        def start(project: str, session: str, status: str, *, age: int = 0, **fields: Any) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(["sleep", "300"])
            stack.callback(lambda: (process.kill(), process.wait()))
            (home / project / ".git").mkdir(parents=True, exist_ok=True)
            at = int((datetime.now(UTC) - timedelta(seconds=age)).timestamp() * 1000)
            ticks = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19]
            found = {"pid": process.pid, "sessionId": session, "cwd": str(home / project), "procStart": ticks}
            told = {"status": status, "statusUpdatedAt": at, "nameSource": "derived"}
            file = home / ".claude" / "sessions" / f"{process.pid}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(found | told | fields))
            return process

        yield start


Start = Callable[..., subprocess.Popen[bytes]]


def write_call(home: Path, project: str, session: str, tool: str, args: dict[str, Any]) -> None:
    folder = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(home / project))
    folder.mkdir(parents=True, exist_ok=True)
    block = {"type": "tool_use", "id": "t-1", "name": tool, "input": args}
    record = {"type": "assistant", "message": {"role": "assistant", "content": [block]}}
    (folder / f"{session}.jsonl").write_text(json.dumps(record) + "\n")


def sections(text: str) -> dict[str, list[str]]:
    """Return the rows of each section, with single spaces."""
    found: dict[str, list[str]] = {}
    title = ""
    for line in text.splitlines():
        if heading := re.fullmatch(r"([A-Z][a-z]+( [a-z]+)?) \d+(, with .*)?|Done since.*", line):
            title = heading[1] or ""
            found[title] = []
        elif title and line and not line.startswith("`"):  # hints at the end
            found[title].append(" ".join(line.split()))
    return found


def read_json(run: Run, *options: str) -> dict[str, Any]:
    ran = run("now", "--json", *options)
    assert (ran.code, ran.err) == (0, "")
    return json.loads(ran.out)


def test_without_agents_it_says_what_it_looked_for_and_how_to_attach(run: Run, home: Path):
    (home / ".claude").mkdir()
    ran = run("now")
    assert ran.code == 0
    assert "No agent runs on this machine, and nothing waits on you." in ran.out
    assert "~/.claude/sessions" in ran.out
    assert "~/.codex" in ran.out
    assert "punchlist attach claude-code" in ran.out
    assert "punchlist attach codex" not in ran.out
    (home / ".claude").rmdir()
    assert "`punchlist demo`" in run("now").out


def test_agents_that_are_not_attached_are_shown_by_what_they_need(run: Run, home: Path, start_claude: Start):
    start_claude("docs", "d-1", "busy", age=12)
    write_call(home, "docs", "d-1", "Edit", {"file_path": "/x/README.md"})
    start_claude("infra", "i-1", "waiting", age=190, waitingFor="permission prompt")
    write_call(home, "infra", "i-1", "Bash", {"command": "terraform apply"})
    start_claude("web", "w-1", "idle", age=4000)
    killed = start_claude("old", "o-1", "busy", age=300)
    killed.kill()
    killed.wait()
    found = sections(run("now").out)
    assert list(found) == ["Do now", "At work", "Idle", "Ended"]
    assert found["Do now"] == ["◆ infra · claude i-1 permission: terraform apply 3 min in its window"]
    assert re.fullmatch(r"▸ docs · claude d-1 Edit README.md 1\d s", found["At work"][0])
    assert re.fullmatch(r"○ web · claude w-1 no list yet 1 h", found["Idle"][0])
    assert re.fullmatch(r"– old · claude o-1 no list yet (\w+|\d\d:\d\d)", found["Ended"][0])


def test_an_agent_that_is_only_seen_says_how_to_attach_it_once(run: Run, board: Board, home: Path, start_claude: Start):
    start_claude("shop", "s-1", "busy")
    start_claude("web", "w-1", "idle")
    assert run("now").out.count("`punchlist attach claude-code` gives its agents a list") == 1
    for session in ("s-1", "w-1"):
        board.agent("main", session=session).call("todo", {"set": ["paint"]})
    assert "attach" not in run("now").out


def test_the_json_has_state_time_place_and_what_each_waits_for(run: Run, home: Path, start_claude: Start):
    process = start_claude("infra", "i-1", "waiting", age=60, waitingFor="input needed")
    (agent,) = read_json(run)["agents"]
    told = {key: agent[key] for key in ("state", "project", "host", "session", "waits_for", "pid", "on_board", "total")}
    assert told == {
        "state": "waiting",
        "project": str(home / "infra"),
        "host": "claude-code",
        "session": "i-1",
        "waits_for": "input needed",
        "pid": process.pid,
        "on_board": False,
        "total": 0,
    }
    since = datetime.fromisoformat(agent["since"])
    assert timedelta(seconds=60) <= datetime.now(UTC) - since < timedelta(minutes=5)


def test_an_attached_agent_shows_its_list_its_checks_and_its_subagents(
    run: Run, board: Board, home: Path, start_claude: Start, monkeypatch: pytest.MonkeyPatch
):
    start_claude("shop", "s-1", "busy")
    agent = board.agent("main", session="s-1", project=home / "shop")
    items = [{"text": "read"}, {"text": "write the migration", "doing": "Writing the migration"}, {"text": "run it"}]
    agent.call("todo", {"set": items, "start": "1"})
    agent.call("todo", {"done": ["1"], "next": True})
    agent.tool_started("t-1", "Bash", {"command": "pytest -q"})
    agent.tool_finished("t-1", result="1 failed in 0.1s", is_error=True)
    child = agent.spawn("explore")
    child.call("todo", {"set": ["look", "tell"], "start": "1"})
    child.call("todo", {"done": ["1"], "next": True})
    monkeypatch.setenv("COLUMNS", "120")
    (row,) = sections(run("now").out)["Look first"]
    assert re.fullmatch(r"✗ shop · claude s-1 red: pytest 1/3 \d\d:\d\d", row), row
    agent.tool_started("t-2", "Bash", {"command": "pytest -q"})
    agent.tool_finished("t-2", result="1 passed in 0.1s")
    row, below = sections(run("now").out)["At work"]
    assert re.fullmatch(r"▸ shop · claude s-1 Writing the migration 1/3 \d s pytest green", row), row
    assert below == "⤷ explore 1/2"
    (agent_data,) = read_json(run)["agents"]
    assert (agent_data["session_state"], agent_data["check"], agent_data["focus"]) == (
        "green",
        "pytest",
        "Writing the migration",
    )
    assert agent_data["subagents"] == [{"name": "explore", "done": 1, "total": 2}]


def test_questions_and_plans_of_the_board_wait_with_those_of_hosts(
    run: Run, board: Board, home: Path, start_claude: Start
):
    # The host of an agent whose plan waits says the same in its own words: that is one line.
    start_claude("shop", "s-1", "waiting", waitingFor="input needed")
    board.agent("main", session="s-1", project=home / "shop").propose_plan("# Move\n- pack")
    start_claude("web", "w-1", "waiting", waitingFor="input needed", age=600)
    asking = board.agent("builder", session="b-1", project=home / "shop")
    asking.call("todo", {"set": ["paint"], "start": "1"})
    asking.ask("1", "Which colour?")
    found = sections(run("now").out)
    assert [re.sub(r" \d+ (s|min)", "", row) for row in found["Do now"]] == [
        "◆ shop · claude s-1 approve or reject: Move (1 step) answer plan-1",
        "◆ shop · builder b-1 answer: “Which colour?” 0/1 answer 1",
        "◆ web · claude w-1 input needed in its window",
    ]
    assert "At work" not in found
    data = read_json(run)
    assert {one["session"]: (one["state"], one["waits_for"]) for one in data["agents"]} == {
        "s-1": ("waiting", "plan: Move"),
        "w-1": ("waiting", "input needed"),
        "b-1": ("waiting", "Which colour?"),
    }
    assert [wait["kind"] for wait in data["waits"]] == ["plan", "question"]


def test_an_agent_that_goes_on_while_its_question_waits_is_one_row(run: Run, board: Board):
    agent = board.agent("builder", session="b-1")
    agent.call("todo", {"set": ["paint", "sand"], "start": "1"})
    agent.ask("1", "Which colour?")
    agent.call("todo", {"start": "2"})
    agent.tool_started("t-1", "Bash", {"command": "sand the door"})
    found = sections(run("now").out)
    assert "At work" not in found  # one row: what it waits for, which is all that a person can do
    (row,) = found["Do now"]
    assert "“Which colour?”" in row


def test_an_agent_that_fell_silent_says_since_when_and_what_it_did_last(run: Run, home: Path, start_claude: Start):
    start_claude("infra", "i-1", "busy")
    then = datetime.now(UTC) - timedelta(minutes=20)
    with Board.open(clock=lambda: then) as earlier:
        agent = earlier.agent("main", session="i-1", project=home / "infra")
        agent.call("todo", {"set": ["plan", "apply"], "start": "1"})
        agent.tool_started("t-1", "Bash", {"command": "terraform plan"})
    (row,) = sections(run("now").out)["Do now"]
    assert re.fullmatch(r"◆ infra · claude i-1 hung: terraform plan 0/2 20 min", row), row


def test_what_was_done_since_the_last_brief_is_counted(run: Run, board: Board):
    agent = board.agent("builder", session="b-1")
    agent.call("todo", {"set": ["paint", "sand", "dry"], "start": "1"})
    agent.tool_started("t-0", "Bash", {"command": "pytest -q"})
    agent.tool_finished("t-0", result="3 passed in 0.1s")
    agent.call("todo", {"done": ["1"], "next": True})
    assert read_json(run)["done"]["items"] == {"verified": 1}
    assert run("brief", "--all").code == 0
    assert read_json(run)["done"]["items"] == {}
    agent.tool_started("t-1", "Bash", {"command": "sed -i s/a/b/ x.py"})
    agent.tool_finished("t-1", result="")
    agent.call("todo", {"done": ["2"]})
    assert read_json(run)["done"]["items"] == {"unchecked": 1}
    assert re.search(r"^Done since .*  1 unchecked; punchlist brief --all$", run("now").out, re.MULTILINE)


def test_a_list_begun_by_hand_is_no_agent_and_finished_agents_are_not_shown(run: Run, board: Board):
    assert run("todo", "append", "mine").code == 0
    agent = board.agent("builder", session="b-1")
    agent.call("todo", {"set": ["paint"], "start": "1"})
    agent.finished()
    assert read_json(run)["agents"] == []
    assert "No agent runs" in run("now").out


def test_it_says_how_many_more_sessions_a_reader_of_logs_would_find(run: Run, home: Path, start_claude: Start):
    start_claude("docs", "d-1", "busy")
    for session in ("d-1", "e-1", "e-2"):
        write_call(home, "docs", session, "Edit", {"file_path": "/x/README.md"})
    old = home / ".claude" / "projects" / "-old" / "e-3.jsonl"
    old.parent.mkdir()
    old.write_text("{}\n")
    os.utime(old, (0, 0))
    finds = "`punchlist top`, `serve` or `watch` finds 2 more sessions in logs that were not read yet."
    assert finds in run("now").out
    assert "not read yet" not in run("now", "--project", str(home / "docs")).out
    assert "agents" in read_json(run)
    assert run("watch", "--once").code == 0
    assert "not read yet" not in run("now").out


def test_a_project_shows_its_own_agents_only(run: Run, home: Path, start_claude: Start):
    start_claude("shop", "s-1", "busy")
    start_claude("web", "w-1", "busy")
    assert [one["session"] for one in read_json(run, "--project", str(home / "shop"))["agents"]] == ["s-1"]


def test_agents_of_one_project_and_host_are_told_apart(run: Run, start_claude: Start):
    start_claude("shop", "0000-4c2e-9f1b-000000aaaa11", "busy")
    start_claude("shop", "0000-4c2e-9f1b-000000bbbb22", "idle")
    found = sections(run("now").out)
    assert "shop · claude aaaa11" in found["At work"][0]
    assert "shop · claude bbbb22" in found["Idle"][0]


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("is_ascii", [False, True])
def test_lines_fit_and_hold_no_escapes(
    run: Run,
    board: Board,
    home: Path,
    start_claude: Start,
    monkeypatch: pytest.MonkeyPatch,
    columns: int,
    is_ascii: bool,
):
    long = f"{ESCAPES} 漢字 very long {'text ' * 40}"
    for number, status in enumerate(("busy", "waiting", "idle")):
        start_claude(f"p{number}{ESCAPES}", f"s-{number}", status, waitingFor=long, name=long, nameSource="user")
    agent = board.agent("main", session="s-0", project=home / f"p0{ESCAPES}")
    agent.call("todo", {"set": [long, "b"], "start": "1"})
    asking = board.agent("builder", session="b-1")
    asking.call("todo", {"set": [long], "start": "1"})
    asking.ask("1", long)
    monkeypatch.setenv("COLUMNS", str(columns))
    if is_ascii:
        monkeypatch.setenv("LC_ALL", "C")
    text = run("now").out
    assert "red" in text
    assert all(line.isprintable() and width(line) <= columns for line in text.splitlines())
    if is_ascii:
        without_words = text.replace("漢", "").replace("字", "")
        assert without_words.isascii()
    assert "\x1b" not in json.dumps(read_json(run), ensure_ascii=False)


@pytest.mark.parametrize(("columns", "has_time"), [(120, True), (80, True), (60, False)])
def test_a_long_name_and_the_time_make_way_for_what_an_agent_does(columns: int, has_time: bool):
    at = datetime(2026, 5, 4, 12, tzinfo=UTC)
    row = AgentNow(
        project=f"/x/{'shop' * 9}",
        host="claude-code",
        session="c-1",
        agent="main",
        state="waiting",
        since=at,
        waits_for="permission: git push --force origin main",
    )
    roster = Roster(at=at + timedelta(minutes=12), agents=(row,), waits=())
    shown = plain_text(now_lines(roster, Display(columns=columns)))
    assert "permission: git push --force" in shown
    assert ("12 min" in shown) == has_time
