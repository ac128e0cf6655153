"""`punchlist tasks import` and `export`: a list of tasks as a file, or as Claude Code's folder of files."""

import os
from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from typing import Any

import msgspec

from punchlist.cli import FAILED, OK, complain
from punchlist.cli.arguments import check_place, open_board, read_file
from punchlist.cli.tasks import describe_empty, list_name, open_tasks, report
from punchlist.cli.terminal import json_text, show_json, tell
from punchlist.core.task import Task
from punchlist.errors import InvalidInput, TaskError
from punchlist.logs.claude_files import TaskFile, TaskFolder
from punchlist.logs.claude_tasks import ClaudeTasks
from punchlist.logs.programs import find_home
from punchlist.markdown import dumps, loads
from punchlist.settings.table import replace_file
from punchlist.tasks.exchange import ForeignTask, as_todos, dump, from_todos, import_tasks, load
from punchlist.terminal.spans import safe_line
from punchlist.text import for_terminal, plural
from punchlist.views.lists import view_task

_OURS, _CLAUDE = "json", "claude"


def export(options: Namespace) -> None:
    kind = _choose_format(options)
    if kind == _CLAUDE:
        _export_folder(options)
        return
    with open_tasks(options, reads=True) as tasks:
        found = tasks.list()
        if not found:
            raise TaskError(problem=describe_empty(tasks))
    text = json_text(dump(tasks.name, found)) + "\n" if kind == _OURS else _write_checklist(found, kind)
    if options.path == "-":
        print(text if kind == _OURS else for_terminal(text, lines=True), end="")
        return
    check_place(options.path)
    if not options.force:
        _check_replaceable(options.path, kind)
    replace_file(options.path, text)
    _report_export(options, {"path": options.path, "format": kind, "tasks": len(found)})


def _write_checklist(found: Sequence[Task], kind: str) -> str:
    return dumps(as_todos(found), markers=kind)


def _report_export(options: Namespace, done: dict[str, Any]) -> None:
    tell(options, done, f"Wrote {plural(done['tasks'], 'task')} to {safe_line(done['path'])}")


def import_(options: Namespace) -> int:
    kind = _choose_format(options)
    if kind == _CLAUDE:
        return _import_folder(options)
    text = read_file(options.path)
    found = _parse(text, kind, options.path)
    key = blake2b(text.encode(errors="replace"), digest_size=12).hexdigest()
    with open_tasks(options) as tasks:
        # A checklist has no ids: only as a whole can it be seen to be this list.
        is_own = kind != _OURS and text == _write_checklist(tasks.list(), kind)
        bring = partial(import_tasks, found=found, key=key, in_order=options.in_order)
        added = () if is_own else tasks.board.store.transact(lambda tx: bring(tasks.within(tx)))
    if options.json:
        for task in added:
            show_json(view_task(task), indent=0)
    elif added:
        again = len(found) - len(added)
        before = f"; {again} were on the list already" if again else ""
        report(options, added[0], f"Imported {plural(len(added), 'task')} from {options.path}{before}")
    elif not found:
        return complain(f"`{options.path}` holds no tasks; see `punchlist tasks import --help` for formats.", FAILED)
    else:
        print("Nothing to import: all of it is on the list already, or was imported from this file before.")
    return OK


def _choose_format(options: Namespace) -> str:
    if options.format is not None:
        return options.format
    if _is_folder(options.path):
        return _CLAUDE
    return "punchlist" if options.path.lower().endswith((".md", ".markdown")) else _OURS


def _is_folder(path: str) -> bool:
    """True if a folder is meant, which need not exist yet: Claude Code makes its own with its first task."""
    expanded = os.path.expanduser(path)
    if os.path.isdir(expanded) or path.endswith("/"):
        return True
    folder, name = os.path.split(os.path.abspath(expanded))
    if name != "tasks":
        return False
    own = find_home("claude-code", "tasks")
    return os.path.basename(folder) == ".claude" or os.path.join(folder, name) == own


def _parse(text: str, kind: str, path: str) -> list[ForeignTask]:
    if kind == _OURS:
        try:
            return load(msgspec.json.decode(text.encode(errors="replace")))
        except (msgspec.DecodeError, RecursionError) as error:
            raise InvalidInput(problem=f"`{path}` is no JSON ({error}); name its format with --format.") from error
    todos, errors = loads(text, markers=kind)
    if errors:
        raise InvalidInput(problem=f"`{path}` cannot be read, and nothing was imported: {'; '.join(errors[:5])}")
    return from_todos(todos)


def _check_replaceable(path: str, kind: str) -> None:
    if not os.path.exists(path) or not (text := read_file(path)).strip():
        return
    try:
        is_ours = bool(_parse(text, kind, path))
    except InvalidInput:
        is_ours = False
    if not is_ours:
        raise InvalidInput(problem=f"`{path}` holds something else; name another file, or use --force.")


# Claude Code's folders of task files, one per list.


def _import_folder(options: Namespace) -> int:
    """Import one folder into the list that is named, else the one of its name, which is a session's where known."""
    if options.in_order:
        raise InvalidInput(problem="Claude Code's files say themselves what waits for what; leave --in-order away.")
    whole = os.path.abspath(os.path.expanduser(options.path))
    if not os.path.isdir(whole):
        raise InvalidInput(problem=f"`{options.path}` is no folder; name one such as ~/.claude/tasks/LIST.")
    files = TaskFolder(whole)
    # A list that was cleared has a watermark and no files.
    if not files.watermark() and not any(isinstance(files.read(number), TaskFile) for number in files.numbers()):
        problem = f"`{options.path}` holds no task files of Claude Code's, 1.json and so on"
        raise InvalidInput(problem=f"{problem}; name a list's folder, such as ~/.claude/tasks/LIST.")
    folder, name = os.path.split(whole)
    bridge = ClaudeTasks(folder)
    with open_board(options) as board:
        target = list_name(options) or bridge.list_of(board, name)
        count = bridge.import_list(board, name, list=target)
    if options.json:
        show_json({"path": options.path, "format": _CLAUDE, "list": target, "tasks": count}, indent=0)
    else:
        new = plural(count, "new task")
        print(f"Imported {new} from {safe_line(options.path)} to the list {safe_line(target)}; see it with --list.")
    return OK


def _export_folder(options: Namespace) -> None:
    bridge = ClaudeTasks(None if options.path == "-" else options.path)
    with open_board(options, reads=True) as board:
        tasks = board.tasks(list_name(options))
        count = len(tasks.list())
        if not count:
            raise TaskError(problem=describe_empty(tasks))
        path = bridge.export(board, tasks.name)
    _report_export(options, {"path": path, "format": _CLAUDE, "list": tasks.name, "tasks": count})
