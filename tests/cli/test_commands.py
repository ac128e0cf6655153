"""The command as a whole: its list of commands, its help, its exit codes."""

import argparse
import os
import re
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any, cast

import pytest

from punchlist import Board, __version__
from punchlist.cli import COMMANDS, OVER_HTTP, load_parser
from tests.cli.conftest import Run
from tests.packages import WEB_PACKAGES

OPTIONS = {
    "demo": {"--speed"},
    "now": {"--project", "--by", "--json"},
    "top": {"--project", "--no-watch", "--by"},
    "attach": {
        *("--yes", "--show", "--statusline", "--no-statusline", "--force", "--print"),
        *("--server", "--project", "--share", "--steer"),
    },
    "detach": {"--yes", "--show"},
    "status": {"--json"},
    "todos": {"--all", "--project", "--session", "--agent", "--follow", "--ids", "--limit", "--json"},
    "todo": set[str](),
    "tasks": set[str](),
    "plan": set[str](),
    "answer": {"--session", "--agent", "--by", "--all", "--project", "--json", "--list"},
    "watch": {"--since", "--once"},
    "notify": {"--facts", "--ntfy", "--webhook", "--quiet", "--progress", "--no-watch", "--test", "--json"},
    "handoff": {"--to", "--start", "--by", "--json"},
    "flows": set[str](),
    "events": {"--follow", "--after", "--session", "--agent", "--kind", "--limit", "--json"},
    "serve": {
        "--host",
        "--port",
        "--name",
        "--tls-cert",
        "--tls-key",
        "--no-tls",
        "--no-watch",
        "--no-link",
        "--background",
        "--stop",
        "--status",
        "--systemd",
    },
    "token": set[str](),
    "mcp": {"--dialect", "--host"},
    "hook": set[str](),
    "statusline": {"--session", "--agent", "--board", "--before", "--every"},
    "report": {"--session", "--all", "--project", "--format", "--json", "--html", "-o", "--output", "--transcript"},
    "brief": {"--all", "--project", "--by", "--after", "--keep", "--push", "--json"},
    "stats": {"--session", "--all", "--project", "--json", "--compare"},
    "restore": {
        "--format",
        "--session",
        "--agent",
        "--by",
        "--history",
        "--with-work",
        "--force",
        "--dry-run",
        "--json",
    },
    "sessions": {"--all", "--project", "--limit", "--json"},
    "copy": set[str](),
    "prune": {"--older-than", "--session", "--project", "--machine", "--yes", "--dry-run"},
    "dialects": {"--json"},
    "config": set[str](),
    "trust": set[str](),
    "completion": set[str](),
    "doctor": {"--json", "--rebuild"},
}
VERBS = {
    "todo": {
        "append": {"--phase", "--check"},
        "add": {"--phase", "--check"},
        "start": set[str](),
        "done": {"--all", "--evidence"},
        "drop": {"--all"},
        "rm": {"--all", "--yes"},
        "unblock": {"--all"},
        "restore": set[str](),
        "block": {"--on"},
        "note": set[str](),
        "reword": set[str](),
        "edit": set[str](),
        "continue": set[str](),
        "export": {"--format", "--force"},
        "import": {"--format"},
        "undo": set[str](),
    },
    "plan": {
        "show": {"--session", "--agent", "--all", "--project", "--json"},
        "approve": {"--session", "--agent", "--all", "--project", "--json", "--by", "--todos"},
        "reject": {"--session", "--agent", "--all", "--project", "--json", "--by"},
        "history": {"--session", "--agent", "--all", "--project", "--json"},
    },
    "flows": {
        "list": {"--status", "--owner", "--limit", "--json"},
        "show": {"--json"},
        "cancel": {"--request", "--by", "--json"},
        "resume": {"--state", "--by", "--json"},
        "tick": {"--json"},
        "prune": {"--older-than", "--json"},
    },
    "sessions": {"copy": {"--by"}, "move": {"--by"}},
    "token": {
        "create": {"--scope", "--project", "--person", "--owner", "--expires", "--json"},
        "list": {"--json"},
        "renew": {"--project", "--expires"},
        "link": set[str](),
        "revoke": set[str](),
    },
}


READS, WRITES = {"--db", "--server", "--list", "--json"}, {"--db", "--server", "--list", "--json", "--by"}
SAID = {"--description", "--parent", "--priority", "--label", "--check", "--owner", "--attempts"}
CLAIM = {"--lease", "--reserve"}
TASKS = {
    "list": READS | {"--after", "--all", "--status", "--owner", "--label", "--parent", "--limit"},
    "ready": READS | {"--label", "--limit"},
    "add": WRITES | SAID | {"--blocked-by", "--blocks", "--call-id"},
    "edit": WRITES | SAID | {"--subject"},
    "show": READS,
    "start": WRITES | {"--fence"},
    "done": WRITES | {"--result", "--force", "--fence", "--call-id"},
    "check": WRITES | {"--undo"},
    "fail": WRITES | {"--fence"},
    "retry": WRITES,
    "cancel": WRITES | {"--fence", "--request", "--force"},
    "delete": WRITES,
    "block": WRITES,
    "unblock": WRITES,
    "claim": WRITES | CLAIM | {"--label", "--limit", "--call-id"},
    "release": WRITES | {"--fence"},
    "wait": WRITES | {"--until", "--topic", "--correlation", "--fence"},
    "signal": WRITES | {"--keep", "--call-id"},
    "resume": WRITES,
    "graph": READS | {"--all", "--mermaid", "--dot"},
    "history": READS,
    "import": WRITES | {"--format", "--in-order"},
    "export": READS | {"--format", "--force"},
    "work": WRITES | CLAIM | {"--once", "--drain", "--label", "--grace"},
}


def _options(parser: argparse.ArgumentParser) -> set[str]:
    return {option for action in parser._actions for option in action.option_strings} - {"-h", "--help"}


def _common(name: str) -> set[str]:
    """Return the options that each command has, by its name."""
    return {"--db", "--server"} if name in OVER_HTTP else {"--db"}


def _verbs(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    chosen = [cast("Any", action).choices for action in parser._actions if isinstance(action.choices, dict)]
    return chosen[0] if chosen else {}


def test_the_commands_are_those_that_are_written_here():
    assert set(COMMANDS) == set(OPTIONS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_just_these_options_and_always_db(name: str):
    parser = load_parser(name)
    assert _options(parser) == OPTIONS[name] | _common(name)


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_of_a_command_has_just_these_options(name: str):
    parser = load_parser(name)
    common = _common(name) | ({"--session", "--agent", "--by", "--mine"} if name == "todo" else set[str]())
    found = {verb: _options(inner) for verb, inner in _verbs(parser).items()}
    assert found == {verb: options | common for verb, options in VERBS[name].items()}


def test_every_verb_of_tasks_has_just_these_options():
    parser = load_parser("tasks")
    assert {verb: _options(inner) for verb, inner in _verbs(parser).items()} == TASKS


GROUPED = {
    "See": ["now", "top", "serve", "brief", "report", "todos"],
    "Decide": ["answer", "plan", "todo", "tasks"],
    "Connect": ["attach", "detach", "status", "doctor", "handoff", "notify"],
    "More": ["demo", "watch", "events", "stats", "sessions", "config", "trust"],
}
PLUMBING = {"hook", "statusline", "mcp", "completion", "flows", "dialects", "restore", "copy", "prune", "token"}


def read_groups(text: str) -> dict[str, list[str]]:
    """Return the commands that a help shows, by the title of their group."""
    parts = [part.splitlines() for part in text.split("\n\n")]
    return {
        lines[0].removesuffix(":"): [row.split()[0] for row in lines[1:]] for lines in parts if lines[0].endswith(":")
    }


def test_the_help_shows_commands_in_groups_and_the_plumbing_when_asked(run: Run):
    shown = read_groups(run("--help").out)
    assert {title: shown[title] for title in GROUPED} == GROUPED
    assert set(shown) == {*GROUPED, "options"}
    assert "print up to three rows" in run("--help", "--all").out
    for words in (("--help", "--all"), ("help", "--all"), ("-h", "--all")):
        every = read_groups(run(*words).out)
        assert set(every.pop("Plumbing")) == PLUMBING
        assert every == shown
    assert {*chain(*GROUPED.values()), *PLUMBING} == set(COMMANDS)


def test_commands_that_look_alike_are_told_apart_by_the_help(run: Run):
    rows = dict(line.split(maxsplit=1) for line in run("--help").out.splitlines() if line.startswith("  "))
    apart = {
        "now": "once",
        "top": "live in this terminal",
        "serve": "live in a browser",
        "watch": "agents' own logs onto the board",
        "events": "event by event",
        "todos": "`--follow` draws them again",
        "brief": "since you last looked",
        "report": "every item of this project's sessions",
        "status": "which of them are attached",
        "doctor": "are sound",
    }
    for name, words in apart.items():
        assert [other for other in apart if words in rows[other]] == [name]


def test_the_help_imports_no_command():
    code = (
        "import sys; from punchlist.cli import main; main(['--help']); "
        "print([name for name in sys.modules if name.startswith('punchlist.') "
        "and name.split('.')[1] not in ('cli', 'terminal', 'text', 'core', 'errors')], "
        "[name for name in sys.modules if name.startswith('punchlist.cli.')])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.splitlines()[-1] == "[] ['punchlist.cli.terminal']"


@pytest.mark.parametrize("arguments", [(), ("help",), ("-h",), ("--help",)])
def test_help_comes_in_every_way_that_people_ask_for_it(run: Run, arguments: tuple[str, ...]):
    ran = run(*arguments)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("usage: punchlist")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_page(run: Run, name: str):
    ran = run(name, "--help")
    assert ran.code == 0
    assert ran.out.startswith(f"usage: punchlist {name}")


def test_the_version_is_that_of_the_package(run: Run):
    assert run("--version").out == f"punchlist {__version__}\n"


def test_reading_lists_loads_no_dialect_and_no_agent(run: Run):
    run("todo", "append", "Something")
    code = (
        "import sys; from punchlist.cli import main; main(['todos']); "
        "print([name for name in sys.modules if name.startswith(('punchlist.dialects.', 'punchlist.agent')) "
        "and name not in ('punchlist.dialects.base', 'punchlist.dialects.tool_descriptions')])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.splitlines()[-1] == "[]"


def test_a_verb_of_tasks_loads_neither_agents_nor_dialects_nor_other_verbs(run: Run):
    run("tasks", "add", "Something")
    for words in (["tasks", "ready"], ["tasks", "add", "More"]):
        code = (
            f"import sys; from punchlist.cli import main; main({words!r}); "
            "print([name for name in sys.modules if name.startswith(('punchlist.dialects.', 'punchlist.agent', "
            "'punchlist.markdown', 'punchlist.cli.task_w', 'punchlist.cli.task_f')) "
            "and name not in ('punchlist.dialects.base', 'punchlist.dialects.tool_descriptions')])"
        )
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
        assert result.stdout.splitlines()[-1] == "[]"


SHORT = (
    ["todo", "append", "Paint"], ["todos"], ["tasks", "add", "Sand"], ["tasks", "ready"], ["now"], ["answer"], ["plan"],
    ["events"], ["report"], ["report", "--format", "markdown"], ["brief"], ["stats"], ["sessions"], ["flows", "list"],
    ["status"], ["token", "list"], ["serve", "--status"], ["config"], ["dialects"], ["doctor"], ["completion", "bash"],
    ["statusline", "--session", "s1"],
)  # fmt: skip


def test_no_short_command_loads_a_package_of_the_server():
    code = (
        "import sys; from punchlist.cli import main\n"
        f"for words in {SHORT!r}:\n"
        "    done = main(words) < 2\n"
        f"    loaded = {WEB_PACKAGES!r} & {{name.partition('.')[0] for name in sys.modules}}\n"
        "    print('told:', *words, done, sorted(loaded), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    told = [line for line in result.stderr.splitlines() if line.startswith("told: ")]
    assert told == [f"told: {' '.join(words)} True []" for words in SHORT]


def test_a_report_as_a_page_loads_the_templates_and_no_server(run: Run, tmp_path: Path):
    run("todo", "append", "Paint")
    words = ["report", "--html", "-o", str(tmp_path / "report.html")]
    code = (
        f"import sys; from punchlist.cli import main; main({words!r}); "
        f"print(sorted({{one.partition('.')[0] for one in sys.modules}} & {WEB_PACKAGES!r}))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.splitlines()[-1] == "['jinja2', 'markupsafe']"


@pytest.mark.parametrize(
    "arguments",
    [
        ("tasks", "paint"),
        ("tasks", "--nonsense"),
        ("tasks", "add"),
        ("tasks", "work"),
        ("tasks", "ready", "--limit", "many"),
        ("tasks", "work", "--lease", "0", "--", "true"),
        ("tods",),
        ("--dbb", "x", "todos"),
        ("todos", "--nonsense"),
        ("todos", "--limit", "-1"),
        ("todos", "--limit", "many"),
        ("todo",),
        ("todo", "append"),
        ("todo", "paint"),
        ("prune",),
        ("prune", "--older-than", "soon"),
        ("demo", "--speed", "nan"),
        ("hook", "nobody"),
        ("config", "set", "lease"),
        ("--db",),
    ],
)
def test_wrong_usage_ends_with_2_and_one_line_that_says_where_to_look(run: Run, arguments: tuple[str, ...]):
    ran = run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("punchlist: ")
    assert ran.err.count("\n") == 1
    assert "--help`" in ran.err


@pytest.mark.parametrize(
    "command", [("todos",), ("events",), ("sessions",), ("tasks",), ("todo", "append", "x"), ("tasks", "add", "x")]
)
@pytest.mark.parametrize("url", ["oracle://x", "/proc/nowhere/board.db"])
def test_a_board_that_cannot_be_used_ends_with_2(run: Run, command: tuple[str, ...], url: str):
    ran = run(*command, "--db", url)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("punchlist: ")


def test_a_file_that_is_no_board_is_named_and_nothing_is_traced(run: Run, project: Path):
    (project / "letter.db").write_text("Dear Sir or Madam, " * 100)
    ran = run("todos", "--db", "letter.db")
    assert ran.code == 2
    assert "letter.db" in ran.err
    assert "Traceback" not in ran.err


def test_the_board_may_be_named_before_the_command_or_after_it(run: Run, project: Path):
    run("--db", "one.db", "todo", "append", "First")
    run("todo", "--db", "one.db", "append", "Second")
    run("todo", "append", "--db", "one.db", "Third")
    assert run("todos", "--db=one.db").out.startswith("3 items:")
    assert "There are no lists" in run("todos").out


def test_the_module_runs_as_the_command_does():
    result = subprocess.run(
        [sys.executable, "-m", "punchlist", "todos"], capture_output=True, text=True, check=True, timeout=60
    )
    assert "There are no lists in this project" in result.stdout


def test_a_reader_who_leaves_early_is_no_error(run: Run):
    for number in range(3):
        run("todo", "append", f"Item {number}")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        result = subprocess.run(
            [sys.executable, "-m", "punchlist", "todos"], stdout=pipe, stderr=subprocess.PIPE, check=False, timeout=60
        )
    assert result.returncode == 141
    assert result.stderr == b""


def test_a_closed_standard_output_is_no_fault() -> None:
    command = f"{sys.executable} -m punchlist --db memory: todos >&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("command", "first"), [("plan", "show"), ("flows", "list"), ("tasks", "list")])
def test_a_command_whose_verb_is_left_out_shows_what_there_is(run: Run, tmp_path: Path, command: str, first: str):
    run("todo", "append", "one")
    db = str(tmp_path / "data" / "board.db")
    for options in ([], ["--json"]):
        assert run(command, *options) == run(command, first, *options)
        assert run("--db", db, command, *options) == run(command, f"--db={db}", *options) == run(command, *options)
    assert "VERB" in run(command, "--help").out


def test_options_may_stand_among_words(run: Run):
    said = run("todo", "append", "Paint", "--phase", "Later", "the", "fence").out
    assert said.startswith("Appended to Later: Paint the fence (project · yours)")
    assert "Paint the gate" in run("tasks", "add", "Paint", "--label", "x", "the", "gate").out


@pytest.mark.parametrize(
    "command",
    [
        ("todos",),
        ("todos", "--json"),
        ("events",),
        ("report",),
        ("stats",),
        ("plan", "show"),
        ("plan", "history"),
        ("plan", "approve", "1"),
        ("todo", "done", "one"),
    ],
    ids=" ".join,
)
def test_an_unknown_session_is_one_sentence_and_exit_code_1_everywhere(run: Run, command: tuple[str, ...]):
    run("todo", "append", "one")
    ran = run(*command, "--session", "nope")
    assert ran == (1, "", "punchlist: There is no session `nope` on this board; `punchlist sessions` lists them.\n")


_SESSIONS = ("06e51ec6-bb9a-4e76-994c-1f0c5b0a1b2c", "06e51ec6-bb9a-4e76-0000-ffffffffffff", "06e5")


@pytest.fixture
def sessions(board: Board) -> None:
    with board:
        for session in _SESSIONS:
            board.agent("main", session=session).call("todo", {"set": [f"work {session[-4:]}"]})


@pytest.mark.parametrize("part", ["06e51ec6-bb9a-4e76-994c…", "06e51ec6-bb9a-4e76-9...", "5b0a1b2c", _SESSIONS[0]])
@pytest.mark.usefixtures("sessions")
def test_a_part_of_a_session_that_can_mean_only_one_will_do_everywhere(run: Run, part: str):
    for command in ("todos", "events", "report", "stats"):
        by_part, by_id = run(command, "--session", part), run(command, "--session", _SESSIONS[0])
        assert _without_times(by_part.out) == _without_times(by_id.out)
        assert by_part.code == by_id.code == 0
    assert "work 1b2c" in run("todos", "--session", part).out
    assert run("todo", "done", "work", "--session", part).code == 0
    assert run("sessions", "copy", part, "copied").out == f"Copied session {_SESSIONS[0]} to copied.\n"


def _without_times(text: str) -> str:
    """Leave out seconds: the later of two runs may see one more."""
    return re.sub(r"\d+ s\b", "", text)


@pytest.mark.usefixtures("sessions")
def test_a_part_that_may_mean_several_sessions_names_them(run: Run):
    expected = f"Several sessions begin or end with `06e51`: `{_SESSIONS[1]}`, `{_SESSIONS[0]}`; use more of the id."
    for command in (("todos", "--session"), ("todo", "done", "work", "--session"), ("handoff", "--to", "codex")):
        assert run(*command, "06e51") == (1, "", f"punchlist: {expected}\n")
    assert "work 06e5" in run("todos", "--session", "06e5").out  # a whole id is that session
    assert "no session `06e`" in run("todos", "--session", "06e").err


@pytest.mark.usefixtures("sessions")
def test_sessions_are_listed_by_name_and_not_by_their_whole_id(run: Run):
    """Changed: ids were shown in full before; the end of each is in its name, and every command takes it."""
    said = run("sessions").out
    assert all(f"· main {session[-6:]} " in said for session in _SESSIONS)
    assert not any(session in said for session in _SESSIONS[:2])


@pytest.mark.parametrize("command", [("todos",), ("todos", "--json"), ("events",), ("plan", "show")], ids=" ".join)
def test_an_unknown_agent_is_one_sentence_and_exit_code_1_everywhere(run: Run, command: tuple[str, ...]):
    run("todo", "append", "one")
    ran = run(*command, "--agent", "nope")
    sentence = "There is no agent `nope` on this board; `punchlist todos --all` lists those at work."
    assert ran == (1, "", f"punchlist: {sentence}\n")
    session = run("sessions", "--json").out.split('"id": "')[1].split('"')[0]
    assert f"no agent `nope` in session `{session}`" in run(*command, "--session", session, "--agent", "nope").err


@pytest.mark.parametrize("verb", ["list", "ready", "graph", "export"])
def test_an_unknown_task_list_is_one_sentence_and_exit_code_1(run: Run, verb: str):
    ran = run("tasks", verb, "--list", "nope")
    assert ran == (1, "", "punchlist: There is no task list `nope` on this board; it has none yet.\n")
    run("tasks", "add", "one", "--list", "mine")
    ran = run("tasks", verb, "--list", "nope")
    assert ran == (1, "", "punchlist: There is no task list `nope` on this board; known are: `mine`.\n")


def test_an_unknown_kind_of_event_is_refused_and_the_nearest_named(run: Run):
    run("todo", "append", "one")
    ran = run("events", "--kind", "item.aded")
    assert (ran.code, ran.out) == (1, "")
    assert "(did you mean `item.added`?)" in ran.err
    for kind in ("item.added", "item", "item.*"):
        assert run("events", "--kind", kind).out.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "near"),
    [("todo appnd x", "append"), ("tasks redy", "ready"), ("plan aprove 1", "approve"), ("sessions cpy a b", "copy")],
)
def test_a_mistyped_verb_is_answered_with_the_nearest_one(run: Run, words: str, near: str):
    ran = run(*words.split())
    assert ran.code == 2
    assert f"(did you mean `{near}`?)" in ran.err
    assert ran.err.count("\n") == 1


def test_a_mistyped_choice_names_the_choices(run: Run):
    ran = run("report", "--format", "htm")
    assert ran.code == 2
    assert "(did you mean `html`?)" in ran.err
    assert "text, markdown, json, html" in ran.err


_TIME = re.compile(r'"\d{4}-\d\d-\d\dT\d\d:\d\d[^"]*"')


@pytest.mark.parametrize(
    "command",
    [
        ("todos", "--json"),
        ("events", "--json"),
        ("sessions", "--json"),
        ("report", "--json"),
        ("brief", "--json", "--keep"),
        ("plan", "show", "--json"),
        ("tasks", "--json"),
        ("tasks", "history", "1", "--json"),
        ("tasks", "export"),
        ("flows", "--json"),
    ],
    ids=" ".join,
)
def test_times_in_json_end_in_z(run: Run, board: Board, command: tuple[str, ...]):
    with board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Paint", "Sand"]})
        agent.tool_started("c1", "Bash", {"command": "pytest -q"})
        agent.tool_finished("c1", "1 failed", exit_code=1)
        agent.call("todo", {"done": "1"})
        agent.propose_plan("- Sand it")
        agent.spawn("helper").finished("Done.")
        board.tasks().create("Ship")
        claimed = board.tasks().claim("w1")
        assert claimed is not None
        board.flows(agent=agent).create_managed("inbox", "Sort the inbox")
    run("tasks", "wait", "1", "--until", "1h", "--fence", "1")
    found = _TIME.findall(run(*command).out)
    assert found
    assert [time for time in found if not time.endswith('Z"')] == []
