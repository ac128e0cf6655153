"""Records as the agents write them, and the lists that they tell."""

import json
from pathlib import Path
from typing import Any

from punchlist.transcripts.values import Written

START = "2026-03-01T09:00:{:02}.000Z"
SESSION = "5c1de2a0-0000-4000-8000-000000000001"


def told(written: Written | None) -> list[str] | None:
    """A list as `"x Paint"` for completed, `"> Paint"`, `"- Paint"` for cancelled, `"Paint"` for pending."""
    marks = {"pending": "", "in_progress": "> ", "completed": "x ", "cancelled": "- "}
    return None if written is None else [marks[entry.status] + entry.content for entry in written.command.entries]


def todos(*lines: str) -> list[dict[str, str]]:
    """The same way back, as the items of `TodoWrite`."""
    words = {"> ": "in_progress", "x ": "completed"}
    return [
        {"content": line[2:], "status": words[line[:2]], "activeForm": f"Doing {line[2:]}"}
        if line[:2] in words
        else {"content": line, "status": "pending", "activeForm": f"Doing {line}"}
        for line in lines
    ]


# Claude Code.


def line(kind: str, *content: Any, second: int = 0, **more: Any) -> dict[str, Any]:
    record = {
        "parentUuid": "u0",
        "isSidechain": False,
        "cwd": "/projects/shed",
        "sessionId": SESSION,
        "type": kind,
        "uuid": f"u{second}",
        "timestamp": START.format(second),
        "message": {"role": kind, "content": list(content)},
    }
    return {**record, **more}


def write(call_id: str, *items: str, second: int = 0, given: Any = None, **more: Any) -> dict[str, Any]:
    args = {"todos": todos(*items)} if given is None else given
    call = {"type": "tool_use", "id": call_id, "name": "TodoWrite", "input": args}
    return line("assistant", call, second=second, **more)


def result(call_id: str, *items: str, error: bool = False, second: int = 0, **more: Any) -> dict[str, Any]:
    block: dict[str, Any] = {"tool_use_id": call_id, "type": "tool_result", "content": "Todos have been modified"}
    if error:
        block |= {"is_error": True, "content": "<tool_use_error>InputValidationError: TodoWrite</tool_use_error>"}
        return line("user", block, second=second, toolUseResult="Error: InputValidationError", **more)
    return line("user", block, second=second, **{"toolUseResult": {"oldTodos": [], "newTodos": todos(*items)}, **more})


# Codex.


def rollout(kind: str, payload: dict[str, Any], second: int = 0) -> dict[str, Any]:
    return {"timestamp": START.format(second), "type": kind, "payload": payload}


def meta(thread: str = "t-1", **more: Any) -> dict[str, Any]:
    return rollout(
        "session_meta", {"id": thread, "session_id": thread, "cwd": "/projects/shed", "source": "cli", **more}
    )


def plan(call_id: str, *steps: str, second: int = 0) -> dict[str, Any]:
    given = [{"step": item["content"], "status": item["status"]} for item in todos(*steps)]
    payload = {"type": "function_call", "name": "update_plan", "call_id": call_id}
    return rollout("response_item", {**payload, "arguments": json.dumps({"plan": given})}, second)


def output(call_id: str, said: Any = "Plan updated", second: int = 0) -> dict[str, Any]:
    return rollout("response_item", {"type": "function_call_output", "call_id": call_id, "output": said}, second)


# Files.


def save(path: Path, records: list[Any], *, compact: bool = True) -> Path:
    """A file of lines: records as JSON, texts as they are."""
    separators = (",", ":") if compact else None
    lines = [entry if isinstance(entry, str) else json.dumps(entry, separators=separators) for entry in records]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{text}\n" for text in lines), encoding="utf-8", errors="surrogatepass")
    return path
