"""`punchlist report` and `punchlist brief`: what was seen beside what was claimed, for people and programs."""

import json
import os
import re
import stat
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from punchlist import Agent
from punchlist.board import Board
from tests.cli.conftest import Run
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


def git(*words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", *words],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def test_a_report_shows_what_was_committed_while_an_item_was_in_focus(run: Run, board: Board, project: Path) -> None:
    (project / ".git").rmdir()
    git("init")
    agent = board.agent("main", session="s1", dialect="claude-code", project=project)
    agent.call("TodoWrite", claude(("Paint", "in_progress"), ("Sand", "pending")))
    (project / "door.txt").write_text("red\nred\n")
    git("add", ".")
    git("commit", "-m", "Paint it", "--date", "2001-01-01T00:00:00")
    (project / "door.txt").write_text("red\nblue\n")
    agent.tool_started("c1", "Edit", {"file_path": str(project / "door.txt")})
    agent.tool_finished("c1", result="ok")
    first, second = json.loads(run("report", "--format", "json").out)["items"]
    assert second["git"] is None
    assert first["git"]["added"] >= 1
    assert first["git"]["files"] == 1


def _commits_of(run: Run, *words: str) -> dict[str, tuple[int, int]]:
    """For each agent with commits how many they are, and how many of them are shared."""
    items = json.loads(run("report", "--format", "json", *words).out)["items"]
    return {
        entry["agent"]: (len(entry["git"]["commits"]), entry["git"]["shared"])
        for entry in items
        if entry["git"] and entry["git"]["commits"]
    }


@pytest.mark.parametrize("quiet", [False, True])
def test_a_commit_counts_for_the_agent_whose_call_made_it(run: Run, board: Board, project: Path, quiet: bool) -> None:
    (project / ".git").rmdir()
    git("init")
    agents = [board.agent(name, session=f"s-{name}", project=project, dialect="claude-code") for name in ("ada", "bob")]
    for agent in agents:
        agent.call("TodoWrite", claude(("Paint", "in_progress")))
    ada, bob = agents
    bob.tool_started("b1", "Bash", {"command": "sleep 100"})
    (project / "door.txt").write_text("red\n")
    ada.tool_started("a1", "Bash", {"command": "git add . && git commit -m Paint"})
    git("add", ".")
    said = git("commit", "-m", "Paint", "--quiet" if quiet else "--verbose")
    ada.tool_finished("a1", result=said, exit_code=0)
    bob.tool_finished("b1", result="")
    assert _commits_of(run) == _commits_of(run, "--session", "s-ada") == {"ada": (1, 0)}
    assert _commits_of(run, "--session", "s-bob") == {}


def test_a_commit_for_an_item_that_was_told_before_is_not_told_of_another_one(
    run: Run, board: Board, project: Path
) -> None:
    (project / ".git").rmdir()
    git("init")
    ada = board.agent("ada", session="s-ada", project=project, dialect="claude-code")
    ada.call("TodoWrite", claude(("Paint", "in_progress"), ("Sand", "in_progress")))
    (project / "door.txt").write_text("red\n")
    ada.tool_started("a1", "Bash", {"command": "git add . && git commit -m Paint"})
    git("add", ".")
    ada.tool_finished("a1", result=git("commit", "-m", "Paint"), exit_code=0)
    ada.call("TodoWrite", claude(("Paint", "completed"), ("Sand", "in_progress")))
    told = json.loads(run("brief", "--json").out)
    assert [len(entry["git"]["commits"]) for entry in (*told["unchecked"], *told["under_way"])] == [1, 0]
    ada.call("TodoWrite", claude(("Paint", "completed"), ("Sand", "completed")))
    told = json.loads(run("brief", "--json").out)
    assert [entry["git"]["commits"] for entry in told["unchecked"]] == [[]]


def test_a_line_of_git_in_another_project_takes_no_commit_away(
    run: Run, board: Board, project: Path, tmp_path: Path
) -> None:
    (project / ".git").rmdir()
    git("init")
    elsewhere = board.agent("bob", session="s-bob", project=tmp_path / "elsewhere")
    elsewhere.tool_started("b1", "Bash", {"command": "git commit -m Other"})
    ada = board.agent("ada", session="s-ada", project=project, dialect="claude-code")
    ada.call("TodoWrite", claude(("Paint", "in_progress")))
    (project / "door.txt").write_text("red\n")
    git("add", ".")
    git("commit", "-m", "Paint")
    elsewhere.tool_finished("b1", result="")
    assert _commits_of(run, "--all") == _commits_of(run) == {"ada": (1, 0)}


def test_a_commit_that_no_call_is_known_to_have_made_is_shared(run: Run, board: Board, project: Path) -> None:
    (project / ".git").rmdir()
    git("init")
    for name in ("ada", "bob"):
        agent = board.agent(name, session=f"s-{name}", project=project, dialect="claude-code")
        agent.call("TodoWrite", claude(("Paint", "in_progress")))
    (project / "door.txt").write_text("red\n")
    git("add", ".")
    git("commit", "-m", "Paint")
    assert _commits_of(run) == {"ada": (1, 1), "bob": (1, 1)}
    assert "1 commit (1 shared with others)" in run("report").out


def test_a_commit_of_a_child_without_a_list_counts_for_the_item_that_it_was_started_for(
    run: Run, board: Board, project: Path
) -> None:
    (project / ".git").rmdir()
    git("init")
    bob = board.agent("bob", session="s-bob", project=project, dialect="claude-code")
    bob.call("TodoWrite", claude(("Paint", "in_progress")))
    ada = board.agent("ada", session="s-ada", project=project, dialect="claude-code")
    ada.call("TodoWrite", claude(("Sand", "in_progress"), ("Paint", "pending")))
    child = ada.spawn("painter", label="Sand")
    (project / "door.txt").write_text("red\n")
    child.tool_started("c1", "Bash", {"command": "git add . && git commit -m Paint"})
    git("add", ".")
    child.tool_finished("c1", result=git("commit", "-m", "Paint"), exit_code=0)
    assert _commits_of(run) == {"ada": (1, 0)}


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
