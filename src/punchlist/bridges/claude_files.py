"""Read Claude Code's own list files, `~/.claude/todos/{session}-agent-{agent}.json`; read and write its plan files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from typing import Any

from punchlist.agent import Agent
from punchlist.bridges.folder import Folder, check_length, check_part
from punchlist.core.approval import Plan
from punchlist.core.commands import Replace
from punchlist.dialects.claude_code import parse
from punchlist.errors import ListFileRefused, PlanFileRefused

_MARK = "-agent-"
_SUFFIX = ".json"
_UUID = re.compile(r"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})-agent-(.+)", re.DOTALL)


def parse_file_name(name: str) -> tuple[str, str] | None:
    """Return session and agent of a list file by its name; None for any other file.

    A UUID, as Claude Code makes them, ends where it ends; any other session id reaches to the last mark.
    """
    if not name.endswith(_SUFFIX):
        return None
    stem = name.removesuffix(_SUFFIX)
    uuid = _UUID.fullmatch(stem)
    session, mark, agent = (uuid[1], _MARK, uuid[2]) if uuid is not None else stem.rpartition(_MARK)
    return (session, agent) if mark and session and agent else None


def read_list(folder: Folder, name: str) -> Replace | str:
    """Return the list in a file as the write of Claude Code's own tool, or what is wrong with the file."""
    body = folder.read_or_explain(name)
    if isinstance(body, str):
        return body
    try:
        given: Any = json.loads(body.decode())
    except (ValueError, RecursionError) as error:
        return f"it is no JSON ({error})"
    command = parse("TodoWrite", {"todos": given})
    if isinstance(command, Replace):
        return command
    return getattr(command, "text", "it is no list").splitlines()[-1]


# Plan files, `~/.claude/plans/*.md`. It is not known how Claude Code names them, or which session one belongs to: the
# caller names a file, or the newest is taken.


SUFFIX = ".md"


class ClaudePlans:
    """One folder of plan files. Nothing outside it is read or written, and no link is followed out of it."""

    def __init__(self, folder: str | os.PathLike[str] = "~/.claude/plans") -> None:
        self._folder = Folder(os.path.expanduser(os.fspath(folder)))

    @property
    def names(self) -> Sequence[str]:
        """The plan files without their `.md`, newest first."""
        found: list[tuple[int, str]] = []
        for name in self._folder.names():
            modified = self._folder.modified(name) if name.endswith(SUFFIX) else None
            if modified is not None:
                found.append((modified, name.removesuffix(SUFFIX)))
        return [name for _, name in sorted(found, reverse=True)]

    def read(self, name: str) -> str:
        """Return the text of a plan file. Raises `PlanFileRefused`."""
        file = _plan_file(name)
        body = self._folder.read_or_explain(file)
        if isinstance(body, str):
            raise PlanFileRefused(path=self._folder.at(file), problem=body)
        return body.decode(errors="replace")

    def propose(self, agent: Agent, name: str | None = None, *, timeout: float | None = None) -> Plan:
        """Propose the plan of a file, by default of the newest, as this agent's."""
        chosen = name if name is not None else next(iter(self.names), None)
        if chosen is None:
            raise PlanFileRefused(path=self._folder.path, problem="it holds no plan")
        return agent.propose_plan(self.read(chosen), timeout=timeout)

    def write(self, plan: Plan, name: str) -> str:
        """Write a plan's text to the file of that name, whole or not at all, and return its path."""
        try:
            self._folder.replace(_plan_file(name), f"{plan.text.rstrip()}\n".encode())
        except ListFileRefused as error:
            raise PlanFileRefused(**error.data) from error
        return self._folder.at(_plan_file(name))


def _plan_file(name: str) -> str:
    check_part("name", name)
    check_length(name)
    return f"{name}{SUFFIX}"
