"""`punchlist trust`: show the checks that a project names, and let them verify work."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import Any

from punchlist.cli import FAILED, OK, complain
from punchlist.cli.arguments import Parser, command_parser
from punchlist.cli.terminal import ask, is_typed, shorten_home
from punchlist.core.programs import doubt_person
from punchlist.errors import SettingsFileInvalid
from punchlist.settings.environment import find_project
from punchlist.settings.project_checks import FILE_NAME, load_project_checks, trust_checks
from punchlist.terminal.spans import plural, safe_line

_STATES = {
    "trusted": "trusted",
    "changed": "changed since you trusted them, so they are probes; `punchlist trust` shows and trusts them",
    "new": "not trusted, so they are probes; `punchlist trust` shows and trusts them",
}


def parser() -> Parser:
    about = (
        f"Shows `{FILE_NAME}` in this project's root and asks whether its `checks` may verify work: exit code 0 after "
        "the last change. Only a person can say so, in a terminal. It holds for this repository and this content. "
        "Punchlist never runs a check itself."
    )
    return command_parser("trust", about, run=_trust)


def _trust(_options: Namespace) -> int:
    project = find_project().folder
    found = load_project_checks(project)
    if found is None:
        where = shorten_home(os.path.join(project, FILE_NAME))
        return complain(f'There is no {where}; write `checks = ["npm run build"]` into it first.', FAILED)
    print(f"{shorten_home(found.file)} names {plural(len(found.checks), 'check')}:")
    for command in found.checks:
        print(f"  {safe_line(command)}")
    if found.trust == "trusted":
        print("They are trusted already.")
        return OK
    if (doubt := doubt_person(os.environ, is_terminal=is_typed())) is not None:
        return complain(f"Nothing was trusted: only a person can do that, and {doubt}.", FAILED)
    if not ask("May an exit code of 0 of these verify work in this repository?"):
        print("Nothing was trusted.")
        return FAILED
    trust_checks(project, found)
    print(f"{plural(len(found.checks), 'check')} trusted, until the file changes.")
    return OK


def view_project_checks(project: str) -> dict[str, Any]:
    """Return the checks that a project names for `--json`: `checks` is None where it names none."""
    try:
        found = load_project_checks(project)
    except SettingsFileInvalid as error:
        return {"checks": {"problem": str(error)}}
    return {"checks": None if found is None else {"file": found.file, "commands": found.checks, "trust": found.trust}}


def describe_project_checks(project: str) -> list[str]:
    """Say whether the checks that a project names count; nothing where it names none."""
    found = view_project_checks(project)["checks"]
    if found is None:
        return []
    if "problem" in found:
        return [safe_line(found["problem"])]
    return [f"{plural(len(found['commands']), 'check')} in {shorten_home(found['file'])}: {_STATES[found['trust']]}"]
