"""The settings file: what it may say, what is above it, and what a broken one does."""

import os
import subprocess
import sys
from datetime import timedelta
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from platformdirs import user_config_dir

from punchlist import Board
from punchlist.errors import ConfigInvalid, SettingsFileInvalid, SettingUnknown
from punchlist.settings import environment, settings_path
from punchlist.settings.table import (
    SettingEntry,
    Settings,
    find_entry,
    list_entries,
    load_settings,
    parse_settings_file,
    parse_words,
    read_setting,
    set_setting,
)
from punchlist.store import store_path


@pytest.fixture
def file(own_home: Path) -> Path:
    """The path of the settings file of this test's home; the file is not there yet."""
    path = Path(settings_path())
    path.parent.mkdir(parents=True)
    return path


# Where it is.


@pytest.mark.parametrize("folder", [None, "", "relative", "/somewhere/else"])
def test_the_file_is_where_the_system_keeps_settings(monkeypatch: pytest.MonkeyPatch, folder: str | None):
    if folder is None:
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_CONFIG_HOME", folder)
    assert settings_path() == os.path.join(user_config_dir("punchlist", appauthor=False), "config.toml")


def test_a_variable_names_another_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: Path):
    file.write_text("lease = 1\n")
    (tmp_path / "mine.toml").write_text("lease = 2\n")
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(tmp_path / "mine.toml"))
    assert read_setting("lease") == 2


# What it says.


def test_without_a_file_every_setting_has_its_default():
    assert load_settings() == Settings()
    assert (read_setting("lease"), read_setting("durability"), read_setting("profile")) == (900, "full", "quiet")
    assert environment.stall_timings().notice_after == 300
    assert environment.timer_horizon() == timedelta(days=30)
    assert read_setting("previews") == 160
    assert read_setting("todos")
    assert read_setting("stop_tries") is None
    assert environment.own_secrets() is None
    assert environment.gate_commands() == {}


def test_the_file_supplies_what_the_environment_does_not(file: Path):
    file.write_text(
        'durability = "normal"\nprofile = "off"\nstop_tries = 0\ntodos = false\npreviews = 0\nlease = 60\n'
        'timer_horizon = "2d"\nredact = ["ACME-[0-9]+"]\n[stall]\nafter = 9.5\n'
        '[gates]\ncreate = "true"\ncomplete = "false"\n'
    )
    assert (read_setting("lease"), read_setting("durability"), read_setting("profile")) == (60, "normal", "off")
    assert environment.stall_timings().notice_after == 9.5
    assert environment.timer_horizon() == timedelta(days=2)
    assert (read_setting("previews"), read_setting("todos"), read_setting("stop_tries")) == (0, False, 0)
    assert environment.gate_commands() == {"create": "true", "complete": "false"}


def test_a_variable_is_above_the_file_and_a_caller_above_both(file: Path, monkeypatch: pytest.MonkeyPatch):
    file.write_text('durability = "normal"\nlease = 60\nstop_tries = 3\ntodos = false\n[stall]\nafter = 10\n')
    for name, value in {"LEASE": "70", "DURABILITY": "full", "STOP_TRIES": "0", "TODOS": "on"}.items():
        monkeypatch.setenv(f"PUNCHLIST_{name}", value)
    monkeypatch.setenv("PUNCHLIST_STALL_AFTER", "0")
    assert (read_setting("lease"), read_setting("lease", 80)) == (70, 80)
    assert (read_setting("durability"), read_setting("durability", "normal")) == ("full", "normal")
    assert (read_setting("stop_tries"), read_setting("todos")) == (0, True)
    assert environment.stall_timings().notice_after == 0


def test_patterns_of_secrets_add_up(file: Path, monkeypatch: pytest.MonkeyPatch):
    file.write_text('redact = ["file-[0-9]"]\n')
    monkeypatch.setenv("PUNCHLIST_REDACT", "variable-[0-9]")
    pattern = environment.own_secrets(["program-[0-9]"])
    assert pattern is not None
    assert all(pattern.search(text) for text in ("file-1", "variable-1", "program-1"))


def test_what_is_kept_of_a_tool_call_follows_the_file(file: Path):
    file.write_text("previews = 0\n")
    with Board.open("memory:") as board:
        agent = board.agent(session="s")
        agent.tool_started("1", "Bash", {"command": "echo hello"})
        assert all(event.data.get("preview", "") == "" for event in board.events() if event.kind == "tool.started")


def test_db_is_the_board_of_everything_that_names_none(
    file: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    file.write_text('db = "~/mine.db"\n')
    assert store_path() == str(own_home / "mine.db")
    assert store_path(tmp_path / "given.db") == str(tmp_path / "given.db")
    monkeypatch.setenv("PUNCHLIST_DB", str(tmp_path / "variable.db"))
    assert store_path() == str(tmp_path / "variable.db")


def test_a_change_of_the_file_is_seen_by_a_process_that_runs(file: Path):
    file.write_text("lease = 60\n")
    assert read_setting("lease") == 60
    set_setting(str(file), "lease", 61.0)
    assert read_setting("lease") == 61
    file.unlink()
    assert read_setting("lease") == 900


# What it may not say.

BROKEN = {
    "leese = 1": "`leese` (did you mean `lease`?)",
    "[stall]\nafer = 1": "`stall.afer` (did you mean `stall.after`?)",
    'lease = "long"': "`lease` cannot be `long`: use a number of seconds, up to a day",
    "lease = nan": "`lease` cannot be `nan`",
    "lease = 0": "`lease` cannot be `0`",
    'profile = "loud"': "use `quiet`, `classic` or `off`",
    'todos = "on"': "`true` or `false`",
    'timer_horizon = "a year"': "`12h` or `30d`",
    'db = "work.db"': "an absolute path",
    'db = "sqlite:///work.db"': "an absolute path",
    'redact = ["("]': "no regular expression",
    'redact = "x"': "`redact` cannot be `x`: use regular expressions",
    "stall = 3": "`stall`: expected a table",
    "x = = 1": "no TOML: Invalid value (at line 1",
    "a" + ".a" * 5000 + "=1": "there is no key",
}


@pytest.mark.parametrize(("text", "said"), BROKEN.items())
def test_a_broken_file_is_refused_by_name_with_what_is_allowed(file: Path, text: str, said: str):
    file.write_text(text)
    with pytest.raises(SettingsFileInvalid) as caught:
        load_settings()
    assert isinstance(caught.value, ConfigInvalid)
    assert str(file) in str(caught.value)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_refused_by_name(file: Path):
    file.write_bytes(b"lease = 1 # \xff")
    with pytest.raises(SettingsFileInvalid, match="UTF-8"):
        load_settings()
    file.unlink()
    file.mkdir()
    with pytest.raises(SettingsFileInvalid, match=r"config\.toml"):
        load_settings()


@given(st.text(max_size=60))
def test_any_text_is_settings_or_one_error(text: str):
    said = ""
    try:
        parse_settings_file("/x/config.toml", text)
    except SettingsFileInvalid as error:
        said = str(error)
    assert said.isprintable()


# Writing.


def test_a_written_key_leaves_comments_order_and_all_else_in_the_file(file: Path):
    text = '# mine\nlease = 60  # a minute\n\n[stall] # agents\n  after = 1\n\n[gates]\ncreate = "./gate" # ours\n'
    file.write_text(text)
    set_setting(str(file), "stall.after", 600.0)
    assert file.read_text() == text.replace("after = 1", "after = 600")
    set_setting(str(file), "profile", "off")
    changed = file.read_text()
    assert [line for line in changed.splitlines() if line != 'profile = "off"'] == file_lines(text, 600)
    assert load_settings().profile == "off"


def file_lines(text: str, after: int) -> list[str]:
    return text.replace("after = 1", f"after = {after}").splitlines()


def test_a_comment_above_a_table_stays_there(file: Path):
    file.write_text("[gates]\ncreate = 'a'\n\n# about stalls\n[stall]\n")
    set_setting(str(file), "gates.complete", "b")
    assert file.read_text() == "[gates]\ncreate = 'a'\ncomplete = \"b\"\n\n# about stalls\n[stall]\n"


def test_line_ends_stay_as_they_are(file: Path):
    file.write_bytes(b"lease = 1\r\n[stall]\r\nafter = 1\r\n")
    set_setting(str(file), "stall.after", 2.0)
    assert file.read_bytes() == b"lease = 1\r\n[stall]\r\nafter = 2\r\n"


_LINES = st.lists(
    st.sampled_from(["# one", "", "# two", "lease = 5 # three", "previews = 7", "redact = [ # four\n'a',\n]"])
)
_TABLES = st.lists(st.sampled_from(["[stall]", "[gates]", "[watch]", "stall.after = 1", "stall = {after = 2}"]))


@given(_LINES, _TABLES, _LINES, st.sampled_from(["lease", "stall.after", "gates.create", "profile"]))
def test_any_file_that_was_valid_keeps_its_comments_and_its_other_values(
    tmp_path_factory: pytest.TempPathFactory, first: list[str], tables: list[str], last: list[str], key: str
):
    path = tmp_path_factory.mktemp("settings") / "config.toml"
    text = "\n".join([*dict.fromkeys(first), *dict.fromkeys(tables), *(line for line in last if line.startswith("#"))])
    value: Any = {"lease": 3.0, "stall.after": 3.0, "gates.create": "x", "profile": "off"}[key]
    try:
        before = parse_settings_file("x", text)
    except SettingsFileInvalid:
        return
    path.write_text(text)
    set_setting(str(path), key, value)
    after = parse_settings_file("x", path.read_text())
    comments = [part for part in ("# one", "# two", "# three", "# four") if part in text]
    assert all(path.read_text().count(part) == text.count(part) for part in comments)
    for entry in list_entries():
        held = attrgetter(entry)
        assert held(after) == (value if entry == key else held(before)), entry


def test_a_new_file_is_for_its_owner_alone_and_so_is_one_that_was_open(own_home: Path):
    path = settings_path()
    set_setting(path, "stall.after", 1.0)
    assert os.stat(path).st_mode & 0o777 == 0o600
    os.chmod(path, 0o644)
    set_setting(path, "lease", 1.0)
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.listdir(os.path.dirname(path)) == ["config.toml"]


def test_a_link_to_the_file_stays_a_link(file: Path, tmp_path: Path):
    (tmp_path / "dotfiles.toml").write_text("lease = 1\n")
    file.symlink_to(tmp_path / "dotfiles.toml")
    set_setting(str(file), "lease", 2.0)
    assert file.is_symlink()
    assert (tmp_path / "dotfiles.toml").read_text() == "lease = 2\n"


@pytest.mark.parametrize("text", ["x = = 1", "leese = 1\n", 'profile = "loud"\n'])
def test_nothing_is_written_into_a_file_that_stays_broken(file: Path, text: str):
    file.write_text(text)
    with pytest.raises(SettingsFileInvalid):
        set_setting(str(file), "lease", 1.0)
    assert file.read_text() == text


def test_a_key_that_is_wrong_can_be_set_right(file: Path):
    file.write_text('lease = "long"\n')
    set_setting(str(file), "lease", 1.0)
    assert read_setting("lease") == 1


# The table of settings.


def test_every_setting_says_what_it_means_and_what_it_may_be():
    for entry in list_entries().values():
        assert entry.meaning, entry.key
        assert entry.allowed, entry.key


def test_an_unknown_key_is_answered_with_a_near_one():
    with pytest.raises(SettingUnknown, match=r"did you mean `stall\.after`"):
        find_entry("stal.after")


# Starting.


@pytest.mark.sqlite
@pytest.mark.parametrize("words", [["tasks"], ["todos"], ["hook", "claude-code"], ["statusline", "--session=s"]])
def test_without_a_file_no_command_loads_the_readers_of_toml(words: list[str]):
    with Board.open() as board:
        board.agent(session="s").call("todo", {"set": ["Write it"]})
    code = (
        f"import sys; sys.argv[1:] = {words!r}; from punchlist.__main__ import program; program(); "
        "print([name for name in ('tomllib', 'tomlkit') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input="{}", capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1:] == ["[]"]


def test_with_a_file_no_command_that_reads_it_loads_what_writes_it(file: Path):
    file.write_text("lease = 60\n")
    code = "import sys; from punchlist.cli import main; main(['tasks']); print('tomlkit' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.sqlite
def test_the_status_line_loads_of_this_package_only_where_its_files_are():
    code = (
        "import sys; sys.argv[1:] = ['statusline', '--session=s']; from punchlist.__main__ import program; program(); "
        "print(sorted(name for name in sys.modules if name.startswith('punchlist.')))"
    )
    with Board.open() as board:
        board.agent(session="s").call("todo", {"set": ["Write it"]})
    done = subprocess.run(
        [sys.executable, "-c", code], input="{}", capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "['punchlist.__main__', 'punchlist.settings']"


_OTHER_VALUES = {
    "db": "/elsewhere/board.db",
    "durability": "normal",
    "profile": "off",
    "todos": "off",
    "leftovers": "off",
    "timer_horizon": "1d",
    "conversation": "list",
    "wake": "never",
    "retain": "90 d",
}


@pytest.mark.parametrize("entry", [entry for entry in list_entries().values() if entry.variable])
def test_every_variable_is_above_the_default_of_its_setting(entry: SettingEntry, monkeypatch: pytest.MonkeyPatch):
    assert read_setting(entry.key) == entry.default
    text = _OTHER_VALUES.get(entry.key, "7")
    monkeypatch.setenv(entry.variable, text)
    assert read_setting(entry.key) == parse_words(entry, [text]) != entry.default
