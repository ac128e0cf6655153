"""Stand-ins for the clients of Anthropic and OpenAI: the same calls and the same answers, from a script, offline.

They take what the examples send and no more. Replace the import in an example by the real one to talk to a model.
"""

import json
from types import SimpleNamespace
from typing import Any

BUG_FIX: list[list[Any]] = [  # one entry per answer: texts, and calls as (tool, input)
    [
        "I will look at the tests first.",
        ("todo", {"set": ["Find the bug", "Fix it", "Test it"]}),
        ("bash", {"command": "python3 -m unittest -q"}),
    ],
    [("todo", {"done": "1"}), ("bash", {"command": "echo 'def total(prices): return sum(prices)' > shop.py"})],
    [("todo", {"done": "2"})],
    [("bash", {"command": "python3 -m unittest -q"})],
    [("todo", {"done": "3"})],
    ["`total` left out the last price. It is fixed, and the tests pass."],
]
RESEARCH: list[list[Any]] = [
    [("todo", {"set": ["Look up Mars", "Look up Venus", "Compare the two"]}), ("lookup", {"name": "Mars"})],
    [("todo", {"done": "1"}), ("lookup", {"name": "Venus"})],
    [("todo", {"done": "2"})],
    ["I have looked up both planets."],  # one item is open: the loop does not let it stop
    [("todo", {"done": "3"})],
    ["A year on Mars is three times as long as one on Venus: 687 days and 225."],
]


class Anthropic:
    """Answers `client.messages.create(…)` from the script."""

    def __init__(self, script: list[list[Any]] = BUG_FIX) -> None:
        self._answers = enumerate(script)
        self.messages = self

    def create(self, *, messages: list[Any], **_: Any) -> Any:
        number, parts = next(self._answers)
        content = [
            SimpleNamespace(type="text", text=part)
            if isinstance(part, str)
            else SimpleNamespace(type="tool_use", id=f"call_{number}_{place}", name=part[0], input=part[1])
            for place, part in enumerate(parts)
        ]
        return SimpleNamespace(content=content)


class AsyncAnthropic(Anthropic):
    async def create(self, *, messages: list[Any], **_: Any) -> Any:
        return super().create(messages=messages)


class OpenAI:
    """Answers `client.chat.completions.create(…)` from the script."""

    def __init__(self, script: list[list[Any]] = RESEARCH) -> None:
        self._answers = enumerate(script)
        self.chat = SimpleNamespace(completions=self)

    def create(self, *, messages: list[Any], **_: Any) -> Any:
        number, parts = next(self._answers)
        calls = [
            SimpleNamespace(
                id=f"call_{number}_{place}",
                type="function",
                function=SimpleNamespace(name=part[0], arguments=json.dumps(part[1])),
            )
            for place, part in enumerate(parts)
            if not isinstance(part, str)
        ]
        text = "".join(part for part in parts if isinstance(part, str))
        message = SimpleNamespace(role="assistant", content=text or None, tool_calls=calls or None)
        return SimpleNamespace(choices=[SimpleNamespace(message=message)])
