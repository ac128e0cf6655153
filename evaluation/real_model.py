"""Put a real model into the same worlds, by the Messages API: it writes files, runs tests and keeps a list by calls."""

from __future__ import annotations

import http.client
import json
import os
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from evaluation.arms import NoList
from evaluation.cells import CELLS, Cell
from evaluation.run import COMPACTED_EVERY, REQUESTS_AT, Outcome, open_arm, read_outcome
from evaluation.worlds import Effect, World
from punchlist import Board
from punchlist.testing import FakeClock

_MOST_REQUESTS: Final = 60
_TOOLS: Final = (
    {
        "name": "write_file",
        "description": "Write the file of one step in src/.",
        "input_schema": {"type": "object", "properties": {"step": {"type": "string"}}, "required": ["step"]},
    },
    {
        "name": "run_tests",
        "description": "Run `make test`.",
        "input_schema": {"type": "object", "properties": {}},
    },
)
_SUMMARISE: Final = "The conversation gets too long. Summarise what was asked for, what is done and what is still open."


def run_with_model(name: str, seeds: int, arms: Sequence[str] | None) -> None:
    """Run each cell with one worker in each arm, and print what became of it."""
    for cell in CELLS:
        for arm in arms or cell.arms if cell.scenario.workers == 1 else ():
            for seed in range(seeds):
                print(f"{cell.name:22} {arm:20} {run_once(name, cell, arm, seed)}", flush=True)


def run_once(name: str, cell: Cell, arm: str, seed: int) -> Outcome:
    clock = FakeClock()
    with Board.open("memory:", clock=clock) as board, tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder) / "repository", cell.scenario, random.Random(f"{cell.name} {seed}"))
        return _Talk(name, world, open_arm(arm, world, board, clock, f"{seed}-0")).run()


class _Talk:
    """One conversation with a model."""

    def __init__(self, name: str, world: World, arm: NoList) -> None:
        self._name, self._world, self._arm = name, world, arm
        self._messages: list[dict[str, Any]] = []
        self._requests = list(world.later)
        self._tell_as_person(world.request)

    def run(self) -> Outcome:
        for turn in range(1, _MOST_REQUESTS + 1):
            answer = self._ask([message.text for message in self._arm.for_request()])
            calls = [block for block in answer if block["type"] == "tool_use"]
            if calls:
                self._say([self._answer_call(call) for call in calls])
            elif not self._go_on("".join(block.get("text", "") for block in answer)):
                break
            if self._requests and turn in REQUESTS_AT:
                self._ask_for_more()
            if turn % COMPACTED_EVERY == 0:
                self._compact()
        return read_outcome(self._world, [self._arm], self._arm.believed_done(), turn)

    def _go_on(self, text: str) -> bool:
        nudge = self._arm.keep_going(text)
        if nudge is not None:
            self._say(nudge.text)
        elif self._requests:
            self._ask_for_more()
        return nudge is not None or self._messages[-1]["role"] == "user"

    def _ask_for_more(self) -> None:
        step = self._requests.pop(0)
        self._world.wanted.append(step)
        self._tell_as_person(f"Also write {step}.")

    def _tell_as_person(self, text: str) -> None:
        self._arm.person_spoke(text)
        self._say(text)

    def _say(self, content: str | list[dict[str, Any]]) -> None:
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if self._messages and self._messages[-1]["role"] == "user":
            self._messages[-1]["content"] += blocks
        else:
            self._messages.append({"role": "user", "content": blocks})

    def _answer_call(self, call: dict[str, Any]) -> dict[str, Any]:
        name, arguments = call["name"], call["input"]
        if name == "write_file":
            step = str(arguments.get("step", ""))
            known = step in self._world.wanted
            effect = self._world.write(step) if known else Effect(f"There is no step {step!r}.", 1)
            path = str(self._world.folder / "src" / f"{step}.txt")
            self._arm.report("Write", {"file_path": path, "content": step}, effect)
            text = effect.text
        elif name == "run_tests":
            effect = self._world.test()
            self._arm.report("Bash", {"command": "make test"}, effect)
            text = effect.text
        else:
            text = self._arm.call_tool(name, arguments)
        return {"type": "tool_result", "tool_use_id": call["id"], "content": text}

    def _compact(self) -> None:
        self._say(_SUMMARISE)
        summary = "".join(block.get("text", "") for block in self._ask([]))
        self._messages = []
        self._say("\n\n".join([summary, *(message.text for message in self._arm.compacted())]))

    def _ask(self, passing: Sequence[str]) -> list[dict[str, Any]]:
        """Send the conversation with what passes at its tail; return the blocks of the answer."""
        *before, last = self._messages
        tail = {**last, "content": [*last["content"], *({"type": "text", "text": text} for text in passing)]}
        body = {
            "model": self._name,
            "max_tokens": 2_000,
            "tools": [*_TOOLS, *self._arm.tools],
            "messages": [*before, tail],
        }
        content = _post(body)["content"]
        self._messages.append({"role": "assistant", "content": content})
        return content


def _post(body: dict[str, Any]) -> dict[str, Any]:
    at = urlsplit(os.environ.get("ANTHROPIC_BASE_URL", "https://api.anthropic.com"))
    kind = http.client.HTTPConnection if at.scheme == "http" else http.client.HTTPSConnection
    connection = kind(at.netloc, timeout=120)
    headers = {
        "content-type": "application/json",
        "anthropic-version": "2023-06-01",
        "x-api-key": os.environ.get("ANTHROPIC_API_KEY", ""),
    }
    connection.request("POST", f"{at.path}/v1/messages", json.dumps(body), headers)
    reply = connection.getresponse()
    text = reply.read()
    if reply.status != 200:
        raise SystemExit(f"The model's API answered {reply.status}: {text[:500].decode(errors='replace')}")
    return json.loads(text)
