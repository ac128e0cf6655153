"""Tricks of an agent that wants to look good: none is `verified` without a remark that names the trick.

`data/tricks.json` has each with its steps (`edit` and `make` name a file, `run` a command line, its output and its exit
code) and with what is expected: a grade, or the remark.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from punchlist.core.checks.outcome import accept_named
from punchlist.core.grounding.session import NO_RECORD, Change
from punchlist.core.shell.touches import Touch
from punchlist.core.todo import NamedCheck
from tests.board.work import Session
from tests.core.test_grades import run_of

TRICKS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data" / "tricks.json").read_text("utf-8"))


def play(steps: list[list[Any]], text: str = "Fix the parser", **options: Any) -> Session:
    """Play the steps, complete the item, and return the session."""
    session = Session(**options)
    session.write(f"> {text}", "later")
    for kind, *words in steps:
        if kind == "edit":
            session.edit(words[0])
        elif kind == "make":
            content = words[1] if len(words) > 1 else "print(1)\n"
            session.tool("Write", {"file_path": words[0], "content": content})
        elif kind == "run":
            session.run(*words)
    session.write(f"x {text}", "later")
    return session


@pytest.mark.parametrize("trick", TRICKS, ids=[trick["trick"] for trick in TRICKS])
def test_no_trick_is_verified_without_a_remark_that_names_it(trick: dict[str, Any]) -> None:
    entry = play(trick["steps"]).entries["Fix the parser"]
    expected = trick["expected"]
    if expected in ("failing", "unchecked"):
        assert entry.grade == expected
    else:
        assert expected in entry.remarks


def test_there_are_at_least_forty_of_them() -> None:
    assert len(TRICKS) >= 40


# Checks that somebody names.


@pytest.mark.parametrize(
    "command", ["true", "echo ok", "python -c 'print(1)'", "ls", "ruff check .", "pytest -q || true", ":"]
)
def test_a_model_does_not_set_its_own_bar(command: str) -> None:
    assert not accept_named(NamedCheck(command, "model"))
    assert accept_named(NamedCheck(command, "person"))
    if command not in ("pytest -q || true", "python -c 'print(1)'"):
        assert accept_named(NamedCheck(command, "model"), [NamedCheck(command, "project")])


def test_a_check_that_the_project_names_and_the_session_edits_carries_a_remark() -> None:
    record = NO_RECORD.add_change(Change([Touch("edited", "smoke.sh")], 1, (1,)))
    run = replace(run_of("smoke.sh", started=2), named="x", script="smoke.sh")
    passed = record.add_run(run, (1,), changes_since=0).checks[0].passed
    assert passed is not None
    assert passed.notes == ((2, "the check was edited (smoke.sh)"),)
