"""Write transcripts as Claude Code and Codex do: one call of a method here is one tool call, with its answer."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.transcripts.records import todos

START = datetime(2026, 3, 1, 21, 0, tzinfo=UTC)


class _Clock:
    def __init__(self) -> None:
        self.now = START

    def stamp(self, seconds: float) -> str:
        self.now += timedelta(seconds=seconds)
        return self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class ClaudeSession:
    """A session of Claude Code; `save` writes it, and its subagents in files of their own."""

    def __init__(self, cwd: str = "/projects/shop", session: str = "9f1d6c1e-0000-4000-8000-000000000001") -> None:
        self.cwd = cwd
        self.session = session
        self.lines: list[str] = []
        self.calls = 0
        self.clock = _Clock()
        self.children: dict[str, ClaudeSession] = {}
        self._agent: str | None = None
        self._metas: dict[str, dict[str, str]] = {}
        self._uuids = 0

    # Records.

    def record(self, kind: str, seconds: float, message: dict[str, Any], **more: Any) -> None:
        self._uuids += 1
        place: dict[str, Any] = {"agentId": self._agent} if self._agent else {}
        own = self._agent or "main"
        self.lines.append(
            json.dumps(
                {
                    "parentUuid": f"{own}-{self._uuids - 1}",
                    "isSidechain": self._agent is not None,
                    "userType": "external",
                    "cwd": self.cwd,
                    "sessionId": self.session,
                    "version": "2.1.40",
                    "gitBranch": "main",
                    "type": kind,
                    "uuid": f"{own}-{self._uuids}",
                    "timestamp": self.clock.stamp(seconds),
                    "message": message,
                    **place,
                    **more,
                }
            )
        )

    def user(self, text: str) -> None:
        self.record("user", 30, {"role": "user", "content": text})

    def say(self, text: str) -> None:
        self._assistant({"type": "text", "text": text})

    def _assistant(self, block: dict[str, Any], seconds: float = 2) -> None:
        message = {"id": f"msg_{self._uuids}", "type": "message", "role": "assistant", "content": [block]}
        self.record("assistant", seconds, message)

    def begin(self, name: str, args: dict[str, Any]) -> str:
        self.calls += 1
        call_id = f"toolu_{self._agent or 'main'}_{self.calls:04}"
        self._assistant({"type": "tool_use", "id": call_id, "name": name, "input": args})
        return call_id

    def end(self, call_id: str, text: str, *, error: bool = False, seconds: float = 1, data: Any = None) -> None:
        block = {"tool_use_id": call_id, "type": "tool_result", "content": text, "is_error": error}
        result = f"Error: {text}" if error else data
        self.record("user", seconds, {"role": "user", "content": [block]}, toolUseResult=result)

    def tool(self, name: str, args: dict[str, Any], text: str, *, error: bool = False, data: Any = None) -> None:
        self.end(self.begin(name, args), text, error=error, data=data)

    # Tools.

    def todo(self, *items: str) -> None:
        """Write the list: `"x Paint"` is completed, `"> Paint"` in progress, `"Paint"` pending."""
        given = todos(*items)
        text = "Todos have been modified successfully. Ensure that you continue to use the todo list."
        self.tool("TodoWrite", {"todos": given}, text, data={"oldTodos": [], "newTodos": given})

    def add_task(self, number: str, subject: str) -> None:
        args = {"subject": subject, "description": f"{subject}, with tests", "activeForm": f"Doing {subject}"}
        text = f"Task #{number} created successfully: {subject}"
        self.tool("TaskCreate", args, text, data={"task": {"id": number, "subject": subject}})

    def set_task(self, number: str, status: str) -> None:
        data = {"success": True, "taskId": number, "updatedFields": ["status"]}
        self.tool("TaskUpdate", {"taskId": number, "status": status}, f"Updated task #{number} status", data=data)

    def bash(self, command: str, output: str = "", code: int = 0, seconds: float = 6) -> None:
        call_id = self.begin("Bash", {"command": command, "description": command[:40]})
        if code:
            self.end(call_id, f"Exit code {code}\n{output}", error=True, seconds=seconds)
        else:
            data = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
            self.end(call_id, output, seconds=seconds, data=data)

    def background(self, command: str, shell: str) -> None:
        args = {"command": command, "description": command[:40], "run_in_background": True}
        data = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False, "backgroundTaskId": shell}
        self.tool("Bash", args, f"Command running in background with ID: {shell}", data=data)

    def background_output(self, shell: str, output: str, code: int | None = None) -> None:
        status = "running" if code is None else "completed" if code == 0 else "failed"
        parts = [f"<status>{status}</status>"]
        if code is not None:
            parts.append(f"<exit_code>{code}</exit_code>")
        parts.append(f"<stdout>\n{output}\n</stdout>")
        self.tool("BashOutput", {"bash_id": shell}, "\n\n".join(parts))

    def read(self, path: str) -> None:
        self.tool("Read", {"file_path": f"{self.cwd}/{path}"}, "     1→first line\n     2→second line")

    def grep(self, pattern: str) -> None:
        self.tool("Grep", {"pattern": pattern, "path": self.cwd}, f"Found 2 files\n{self.cwd}/src/a.py")

    def edit(self, path: str) -> None:
        file = f"{self.cwd}/{path}"
        args = {"file_path": file, "old_string": "old", "new_string": "new"}
        self.tool("Edit", args, f"The file {file} has been updated.", data={"filePath": file})

    def create(self, path: str) -> None:
        file = f"{self.cwd}/{path}"
        text = f"File created successfully at: {file}"
        self.tool("Write", {"file_path": file, "content": "text\n"}, text, data={"type": "create", "filePath": file})

    # Subagents.

    @contextmanager
    def subagent(self, label: str, agent: str, kind: str = "general-purpose") -> Generator[ClaudeSession]:
        """Run a subagent, whose lines go into a file of its own."""
        call_id = self.begin("Task", {"description": label, "prompt": f"{label}. Report.", "subagent_type": kind})
        child = ClaudeSession(self.cwd, self.session)
        child.clock, child._agent = self.clock, agent
        self.children[agent] = child
        self._metas[agent] = {"agentType": kind, "toolUseId": call_id}
        yield child
        self.end(call_id, "Done.", data={"status": "completed", "agentId": agent, "totalToolUseCount": child.calls})

    def save(self, folder: Path) -> Path:
        path = folder / f"{self.session}.jsonl"
        path.write_text("\n".join(self.lines) + "\n")
        for agent, child in self.children.items():
            place = folder / self.session / "subagents"
            place.mkdir(parents=True, exist_ok=True)
            (place / f"agent-{agent}.jsonl").write_text("\n".join(child.lines) + "\n")
            (place / f"agent-{agent}.meta.json").write_text(json.dumps(self._metas[agent]))
        return path


class CodexSession:
    """A session of Codex: a rollout, and those of its subagents."""

    def __init__(self, cwd: str = "/projects/shop", thread: str = "0198f2aa-0000-7000-8000-000000000001") -> None:
        self.cwd = cwd
        self.thread = thread
        self.lines: list[str] = []
        self.calls = 0
        self.clock = _Clock()
        self.children: list[CodexSession] = []
        self._started = ""
        self._begin({"source": "cli"})

    def _begin(self, more: dict[str, Any]) -> None:
        self._started = f"{self.clock.now:%Y-%m-%dT%H-%M-%S}"
        meta = {"id": self.thread, "cwd": self.cwd, "originator": "codex-tui", "cli_version": "0.147.0"}
        self.record("session_meta", {**meta, **more}, 0)
        self.record("turn_context", {"cwd": self.cwd, "model": "gpt-5", "approval_policy": "never"}, 0)

    def record(self, kind: str, payload: dict[str, Any], seconds: float = 1) -> None:
        self.lines.append(json.dumps({"timestamp": self.clock.stamp(seconds), "type": kind, "payload": payload}))

    def user(self, text: str) -> None:
        message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        self.record("response_item", message, 30)
        self.record("event_msg", {"type": "user_message", "message": text}, 0)

    def call(self, name: str, args: dict[str, Any], output: Any, seconds: float = 4) -> None:
        self.calls += 1
        call_id = f"call_{self.thread[-4:]}_{self.calls:04}"
        call = {"type": "function_call", "name": name, "arguments": json.dumps(args), "call_id": call_id}
        self.record("response_item", call, 2)
        said = output if isinstance(output, str) else json.dumps(output)
        self.record("response_item", {"type": "function_call_output", "call_id": call_id, "output": said}, seconds)

    def plan(self, *items: str) -> None:
        steps = [{"step": item["content"], "status": item["status"]} for item in todos(*items)]
        self.call("update_plan", {"plan": steps}, "Plan updated", 0)

    def shell(self, command: str, output: str = "", code: int = 0, seconds: float = 4) -> None:
        args = {"command": ["bash", "-lc", command], "workdir": self.cwd, "timeout_ms": 120000}
        metadata = {"exit_code": code, "duration_seconds": seconds}
        self.call("shell", args, {"output": output, "metadata": metadata}, seconds)

    def exec(self, command: str, output: str = "", code: int = 0, seconds: float = 4) -> None:
        """Run a line by the newer tool, which answers in text."""
        text = f"Chunk ID: 4f1c2a\nWall time: {seconds:.4f} seconds\nProcess exited with code {code}\nOutput:\n{output}"
        self.call("exec_command", {"cmd": command, "workdir": self.cwd, "yield_time_ms": 10000}, text, seconds)

    def exec_on(self, command: str, shell: int, output: str = "") -> None:
        """Start a line that still runs when its call ends."""
        text = f"Chunk ID: 4f1c2a\nWall time: 10.0 seconds\nProcess running with session ID {shell}\nOutput:\n{output}"
        self.call("exec_command", {"cmd": command, "workdir": self.cwd, "yield_time_ms": 10000}, text, 10)

    def poll(self, shell: int, output: str, code: int | None = None) -> None:
        ended = f"Process running with session ID {shell}" if code is None else f"Process exited with code {code}"
        text = f"Chunk ID: 5a0d11\nWall time: 5.0 seconds\n{ended}\nOutput:\n{output}"
        self.call("write_stdin", {"session_id": shell, "chars": "", "yield_time_ms": 5000}, text, 5)

    def patch(self, *files: str) -> None:
        parts = [f"*** Update File: {file}\n@@\n-old\n+new" for file in files]
        self.calls += 1
        call_id = f"call_{self.thread[-4:]}_{self.calls:04}"
        body = "\n".join(["*** Begin Patch", *parts, "*** End Patch"])
        call = {"type": "custom_tool_call", "status": "completed", "call_id": call_id, "name": "apply_patch"}
        self.record("response_item", {**call, "input": body}, 2)
        said = {"output": "Success. Updated the following files:\n", "metadata": {"exit_code": 0}}
        done = {"type": "custom_tool_call_output", "call_id": call_id, "output": json.dumps(said)}
        self.record("response_item", done, 1)

    @contextmanager
    def subagent(self, message: str, thread: str, nickname: str) -> Generator[CodexSession]:
        """Start a subagent, which has a rollout of its own, and wait for it."""
        self.call("spawn_agent", {"message": message, "agent_type": "worker"}, {"agent_id": thread})
        child = CodexSession(self.cwd, thread)
        child.clock, child.lines = self.clock, []
        self.clock.now += timedelta(seconds=1)
        spawn = {"parent_thread_id": self.thread, "depth": 1, "agent_nickname": nickname}
        child._begin({"source": {"subagent": {"thread_spawn": spawn}}, "parent_thread_id": self.thread})
        self.children.append(child)
        yield child
        self.call("wait_agent", {"targets": [thread]}, {"status": {thread: {"completed": "Done."}}})

    def save(self, folder: Path) -> Path:
        for child in self.children:
            child.save(folder)
        path = folder / f"rollout-{self._started}-{self.thread}.jsonl"
        path.write_text("\n".join(self.lines) + "\n")
        return path
