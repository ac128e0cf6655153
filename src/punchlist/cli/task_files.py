"""`punchlist tasks import` and `export`: a list of tasks as a file, or as Claude Code's folder of files."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

from punchlist.bridges.claude_tasks import ClaudeTasks
from punchlist.bridges.task_files import TaskFile, TaskFolder
from punchlist.cli import FAILED, OK, complain
from punchlist.cli.arguments import author, open_board
from punchlist.cli.files import check_place, read, replace_file
from punchlist.cli.task_commands import chosen_list, list_name, nothing_there, report, task_data
from punchlist.cli.terminal import json_text, show_json
from punchlist.errors import InvalidInput, TaskError
from punchlist.surfaces.spans import plural, shown
from punchlist.text import for_terminal

if TYPE_CHECKING:
    from punchlist.core.task import Task
    from punchlist.store import Transaction
    from punchlist.tasks.exchange import ForeignTask

_OURS, _CLAUDE = "json", "claude"


def export(options: Namespace) -> int:
    from punchlist.tasks.exchange import as_todos, dump

    kind = _format(options)
    if kind == _CLAUDE:
        return export_folder(options)
    with open_board(options, reads=True) as board:
        tasks = chosen_list(board, options)
        found = tasks.list()
        if not found:
            raise TaskError(problem=nothing_there(tasks))
        name = tasks.name
    if kind == _OURS:
        text = json_text(dump(name, found)) + "\n"
    else:
        from punchlist.markdown import dumps

        text = dumps(as_todos(found), markers=kind)
    if options.path == "-":
        print(text if kind == _OURS else for_terminal(text, lines=True), end="")
        return OK
    check_place(options.path)
    if not options.force:
        _check_ours(options.path, kind)
    replace_file(options.path, text)
    if options.json:
        show_json({"path": options.path, "format": kind, "tasks": len(found)})
    else:
        print(f"Wrote {plural(len(found), 'task')} to {shown(options.path)}")
    return OK


def import_(options: Namespace) -> int:
    from hashlib import blake2b

    from punchlist.tasks.exchange import import_tasks

    if _format(options) == _CLAUDE:
        return import_folder(options)
    text = read(options.path)
    found = _parsed(text, _format(options), options.path)
    key = blake2b(text.encode(errors="replace"), digest_size=12).hexdigest()
    with open_board(options) as board:
        tasks = chosen_list(board, options, by=author(options))

        def bring_all(tx: Transaction) -> tuple[Task, ...]:
            return import_tasks(tasks.within(tx), found, key=key, in_order=options.in_order)

        added = board.change_tasks(tasks.name, lambda: board.store.transact(bring_all))
    if options.json:
        for task in added:
            show_json(task_data(task), indent=0)
        return OK
    again = len(found) - len(added)
    said = f"; {again} were imported from this file before" if again else ""
    if added:
        report(options, added[0], f"Imported {plural(len(added), 'task')} from {options.path}{said}")
        return OK
    if not found:
        return complain(f"`{options.path}` holds no tasks; see `punchlist tasks import --help` for formats.", FAILED)
    print("Nothing to import: all of it was imported from this file before.")
    return OK


def _format(options: Namespace) -> str:
    if options.format is not None:
        return options.format
    if _is_folder(options.path):
        return _CLAUDE
    return "punchlist" if options.path.lower().endswith((".md", ".markdown")) else _OURS


def _is_folder(path: str) -> bool:
    """Whether a folder is meant, which need not be there yet: Claude Code makes its own with its first task."""
    expanded = os.path.expanduser(path)
    if os.path.isdir(expanded) or path.endswith("/"):
        return True
    folder, name = os.path.split(os.path.abspath(expanded))
    if name != "tasks":
        return False
    from punchlist.bridges.claude_tasks import default_folder

    own = os.path.abspath(os.path.expanduser(default_folder()))
    return os.path.basename(folder) == ".claude" or os.path.join(folder, name) == own


def _parsed(text: str, kind: str, path: str) -> list[ForeignTask]:
    from punchlist.tasks.exchange import from_todos, load

    if kind == _OURS:
        import msgspec

        try:
            return load(msgspec.json.decode(text.encode(errors="replace")))
        except (msgspec.DecodeError, RecursionError) as error:
            raise InvalidInput(problem=f"`{path}` is no JSON ({error}); name its format with --format.") from error
    from punchlist.markdown import loads

    todos, errors = loads(text, markers=kind)
    if errors:
        raise InvalidInput(problem=f"`{path}` cannot be read, and nothing was imported: {'; '.join(errors[:5])}")
    return from_todos(todos)


def _check_ours(path: str, kind: str) -> None:
    """Raises if a file is there that this would destroy."""
    if not os.path.exists(path) or not (text := read(path)).strip():
        return
    try:
        fits = bool(_parsed(text, kind, path))
    except InvalidInput:
        fits = False
    if not fits:
        raise InvalidInput(problem=f"`{path}` holds something else; name another file, or use --force.")


CLAUDE = "claude"


def import_folder(options: Namespace) -> int:
    """Brings one folder to the list of its name, which is a session's where that is known; or to the one named."""
    if options.in_order:
        raise InvalidInput(problem="Claude Code's files say themselves what waits for what; leave --in-order away.")
    if not os.path.isdir(os.path.expanduser(options.path)):
        raise InvalidInput(problem=f"`{options.path}` is no folder; name one such as ~/.claude/tasks/LIST.")
    whole = os.path.abspath(os.path.expanduser(options.path))
    if not _holds_tasks(TaskFolder(whole)):
        said = f"`{options.path}` holds no task files of Claude Code's, 1.json and so on"
        raise InvalidInput(problem=f"{said}; name a list's folder, such as ~/.claude/tasks/LIST.")
    folder, name = os.path.split(whole)
    bridge = ClaudeTasks(folder)
    with open_board(options) as board:
        target = list_name(options) or bridge.list_of(board, name)
        count = bridge.import_list(board, name, list=target)
    if options.json:
        show_json({"path": options.path, "format": CLAUDE, "list": target, "tasks": count}, indent=0)
    else:
        new = plural(count, "new task")
        print(f"Imported {new} from {shown(options.path)} to the list {shown(target)}; see it with --list.")
    return OK


def _holds_tasks(folder: TaskFolder) -> bool:
    """Whether this is a list of Claude Code's, perhaps one that it has cleared. Looks only; no lock is taken."""
    return folder.watermark() > 0 or any(isinstance(folder.read(number), TaskFile) for number in folder.numbers())


def export_folder(options: Namespace) -> int:
    """Brings the list's folder below the one that is named in step with the board."""
    bridge = ClaudeTasks(None if options.path == "-" else options.path)
    with open_board(options, reads=True) as board:
        tasks = chosen_list(board, options)
        count = len(tasks.list())
        if not count:
            raise TaskError(problem=nothing_there(tasks))
        path = bridge.export(board, tasks.name)
    if options.json:
        show_json({"path": path, "format": CLAUDE, "list": tasks.name, "tasks": count})
    else:
        print(f"Wrote {plural(count, 'task')} to {shown(path)}")
    return OK
