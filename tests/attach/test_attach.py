"""Attach and detach in homes of their own: what is written, what is refused, and that every byte comes back."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from punchlist.attach import plugin
from punchlist.attach.attachments import find_attachment, plan_attach
from punchlist.attach.file_changes import apply_changes
from punchlist.attach.status import list_policies
from punchlist.core.programs import PROGRAMS
from tests.attach.conftest import HOMES, HOSTS, Run, settings_of, snapshot


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """A terminal on stdin with these lines typed ahead."""
    ours, theirs = os.openpty()
    with open(theirs) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        yield lambda text: cast("None", os.write(ours, text.encode()))
    os.close(ours)


@pytest.mark.parametrize("host", HOSTS)
def test_detach_leaves_every_byte_as_it_was(run: Run, home: Path, host: str):
    before = snapshot(home)
    assert run("attach", host, "--yes").code == 0
    assert snapshot(home) != before
    assert run("detach", host, "--yes").code == 0
    assert snapshot(home) == before


@pytest.mark.parametrize(
    ("host", "variable", "place"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", "skills/punchlist"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/extensions/punchlist"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/config.json"),
    ],
)
def test_attach_writes_where_the_own_variable_of_an_agent_says(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, variable: str, place: str
):
    before = snapshot(home)
    monkeypatch.setenv(variable, str(tmp_path / "moved"))
    monkeypatch.setenv("PUNCHLIST_DB", str(tmp_path / "board.db"))
    assert run("attach", host, "--yes", "--force").code == 0
    assert ((tmp_path / "moved" / place).exists(), snapshot(home)) == (True, before)


@pytest.mark.parametrize("host", HOSTS)
def test_attaching_twice_writes_once(run: Run, home: Path, host: str):
    run("attach", host, "--yes")
    once = snapshot(home)
    ran = run("attach", host, "--yes")
    assert (ran.code, snapshot(home)) == (0, once)
    assert "up to date" in ran.out


@pytest.mark.parametrize("host", HOSTS)
def test_a_newer_version_updates_in_place(run: Run, home: Path, host: str, monkeypatch: pytest.MonkeyPatch):
    before = snapshot(home)
    with monkeypatch.context() as older:
        older.setattr("punchlist.attach.plugin.__version__", "0.0.1")
        older.setattr("punchlist.attach.attachments.__version__", "0.0.1")
        older.setattr("punchlist.attach.codex_config.__version__", "0.0.1")
        older.setitem(plugin.CODEX_EVENTS, "Stop", 9)  # Codex' file is compared by what it says
        run("attach", host, "--yes")
    status = {one["name"]: one for one in json.loads(run("status", "--json").out)["agents"]}[host]
    assert (status["attached"], status["up_to_date"], status["attached_version"]) == (True, False, "0.0.1")
    assert "again" in status["missing"][0]
    run("attach", host, "--yes")
    status = {one["name"]: one for one in json.loads(run("status", "--json").out)["agents"]}[host]
    assert (status["attached"], status["up_to_date"]) == (True, True)
    run("detach", host, "--yes")
    assert snapshot(home) == before


@pytest.mark.parametrize("host", HOSTS)
def test_without_a_yes_nothing_is_written(run: Run, home: Path, host: str, answers: Callable[[str], None]):
    before = snapshot(home)
    answers("n\nn\n")
    ran = run("attach", host)
    assert ran.code == 1
    assert "Nothing was changed." in ran.out
    assert snapshot(home) == before


def test_the_person_is_asked_for_the_rows_and_then_for_the_files(run: Run, home: Path, answers: Callable[[str], None]):
    answers("\ny\n")
    ran = run("attach", "claude-code")
    assert ran.code == 0
    assert "~/.claude/settings.json" in ran.out
    assert "punchlist_statusline.py" in settings_of(home).read_text()


def test_every_path_is_named_and_show_prints_the_content(run: Run, home: Path):
    ran = run("attach", "claude-code", "--yes", "--show", "--statusline")
    assert "  create  ~/.local/share/punchlist/\n" in ran.out
    written = [path for path in snapshot(home) if (home / path).is_file()]
    assert written
    assert all(f"~/{path}" in ran.out for path in written)
    assert '+  "mcpServers": {' in ran.out
    assert '+  "statusLine": {' in ran.out


@pytest.mark.parametrize("host", HOSTS)
def test_an_agent_that_is_not_there_is_said_to_be_missing(run: Run, home: Path, host: str):
    (home / HOMES[host]).rmdir()
    before = snapshot(home)
    ran = run("attach", host, "--yes")
    assert ran.code == 1
    assert "npm install" in ran.err
    assert "--force" in ran.err
    assert run("attach", host, "--yes", "--force").code == 0
    run("detach", host, "--yes")
    assert snapshot(home) == before


KILLED = """
import os, signal, sys
import punchlist.cli.attach
from punchlist.cli import main
from punchlist.core.programs import PROGRAMS

host, home, *options = sys.argv[1:]
CALLS = ("open", "os.mkdir", "os.rename", "os.chmod")  # by their audit events, which come before the calls

def run_killed(number):
    left = number
    def count(event, arguments):
        nonlocal left
        if event in CALLS and str(arguments[0]).startswith(home):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.addaudithook(count)
        os._exit(main(["attach", host, "--yes", "--force", *options]))
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])

number = 1
while run_killed(number):
    print("killed", flush=True)
    sys.stdin.readline()
    number += 1
print("ran to its end", flush=True)
"""


@pytest.mark.parametrize("used", [True, False], ids=["used before", "never used"])
@pytest.mark.parametrize("host", HOSTS)
def test_an_attach_that_was_killed_anywhere_leaves_nothing_after_detach(run: Run, home: Path, host: str, used: bool):
    if not used:
        (home / HOMES[host]).rmdir()
    options = ["--statusline"] if host == "claude-code" else []
    before = snapshot(home)
    command = [sys.executable, "-c", KILLED, host, str(home), *options]
    count = 0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as attaching:
        assert attaching.stdin is not None
        assert attaching.stdout is not None
        while attaching.stdout.readline() == "killed\n":
            count += 1
            assert run("detach", host, "--yes").code == 0
            assert snapshot(home) == before, count
            attaching.stdin.write("again\n")
            attaching.stdin.flush()
    run("detach", host, "--yes")
    assert snapshot(home) == before
    assert count > 3


SETTINGS = [
    "{}",
    "{ }\n",
    '{"model": "opus"}',
    '{\n  "model": "opus",\n  "env": {"A": "}{,"}\n}\n',
    '{\r\n\t"model": "opus",\r\n\t"a": [1, 2, {"statusLine": 3}]\r\n}\r\n',
    '{"statusLine":null}',
    '{"statusLine" :  {"type":"command","command":"echo \'a\' \\"b\\"; ls | wc" , "padding": 2},  "model":"opus"}\n\n',
    '\n {"x": "\\u00e9\\"", "statusLine": {"type": "command", "command": "date"}}',
]


@pytest.mark.parametrize("text", SETTINGS)
def test_the_status_line_goes_in_and_out_of_any_settings(run: Run, home: Path, text: str):
    path = settings_of(home)
    path.write_bytes(text.encode())
    path.chmod(0o640)
    before = snapshot(home)
    assert run("attach", "claude-code", "--yes", "--statusline").code == 0
    now, then = json.loads(path.read_bytes()), json.loads(text)
    assert now.pop("statusLine")["refreshInterval"] == 1
    then.pop("statusLine", None)
    assert now == then
    once = snapshot(home)
    run("attach", "claude-code", "--yes")
    run("attach", "claude-code", "--yes", "--statusline")
    assert snapshot(home) == once
    run("attach", "claude-code", "--yes", "--no-statusline")
    assert path.read_bytes() == text.encode()
    run("attach", "claude-code", "--yes", "--statusline")
    run("detach", "claude-code", "--yes")
    assert snapshot(home) == before


def test_an_existing_status_line_is_run_first_and_keeps_its_options(run: Run, home: Path):
    theirs = {"type": "command", "command": "echo 'a b' | cat", "padding": 2}
    settings_of(home).write_text(json.dumps({"statusLine": theirs}))
    run("attach", "claude-code", "--yes", "--statusline")
    value = json.loads(settings_of(home).read_text())["statusLine"]
    assert value["padding"] == 2
    shown = subprocess.run(
        ["/bin/sh", "-c", value["command"]],
        env={"PATH": os.defpath, "HOME": str(home)},
        input=b"{}",
        stdout=subprocess.PIPE,
        check=True,
        timeout=60,
    )
    assert shown.stdout == b"a b\n"


def test_an_existing_status_line_keeps_its_interval(run: Run, home: Path):
    theirs = {"type": "command", "command": "date", "refreshInterval": 30}
    settings_of(home).write_text(json.dumps({"statusLine": theirs}))
    run("attach", "claude-code", "--yes", "--statusline")
    value = json.loads(settings_of(home).read_text())["statusLine"]
    assert value["refreshInterval"] == 1
    assert "--before date --every 30\n" in value["command"]


def test_edits_of_the_person_stay_when_our_status_line_goes(run: Run, home: Path):
    path = settings_of(home)
    path.write_text('{\n  "model": "opus"\n}\n')
    run("attach", "claude-code", "--yes", "--statusline")
    edited = json.loads(path.read_text())
    path.write_text(json.dumps({"theme": "dark", **edited, "new": [1]}, indent=4))
    run("detach", "claude-code", "--yes")
    assert json.loads(path.read_text()) == {"theme": "dark", "model": "opus", "new": [1]}


@pytest.mark.parametrize("text", SETTINGS)
def test_settings_that_the_host_wrote_anew_are_up_to_date(run: Run, home: Path, text: str):
    path = settings_of(home)
    path.write_text(text)
    run("attach", "claude-code", "--yes", "--statusline")
    value = json.loads(path.read_text())
    path.write_text(json.dumps({"first": 1, **value, "last": 2}, indent=2) + "\n")
    anew = path.read_text()
    (status,) = (row for row in json.loads(run("status", "--json").out)["agents"] if row["name"] == "claude-code")
    assert (status["up_to_date"], status["missing"]) == (True, [])
    run("attach", "claude-code", "--yes")
    assert path.read_text() == anew
    run("detach", "claude-code", "--yes")
    assert json.loads(path.read_text()) == {"first": 1, **json.loads(text), "last": 2}


def test_options_that_the_person_changed_on_our_status_line_outlive_it(run: Run, home: Path):
    path = settings_of(home)
    path.write_text('{"statusLine": {"type": "command", "command": "date", "padding": 1, "refreshInterval": 30}}')
    run("attach", "claude-code", "--yes", "--statusline")
    value = json.loads(path.read_text())
    value["statusLine"]["padding"] = 2
    path.write_text(json.dumps(value))
    run("attach", "claude-code", "--yes")
    assert json.loads(path.read_text()) == value
    run("detach", "claude-code", "--yes")
    theirs = {"type": "command", "command": "date", "padding": 2, "refreshInterval": 30}
    assert json.loads(path.read_text()) == {"statusLine": theirs}


def test_a_status_line_that_the_person_replaced_stays(run: Run, home: Path):
    path = settings_of(home)
    path.write_text('{"statusLine": {"type": "command", "command": "date"}}')
    run("attach", "claude-code", "--yes", "--statusline")
    path.write_text('{"statusLine": {"type": "command", "command": "uptime"}}')
    run("attach", "claude-code", "--yes")
    assert path.read_text() == '{"statusLine": {"type": "command", "command": "uptime"}}'
    run("detach", "claude-code", "--yes")
    assert path.read_text() == '{"statusLine": {"type": "command", "command": "uptime"}}'


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, // mine\n}', "{", "[]", '{"statusLine": 1, "statusLine": 2}', "\ufeff{}", "[" * 100_000],
)
def test_settings_that_are_no_plain_json_are_refused_in_one_sentence(run: Run, home: Path, text: str):
    settings_of(home).write_text(text)
    before = snapshot(home)
    ran = run("attach", "claude-code", "--yes", "--statusline")
    assert ran.code == 1
    assert "--no-statusline" in ran.err
    assert ran.err.count("\n") == 1
    assert snapshot(home) == before
    assert run("attach", "claude-code", "--yes").code == 0


@pytest.mark.parametrize("command", ["attach", "detach"])
def test_settings_that_are_read_only_are_refused_in_one_sentence(run: Run, home: Path, command: str):
    settings_of(home).write_text("{}")
    if command == "detach":
        run("attach", "claude-code", "--yes", "--statusline")
    settings_of(home).chmod(0o444)
    before = snapshot(home)
    ran = run(command, "claude-code", "--yes", *(["--statusline"] if command == "attach" else []))
    assert (ran.code, "is read-only" in ran.err, ran.err.count("\n")) == (1, True, 1)
    assert snapshot(home) == before


@pytest.mark.parametrize("wanted", [True, False])
def test_a_change_of_the_status_line_that_was_cut_short_anywhere_can_be_undone(run: Run, home: Path, wanted: bool):
    path, text = settings_of(home), '{"statusLine": {"type": "command", "command": "date"}}'
    path.write_text(text)
    count, host = 0, PROGRAMS["claude-code"]
    while True:
        run("attach", "claude-code", "--yes", "--no-statusline" if wanted else "--statusline")
        attachment = find_attachment(host)
        assert attachment is not None
        planned = plan_attach(host, attachment.board, status_line=wanted).changes
        apply_changes(planned[:count])
        assert run("detach", "claude-code", "--yes").code == 0
        assert path.read_text() == text
        count += 1
        if count > len(planned):
            break


def test_a_hook_of_the_person_that_runs_our_file_stays_in_codex(run: Run, home: Path):
    path = home / ".codex" / "config.toml"
    own = '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "my-wrapper punchlist_hook.py codex"\n'
    path.write_text(own)
    run("attach", "codex", "--yes")
    run("detach", "codex", "--yes")
    assert path.read_text() == own
    run("attach", "codex", "--yes")
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if not line.startswith("#")))
    assert run("detach", "codex", "--yes").code == 0
    assert tomllib.loads(path.read_text()) == tomllib.loads(own)


def test_linked_settings_keep_their_link(run: Run, home: Path):
    kept = home / "dotfiles" / "claude.json"
    kept.parent.mkdir()
    kept.write_text('{"model": "opus"}')
    settings_of(home).symlink_to(kept)
    before = snapshot(home)
    run("attach", "claude-code", "--yes", "--statusline")
    assert settings_of(home).is_symlink()
    assert "statusLine" in kept.read_text()
    run("detach", "claude-code", "--yes")
    assert snapshot(home) == before


@pytest.mark.parametrize("link", ["skills", "skills/punchlist", "settings.json"])
def test_links_out_of_the_home_are_not_followed(run: Run, home: Path, tmp_path: Path, link: str):
    outside = tmp_path / "outside"
    outside.mkdir()
    place = home / ".claude" / link
    place.parent.mkdir(exist_ok=True)
    target = outside / "settings.json" if link == "settings.json" else outside
    if link == "settings.json":
        target.write_text("{}")
    place.symlink_to(target)
    before = snapshot(tmp_path)
    ran = run("attach", "claude-code", "--yes", "--statusline")
    assert ran.code == 1
    assert snapshot(tmp_path) == before


def test_a_folder_of_that_name_that_is_not_ours_is_refused(run: Run, home: Path):
    folder = home / ".claude" / "skills" / "punchlist"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("mine")
    before = snapshot(home)
    ran = run("attach", "claude-code", "--yes")
    assert (ran.code, "move it away" in ran.err) == (1, True)
    assert run("detach", "claude-code", "--yes").code == 0
    assert snapshot(home) == before


@pytest.mark.parametrize("host", ["opencode", "codex"])
def test_a_file_or_table_of_that_name_that_is_not_ours_is_refused(run: Run, home: Path, host: str):
    if host == "opencode":
        (home / ".config" / "opencode" / "config.json").write_text("{}")
    else:
        (home / ".codex" / "config.toml").write_text('[mcp_servers.punchlist]\ncommand = "mine"\n')
    before = snapshot(home)
    assert run("attach", host, "--yes").code == 1
    run("detach", host, "--yes")
    assert snapshot(home) == before


def test_a_file_of_ours_that_the_person_edited_is_not_deleted(run: Run, home: Path):
    run("attach", "opencode", "--yes")
    path = home / ".config" / "opencode" / "config.json"
    path.write_text(path.read_text().replace('"mcp"', '"theme": "dark", "mcp"'))
    before = snapshot(home)
    assert run("detach", "opencode", "--yes").code == 1
    assert run("attach", "opencode", "--yes").code == 1
    assert run("status").code == 0
    assert snapshot(home) == before


def test_files_that_others_put_into_our_folder_stay(run: Run, home: Path):
    run("attach", "claude-code", "--yes")
    folder = home / ".claude" / "skills" / "punchlist"
    (folder / "hooks" / "mine.txt").write_text("mine")
    assert run("detach", "claude-code", "--yes").code == 0
    assert [path.name for path in folder.rglob("*") if path.is_file()] == ["mine.txt"]


def test_a_marker_cannot_have_files_elsewhere_deleted(run: Run, home: Path):
    run("attach", "claude-code", "--yes")
    marker = home / ".claude" / "skills" / "punchlist" / ".punchlist.json"
    listed = json.loads(marker.read_text())
    victim = home / ".claude" / "victim"
    victim.write_text("mine")
    marker.write_text(json.dumps(listed | {"files": ["../../victim"], "folders": 9}))
    assert run("detach", "claude-code", "--yes").code == 1
    assert victim.read_text() == "mine"


def test_commands_are_absolute_isolated_and_quoted(run: Run, home: Path, tmp_path: Path):
    odd = tmp_path / "my $(touch x) 'board'"
    odd.mkdir()
    run("--db", str(odd / "b.db"), "attach", "claude-code", "--yes")
    folder = home / ".claude" / "skills" / "punchlist"
    hooks: dict[str, Any] = json.loads((folder / "hooks" / "hooks.json").read_text())["hooks"]
    assert set(hooks) == set(plugin.CLAUDE_EVENTS)
    for groups in hooks.values():
        handler = groups[0]["hooks"][0]
        words = shlex.split(handler["command"])
        assert words[words.index("exec") : -1][1:4] == [sys.executable, "-I", "-S"]
        assert words[-1] == str(odd / "b.db")
        assert handler["timeout"] > 0
    server = json.loads((folder / ".mcp.json").read_text())["mcpServers"]["punchlist"]
    assert server["command"] == sys.executable
    assert server["args"][:4] == ["-I", "-m", "punchlist", "mcp"]
    assert server["env"] == {"PUNCHLIST_DB": str(odd / "b.db")}


def test_a_hook_is_silent_once_the_package_is_gone(tmp_path: Path):
    command = plugin.Launch(sys.executable, str(tmp_path), str(tmp_path / "b.db")).hook("claude-code")
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_status_line_of_the_person_goes_on_once_the_package_is_gone(tmp_path: Path):
    command = plugin.Launch(sys.executable, str(tmp_path), str(tmp_path / "b.db")).status_line("cat # mine")
    done = subprocess.run(["sh", "-c", command], input=b"given", capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"given", b"")


def test_the_homes_that_agents_name_themselves_are_used(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for variable, folder, host in (("CLAUDE_CONFIG_DIR", "c", "claude-code"), ("CODEX_HOME", "x", "codex")):
        (tmp_path / folder).mkdir()
        monkeypatch.setenv(variable, str(tmp_path / folder))
        assert run("attach", host, "--yes").code == 0
    assert (tmp_path / "c" / "skills" / "punchlist" / ".mcp.json").is_file()
    assert (tmp_path / "x" / "config.toml").is_file()
    assert not (home / ".claude" / "skills").exists()


CONFIGS = [
    "",
    "\n",
    'model = "x"',
    'model = "x" # mine\r\n',
    '[mcp_servers.zed]\ncommand = "true"\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "echo"',
]


@pytest.mark.parametrize("text", CONFIGS)
def test_codex_tables_go_in_and_out_of_any_configuration(run: Run, home: Path, text: str):
    path = home / ".codex" / "config.toml"
    path.write_bytes(text.encode())
    before = snapshot(home)
    assert run("attach", "codex", "--yes").code == 0
    found = tomllib.loads(path.read_bytes().decode())
    assert set(plugin.CODEX_EVENTS) <= set(found["hooks"])
    run("detach", "codex", "--yes")
    assert snapshot(home) == before


def test_tables_that_codex_put_between_ours_stay(run: Run, home: Path):
    path = home / ".codex" / "config.toml"
    path.write_text('# mine\nmodel = "x"\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "echo"\n')
    run("attach", "codex", "--yes")
    text = path.read_text()
    # As `codex mcp add` and trusting a hook do it: comments before a server are lost, tables come among ours.
    text = re.sub(r"# >>> .*\n", "", text)
    text = text.replace("\n[[hooks.SessionStart]]", '\n[mcp_servers.foo]\ncommand = "foo"\n\n[[hooks.SessionStart]]', 1)
    states = "".join(f'\n[hooks.state."{path}:stop:{place}:0"]\ntrusted_hash = "sha256:{place}"\n' for place in (0, 1))
    text = text.replace("# <<<", f'\n[hooks.state]\n{states}\n[projects."/x"]\ntrust_level = "trusted"\n# <<<')
    path.write_text(text)
    assert run("detach", "codex", "--yes").code == 0
    left = path.read_text()
    assert "punchlist" not in left
    assert left.startswith("# mine\n")
    stop = {"hooks": [{"type": "command", "command": "echo"}]}
    assert tomllib.loads(left) == {
        "model": "x",
        "mcp_servers": {"foo": {"command": "foo"}},
        "hooks": {"Stop": [stop], "state": {f"{path}:stop:0:0": {"trusted_hash": "sha256:0"}}},
        "projects": {"/x": {"trust_level": "trusted"}},
    }


def test_trust_in_our_hooks_outlives_an_update(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch):
    path = home / ".codex" / "config.toml"
    path.write_text('model = "x"\n')
    with monkeypatch.context() as older:
        older.setitem(plugin.CODEX_EVENTS, "Stop", 9)
        run("attach", "codex", "--yes")
    state = f'[hooks.state]\n\n[hooks.state."{path}:session_start:0:0"]\ntrusted_hash = "sha256:1"\n'
    path.write_text(path.read_text().replace("# <<<", f"{state}# <<<"))
    run("attach", "codex", "--yes")
    hooks = tomllib.loads(path.read_text())["hooks"]
    assert hooks["state"] == {f"{path}:session_start:0:0": {"trusted_hash": "sha256:1"}}
    assert hooks["Stop"][0]["hooks"][0]["timeout"] == 10
    once = path.read_text()
    run("attach", "codex", "--yes")
    assert path.read_text() == once
    run("detach", "codex", "--yes")
    assert path.read_text().strip() == 'model = "x"'


@pytest.mark.parametrize("text", ["model = ", "hooks = {Stop = []}\n", "mcp_servers = {}\n"])
def test_a_configuration_of_codex_that_has_no_room_is_refused(run: Run, home: Path, text: str):
    path = home / ".codex" / "config.toml"
    path.write_text(text)
    ran = run("attach", "codex", "--yes")
    assert (ran.code, ran.err.count("\n"), path.read_text()) == (1, 1, text)


def test_status_says_how_to_attach_and_how_to_trust(run: Run):
    assert "`punchlist attach claude-code`" in run("status").out
    run("attach", "codex", "--yes")
    assert "/hooks" in run("status").out


def test_a_server_for_any_other_program_is_printed(run: Run, home: Path):
    before = snapshot(home)
    ran = run("attach", "mcp", "--print")
    assert json.loads(ran.out)["mcpServers"]["punchlist"]["command"] == sys.executable
    assert run("attach", "mcp").code == 2
    assert snapshot(home) == before


def test_an_installation_that_will_be_gone_is_refused(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch):
    before = snapshot(home)
    monkeypatch.setattr(sys, "executable", "/home/ada/.cache/uv/archive-v0/x/bin/python")
    ran = run("attach", "codex", "--yes")
    assert (ran.code, "temporary place" in ran.err) == (1, True)
    assert snapshot(home) == before


def test_unknown_agents_and_boards_in_memory_are_refused(run: Run):
    assert "known are" in run("attach", "vim", "--yes").err
    assert run("--db", "memory:", "attach", "codex", "--yes").code == 2


POLICIES = {
    '{"disableAllHooks": true}': "Hooks and status line are off",
    '{"allowManagedHooksOnly": true}': "Only managed hooks run",
    '{"strictKnownMarketplaces": []}': "are blocked",
    '{"blockedMarketplaces": [{"source": "skills-dir"}]}': "are blocked",
    '{"allowedMcpServers": []}': "No MCP server is allowed",
}


@pytest.mark.parametrize("text", POLICIES)
def test_what_an_organisation_forbids_is_said(tmp_path: Path, text: str):
    managed = tmp_path / "managed-settings"
    managed.with_suffix(".json").write_text('{"strictKnownMarketplaces": [{"source": "skills-dir"}]}')
    assert list_policies(str(managed)) == []
    managed.with_suffix(".d").mkdir()
    (managed.with_suffix(".d") / "10-own.json").write_text(text)
    (managed.with_suffix(".d") / "20-broken.json").write_text("{")
    (problem,) = list_policies(str(managed))
    assert POLICIES[text] in problem


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"disableAllHooks": True}, "disableAllHooks"), ({"enabledPlugins": {"punchlist@skills-dir": False}}, "enable")],
)
def test_what_the_person_switched_off_is_said(run: Run, home: Path, settings: dict[str, Any], said: str):
    run("attach", "claude-code", "--yes")
    assert said not in run("status").out
    settings_of(home).write_text(json.dumps(settings))
    assert said in run("status").out


def test_the_monitor_does_not_end_after_an_uninstall(tmp_path: Path) -> None:
    launch = plugin.Launch(sys.executable, str(tmp_path / "it's gone"), str(tmp_path / "board.db"))
    command = ["sh", "-c", launch.monitor("claude-code")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.kill()
        assert process.communicate()[0] == b""


def test_a_name_that_is_nearly_an_agent_is_answered_with_that_agent(run: Run) -> None:
    assert "did you mean `claude-code`?" in run("attach", "claude").err


def test_a_server_that_was_added_by_hand_is_named_by_attach_status_and_doctor(run: Run, home: Path) -> None:
    settings = {"mcpServers": {"punchlist": {"command": "punchlist", "args": ["mcp"]}}}
    (home / ".claude.json").write_text(json.dumps(settings))
    fix = "`claude mcp remove punchlist -s user`"
    assert fix in run("attach", "claude-code", "--yes").out
    assert fix in run("status").out.replace("\n", " ")
    assert fix in run("doctor").out.replace("\n", " ")


@pytest.mark.parametrize(("version", "is_told"), [("2.1.197", True), ("2.1.325", False)])
def test_a_version_that_cannot_be_woken_is_named(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, version: str, is_told: bool
) -> None:
    program = home / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/bin:/usr/bin")
    run("attach", "claude-code", "--yes")
    said = "has no plugin monitors"
    assert [said in run(command).out for command in ("status", "doctor")] == [is_told] * 2
