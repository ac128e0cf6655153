"""Calls for the dialect fuzz: a seeded generator, and real calls with something broken in them."""

import random
from typing import Any, cast

from punchlist.dialects import dialect, dialects_of

_REAL: dict[str, list[Any]] = {
    "claude-code": [
        {
            "todos": [
                {"content": "Read the code", "status": "completed", "activeForm": "Reading the code"},
                {"content": "Fix the bug", "status": "in_progress", "activeForm": "Fixing the bug"},
                {"content": "Run the tests", "status": "pending", "activeForm": "Running the tests"},
            ]
        },
        {"todos": [{"content": "Fix the bug", "status": "completed", "activeForm": "Fixing the bug"}]},
        {"todos": []},
    ],
    "punchlist": [
        {"set": ["Read the code", "Fix the bug", "Run the tests"]},
        {"set": [{"text": "Read the code", "doing": "Reading", "status": "done", "phase": "One", "id": 1}, "Fix"]},
        {"set": {"1": "Read all the code"}},
        {"add": ["One more", {"text": "Another", "phase": "Two"}]},
        {"done": "1"},
        {"done": [1, 2], "start": 3, "evidence": "12 passed"},
        {"done": 2, "next": False},
        {"drop": ["2"], "view": True},
        {"block": {"1": "waiting for a key"}, "note": {"2": "mind the step"}},
        {"start": "#2"},
        {},
    ],
    "oh-my-pi": [
        {"ops": [{"op": "append", "phase": "More", "items": ["One more", "Another"]}]},
        {"ops": [{"op": "note", "task": "Fix the loop", "text": "mind the end"}, {"op": "drop", "phase": "Repair"}]},
        {"ops": [{"op": "rm"}]},
    ],
    "hermes": [
        {"merge": True, "todos": [{"id": "1", "status": "completed"}, {"id": "9", "content": "One more"}]},
        {"todos": '[{"id": "1", "content": "As text", "status": "cancelled"}]'},
    ],
    "gemini": [{"todos": [{"description": "Ask", "status": "blocked"}, {"description": "Old", "status": "cancelled"}]}],
    "opencode": [{"todos": [{"content": "Fix the loop", "status": "reviewing", "priority": "urgent"}]}],
    "roo": [
        {"todos": "# Plan\n- [x] Read the parser\n[~] Fix the loop\nprose"},
        {"todos": '[{"id": "a", "content": "Read the parser", "status": "completed"}]'},
    ],
    "copilot": [{"operation": "read"}, {"todoList": [{"id": "1", "title": "One", "status": "In Progress"}]}],
    "qwen": [{"todos": [{"id": "2", "content": "Fix the loop", "status": "completed", "blockedBy": []}]}],
    "goose": [{"content": "Just notes"}, {"content": "1. [x] Read the parser\n   - [/] Fix the loop\n* [-] Odd"}],
    "openhands": [{"command": "plan", "task_list": [{"title": "Fix the loop"}]}],
    "cursor": [{"merge": True, "todos": [{"id": 3, "content": "One more", "status": "done"}]}],
    "codex": [{"plan": [{"step": "", "status": "in_progress"}, {"step": "", "status": "in_progress"}]}, {"plan": []}],
}

REAL: dict[str, list[Any]] = {
    name: [*(example for tool in dialect(name).tools for example in tool.examples), *_REAL.get(name, [])]
    for name in dialects_of("todos")
}
"""What models send, by dialect: the examples of its tools, and more."""

PLAIN_TEXTS = (
    "",
    " ",
    "\n",
    "a",
    "Fix the bug",
    "fix the BUG!",
    "Ü" * 9,
    "x" * 4001,
    "1",
    "#2",
    "1,2,3",
    "-1",
    "9" * 30,
)
HOSTILE_TEXTS = ("\ud800", "\udfff\ud800", "\x00", "\x1b[2J", "\u202eevil", "e\u0301", "\U000e0041", "\r\n\t", "../x")
FORGED_TEXTS = ("</punchlist>", "[", "{", "[[[[", '{"text": "json"}', '["a", "b"]', '{"a": 1, "a": 2}', "true", "null")
STATUS_TEXTS = ("in_progress", "completed", "pending", "done", "cancelled", "blocked")
TEXTS = (*PLAIN_TEXTS, *HOSTILE_TEXTS, *FORGED_TEXTS, *STATUS_TEXTS)

NUMBERS: tuple[Any, ...] = (0, 1, 2, 3, -1, 1.0, 1.5, 2**63, 10**20, 10**400, float("inf"), float("-inf"), float("nan"))
SCALARS: tuple[Any, ...] = (None, True, False, *NUMBERS, b"bytes", (), (1, 2), frozenset({1}), object)

VERBS = ("set", "add", "start", "done", "drop", "block", "note", "evidence", "next", "view")
FIELDS = ("todos", "content", "status", "activeForm", "active_form", "text", "doing", "phase", "id", "priority", "kind")
OTHERS = (
    "merge",
    "plan",
    "step",
    "explanation",
    "ops",
    "op",
    "task",
    "items",
    "list",
    "description",
    "blockedBy",
    "title",
)
KEYS: tuple[Any, ...] = (*VERBS, *FIELDS, *OTHERS, "reason", "\ud800", "", 1, None, (1,), 10**5000)


def value(rng: random.Random, depth: int = 0) -> Any:
    """Any value at all, three levels deep at most."""
    kind = rng.random()
    if kind < 0.45 or depth > 3:
        return rng.choice(TEXTS)
    if kind < 0.65:
        return rng.choice(SCALARS)
    if kind < 0.85:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(KEYS): value(rng, depth + 1) for _ in range(rng.randrange(4))}


def mutated(rng: random.Random, real: Any) -> Any:
    """The call with some of its parts replaced, renamed, moved or taken away."""
    if rng.random() < 0.15:
        return value(rng)
    if isinstance(real, dict):
        return _mutated_object(rng, cast("dict[Any, Any]", real))
    if isinstance(real, list):
        parts = [mutated(rng, part) if rng.random() < 0.3 else part for part in cast("list[Any]", real)]
        rng.shuffle(parts)
        return parts[: rng.randrange(len(parts) + 1)] if rng.random() < 0.2 else parts
    if isinstance(real, str):
        return rng.choice([real, real.upper(), real + rng.choice(TEXTS), rng.choice(TEXTS), real[: rng.randrange(9)]])
    return rng.choice(SCALARS)


def _mutated_object(rng: random.Random, real: dict[Any, Any]) -> dict[Any, Any]:
    changed = {key: mutated(rng, part) if rng.random() < 0.4 else part for key, part in real.items()}
    if changed and rng.random() < 0.15:
        changed.pop(rng.choice(list(changed)))
    if rng.random() < 0.1:
        changed[rng.choice(KEYS)] = value(rng)
    return changed


def call(rng: random.Random, dialect: str) -> Any:
    """Arguments for a tool of the dialect: real, broken or made up."""
    kind = rng.random()
    real = rng.choice(REAL[dialect])
    if kind < 0.35:
        return real
    return mutated(rng, real) if kind < 0.9 else value(rng)
