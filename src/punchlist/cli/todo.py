"""`punchlist todo`: change a list by hand, item by item or as a Markdown file.

Items and phases are found by a few letters of them. Text that a person wrote in an editor is never lost.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Sequence

from msgspec import Struct

from punchlist.agent import Agent
from punchlist.cli import FAILED, OK, complain
from punchlist.cli.arguments import Parser, author, command_parser, explain_doubt, find_doubt
from punchlist.cli.boards import open_board
from punchlist.cli.files import check_place, read, replace_file, write_new
from punchlist.cli.targets import add_target, find_agent
from punchlist.cli.terminal import detect_display, show
from punchlist.core import commands as do
from punchlist.core.commands import Entry, Target
from punchlist.core.todo import Evidence, Status, TodoItem, TodoList
from punchlist.errors import EditRefused, InvalidInput, RevisionConflict
from punchlist.markdown import dumps, loads
from punchlist.surfaces.matching import find_item, find_phase, parse_addition, tokens
from punchlist.surfaces.spans import Span, safe_line
from punchlist.text import for_terminal, repair

_TRIES = 8
"""An agent that writes at the same time moves the list on; the edit is then worked out again."""

_FORMAT = "punchlist"
_EXAMPLES = """\
  punchlist todo append "Fix the login page"       to the last phase
  punchlist todo append Tests "Cover the login"    to the phase Tests, which is made if missing
  punchlist todo start login                       the item that holds `login`
  punchlist todo done login --evidence "pytest -q tests/login"
  punchlist todo edit                              in $VISUAL or $EDITOR
  punchlist todo undo
"""


class ListEdit(Struct, frozen=True):
    """An operation on a list, and the message once it is done."""

    operation: do.Operation
    message: str


EditPlanner = Callable[[TodoList, Namespace], ListEdit]


def parser() -> Parser:
    made = command_parser("todo", "Changes a list by hand: the latest of this project.", examples=_EXAMPLES)
    add_verb = made.add_verbs()

    def verb(name: str, help: str, run: Callable[[Namespace], int | None]) -> Parser:
        added = add_verb(name, help, run)
        add_target(added)
        return added

    def change(name: str, help: str, plan: EditPlanner, **settings: bool) -> Parser:
        return verb(name, help, lambda options: _change(options, plan, **settings))

    added = change("append", "add an item", _append, create=True, filled=False)
    added.add_argument("words", nargs="+", metavar="[PHASE] TASK", help="one word or quoted text is the task")
    added.add_argument("--phase", metavar="P", help="the phase; then all words are the task")
    added = change("start", "put an item in progress", _start)
    added.add_argument("words", nargs="+", metavar="TASK")
    added = change("done", "mark an item, a phase or all as completed", _done)
    added.add_argument("words", nargs="*", metavar="TASK|PHASE")
    added.add_argument("--evidence", metavar="TEXT", help="what shows that it is done")
    for name, line, plan in (
        ("drop", "mark an item, a phase or all as cancelled", _drop),
        ("rm", "remove an item, a phase or all", _remove),
        ("unblock", "let an item, a phase or all go on", _unblock),
    ):
        change(name, line, plan).add_argument("words", nargs="*", metavar="TASK|PHASE")
    added = change("restore", "bring back an item that a rewrite left out, or all of them", _restore, filled=False)
    added.add_argument("words", nargs="*", metavar="TASK")
    for name, line, plan, least in (
        ("block", "say that an item waits, and why", _block, "*"),
        ("note", "add a note to an item", _note, "+"),
        ("reword", "give an item another text", _reword, "+"),
    ):
        added = change(name, line, plan)
        added.add_argument("task", metavar="TASK", help="the item; quote it if it has several words")
        added.add_argument("text", nargs=least, metavar="TEXT")
        if name == "block":
            added.add_argument("--on", metavar="WHO", help="whom or what it waits on")
    verb("edit", "edit the list as Markdown in $VISUAL or $EDITOR", _edit)
    for name, line, run in (
        ("export", "write the list to a Markdown file", _export),
        ("import", "put a Markdown checklist in place of the list", _import),
    ):
        added = verb(name, line, run)
        added.add_argument("path", nargs="?", default="TODO.md", help="the file (default: TODO.md), or `-`")
        added.add_argument("--format", default=_FORMAT, metavar="F", help="whose checkboxes (default: punchlist)")
        if name == "export":
            added.add_argument("--force", action="store_true", help="also over a file that is no checklist")
    verb("undo", "take back your last change", _undo)
    return made


def _change(options: Namespace, plan: EditPlanner, *, create: bool = False, filled: bool = True) -> None:
    with open_board(options) as board:
        agent = find_agent(board, options, create=create, filled=filled)
        edit = _apply(agent, plan, options)
        print(edit.message)
        if isinstance(edit.operation, do.Done) and (doubt := find_doubt(options)) is not None:
            print(explain_doubt(doubt))
        _show_progress(agent)


def _apply(agent: Agent, plan: EditPlanner, options: Namespace) -> ListEdit:
    """Plan the edit on the list as it stands and apply it; return the edit."""
    by, person = author(options), find_doubt(options) is None
    tries = 0
    while True:
        todos = agent.todos
        edit = plan(todos, options)
        try:
            agent.edit(edit.operation, by=by, revision=todos.revision, person=person)
        except RevisionConflict:
            tries += 1
            if tries == _TRIES:
                raise
        else:
            return edit


def _undo(options: Namespace) -> None:
    with open_board(options) as board:
        agent = find_agent(board, options, filled=False)
        by = author(options)
        agent.undo(by=by)
        print(f"Took back the last change by {safe_line(by)}.")
        _show_progress(agent)


def _show_progress(agent: Agent) -> None:
    """After the message, on a terminal, print whose list it was and how far it is."""
    if sys.stdout.isatty():
        display = detect_display()
        done, total, _ = agent.todos.progress
        dot = f" {display.glyphs.dot} "
        text = f"{safe_line(agent.name)}{dot}session {safe_line(agent.session)}{dot}{done}/{total} done"
        show([display.cut((Span(text, "dim"),))])


# The edit that each verb plans.


def _append(todos: TodoList, options: Namespace) -> ListEdit:
    words = [repair(word) for word in options.words]
    if len(words) == 1 and options.phase is None and _is_quoted(words[0]):
        words = tokens(words[0])
    added = parse_addition(todos, words, phase=None if options.phase is None else repair(options.phase))
    if added is None:
        raise EditRefused(problem='There is no task to append; say one, as in `punchlist todo append "Fix the bug"`.')
    where = "" if added.phase is None else f" to {safe_line(added.phase)}"
    operation = do.Append((Entry(content=added.content),), added.phase)
    return ListEdit(operation, f"Appended{where}: {safe_line(added.content)}")


def _is_quoted(text: str) -> bool:
    """True if one argument is a whole `/todo append` line with its own quotes, as in `'Tests "Cover login"'`."""
    trimmed = text.strip()
    return len(trimmed) > 1 and (trimmed.startswith('"') or trimmed.endswith('"')) and trimmed.count('"') > 1


def _start(todos: TodoList, options: Namespace) -> ListEdit:
    item = _find(todos.items, _query(options.words))
    return ListEdit(do.Start(_target(item)), f"Started: {safe_line(item.content)}")


def _done(todos: TodoList, options: Namespace) -> ListEdit:
    target, name = _item_or_phase(todos, options.words)
    proof = () if options.evidence is None else (Evidence(repair(options.evidence)),)
    known = None if target.item is None else todos.find(target.item)
    if known is not None and known.status is Status.COMPLETED:
        again = "Confirmed" if find_doubt(options) is None else "Was completed before"
        return ListEdit(do.Done(target, proof), f"{again}: {name}")
    return ListEdit(do.Done(target, proof), _describe_mark(target, name, "completed"))


def _drop(todos: TodoList, options: Namespace) -> ListEdit:
    target, name = _item_or_phase(todos, options.words)
    return ListEdit(do.Drop(target), _describe_mark(target, name, "cancelled"))


def _describe_mark(target: Target, name: str, word: str) -> str:
    return _describe(target, f"Marked {word}: {name}", f"Marked phase {name} {word}.", f"Marked all tasks {word}.")


def _describe(target: Target, item: str, phase: str, everything: str) -> str:
    if target.item is not None:
        return item
    return phase if target.phase else everything


def _remove(todos: TodoList, options: Namespace) -> ListEdit:
    target, name = _item_or_phase(todos, options.words)
    message = _describe(target, f"Removed: {name}", f"Removed phase: {name}", "Cleared all todos.")
    return ListEdit(do.Remove(target, phases=True), message)


def _unblock(todos: TodoList, options: Namespace) -> ListEdit:
    target, name = _item_or_phase(todos, options.words)
    message = _describe(target, f"Unblocked: {name}", f"Unblocked phase {name}.", "Unblocked all tasks.")
    return ListEdit(do.Unblock(target), message)


def _restore(todos: TodoList, options: Namespace) -> ListEdit:
    if not todos.omitted:
        raise EditRefused(problem="No item of this list was left out, so there is nothing to restore.")
    if not options.words:
        return ListEdit(do.Restore(), f"Restored: {'; '.join(safe_line(item.content) for item in todos.omitted)}")
    item = _find(todos.omitted, _query(options.words))
    return ListEdit(do.Restore(_target(item)), f"Restored: {safe_line(item.content)}")


def _block(todos: TodoList, options: Namespace) -> ListEdit:
    item = _find(todos.items, options.task)
    reason = _query(options.text)
    on = None if options.on is None else repair(options.on)
    why = f" ({safe_line(reason)})" if reason else ""
    return ListEdit(do.Block(_target(item), reason, on), f"Blocked: {safe_line(item.content)}{why}")


def _note(todos: TodoList, options: Namespace) -> ListEdit:
    item = _find(todos.items, options.task)
    return ListEdit(do.Note(_target(item), _query(options.text)), f"Noted on: {safe_line(item.content)}")


def _reword(todos: TodoList, options: Namespace) -> ListEdit:
    item = _find(todos.items, options.task)
    text = _query(options.text)
    return ListEdit(do.Reword(_target(item), text), f"Reworded: {safe_line(text)}")


def _query(words: Sequence[str]) -> str:
    return repair(" ".join(words)).strip()


def _target(item: TodoItem) -> Target:
    return Target(item=item.id, by="id")


def _find(items: Sequence[TodoItem], query: str) -> TodoItem:
    item = find_item(items, repair(query))
    if item is None:
        raise EditRefused(problem=f'No task matched "{query}". Use `punchlist todos` to list current tasks.')
    return item


def _item_or_phase(todos: TodoList, words: Sequence[str]) -> tuple[Target, str]:
    """Return an item, else a phase, with its name; without words everything."""
    query = _query(words)
    if not words:
        return Target(), ""
    item = find_item(todos.items, query)
    if item is not None:
        return _target(item), safe_line(item.content)
    phase = find_phase(todos.phases, query)
    if phase is None:
        raise EditRefused(problem=f'No task or phase matched "{query}". Use `punchlist todos` to list current tasks.')
    return Target(phase=phase.name), safe_line(phase.name)


# The list as a Markdown file.


def _edit(options: Namespace) -> int:
    """Open the list in the person's editor and apply the saved text, unless the list moved on meanwhile."""
    with open_board(options) as board:
        agent = find_agent(board, options, create=True, filled=False)
        todos = agent.todos
        before = dumps(todos, markers=_FORMAT)
        folder = tempfile.mkdtemp(prefix="punchlist-")  # private, with all that the editor leaves next to the file
        path = os.path.join(folder, "list.todo.md")
        write_new(path, before)
        try:
            status = _run_editor(path)
        except InvalidInput:
            shutil.rmtree(folder, ignore_errors=True)  # nothing of anybody's is in it yet
            raise
        after = read(path) if os.path.exists(path) else before
        if after == before:
            shutil.rmtree(folder, ignore_errors=True)
            if status != 0:
                return complain(f"The editor ended with status {status}; nothing was changed.", FAILED)
            print("No changes.")
            return OK
        if status != 0:
            kept = f"Your text is kept in `{path}`."
            return complain(f"The editor ended with status {status}; nothing was changed. {kept}", FAILED)
        code = _apply_text(agent, after, path, todos, options)
        if code == OK:
            shutil.rmtree(folder, ignore_errors=True)
        return code


def _run_editor(path: str) -> int:
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        return subprocess.call([*shlex.split(command), path])
    except (OSError, ValueError) as error:
        raise InvalidInput(
            problem=f"The editor `{command}` cannot be started ({error}); set $VISUAL or $EDITOR to one that can."
        ) from error


def _apply_text(agent: Agent, text: str, path: str, before: TodoList, options: Namespace) -> int:
    again = f"Your text is kept in `{path}`; `punchlist todo import {path}` takes it"
    todos, errors = loads(text, markers=_FORMAT)
    if errors:
        listed = "\n  ".join(errors)
        problem = f"Could not parse the edited list, so nothing was changed:\n  {listed}\n{again} once mended."
        return complain(problem, FAILED)
    try:
        doubt = find_doubt(options)
        after = agent.rewrite(todos, by=author(options), revision=before.revision, person=doubt is None)
    except RevisionConflict:
        return complain(
            "The list changed while you were editing, so yours was not put in its place. "
            f"See `punchlist todos`. {again} over what is there now.",
            FAILED,
        )
    except EditRefused as error:
        return complain(f"{error} {again} once mended.", FAILED)
    if after.revision == before.revision:
        print("Nothing to change.")
        return OK
    omitted = len(after.omitted)
    aside = f" {omitted} left out are set aside; `punchlist todo restore` brings them back." if omitted else ""
    print(f"Saved the list: {len(after.items)} task(s).{aside}")
    if doubt is not None and after.progress.done > before.progress.done:
        print(explain_doubt(doubt))
    return OK


def _export(options: Namespace) -> None:
    with open_board(options) as board:
        text = dumps(find_agent(board, options).todos, markers=options.format)
    if options.path == "-":
        print(for_terminal(text, lines=True), end="")
        return
    check_place(options.path)
    if not options.force and os.path.exists(options.path):
        _check_checklist(options.path, options.format)
    replace_file(options.path, text)
    print(f"Wrote todos to {safe_line(options.path)}")


def _check_checklist(path: str, format: str) -> None:
    """Raise if a file holds more than a checklist."""
    text = read(path)
    found, problems = loads(text, markers=format)
    is_empty = text.strip() in ("", dumps(TodoList(), markers=format).strip())
    if problems or not (found.items or is_empty):
        raise InvalidInput(
            problem=f"`{path}` holds more than a checklist of this format; name another file, or use --force."
        )


def _import(options: Namespace) -> int:
    todos, errors = loads(read(options.path), markers=options.format)
    if errors:
        listed = "\n  ".join(errors)
        return complain(f"Could not parse {options.path}:\n  {listed}\nNothing was changed.", FAILED)
    with open_board(options) as board:
        find_agent(board, options, create=True, filled=False).rewrite(todos, by=author(options))
    counts = f"{len(todos.phases)} phase(s), {len(todos.items)} task(s)"
    print(f"Imported {counts} from {safe_line(options.path)}.")
    if todos.progress.done:
        print(explain_doubt("a file says what is done"))
    return OK
