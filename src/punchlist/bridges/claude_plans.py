"""Claude Code's plan files, `~/.claude/plans/*.md`: one that was written there is proposed, and one is written there.

Known: the folder, that a plan is one Markdown file which outlives its session, and that it is the one file which
plan mode may write. How Claude Code names its files, and which of them belongs to which session, is not known: so a
file is named by the caller, or it is the one that was written last.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from punchlist.bridges.folder import HIDDEN, Folder, check_length, check_part
from punchlist.errors import ListFileRefused, PlanFileRefused

if TYPE_CHECKING:
    from punchlist.agent import Agent
    from punchlist.core.approval import Plan

SUFFIX = ".md"


class ClaudePlans:
    """One folder of plan files. Nothing outside it is read or written, and no link is followed out of it."""

    def __init__(self, folder: str | os.PathLike[str] = "~/.claude/plans") -> None:
        self._folder = Folder(os.path.expanduser(os.fspath(folder)))

    @property
    def names(self) -> Sequence[str]:
        """The plan files, without their `.md`, the one that was written last first."""
        found: list[tuple[int, str]] = []
        for name in self._folder.names():
            signature = self._folder.signature(name) if name.endswith(SUFFIX) else None
            if signature is not None and signature is not HIDDEN:
                found.append((signature.modified, name.removesuffix(SUFFIX)))
        return [name for _, name in sorted(found, reverse=True)]

    def read(self, name: str) -> str:
        """The text of a plan file. Raises `PlanFileRefused`."""
        try:
            return self._folder.read(_file(name)).decode(errors="replace")
        except ListFileRefused as error:
            raise PlanFileRefused(**error.data) from error
        except OSError as error:
            path = self._folder.at(_file(name))
            raise PlanFileRefused(path=path, problem=error.strerror or str(error)) from error

    def propose(self, agent: Agent, name: str | None = None, *, timeout: float | None = None) -> Plan:
        """Proposes the plan of a file, by default of the one that was written last, as this agent's."""
        chosen = name if name is not None else next(iter(self.names), None)
        if chosen is None:
            raise PlanFileRefused(path=self._folder.path, problem="it holds no plan")
        return agent.propose_plan(self.read(chosen), timeout=timeout)

    def write(self, plan: Plan, name: str) -> str:
        """Writes a plan's text to the file of that name, whole or not at all; its path."""
        try:
            self._folder.replace(_file(name), f"{plan.text.rstrip()}\n".encode())
        except ListFileRefused as error:
            raise PlanFileRefused(**error.data) from error
        return self._folder.at(_file(name))


def _file(name: str) -> str:
    check_part("name", name)
    check_length(name)
    return f"{name}{SUFFIX}"
