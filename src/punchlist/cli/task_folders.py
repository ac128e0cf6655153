"""`punchlist tasks import` and `export` with Claude Code's folders of task files, one a list."""

from __future__ import annotations

import os
from argparse import Namespace

from punchlist.bridges.claude_tasks import ClaudeTasks
from punchlist.bridges.task_files import TaskFile, TaskFolder
from punchlist.cli import OK
from punchlist.cli.arguments import open_board
from punchlist.cli.task_target import chosen_list, list_name, nothing_there
from punchlist.cli.terminal import show_json
from punchlist.errors import InvalidInput, TaskError
from punchlist.surfaces.spans import shown
from punchlist.surfaces.text import plural

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
