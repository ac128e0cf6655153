"""Run the hook as an agent does: a process of its own, the event on its standard input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import punchlist_hook
from punchlist import Board
from punchlist.conversations.bindings import find_call

HOOK = punchlist_hook.__file__
_PATIENT = f"""
import sys
sys.path.append({os.path.dirname(HOOK)!r})
import punchlist_hook as hook
hook.SILENT_SECONDS = hook.ANSWER_SECONDS = hook.GATE_SECONDS = 60.0
hook.main()
"""
OWN_TOOL = "mcp__plugin_punchlist_punchlist__todo"
OWN_SERVER = {"name": "plugin:punchlist:punchlist", "source": "plugin"}


class Host:
    """An agent that tells of its events, in a conversation of its own."""

    def __init__(self, board: Path, project: Path, *, session: str = "s-1", host: str = "claude-code") -> None:
        self.board = board
        self.project = project
        self.session = session
        self.host = host
        self.is_patient = True
        """True if the hook waits for as long as a busy machine takes; False for the limits that agents know."""

    def event(self, name: str, **fields: Any) -> dict[str, Any]:
        base = {"session_id": self.session, "cwd": str(self.project), "hook_event_name": name}
        return {**base, "permission_mode": "default", **fields}

    def hook(self, name: str, **fields: Any) -> dict[str, Any]:
        """Run the hook with an event; return its answer, empty for none."""
        return self.run(json.dumps(self.event(name, **fields)).encode())

    def run(self, body: bytes, env: dict[str, str] | None = None) -> dict[str, Any]:
        done = subprocess.run(
            self.command(),
            input=body,
            capture_output=True,
            cwd=self.project,
            env={**os.environ, **(env or {})},
            check=False,
            timeout=120,
        )
        assert done.returncode == 0
        assert done.stderr == b""
        return json.loads(done.stdout) if done.stdout else {}

    def command(self) -> list[str]:
        program = ["-c", _PATIENT] if self.is_patient else [HOOK]
        return [sys.executable, "-I", "-S", *program, self.host, "--board", str(self.board)]

    def call(self, id: str, tool: str, given: dict[str, Any], result: Any = None) -> None:
        """Tell of a tool call that went well."""
        self.hook("PreToolUse", tool_name=tool, tool_input=given, tool_use_id=id)
        self.hook("PostToolUse", tool_name=tool, tool_input=given, tool_response=result, tool_use_id=id)

    def write_todos(self, id: str, **items: str) -> None:
        """Write the list with the host's own tool: each item with its status."""
        todos = [{"content": name, "status": status, "activeForm": name} for name, status in items.items()]
        self.call(id, "TodoWrite", {"todos": todos}, {"oldTodos": [], "newTodos": todos})

    def problems(self) -> list[str]:
        """Return what the hook and those who ingest have logged."""
        path = Path(f"{self.board}.hooks.log")
        return [json.loads(line)["problem"] for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def inbox(self) -> Path:
        return Path(f"{self.board}.inbox")


def find_owner(board: Board, call_id: str) -> tuple[str, str] | None:
    """Return session and agent of a call that a hook told of."""
    told = find_call(board, call_id)
    return None if told is None else (told.session, told.agent)
