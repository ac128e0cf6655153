"""`punchlist config`, and what every other command does with a broken settings file."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import punchlist_hook
from punchlist import Board
from punchlist.hooks.inbox import ingest
from punchlist.settings import default_path, settings_path
from punchlist.settings.table import list_entries
from tests.cli.conftest import Run


@pytest.fixture
def file(own_home: Path) -> Path:
    path = Path(settings_path())
    path.parent.mkdir(parents=True)
    return path


def test_path_is_where_the_file_would_be(run: Run):
    assert run("config", "path") == (0, f"{settings_path()}\n", "")


def test_get_lists_every_setting_with_its_value_and_source(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch):
    file.write_text("lease = 60\nprofile = 'off'\nredact = ['a']\n")
    monkeypatch.setenv("PUNCHLIST_LEASE", "70")
    monkeypatch.setenv("PUNCHLIST_REDACT", "b")
    lines = [line.split() for line in run("config", "get").out.splitlines()]
    assert [words[0] for words in lines] == list(list_entries())
    found = {words[0]: words[1:] for words in lines}
    assert found["lease"] == ["environment", "70"]
    assert found["profile"] == ["file", "off"]
    assert found["stall.after"] == ["default", "300"]
    assert found["redact"] == ["environment", "and", "file", "a", "b"]
    assert found["db"] == ["environment", os.environ["PUNCHLIST_DB"]]
    monkeypatch.delenv("PUNCHLIST_DB")
    assert run("config", "get", "db").out == f"{default_path()}  default\n"
    assert run("config").out == run("config", "get").out


def test_get_one_prints_its_value_and_source(run: Run, file: Path):
    assert run("config", "get", "stall.after") == (0, "300  default\n", "")
    file.write_text("[stall]\nafter = 600\n")
    assert run("config", "get", "stall.after") == (0, "600  file\n", "")
    found = json.loads(run("config", "get", "stall.after", "--json").out)
    assert (found["key"], found["value"], found["source"]) == ("stall.after", 600, "file")


def test_a_secret_is_shown_only_by_its_own_key(run: Run, file: Path):
    said = run("config", "set", "notify.ntfy.url", "https://ntfy.sh/my-topic")
    assert said == (0, f"Set notify.ntfy.url to … in {file}.\n", "")
    for ran in (run("config", "get"), run("config", "get", "--json")):
        assert "notify.ntfy.url" in ran.out
        assert "my-topic" not in ran.out
    assert run("config", "get", "notify.ntfy.url").out == "https://ntfy.sh/my-topic  file\n"
    file.write_text("[notify.ntfy]\ntoken = ['my-token']\n")
    ran = run("config", "get")
    assert (ran.code, "notify.ntfy.token" in ran.err, "my-token" in ran.err) == (2, True, False)


def test_set_writes_the_file_and_keeps_comments(run: Run, file: Path):
    file.write_text("# mine\nlease = 60 # a minute\n")
    assert run("config", "set", "lease", "120") == (0, f"Set lease to 120 in {file}.\n", "")
    assert file.read_text() == "# mine\nlease = 120 # a minute\n"
    run("config", "set", "redact", "ACME-[0-9]+", "two words")
    assert run("config", "get", "redact").out == "ACME-[0-9]+ two words  file\n"
    run("config", "set", "todos", "off")
    assert "todos = false" in file.read_text()
    run("config", "set", "redact", "")
    assert "redact = []" in file.read_text()


def test_set_says_when_a_variable_is_above_the_file(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PUNCHLIST_LEASE", "70")
    assert "$PUNCHLIST_LEASE is set" in run("config", "set", "lease", "120").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("leese", "1"), "There is no setting `leese` (did you mean `lease`?)"),
        (("lease", "long"), "use a number of seconds, up to a day"),
        (("profile", "loud"), "use `quiet`, `classic` or `off`"),
        (("db", "work.db"), "use an absolute path"),
        (("redact", "("), "no regular expression"),
        (("todos", "perhaps"), "use `on` or `off`"),
        (("dialect", "klingon"), "There is no dialect `klingon`"),
        (("dialect", "claude-code", "opencode", "claude-code"), "both have a tool"),
    ],
)
def test_set_refuses_in_one_sentence_and_writes_nothing(run: Run, words: tuple[str, ...], said: str):
    ran = run("config", "set", *words)
    assert ran.code == 2
    assert said in ran.err
    assert ran.err.count("\n") == 1
    assert not os.path.exists(settings_path())


def test_commands_use_the_board_of_the_file(run: Run, file: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PUNCHLIST_DB")
    run("todo", "append", "In my own board")
    assert "attach AGENT" in run("config", "set", "db", str(own_home / "other.db")).out
    run("todo", "append", "In the other one")
    run("todo", "start", "other")
    assert "In my own board" not in run("todos").out
    assert "In the other one" in run("todos").out
    assert "In the other one" in run("todos", "--db", str(own_home / "other.db")).out
    shown = subprocess.run(
        [sys.executable, "-m", "punchlist", "statusline"], input="{}", capture_output=True, text=True, check=True
    )
    assert "In the other one" in shown.stdout


def test_attach_writes_the_board_of_the_file_into_the_agents_files(
    run: Run, file: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("PUNCHLIST_DB")
    file.write_text('db = "~/other.db"\n')
    run("attach", "claude-code", "--yes", "--force")
    plugin = own_home / ".claude" / "skills" / "punchlist"
    server = json.loads((plugin / ".mcp.json").read_text())["mcpServers"]["punchlist"]
    assert server["env"] == {"PUNCHLIST_DB": str(own_home / "other.db")}
    assert str(own_home / "other.db") in (plugin / "hooks" / "hooks.json").read_text()


def test_doctor_says_which_agents_stayed_on_another_board(run: Run, own_home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PUNCHLIST_DB")
    run("attach", "claude-code", "--yes", "--force")
    assert "another board" not in run("doctor").out
    run("config", "set", "db", str(own_home / "other.db"))
    assert "`punchlist attach claude-code` moves it" in run("doctor").out
    run("attach", "claude-code", "--yes", "--force")
    assert "another board" not in run("doctor").out


# A broken file.


@pytest.mark.parametrize(
    "words", [("todos",), ("todo", "append", "x"), ("tasks",), ("events",), ("config",), ("stats",), ("now",), ("mcp",)]
)
def test_with_a_broken_file_every_command_says_which_key_and_ends_with_2(run: Run, file: Path, words: tuple[str, ...]):
    file.write_text("leese = 60\n")
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert str(file) in ran.err
    assert "`leese` (did you mean `lease`?)" in ran.err


def test_doctor_reports_a_broken_file_and_checks_all_else(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PUNCHLIST_DB")
    file.write_text("leese = 60\n")
    ran = run("doctor", "--json")
    found = {one["name"]: one for one in json.loads(ran.out)["findings"]}
    assert ran.code == 1
    assert found["settings file"]["state"] == "wrong"
    assert "leese" in found["settings file"]["text"]
    assert found["python"]["state"] == "ok"


def test_doctor_minds_a_file_that_others_may_write(run: Run, file: Path):
    file.write_text("lease = 60\n")
    file.chmod(0o646)
    found = {one["name"]: one for one in json.loads(run("doctor", "--json").out)["findings"]}
    assert (found["settings file"]["state"], found["settings file"]["fix"]) == ("wrong", f"chmod 600 {file}")
    file.chmod(0o600)
    found = {one["name"]: one for one in json.loads(run("doctor", "--json").out)["findings"]}
    assert found["settings file"]["state"] == "ok"


def test_a_file_that_every_user_may_write_is_refused(run: Run, file: Path):
    file.write_text("lease = 60\n")
    file.chmod(0o666)
    for words in (("config", "get", "lease"), ("config", "set", "lease", "70"), ("notify", "--test")):
        ran = run(*words)
        assert ran.code == 2
        assert "every user of this machine may write it" in ran.err
    assert file.read_text() == "lease = 60\n"
    file.chmod(0o664)
    assert run("config", "get", "lease").out == "60  file\n"


@pytest.mark.parametrize("words", [("hook", "claude-code"), ("statusline",)])
def test_a_broken_file_fails_no_agent(file: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PUNCHLIST_DB")
    file.write_text("leese = 60\n")
    event = json.dumps({"hook_event_name": "Stop", "session_id": "s", "cwd": str(file.parent)})
    done = subprocess.run(
        [sys.executable, "-m", "punchlist", *words], input=event, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_broken_file_leaves_the_hook_of_an_attached_agent_silent_and_loses_no_event(file: Path, tmp_path: Path):
    file.write_text("leese = 60\n")
    board = tmp_path / "board.db"
    event = json.dumps({"hook_event_name": "Stop", "session_id": "s", "cwd": str(tmp_path)})
    words = [sys.executable, "-I", "-S", punchlist_hook.__file__, "claude-code", "--board", str(board)]
    done = subprocess.run(words, input=event, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "leese" in (tmp_path / "board.db.hooks.log").read_text()
    file.unlink()
    with Board.open(board) as opened:
        ingest(opened)
        assert [one.event for one in opened.store.read(lambda tx: tx.hosts.conversations(None))] == ["Stop"]


def test_a_pipe_in_place_of_the_file_is_not_waited_for(run: Run, file: Path):
    os.mkfifo(file)
    ran = run("config", "get", "lease")
    assert (ran.code, "it is a pipe" in ran.err) == (2, True)
