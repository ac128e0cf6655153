"""`punchlist todo`: change a list by hand, item by item or as a Markdown file."""

from __future__ import annotations

import argparse
import os
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from punchlist.cli import FAILED, OK, complain
from punchlist.cli.arguments import Parser, add_db, add_target, author, chosen_agent, command_parser, open_board
from punchlist.cli.files import check_place, read, replace_file, write_new
from punchlist.core import commands as do
from punchlist.core.commands import Entry, Target
from punchlist.core.todo import Evidence, Status, TodoItem, TodoList
from punchlist.errors import EditRefused, InvalidInput, RevisionConflict
from punchlist.surfaces.matching import addition, find_item, find_phase, tokens
from punchlist.surfaces.spans import shown
from punchlist.text import repair

if TYPE_CHECKING:
    from punchlist.agent import Agent

_TRIES = 8
"""An agent that writes at the same time moves the list on; the change is then worked out anew."""

_EXAMPLES = """\
  punchlist todo append "Fix the login page"       to the last phase
  punchlist todo append Tests "Cover the login"    to the phase Tests, which is made if missing
  punchlist todo start login                       the item that holds `login`
  punchlist todo done login --evidence "pytest -q tests/login"
  punchlist todo edit                              in $VISUAL or $EDITOR
  punchlist todo undo
"""


class Change(NamedTuple):
    """What a command does to a list, and what it says once that is done."""

    operation: do.Operation
    message: str


Plan = Callable[[TodoList, Namespace], Change]


def parser() -> Parser:
    made = command_parser("todo", "Changes a list by hand: the latest of this project.", examples=_EXAMPLES)
    verbs = made.add_subparsers(metavar="VERB", required=True, parser_class=Parser)

    def verb(name: str, help: str, run: Callable[[Namespace], int]) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
        add_db(added)
        add_target(added)
        added.set_defaults(run=run)
        return added

    def change(name: str, help: str, plan: Plan, **settings: bool) -> argparse.ArgumentParser:
        return verb(name, help, lambda options: _change(options, plan, **settings))

    _add_changes(change)

    verb("edit", "edit the list as Markdown in $VISUAL or $EDITOR", edit)
    for name, said, run in (
        ("export", "write the list to a Markdown file", export),
        ("import", "put a Markdown checklist in place of the list", import_),
    ):
        added = verb(name, said, run)
        added.add_argument("path", nargs="?", default="TODO.md", help="the file (default: TODO.md), or `-`")
        added.add_argument("--format", default="punchlist", metavar="F", help="whose checkboxes (default: punchlist)")
        if name == "export":
            added.add_argument("--force", action="store_true", help="also over a file that is no checklist")
    verb("undo", "take back your last change", _undo)
    return made


def _add_changes(change: Callable[..., argparse.ArgumentParser]) -> None:
    added = change("append", "add an item", _append, create=True, filled=False)
    added.add_argument("words", nargs="+", metavar="[PHASE] TASK", help="one word or quoted text is the task")
    added.add_argument("--phase", metavar="P", help="the phase; then all words are the task")
    added = change("start", "put an item in progress", _start)
    added.add_argument("words", nargs="+", metavar="TASK")
    for name, said, plan in (
        ("done", "mark an item, a phase or all as completed", _done),
        ("drop", "mark an item, a phase or all as cancelled", _drop),
        ("rm", "remove an item, a phase or all", _remove),
        ("unblock", "let an item, a phase or all go on", _unblock),
        ("restore", "bring back an item that a rewrite left out, or all of them", _restore),
    ):
        added = change(name, said, plan, filled=name != "restore")
        added.add_argument("words", nargs="*", metavar="TASK|PHASE" if name != "restore" else "TASK")
        if name == "done":
            added.add_argument("--evidence", metavar="TEXT", help="what shows that it is done")
    for name, said, plan, least in (
        ("block", "say that an item waits, and why", _block, "*"),
        ("note", "add a note to an item", _note, "+"),
        ("reword", "give an item another text", _reword, "+"),
    ):
        added = change(name, said, plan)
        added.add_argument("task", metavar="TASK", help="the item; quote it if it has several words")
        added.add_argument("text", nargs=least, metavar="TEXT")
        if name == "block":
            added.add_argument("--on", metavar="WHO", help="whom or what it waits on")


def _change(options: Namespace, plan: Plan, *, create: bool = False, filled: bool = True) -> int:
    with open_board(options) as board:
        agent = chosen_agent(board, options, create=create, filled=filled)
        print(_apply(agent, plan, options, by=author(options)))
        show_where(agent)
    return OK


def _apply(agent: Agent, plan: Plan, options: Namespace, *, by: str) -> str:
    """Makes the change that the list asks for as it stands; what to say then."""
    tries = 0
    while True:
        todos = agent.todos
        change = plan(todos, options)
        try:
            agent.edit(change.operation, by=by, revision=todos.revision)
        except RevisionConflict:
            tries += 1
            if tries == _TRIES:
                raise
        else:
            return change.message


def _undo(options: Namespace) -> int:
    with open_board(options) as board:
        agent = chosen_agent(board, options, filled=False)
        by = author(options)
        agent.undo(by=by)
        print(f"Took back the last change by {shown(by)}.")
        show_where(agent)
    return OK


def show_where(agent: Agent) -> None:
    """Behind the message, on a terminal: whose list it was and how far it is."""
    import sys

    from punchlist.cli.terminal import look, show
    from punchlist.surfaces.spans import Span, cut

    if not sys.stdout.isatty():
        return
    seen = look()
    done, total, _ = agent.todos.progress
    dot = f" {seen.glyphs.dot} "
    said = f"{shown(agent.name)}{dot}session {shown(agent.session)}{dot}{done}/{total} done"
    show([cut((Span(said, "dim"),), seen.columns, seen.glyphs)])


# What each command means on a list.


def _append(todos: TodoList, options: Namespace) -> Change:
    words = [repair(word) for word in options.words]
    if len(words) == 1 and options.phase is None and _is_quoted(words[0]):
        words = tokens(words[0])
    added = addition(todos, words, phase=None if options.phase is None else repair(options.phase))
    if added is None:
        raise EditRefused(problem='There is no task to append; say one, as in `punchlist todo append "Fix the bug"`.')
    where = "" if added.phase is None else f" to {shown(added.phase)}"
    return Change(do.Append((Entry(content=added.content),), added.phase), f"Appended{where}: {shown(added.content)}")


def _is_quoted(text: str) -> bool:
    """Whether one argument is a whole `/todo append` line with its own quotes, as in `'Tests "Cover login"'`."""
    trimmed = text.strip()
    return len(trimmed) > 1 and (trimmed.startswith('"') or trimmed.endswith('"')) and trimmed.count('"') > 1


def _start(todos: TodoList, options: Namespace) -> Change:
    item = _item(todos.items, _query(options.words))
    return Change(do.Start(_target(item)), f"Started: {shown(item.content)}")


def _done(todos: TodoList, options: Namespace) -> Change:
    proof = () if options.evidence is None else (Evidence(repair(options.evidence)),)
    target, name = _item_or_phase(todos, options.words)
    known = None if target.item is None else todos.find(target.item)
    if known is not None and known.status is Status.COMPLETED:
        return Change(do.Done(target, proof), f"Confirmed: {name}")
    return _marked(todos, options, lambda target: do.Done(target, proof), "completed")


def _drop(todos: TodoList, options: Namespace) -> Change:
    return _marked(todos, options, do.Drop, "cancelled")


def _marked(todos: TodoList, options: Namespace, make: Callable[[Target], do.Operation], word: str) -> Change:
    target, name = _item_or_phase(todos, options.words)
    if target.item is not None:
        return Change(make(target), f"Marked {word}: {name}")
    return Change(make(target), f"Marked phase {name} {word}." if target.phase else f"Marked all tasks {word}.")


def _remove(todos: TodoList, options: Namespace) -> Change:
    target, name = _item_or_phase(todos, options.words)
    operation = do.Remove(target, phases=True)
    if target.item is not None:
        return Change(operation, f"Removed: {name}")
    return Change(operation, f"Removed phase: {name}" if target.phase else "Cleared all todos.")


def _unblock(todos: TodoList, options: Namespace) -> Change:
    target, name = _item_or_phase(todos, options.words)
    if target.item is not None:
        return Change(do.Unblock(target), f"Unblocked: {name}")
    return Change(do.Unblock(target), f"Unblocked phase {name}." if target.phase else "Unblocked all tasks.")


def _restore(todos: TodoList, options: Namespace) -> Change:
    if not todos.omitted:
        raise EditRefused(problem="No item of this list was left out, so there is nothing to restore.")
    if not options.words:
        return Change(do.Restore(), f"Restored: {'; '.join(shown(item.content) for item in todos.omitted)}")
    item = _item(todos.omitted, _query(options.words))
    return Change(do.Restore(_target(item)), f"Restored: {shown(item.content)}")


def _block(todos: TodoList, options: Namespace) -> Change:
    item = _item(todos.items, options.task)
    reason = _query(options.text)
    on = None if options.on is None else repair(options.on)
    why = f" ({shown(reason)})" if reason else ""
    return Change(do.Block(_target(item), reason, on), f"Blocked: {shown(item.content)}{why}")


def _note(todos: TodoList, options: Namespace) -> Change:
    item = _item(todos.items, options.task)
    return Change(do.Note(_target(item), _query(options.text)), f"Noted on: {shown(item.content)}")


def _reword(todos: TodoList, options: Namespace) -> Change:
    item = _item(todos.items, options.task)
    text = _query(options.text)
    return Change(do.Reword(_target(item), text), f"Reworded: {shown(text)}")


# Whom the words mean.


def _query(words: Sequence[str]) -> str:
    return repair(" ".join(words)).strip()


def _target(item: TodoItem) -> Target:
    return Target(item=item.id, by="id")


def _item(items: Sequence[TodoItem], query: str) -> TodoItem:
    item = find_item(items, repair(query))
    if item is None:
        raise EditRefused(problem=f'No task matched "{query}". Use `punchlist todos` to list current tasks.')
    return item


def _item_or_phase(todos: TodoList, words: Sequence[str]) -> tuple[Target, str]:
    """An item, else a phase, with its name; without words everything."""
    query = _query(words)
    if not words:
        return Target(), ""
    item = find_item(todos.items, query)
    if item is not None:
        return _target(item), shown(item.content)
    phase = find_phase(todos.phases, query)
    if phase is None:
        raise EditRefused(problem=f'No task or phase matched "{query}". Use `punchlist todos` to list current tasks.')
    return Target(phase=phase.name), shown(phase.name)


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
        code = _apply_text(agent, after, path, revision=todos.revision, by=author(options))
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


def _apply_text(agent: Agent, text: str, path: str, *, revision: int, by: str) -> int:
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
