"""Calls for the dialect fuzz: a seeded generator, and real calls with something broken in them."""

import random
from typing import Any, cast

from punchlist.dialects import dialect, dialects_of
from punchlist.dialects.base import Tool

_GOOD: dict[str, dict[str, list[dict[str, Any]]]] = {
    "punchlist-tasks": {
        "task": [
            {"do": "add", "text": "Migrate the users table"},
            {"do": "claim", "id": "1"},
            {"do": "done", "id": "1", "text": "migrated, pytest -q passes"},
            {"do": "list"},
        ]
    },
    "claude-tasks": {
        "TaskCreate": [
            {
                "subject": "Add a login page",
                "description": "A form with name and password at /login",
                "activeForm": "Adding a login page",
            }
        ],
        "TaskGet": [{"taskId": "1"}],
        "TaskUpdate": [{"taskId": "1", "status": "in_progress"}],
        "TaskList": [{}],
    },
    "nexo": {
        "TodoWrite": [
            {
                "todos": [
                    {"content": "Read the parser", "status": "in_progress", "activeForm": "Reading the parser"},
                    {"content": "Fix the loop", "status": "pending", "activeForm": "Fixing the loop"},
                ]
            }
        ]
    },
    "taskflow": {
        "taskflow": [
            {
                "action": "start",
                "controller_id": "kate/inbox",
                "goal": "Sort the inbox",
                "current_step": "classify",
                "state": {"messages": 10},
            }
        ]
    },
    "oh-my-pi": {
        "todo_write": [
            {
                "ops": [
                    {"op": "init", "list": [{"phase": "Repair", "items": ["Read the parser", "Fix the loop"]}]},
                    {"op": "start", "task": "Read the parser"},
                ]
            },
            {"ops": [{"op": "done", "task": "Read the parser"}]},
        ]
    },
    "gencode": {
        "TodoWrite": [
            {
                "todos": [
                    {"content": "Read the parser", "status": "in_progress", "activeForm": "Reading the parser"},
                    {"content": "Fix the loop", "status": "pending", "activeForm": "Fixing the loop"},
                ]
            }
        ]
    },
    "codex": {
        "update_plan": [
            {
                "explanation": "The loop is in the lexer",
                "plan": [
                    {"step": "Read the lexer", "status": "in_progress"},
                    {"step": "Fix the loop", "status": "pending"},
                ],
            }
        ]
    },
    "hermes": {
        "todo": [
            {
                "todos": [
                    {"id": "1", "content": "Read the parser", "status": "in_progress"},
                    {"id": "2", "content": "Fix the loop", "status": "pending"},
                ]
            },
            {},
        ]
    },
    "openclaw": {
        "update_plan": [
            {
                "explanation": "The loop is in the lexer",
                "plan": [
                    {"step": "Read the lexer", "status": "in_progress"},
                    {"step": "Fix the loop", "status": "pending"},
                ],
            }
        ]
    },
    "opencode": {
        "todowrite": [
            {
                "todos": [
                    {"content": "Read the parser", "status": "in_progress", "priority": "high"},
                    {"content": "Fix the loop", "status": "pending", "priority": "medium"},
                ]
            }
        ]
    },
    "gemini": {
        "write_todos": [
            {
                "todos": [
                    {"description": "Read the parser", "status": "in_progress"},
                    {"description": "Fix the loop", "status": "pending"},
                ]
            }
        ]
    },
    "langchain": {
        "write_todos": [
            {
                "todos": [
                    {"content": "Read the parser", "status": "in_progress"},
                    {"content": "Fix the loop", "status": "pending"},
                ]
            }
        ]
    },
    "roo": {"update_todo_list": [{"todos": "[x] Read the parser\n[-] Fix the loop\n[ ] Run the tests"}]},
    "copilot": {
        "manage_todo_list": [
            {
                "todoList": [
                    {"id": 1, "title": "Read the parser", "status": "completed"},
                    {"id": 2, "title": "Fix the loop", "status": "in-progress"},
                    {"id": 3, "title": "Run the tests", "status": "not-started"},
                ]
            }
        ]
    },
    "qwen": {
        "todo_write": [
            {
                "todos": [
                    {"id": "1", "content": "Read the parser", "status": "in_progress"},
                    {"id": "2", "content": "Fix the loop", "status": "pending", "blockedBy": ["1"]},
                ]
            }
        ]
    },
    "kimi": {
        "SetTodoList": [
            {
                "todos": [
                    {"title": "Read the parser", "status": "in_progress"},
                    {"title": "Fix the loop", "status": "pending"},
                ]
            },
            {"todos": None},
        ]
    },
    "goose": {
        "todo_write": [
            {"content": "- [x] Read the parser\n- [>] Fix the loop\n- [ ] Run the tests\n\nThe loop is in lexer.py."}
        ]
    },
    "openhands": {
        "task_tracker": [
            {
                "command": "plan",
                "task_list": [
                    {"title": "Read the parser", "notes": "lexer.py too", "status": "in_progress"},
                    {"title": "Fix the loop", "notes": "", "status": "todo"},
                ],
            },
            {"command": "view"},
        ]
    },
    "cursor": {
        "todo_write": [
            {
                "merge": False,
                "todos": [
                    {"id": "read", "content": "Read the parser", "status": "in_progress"},
                    {"id": "fix", "content": "Fix the loop", "status": "pending"},
                ],
            },
            {"merge": True, "todos": [{"id": "read", "status": "completed"}, {"id": "fix", "status": "in_progress"}]},
        ]
    },
    "crush": {
        "todos": [
            {
                "todos": [
                    {"content": "Read the parser", "status": "in_progress", "active_form": "Reading the parser"},
                    {"content": "Fix the loop", "status": "pending", "active_form": "Fixing the loop"},
                ]
            }
        ]
    },
}

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


def good_calls(name: str, tool: Tool) -> list[dict[str, Any]]:
    """Calls of a dialect's tool that it accepts one after the other: its own examples, if it carries any."""
    return [dict(example) for example in tool.examples] or _GOOD[name][tool.name]


REAL: dict[str, list[Any]] = {
    name: [*(example for tool in dialect(name).tools for example in good_calls(name, tool)), *_REAL.get(name, [])]
    for name in dialects_of("todos")
}
"""What models send, by dialect: good calls of its tools, and more."""

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
