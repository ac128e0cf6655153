"""What a command that works on a task is given: the task in its environment, and as JSON."""

from __future__ import annotations

import os
import shutil
import tempfile
from argparse import Namespace
from collections.abc import Generator
from contextlib import contextmanager

import msgspec

from punchlist.cli.arguments import board_url
from punchlist.cli.task_target import task_data
from punchlist.core.task import Task
from punchlist.store.opening import store_path
from punchlist.text import clean, cut

_LONGEST = 16_000
"""Characters of a text in the environment, which has little room; the JSON has all of it."""


def variables(task: Task) -> dict[str, str]:
    return {
        "PUNCHLIST_TASK_ID": task.id,
        "PUNCHLIST_TASK_LIST": task.list,
        "PUNCHLIST_TASK_SUBJECT": _value(task.subject),
        "PUNCHLIST_TASK_DESCRIPTION": _value(task.description),
        "PUNCHLIST_TASK_FENCE": str(task.fence),
    }


def _value(text: str) -> str:
    return cut(clean(text, lines=True).text, _LONGEST)


def board_variable(options: Namespace) -> dict[str, str]:
    """The board by its whole path, so that `punchlist` means the same one wherever the command calls it."""
    path = store_path(board_url(options))
    return {"PUNCHLIST_DB": path} if path else {}


@contextmanager
def as_json(task: Task, how: str) -> Generator[tuple[bytes | None, dict[str, str]]]:
    """The task as JSON: what goes to standard input, and where the environment says that it is."""
    body = msgspec.json.encode(task_data(task)) + b"\n"
    if how != "file":
        yield (body if how == "stdin" else None), {}
        return
    folder = tempfile.mkdtemp(prefix="punchlist-")  # nobody else may read it
    try:
        path = os.path.join(folder, "task.json")
        with open(path, "xb") as file:
            file.write(body)
        yield None, {"PUNCHLIST_TASK_FILE": path}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
