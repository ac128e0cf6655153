"""`punchlist report` and `punchlist brief`: what was seen beside what was claimed, for people and programs."""

import json
import os
import re
import shlex
import stat
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from punchlist import Agent
from punchlist.board import Board
from tests.cli.conftest import Run
from tests.hooks.hosts import Host
from tests.text.hostile import ESCAPES, MARKUP


def claude(*rows: tuple[str, str]) -> dict[str, object]:
    return {"todos": [{"content": text, "status": status, "activeForm": text} for text, status in rows]}


def check(agent: Agent, call_id: str, result: str, *, is_error: bool = False) -> None:
    agent.tool_started(call_id, "Bash", {"command": "pytest -q"})
    agent.tool_finished(call_id, result=result, is_error=is_error)


@pytest.fixture
def worked(board: Board) -> Board:
    """An agent that finished two items, one of them with nothing behind it, and is at a third."""
    agent = board.agent("main", session="s1", dialect="claude-code")
    agent.call("TodoWrite", claude(("Paint <b>", "in_progress"), ("Sand", "pending"), ("Wax", "pending")))
    check(agent, "c1", "12 passed")
    agent.call("TodoWrite", claude(("Paint <b>", "completed"), ("Sand", "pending"), ("Wax", "pending")))
    agent.call("TodoWrite", claude(("Paint <b>", "completed"), ("Sand", "completed"), ("Wax", "in_progress")))
    check(agent, "c2", "1 failed", is_error=True)
    assert list(board.events())  # which commits what waits
    return board


def test_a_report_on_nothing_says_where_to_look(run: Run) -> None:
    said = run("report")
    assert said.code == 0
    assert "--all" in said.out


@pytest.mark.usefixtures("worked")
def test_a_report_shows_each_item_with_its_grade_and_the_totals(run: Run) -> None:
    said = run("report")
    assert re.search(r"✓ Paint <b>  verified: pytest, 12 passed, \d\d:\d\d\n", said.out)
    assert "· Sand  unseen: no work on it was seen\n" in said.out
    assert "1 call" in said.out
    assert said.out.startswith("items: 2 of 3 done, 1 open\ngrades: 1 verified, 1 unseen\n")  # totals first
    assert re.search(r"\nsession red: pytest failed \d\d:\d\d and was not green since\n", said.out)


@pytest.mark.usefixtures("worked")
def test_a_report_for_programs_has_it_all(run: Run) -> None:
    report = json.loads(run("report", "--format", "json").out)
    first, second, third = report["items"]
    assert (first["grade"], second["grade"], third["grade"]) == ("verified", "unseen", None)
    assert third["last_check"] == {"name": "pytest", "family": "test", "outcome": "failed"}
    assert first["check"]["command"] == "pytest -q"
    (session,) = report["sessions"]
    assert (report["state"], session["state"], session["changes_since"]) == ("red", "red", 0)
    assert [(check["program"], check["outcome"]) for check in session["checks"]] == [("pytest", "failed")]
    assert report["totals"]["grades"] == {"verified": 1, "unseen": 1}


@pytest.mark.usefixtures("worked")
def test_a_report_as_markdown_is_a_table_in_which_a_text_means_nothing(run: Run) -> None:
    said = run("report", "--session", "s1", "--format", "markdown").out
    assert "| Paint \\<b\\> | completed | ✓ verified | pytest, 12 passed, " in said
    assert said.startswith("# Work report\n\n- items: 2 of 3 done, 1 open\n")


class Page(HTMLParser):
    """What a page holds: tags with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.usefixtures("worked")
def test_a_report_as_a_page_loads_nothing_runs_nothing_and_has_a_timeline(run: Run, project: Path) -> None:
    said = run("report", "--format", "html", "-o", "report.html")
    assert said.code == 0
    file = project / "report.html"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    page = Page(file.read_text())
    names = {tag for tag, _ in page.tags}
    assert names.isdisjoint({"script", "link", "img", "iframe", "b", "a"})
    assert "svg" in names
    attributes = {name for _, given in page.tags for name in given}
    assert not [name for name in attributes if name in ("style", "src") or name.startswith("on")]
    # A mark is drawn from a shape of the file itself.
    assert {tag for tag, given in page.tags if "href" in given} == {"use"}
    assert all((given.get("href") or "#").startswith("#") for _, given in page.tags)
    (policy,) = [given["content"] for _, given in page.tags if given.get("http-equiv")]
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "Paint <b>" in page.text


@pytest.mark.parametrize("form", ["text", "markdown", "json", "html"])
def test_no_text_of_a_board_does_anything_in_a_report(run: Run, board: Board, form: str) -> None:
    agent = board.agent("main", session="s1", dialect="claude-code")
    bad = (*ESCAPES[::4], *MARKUP, "</style><script>alert(1)</script>", "' onload=x '")
    for number, payload in enumerate(bad):
        agent.call("TodoWrite", claude((f"{number} {payload}", "in_progress")))
        agent.tool_started(f"c{number}", payload, {"command": payload})
        agent.tool_finished(f"c{number}", result=payload)
    said = run("report", "--format", form).out
    assert not [char for char in said if ord(char) < 32 and char != "\n"]
    if form == "html":
        assert {tag for tag, _ in Page(said).tags}.isdisjoint({"script", "img"})


def test_an_unknown_session_is_named(run: Run) -> None:
    said = run("report", "--session", "nobody")
    assert said.code == 1
    assert "nobody" in said.err


@pytest.mark.usefixtures("worked", "person")
def test_a_brief_says_checked_of_checks_and_not_of_a_persons_word(run: Run) -> None:
    run("todo", "done", "sand", "--session", "s1")
    assert "2 items done: 1 verified, 1 confirmed" in run("brief", "--keep").out
    told = json.loads(run("brief", "--json").out)
    assert [entry["content"] for entry in told["confirmed"]] == ["Sand"]
    assert "Sand" not in [entry["content"] for entry in told["verified"]]


@pytest.mark.usefixtures("worked")
def test_a_brief_tells_what_is_new_and_then_nothing(run: Run, board: Board) -> None:
    said = run("brief").out
    assert said.startswith("Look first")
    assert "2 items done: 1 verified, 1 unseen" in said
    assert "nothing happened" in run("brief").out
    agent = board.agent("main", session="s1", dialect="claude-code")
    agent.call(
        "TodoWrite", claude(("Paint <b>", "completed"), ("Sand", "completed"), ("Wax", "completed"), ("Go", "pending"))
    )
    assert "1 item done" in run("brief").out


@pytest.mark.usefixtures("worked")
def test_a_mark_is_kept_for_each_reader_and_may_stay_where_it_is(run: Run) -> None:
    assert "2 items done" in run("brief", "--keep").out
    assert "2 items done" in run("brief", "--by", "bob").out
    assert "2 items done" in run("brief").out
    assert "2 items done" not in run("brief").out
    assert "2 items done" in run("brief", "--after", "0").out


def test_a_brief_on_nothing_is_one_line_that_says_where_to_look(run: Run) -> None:
    said = run("brief", "--after", "0").out
    assert said == "So far       nothing happened, and nothing waits on you; `punchlist now` shows who runs here\n"


def test_a_brief_counts_what_came_onto_lists(run: Run, board: Board) -> None:
    run("todo", "append", "Buy paint", "--mine")
    agent = board.agent("main", session="s1")
    agent.call("todo", {"set": ["Paint", "Sand"]})
    run("tasks", "add", "Ship it")
    assert "4 items added to 3 lists" in run("brief").out
    agent.call("todo", {"add": ["Wax"]})
    assert "1 item added to 1 list" in run("brief").out
    agent.finished()
    run("brief")
    run("todo", "reword", "buy", "Buy red paint", "--mine")
    assert "nothing was finished; `punchlist events` shows" in run("brief").out
    assert "nothing happened" in run("brief").out


def test_what_a_finished_agent_left_in_progress_is_not_under_way(run: Run, board: Board) -> None:
    agent = board.agent("main", session="s1")
    agent.call("todo", {"set": ["Paint", "Sand"], "start": "1"})
    assert run("brief", "--keep").out.startswith("At work")
    agent.finished()
    said = run("brief").out
    assert said.startswith("Ended")
    assert 'stopped at "Paint", 2 items open' in said
    assert "Paint  left in progress" in run("report").out


@pytest.mark.usefixtures("worked")
def test_a_brief_for_programs(run: Run) -> None:
    brief = json.loads(run("brief", "--json").out)
    assert [entry["content"] for entry in brief["doubtful"]] == ["Sand"]
    assert brief["calls"] == 2


def test_what_waits_on_the_reader_comes_first(run: Run, worked: Board) -> None:
    agent = worked.agent("main", session="s1", dialect="claude-code")
    agent.ask("Wax", "Which colour?")
    said = run("brief", "--after", "0", "--keep").out
    assert said.startswith("Do now")
    assert said.count("Which colour?") == 1
    assert [wait["text"] for wait in json.loads(run("brief", "--json").out)["waits"]] == ["Which colour?"]


def test_a_brief_says_what_the_layer_cost_since_the_last_one(run: Run, worked: Board) -> None:
    agent = worked.agent("main", session="s1", dialect="claude-code")
    first = json.loads(run("brief", "--json").out)["layer_tokens"]
    assert first > 0
    assert json.loads(run("brief", "--json").out)["layer_tokens"] == 0
    agent.call("TodoWrite", claude(("Paint <b>", "completed"), ("Sand", "completed"), ("Wax", "pending")))
    again = json.loads(run("brief", "--json").out)["layer_tokens"]
    assert again > 0
    assert json.loads(run("brief", "--json", "--after", "0").out)["layer_tokens"] == first + again


@pytest.mark.usefixtures("worked")
def test_a_brief_is_pushed_by_a_command_and_only_when_there_is_something(run: Run, project: Path) -> None:
    target = project / "pushed.txt"
    script = f"import sys; open({str(target)!r}, 'a').write(sys.stdin.read())"
    command = f'{sys.executable} -c "{script}"'
    assert run("brief", "--push", f"{sys.executable} -c 'raise SystemExit(3)'").code == 1
    assert run("brief", "--push", command).code == 0
    assert "2 items done" in target.read_text()
    before = target.read_text()
    assert run("brief", "--push", command).code == 0
    assert target.read_text() == before
    assert run("brief", "--after", "0", "--push", f"cat > {target}").code == 0
    assert re.sub(r"\d+ s\b", "", target.read_text()) == re.sub(r"\d+ s\b", "", before)  # an item is in progress
    for bad, code in (("/no/such/program", 1), ("'", 2), (" ", 2), ("", 2)):
        assert run("brief", "--after", "0", "--push", bad).code == code


@pytest.mark.parametrize("push", ["", " ", "'"])
def test_what_is_no_command_is_named_also_when_there_is_nothing_to_push(run: Run, push: str) -> None:
    said = run("brief", "--push", push)
    assert (said.code, said.out) == (2, "")
    assert "--push" in said.err


@pytest.mark.usefixtures("worked")
def test_a_report_over_a_file_that_others_could_read_is_readable_by_its_user_alone(run: Run, project: Path) -> None:
    file = project / "report.md"
    file.write_text("x" * 100_000)
    file.chmod(0o644)
    assert run("report", "--format", "markdown", "-o", "report.md").code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text() == run("report", "--format", "markdown").out
    assert run("report", "-o", "/dev/null").code == 0


@pytest.mark.usefixtures("worked")
def test_a_report_is_never_written_through_a_link(run: Run, project: Path) -> None:
    file, link = project / "precious.txt", project / "link.md"
    file.write_text("precious")
    file.chmod(0o644)
    link.symlink_to(file)
    said = run("report", "-o", "link.md")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("punchlist: `link.md` is a symbolic link")
    assert said.err.count("\n") == 1
    assert file.read_text() == "precious"
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert link.is_symlink()
    assert sorted(path.name for path in project.iterdir()) == [".git", "link.md", "precious.txt"]


@pytest.mark.usefixtures("worked")
def test_a_link_planted_before_the_report_is_put_in_place_is_replaced(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, report = project / "precious.txt", project / "report.md"
    file.write_text("precious")
    replace = os.replace

    def plant(source: str, target: str) -> None:
        report.symlink_to(file)
        replace(source, target)

    monkeypatch.setattr(os, "replace", plant)
    assert run("report", "-o", "report.md").code == 0
    assert file.read_text() == "precious"
    assert not report.is_symlink()
    assert stat.S_IMODE(report.stat().st_mode) == 0o600


@pytest.mark.parametrize("command", ["brief", "report"])
def test_who_only_looks_makes_no_board_where_the_path_is_mistyped(run: Run, tmp_path: Path, command: str) -> None:
    path = tmp_path / "typo.db"
    said = run(command, "--db", str(path))
    assert said.code == 2
    assert "There is no board" in said.err
    assert not path.exists()


def test_an_empty_report_on_everything_does_not_send_people_to_everything(run: Run) -> None:
    assert "--all" in run("report").out
    assert "--all" not in run("report", "--all").out


def test_a_session_that_is_still_red_is_said_to_be_so_in_each_brief(run: Run, board: Board) -> None:
    agent = board.agent("main", session="s1")
    agent.call("todo", {"set": ["Paint"]})
    check(agent, "c1", "1 failed", is_error=True)
    agent.call("todo", {"done": "1"})
    run("brief")
    said = run("brief").out
    assert said.startswith("Look first")
    assert "red: pytest, 1 failed; 1 item marked done after it" in said
    assert "nothing happened" in said
    assert [one["state"] for one in json.loads(run("brief", "--json").out)["sessions"]] == ["red"]
    assert run("brief", "--push", "cat >&2").err == ""
    agent.finished()
    run("brief")
    assert "red" not in run("brief").out


def test_what_is_known_only_from_a_transcript_is_not_under_way(run: Run, tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "TodoWrite", "input": claude(("Paint", "in_progress"))}
    told = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    messages = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [told]}]
    (tmp_path / "run.json").write_text(json.dumps(messages))
    restored = run("restore", str(tmp_path / "run.json"))
    assert restored.code == 0, restored.err
    assert "Under way" not in run("brief").out
    assert "left in progress" in run("report").out
    assert "  main is known only from " in run("events").out


def test_items_that_an_attached_agent_claims_without_one_call_are_looked_at_first(
    run: Run, board: Board, project: Path
):
    host = Host(Path(board.store.path), project, session="5c1de2a0-7a51-4c2e-9f1b-000000bede30")
    host.hook("SessionStart", source="startup")
    host.hook("UserPromptSubmit", prompt="Build it")
    host.write_todos("t1", Sand="pending", Paint="pending", Wax="pending")
    host.write_todos("t2", Sand="completed", Paint="completed", Wax="completed")
    host.hook("Stop")
    groups = json.loads(run("brief", "--keep", "--json").out)["groups"]
    assert [(row["kind"], row["sentence"]) for row in groups["look_first"]] == [
        ("unseen", "3 items claimed, nothing was run")
    ]


def test_a_command_of_the_brief_is_whole_on_every_width(run: Run, board: Board, monkeypatch: pytest.MonkeyPatch):
    agent = board.agent("main", session="a-session-with-a-long-name-that-a-person-chose", project=Path.cwd())
    agent.call("todo", {"set": ["Deploy", "Paint"]})
    agent.ask("1", "Which region?")
    for columns in ("60", "80", "120"):
        monkeypatch.setenv("COLUMNS", columns)
        lines = run("brief", "--keep").out.splitlines()
        (command,) = (line for line in lines if "punchlist answer" in line)
        assert command.strip() == f"punchlist answer 1 TEXT --session {agent.session}"
        assert columns == "120" or command.startswith("  punchlist")


def test_a_brief_without_news_says_so_below_what_waits(run: Run, board: Board):
    agent = board.agent("main", session="s1", project=Path.cwd())
    agent.call("todo", {"set": ["Deploy", "Paint"]})
    agent.ask("1", "Which region?")
    run("brief")
    said = run("brief").out
    assert "Which region?" in said
    assert "nothing new happened" in said
    assert "nothing waits on you" not in said


@pytest.mark.parametrize("scope", [(), ("--all",), ("--project", "/home/ada/my web")], ids=" ".join)
def test_a_brief_names_the_report_on_the_same_projects(run: Run, board: Board, scope: tuple[str, ...]):
    agent = board.agent("main", session="s1", project="/home/ada/my web" if scope else Path.cwd())
    agent.call("todo", {"set": ["Deploy"], "done": ["1"]})
    said = run("brief", "--keep", *scope).out
    assert said.splitlines()[-1].strip() == f"more: {shlex.join(['punchlist', 'report', *scope])}"
