"""`punchlist completion`: the real shells complete what the parsers know."""

import os
import pty
import select
import subprocess
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from punchlist.cli import COMMANDS, main
from punchlist.cli.completion import find_offers
from punchlist.cli.tasks import VERBS
from punchlist.settings.table import list_entries
from tests.cli.conftest import Run
from tests.cli.terminals import PATIENCE

PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
"""The scripts call `punchlist`."""

SHELLS = [pytest.param(shell, marks=pytest.mark.needs(shell)) for shell in ("bash", "zsh", "fish")]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the script of each shell."""
    folder = tmp_path_factory.mktemp("scripts")
    for shell in ("bash", "zsh", "fish"):
        with (folder / shell).open("w") as file, redirect_stdout(file):
            assert main(["completion", shell]) == 0
    return folder


def complete(shell: str, scripts: Path, *words: str) -> list[str]:
    """Return what a shell offers for the last of these words, in any order of its own."""
    if shell == "fish":
        line = " ".join(words)
        code = f"source {scripts}/fish; complete -C {line!r}"
    else:
        code = f'source {scripts}/bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _punchlist; '
        code += 'printf "%s\\n" "${COMPREPLY[@]}"'
    arguments = () if shell == "fish" else (shell, *words)
    environment = {**os.environ, "PATH": PATH}
    done = subprocess.run(
        [shell, "-c", code, *arguments], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr.replace("bash: line 1: compopt: not currently executing completion function\n", "") == ""
    return sorted(line.split("\t")[0] for line in done.stdout.splitlines() if line)


def type_into(shell: str, scripts: Path, line: str, expected: str) -> None:
    """Type a line and a tab into an interactive shell; return once the expected text is shown."""
    start = {"bash": ["bash", "--norc", "-i"], "zsh": ["zsh", "-f", "-i"]}[shell]
    setup = f"source {scripts}/{shell}"
    child, control = pty.fork()
    if child == 0:
        os.environ.update(TERM="dumb", PATH=PATH, PS1="> ", HISTFILE="/dev/null")
        os.execvp(start[0], start)
    shown, ends = b"", time.monotonic() + PATIENCE
    try:
        for typed, wanted in ((f"{setup}; echo sour''ced\n", b"sourced"), (f"{line}\t", expected.encode())):
            os.write(control, typed.encode())
            while wanted not in shown:
                assert time.monotonic() < ends, f"{expected!r} was never shown; shown was: {shown.decode()!r}"
                if select.select([control], [], [], 1)[0]:
                    shown += os.read(control, 65_536)
            shown = b""
    finally:
        os.close(control)  # the shell gets a hang-up
        os.waitpid(child, 0)


@pytest.mark.parametrize("shell", SHELLS)
def test_each_script_is_one_that_its_shell_can_read(shell: str, scripts: Path):
    done = subprocess.run([shell, "-n", str(scripts / shell)], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


CASES = {
    ("punchlist", ""): sorted(COMMANDS),
    ("punchlist", "conf"): ["config"],
    ("punchlist", "tasks", ""): sorted(VERBS),
    ("punchlist", "--db", "x.db", "tasks", "wo"): ["work"],
    ("punchlist", "tasks", "add", "--la"): ["--label"],
    ("punchlist", "tasks", "--js"): ["--json"],
    ("punchlist", "report", "--format", ""): ["html", "json", "markdown", "text"],
    ("punchlist", "attach", "c"): ["claude-code", "codex"],
    ("punchlist", "config", "get", ""): sorted(list_entries()),
    ("punchlist", "config", "set", "gates."): ["gates.complete", "gates.create"],
    ("punchlist", "config", "set", "profile", ""): ["classic", "off", "quiet"],
    ("punchlist", "config", "set", "watch.agents", "codex", "cl"): ["claude-code"],
    ("punchlist", "completion", ""): ["bash", "fish", "zsh"],
    ("punchlist", "--ve"): ["--version"],
    ("punchlist", "todos", "--session", ""): [],
}


@pytest.mark.parametrize("shell", [SHELLS[0], SHELLS[2]])
@pytest.mark.parametrize(("words", "offered"), CASES.items(), ids=[" ".join(words) for words in CASES])
def test_a_shell_offers_what_may_come_next(shell: str, scripts: Path, words: tuple[str, ...], offered: list[str]):
    assert complete(shell, scripts, *words) == offered


@pytest.mark.needs("bash")
def test_bash_completes_a_value_after_an_equals_sign(scripts: Path):
    assert complete("bash", scripts, "punchlist", "report", "--format", "=", "m") == ["markdown"]


@pytest.mark.needs("fish")
def test_files_are_offered_where_a_file_is_meant(scripts: Path, project: Path):
    (project / "plan.md").touch()
    assert complete("fish", scripts, "punchlist", "todo", "import", "pl") == ["plan.md"]
    assert complete("fish", scripts, "punchlist", "--db", "pl") == ["plan.md"]
    assert complete("fish", scripts, "punchlist", "todo", "append", "pl") == []


@pytest.mark.parametrize("shell", SHELLS[:2])
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("punchlist conf", "punchlist config "),
        ("punchlist --db x.db tasks wo", "tasks work "),
        ("punchlist report --format=m", "--format=markdown "),
        ("punchlist config set timer", "config set timer_horizon "),
        ("punchlist todo import pl", "import plan.md "),
        ("punchlist tasks work -- ./pl", "./plan.md "),
    ],
)
def test_a_tab_completes_the_line_that_a_person_types(
    shell: str, scripts: Path, project: Path, line: str, expected: str
):
    (project / "plan.md").touch()
    type_into(shell, scripts, line, expected)


@pytest.mark.needs("zsh")
def test_zsh_shows_what_each_word_means(scripts: Path):
    type_into("zsh", scripts, "punchlist config set gates.\t", "may refuse the completion")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_each_of_its_verbs_offers_its_options(name: str):
    verbs, _ = find_offers([name, ""])
    for words in ([name], *([name, verb] for verb in verbs)):
        assert "--help" in find_offers([*words, "-"])[0]


def test_what_no_command_knows_is_offered_nothing():
    assert find_offers(["nonsense", ""]) == ({}, False)
    assert find_offers(["config", "set", "nonsense", ""]) == ({}, False)


def test_an_unknown_shell_is_named_with_the_known_ones(run: Run):
    ran = run("completion", "tcsh")
    assert ran.code == 2
    assert "bash, zsh, fish" in ran.err
