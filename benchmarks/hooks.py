"""The hook that an agent starts for each tool call, beside a bare start of the same Python."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from benchmarks.measure import ROOT, child_cpu, interleaved
from benchmarks.report import Must, Row, not_measured
from benchmarks.scale import Scale
from punchlist import Board
from punchlist.hooks.sockets import HookServer

NOTE = (
    "CPU time, user and system, of the whole process, best of 20, byte code compiled. The bare start is "
    "`.venv/bin/python -I -c pass`; a hook is `.venv/bin/python -I -S punchlist_hook.py HOST --board B`. Silent events "
    "go into the inbox or to a running `punchlist mcp`. For answered ones that `mcp` replies, or the hook loads the "
    "package. The session has a list with open items."
)
_PYTHON, _HOOK = ROOT / ".venv/bin/python", ROOT / "src/punchlist_hook.py"
_SILENT_MUST, _ANSWERED_MUST = Must("≤", 2.5), Must("≤", 10)
_CALL = {"tool_name": "Bash", "tool_input": {"command": "pytest -q", "description": "test"}, "tool_use_id": "toolu_1"}
_RESULT = {"stdout": "x" * 20_000, "stderr": "", "interrupted": False, "isImage": False}
_EVENTS: dict[str, tuple[Mapping[str, object], Must]] = {
    "PreToolUse": (_CALL, _SILENT_MUST),
    "PostToolUse": ({**_CALL, "tool_response": _RESULT}, _SILENT_MUST),
    "UserPromptSubmit": ({"prompt": "go on"}, _ANSWERED_MUST),
    "SessionStart": ({"source": "compact"}, _ANSWERED_MUST),
    "Stop": ({"last_assistant_message": "I have fixed it."}, _ANSWERED_MUST),
}


def run(scale: Scale) -> Iterator[Row]:
    if not _PYTHON.exists():
        yield not_measured("punchlist-hook", "no .venv: `make setup`", _SILENT_MUST)
        return
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as name, ExitStack() as stack:
        folder = Path(name).resolve()
        bare = [str(_PYTHON), "-I", "-c", "pass"]
        contenders: dict[str, Callable[[], float]] = {"bare": lambda: child_cpu(bare, folder)}
        for place in ("alone", "server"):
            path = folder / place / "board.db"
            path.parent.mkdir()
            board = stack.enter_context(Board.open(path))
            board.agent("main", session="s", project=folder).call("todo", {"set": ["Read", "Fix", "Test"]})
            if place == "server":
                stack.enter_context(HookServer(board, os.getpid()))
            words = [str(_PYTHON), "-I", "-S", str(_HOOK), "claude-code", "--board", str(path)]
            for event, (fields, _) in _EVENTS.items():
                given = folder / f"{event}.json"
                base = {"session_id": "s", "cwd": str(folder), "hook_event_name": event}
                given.write_text(json.dumps({**base, **fields}), encoding="utf-8")
                contenders[f"{event} {place}"] = lambda words=words, given=given: child_cpu(words, folder, given)
        for contender in contenders.values():
            contender()
        taken = interleaved(scale.count(20, least=2), contenders)
    best = {name: min(seconds) for name, seconds in taken.items()}
    peer = f"bare start: {best['bare'] * 1e3:.1f} ms"
    for event, (_, must) in _EVENTS.items():
        for place, about in (("server", "to a running mcp"), ("alone", "without one")):
            ours = best[f"{event} {place}"]
            yield Row(f"hook {event}, {about}", f"{ours * 1e3:.1f} ms", peer, ours / best["bare"], must)
