"""`--server`: a command shows the same as on the machine of the board, and others say where they belong."""

import json
import re
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.cli import OVER_HTTP, main
from tests.remote.conftest import Served
from tests.remote.story import settle
from tests.server.conftest import make_token

SHOWN = [
    "now",
    "todos",
    "todos --ids --all",
    "answer",
    "plan",
    "plan history",
    "tasks",
    "tasks ready",
    "tasks graph",
    "tasks show 1",
    "tasks history 1",
    "events --limit 5",
    "events --kind item",
    "brief --keep",
    "report",
    "report --format markdown",
    "report --session FOLDER",
]
AS_JSON = ["now", "todos", "answer", "tasks", "brief --keep", "report"]


@pytest.fixture
def folder(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which people stand, with agents that have worked there."""
    monkeypatch.setenv("PUNCHLIST_TOKEN", served.token)
    monkeypatch.chdir(tmp_path)
    with Board.open(served.path) as board:
        agent = board.agent(session=tmp_path.name, dialect="claude-code")
        agent.user_turn("Fix the login")
        todo = {"content": "Fix it", "status": "in_progress", "activeForm": "Fixing it"}
        agent.call("TodoWrite", {"todos": [todo, {**todo, "content": "Ask", "status": "pending"}]})
        agent.tool_started("c1", "Bash", {"command": "pytest -q"})
        agent.tool_finished("c1", "1 failed in 0.1s", exit_code=1)
        agent.ask("2", "Which region?")
        board.agent("planner", session=f"plan of {tmp_path.name}").propose_plan("# Plan\n1. Read\n2. Write")
        tasks = board.tasks()
        first = tasks.create("Write the parser")
        tasks.create("Test it", blocked_by=[first.id])
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], words: list[str]) -> tuple[int, str, str]:
    """Return the code and the output of a command, without the seconds of what goes on."""
    code = main(words)
    said = capsys.readouterr()
    return code, re.sub(r"\b\d+ s\b", "N s", said.out), said.err


def test_what_is_shown_is_the_same_as_on_the_machine_of_the_board(
    served: Served, folder: Path, capsys: pytest.CaptureFixture[str]
):
    for command in (one.replace("FOLDER", folder.name) for one in SHOWN):
        here = run(capsys, ["--db", str(served.path), *command.split()])
        there = run(capsys, [*command.split(), "--server", served.url])
        assert there == here, command
        assert here[0] == 0
        assert here[1]


def test_json_is_the_same_as_on_the_machine_of_the_board(
    served: Served, folder: Path, capsys: pytest.CaptureFixture[str]
):
    for command in AS_JSON:
        here = run(capsys, ["--db", str(served.path), *command.split(), "--json"])
        there = run(capsys, ["--server", served.url, *command.split(), "--json"])
        assert without_spans(there[1]) == without_spans(here[1]), command


def without_spans(text: str) -> object:
    """Return JSON without its times, and without the seconds that go on."""
    return settle(json.loads(text, object_hook=lambda found: {k: v for k, v in found.items() if k != "seconds"}))


def test_lists_and_tasks_are_changed_over_http(
    served: Served, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PUNCHLIST_SERVER", served.url)
    for command in (
        ["todo", "append", "Cover", "it", "--session", folder.name],
        ["todo", "start", "Cover"],
        ["todo", "note", "Cover", "With a test"],
        ["todo", "done", "Cover", "--evidence", "pytest -q"],
        ["tasks", "add", "Ship it", "--label", "ship"],
        ["tasks", "claim", "parser", "--by", "ada"],
        ["tasks", "done", "parser", "--fence", "1"],
    ):
        assert main(command) == 0, (command, capsys.readouterr())
    with Board.open(served.path) as board:
        item = board.agent(session=folder.name).todos.items[-1]
        assert (item.content, item.status.value, item.notes) == ("Cover it", "completed", ("With a test",))
        assert "confirmed" not in (item.grade, board.tasks().get("1").grade)
        assert [task.status.value for task in board.tasks().list()] == ["completed", "pending", "pending"]


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("is_person", [True, False], ids=["a person's token", "a program's token"])
@pytest.mark.parametrize("variable", ["", "CLAUDECODE"], ids=["a person types", "an agent types"])
def test_a_person_who_types_confirms_by_a_token_of_their_own(
    served: Served, folder: Path, monkeypatch: pytest.MonkeyPatch, *, is_person: bool, variable: str
):
    with Board.open(served.path) as board:
        secret = make_token(board, f"ada-{is_person}-{variable}.", "edit", person=is_person)
    monkeypatch.setenv("PUNCHLIST_TOKEN", secret)
    if variable:
        monkeypatch.setenv(variable, "1")
    where = ["--session", folder.name, "--server", served.url]
    assert main(["todo", "done", "Fix it", *where]) == 0
    assert main(["answer", "2", "eu-west", *where]) == (1 if variable else 0)
    confirms = is_person and not variable
    with Board.open(served.path) as board:
        assert (board.agent(session=folder.name).todos.items[0].grade == "confirmed") is confirms
        events = [one for one in board.events() if (one.session, one.kind) == (folder.name, "question.answered")]
        assert [one.data.get("person") for one in events] == ([] if variable else [confirms or None])


def test_an_unknown_session_is_named_over_http(served: Served, folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["todos", "--session", "nowhere", "--server", served.url]) == 1
    assert "There is no session `nowhere`" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["sessions", "stats", "prune", "token", "watch"])
def test_other_commands_say_that_they_are_for_the_machine_of_the_board(
    command: str, capsys: pytest.CaptureFixture[str]
):
    assert command not in OVER_HTTP
    assert main([command, "--server", "https://board.example.org"]) == 2
    assert "is for the machine of the board" in capsys.readouterr().err


def test_status_and_doctor_tell_of_the_server(served: Served, folder: Path, capsys: pytest.CaptureFixture[str]):
    for command in ("status", "doctor"):
        main([command, "--server", served.url])
        assert f"{served.url} takes the token" in capsys.readouterr().out
