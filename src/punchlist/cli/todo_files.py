"""A list as a Markdown file: edited, exported, imported. What a person wrote is never lost."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

from punchlist.cli import FAILED, OK, complain
from punchlist.cli.arguments import open_board
from punchlist.cli.files import check_place, read, replace_file, write_new
from punchlist.cli.target import author, chosen_agent
from punchlist.errors import EditRefused, InvalidInput, RevisionConflict
from punchlist.surfaces.spans import shown

if TYPE_CHECKING:
    from punchlist.agent import Agent

_FORMAT = "punchlist"


def edit(options: Namespace) -> int:
    """Opens the list in the person's editor and applies what was saved, unless the list moved on meanwhile."""
    import shutil
    import tempfile

    from punchlist.markdown import dumps

    with open_board(options) as board:
        agent = chosen_agent(board, options, create=True, filled=False)
        todos = agent.todos
        before = dumps(todos, markers=_FORMAT)
        folder = tempfile.mkdtemp(prefix="punchlist-")  # private, with whatever the editor leaves beside the file
        path = os.path.join(folder, "list.todo.md")
        write_new(path, before)
        try:
            code = _run_editor(path)
        except InvalidInput:
            shutil.rmtree(folder, ignore_errors=True)  # nothing of anybody's is in it yet
            raise
        after = read(path) if os.path.exists(path) else before
        if code != 0:
            kept = f" Your text is kept in `{path}`." if after != before else ""
            if not kept:
                shutil.rmtree(folder, ignore_errors=True)
            return complain(f"The editor ended with status {code}; nothing was changed.{kept}", FAILED)
        if after == before:
            shutil.rmtree(folder, ignore_errors=True)
            print("No changes.")
            return OK
        code = _apply(agent, after, path, revision=todos.revision, by=author(options))
        if code == OK:
            shutil.rmtree(folder, ignore_errors=True)
        return code


def _run_editor(path: str) -> int:
    import shlex
    import subprocess

    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        return subprocess.call([*shlex.split(command), path])
    except (OSError, ValueError) as error:
        raise InvalidInput(
            problem=f"The editor `{command}` cannot be started ({error}); set $VISUAL or $EDITOR to one that can."
        ) from error


def _apply(agent: Agent, text: str, path: str, *, revision: int, by: str) -> int:
    from punchlist.markdown import loads

    again = f"Your text is kept in `{path}`; `punchlist todo import {path}` takes it"
    todos, errors = loads(text, markers=_FORMAT)
    if errors:
        said = "\n  ".join(errors)
        return complain(f"Could not parse the edited list, so nothing was changed:\n  {said}\n{again} once mended.", 1)
    try:
        after = agent.rewrite(todos, by=by, revision=revision)
    except RevisionConflict:
        return complain(
            "The list changed while you were editing, so yours was not put in its place. "
            f"See `punchlist todos`. {again} over what is there now.",
            FAILED,
        )
    except EditRefused as error:
        return complain(f"{error} {again} once mended.", FAILED)
    print("Nothing to change." if after.revision == revision else _changed(len(after.items), len(after.omitted)))
    return OK


def _changed(items: int, omitted: int) -> str:
    aside = f" {omitted} left out are set aside; `punchlist todo restore` brings them back." if omitted else ""
    return f"Saved the list: {items} task(s).{aside}"


def export(options: Namespace) -> int:
    from punchlist.markdown import dumps
    from punchlist.text import for_terminal

    with open_board(options) as board:
        text = dumps(chosen_agent(board, options).todos, markers=options.format)
    if options.path == "-":
        print(for_terminal(text, lines=True), end="")
        return OK
    _check_target(options.path, options.format, force=options.force)
    replace_file(options.path, text)
    print(f"Wrote todos to {shown(options.path)}")
    return OK


def import_(options: Namespace) -> int:
    from punchlist.markdown import loads

    text = read(options.path)
    todos, errors = loads(text, markers=options.format)
    if errors:
        said = "\n  ".join(errors)
        return complain(f"Could not parse {options.path}:\n  {said}\nNothing was changed.", FAILED)
    with open_board(options) as board:
        chosen_agent(board, options, create=True, filled=False).rewrite(todos, by=author(options))
    counts = f"{len(todos.phases)} phase(s), {len(todos.items)} task(s)"
    print(f"Imported {counts} from {shown(options.path)}.")
    return OK


def _check_target(path: str, format: str, *, force: bool) -> None:
    from punchlist.core.todo import TodoList
    from punchlist.markdown import dumps, loads

    check_place(path)
    if force or not os.path.exists(path):
        return
    text = read(path)
    found, problems = loads(text, markers=format)
    if problems or (text.strip() and not found.items and text.strip() != dumps(TodoList(), markers=format).strip()):
        raise InvalidInput(
            problem=f"`{path}` holds more than a checklist of this format; name another file, or use --force."
        )
