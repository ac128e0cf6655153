"""Write logs as Gemini CLI, qwen, oh-my-pi, OpenClaw and Hermes do: one call of a method here is one tool call."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 3, 1, 21, 0, tzinfo=UTC)
_WORDS = {"> ": "in_progress", "x ": "completed"}


def read_items(*items: str) -> list[tuple[str, str]]:
    """Return text and status of each item: `"x Paint"` is completed, `"> Paint"` in progress, `"Paint"` pending."""
    return [(item[2:], _WORDS[item[:2]]) if item[:2] in _WORDS else (item, "pending") for item in items]


class Chat:
    """A session. A subclass knows the form of the records, the names of its tools, and where the log lies."""

    shell: str
    session = "5c1de2a0-0000-4000-8000-000000000007"

    def __init__(self, cwd: str = "/projects/shop") -> None:
        self.cwd = cwd
        self.records: list[dict[str, Any]] = []
        self.calls = 0
        self.now = START
        self.begin()

    def stamp(self, seconds: float = 1) -> str:
        self.now += timedelta(seconds=seconds)
        return self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def begin(self) -> None: ...

    def user(self, text: str) -> None:
        raise NotImplementedError

    def say(self, text: str) -> None:
        raise NotImplementedError

    def todo(self, *items: str) -> None:
        raise NotImplementedError

    def tool(self, name: str, args: dict[str, Any], text: str, *, error: bool = False, data: Any = None) -> None:
        raise NotImplementedError

    def run(self, command: str, output: str = "", code: int = 0) -> None:
        raise NotImplementedError

    def save(self, home: Path) -> Path:
        raise NotImplementedError

    def next_id(self) -> str:
        self.calls += 1
        return f"call_{self.calls:04}"

    def write_lines(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in self.records))
        return path


class PiChat(Chat):
    shell = "bash"

    def begin(self) -> None:
        head = {"type": "session", "version": 3, "id": self.session, "timestamp": self.stamp(), "cwd": self.cwd}
        self.records.append(head)

    def message(self, role: str, **more: Any) -> None:
        own = {"id": f"e{len(self.records)}", "parentId": f"e{len(self.records) - 1}", "timestamp": self.stamp()}
        self.records.append({"type": "message", **own, "message": {"role": role, **more}})

    def user(self, text: str) -> None:
        self.message("user", content=[{"type": "text", "text": text}])

    def say(self, text: str) -> None:
        self.message("assistant", content=[{"type": "text", "text": text}], stopReason="stop", usage=_PI_USAGE)

    def tool(self, name: str, args: dict[str, Any], text: str, *, error: bool = False, data: Any = None) -> None:
        call_id = self.next_id()
        call = {"type": "toolCall", "id": call_id, "name": name, "arguments": args}
        self.message("assistant", content=[call], stopReason="toolUse", usage=_PI_USAGE)
        said = {"toolCallId": call_id, "toolName": name, "isError": error, "details": data}
        self.message("toolResult", **said, content=[{"type": "text", "text": text}])

    def run(self, command: str, output: str = "", code: int = 0) -> None:
        text = f"{output}\n\nCommand exited with code {code}" if code else output
        self.tool("bash", {"command": command}, text, error=bool(code))


_PI_USAGE = {"input": 100, "output": 20, "cacheRead": 30, "cacheWrite": 5, "totalTokens": 155}


class OhMyPiChat(PiChat):
    def todo(self, *items: str) -> None:
        tasks = [{"content": text, "status": status} for text, status in read_items(*items)]
        data = {"phases": [{"name": "Work", "tasks": tasks}], "storage": "session"}
        self.tool("todo_write", {"ops": [{"op": "done", "task": "x"}]}, "Remaining items: none.", data=data)

    def save(self, home: Path) -> Path:
        return self.write_lines(home / ".omp/agent/sessions/-projects-shop-" / f"2026_{self.session}.jsonl")


class OpenClawChat(PiChat):
    def todo(self, *items: str) -> None:
        plan = [{"step": text, "status": status} for text, status in read_items(*items)]
        self.tool("update_plan", {"plan": plan}, "", data={"status": "updated", "plan": plan})

    def save(self, home: Path) -> Path:
        return self.write_lines(home / ".openclaw/agents/main/sessions" / f"{self.session}.jsonl")


class GeminiChat(Chat):
    shell = "run_shell_command"
    project = "shop"

    def begin(self) -> None:
        head = {"sessionId": self.session, "projectHash": "0", "startTime": self.stamp(), "kind": "main"}
        context = {"type": "user", "content": [{"text": "<session_context>\nThis is …\n</session_context>"}]}
        self.records += [head, {"$set": {"messages": [{"id": "m0", "timestamp": self.stamp(), **context}]}}]

    def user(self, text: str) -> None:
        self.message({"type": "user", "content": [{"text": text}]})

    def message(self, told: dict[str, Any]) -> dict[str, Any]:
        at = self.stamp()
        self.records.append({"id": f"m{len(self.records)}", "timestamp": at, **told})
        self.records.append({"$set": {"lastUpdated": at}})
        return self.records[-2]

    def say(self, text: str) -> None:
        self.message({"type": "gemini", "content": text, "tokens": _GEMINI_TOKENS, "model": "gemini-3"})

    def tool(self, name: str, args: dict[str, Any], text: str, *, error: bool = False, data: Any = None) -> None:
        call_id = self.next_id()
        begun = self.message({"type": "gemini", "content": "", "tokens": _GEMINI_TOKENS, "model": "gemini-3"})
        response = {"error" if error else "output": text}
        answer = {"functionResponse": {"id": call_id, "name": name, "response": response}}
        call = {
            "id": call_id,
            "name": name,
            "args": args,
            "result": [answer],
            "status": "error" if error else "success",
            "timestamp": self.stamp(),
            "resultDisplay": text,
            "description": name,
        }
        self.records.append({**begun, "toolCalls": [call]})
        self.message({"type": "user", "content": [answer]})

    def run(self, command: str, output: str = "", code: int = 0) -> None:
        said = f"\nExit Code: {code}" if code else ""
        text = f"<untrusted_context>\nOutput: {output}{said}\nProcess Group PGID: 1\n</untrusted_context>"
        self.tool(self.shell, {"command": command}, text)

    def todo(self, *items: str) -> None:
        todos = [{"description": text, "status": status} for text, status in read_items(*items)]
        self.tool("write_todos", {"todos": todos}, "Successfully updated the todo list.")

    def save(self, home: Path) -> Path:
        folder = home / ".gemini/tmp" / self.project
        (folder / "chats").mkdir(parents=True, exist_ok=True)
        (folder / ".project_root").write_text(self.cwd)
        return self.write_lines(folder / "chats" / f"session-2026-03-01T21-00-{self.session[:8]}.jsonl")


_GEMINI_TOKENS = {"input": 130, "output": 20, "cached": 30, "thoughts": 0, "tool": 0, "total": 150}


class QwenChat(Chat):
    shell = "run_shell_command"

    def record(self, kind: str, parts: list[dict[str, Any]], **more: Any) -> None:
        number = len(self.records)
        place = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}", "sessionId": self.session, "cwd": self.cwd}
        role = "model" if kind == "assistant" else "user"
        message = {"role": role, "parts": parts}
        self.records.append({**place, "timestamp": self.stamp(), "type": kind, "message": message, **more})

    def user(self, text: str) -> None:
        self.record("user", [{"text": text}])

    def say(self, text: str) -> None:
        self.record("assistant", [{"text": text}], usageMetadata=_QWEN_USAGE, model="qwen3")

    def tool(self, name: str, args: dict[str, Any], text: str, *, error: bool = False, data: Any = None) -> None:
        call_id = self.next_id()
        call = {"functionCall": {"id": call_id, "name": name, "args": args}}
        self.record("assistant", [call], usageMetadata=_QWEN_USAGE, model="qwen3")
        answer = {"id": call_id, "name": name, "response": {"error" if error else "output": text}}
        told = {"callId": call_id, "status": "error" if error else "success", "resultDisplay": text}
        self.record("tool_result", [{"functionResponse": answer}], toolCallResult=told)

    def run(self, command: str, output: str = "", code: int = 0) -> None:
        text = f"Command: {command}\nOutput: {output}\nError: (none)\nExit Code: {code}\nSignal: (none)"
        self.tool(self.shell, {"command": command}, text)

    def todo(self, *items: str) -> None:
        told = enumerate(read_items(*items))
        todos = [{"id": str(place), "content": text, "status": status} for place, (text, status) in told]
        self.tool("todo_write", {"todos": todos}, "Todos have been modified successfully.")

    def save(self, home: Path) -> Path:
        return self.write_lines(home / ".qwen/projects/-projects-shop/chats" / f"{self.session}.jsonl")


_QWEN_USAGE = {
    "promptTokenCount": 130, "candidatesTokenCount": 20, "cachedContentTokenCount": 30, "totalTokenCount": 150,
}  # fmt: skip


class HermesChat(Chat):
    shell = "terminal"

    def message(self, role: str, content: str, **more: Any) -> None:
        self.now += timedelta(seconds=1)
        self.records.append({"role": role, "content": content, "timestamp": self.now.timestamp(), **more})

    def user(self, text: str) -> None:
        self.message("user", text)

    def say(self, text: str) -> None:
        self.message("assistant", text)

    def tool(self, name: str, args: dict[str, Any], text: str, *, error: bool = False, data: Any = None) -> None:
        call_id = self.next_id()
        function = {"name": name, "arguments": json.dumps(args)}
        self.message(
            "assistant", "", tool_calls=json.dumps([{"id": call_id, "type": "function", "function": function}])
        )
        self.message("tool", text, tool_call_id=call_id, tool_name=name)

    def run(self, command: str, output: str = "", code: int = 0) -> None:
        text = json.dumps({"output": output, "exit_code": code, "error": None})
        self.tool(self.shell, {"command": command}, text)

    def todo(self, *items: str) -> None:
        told = enumerate(read_items(*items))
        todos = [{"id": str(place), "content": text, "status": status} for place, (text, status) in told]
        self.tool("todo", {"todos": todos[:1], "merge": True}, json.dumps({"todos": todos, "summary": {}}))

    def save(self, home: Path) -> Path:
        path = home / ".hermes/state.db"
        path.parent.mkdir(parents=True, exist_ok=True)
        names = ("role", "content", "tool_call_id", "tool_calls", "tool_name", "timestamp")
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executescript("""
                CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, cwd TEXT);
                CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT,
                    tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL, active INTEGER DEFAULT 1);
            """)
            connection.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?)", (self.session, self.cwd))
            (first,) = connection.execute(
                "SELECT coalesce(max(id), 0) FROM messages WHERE session_id != ?", (self.session,)
            ).fetchone()
            for number, record in enumerate(self.records, first + 1):
                values = (number, self.session, *(record.get(name) for name in names))
                connection.execute("INSERT OR REPLACE INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)", values)
        return path


CHATS: dict[str, type[Chat]] = {
    "gemini": GeminiChat,
    "qwen": QwenChat,
    "oh-my-pi": OhMyPiChat,
    "openclaw": OpenClawChat,
    "hermes": HermesChat,
}
