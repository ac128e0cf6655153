"""Run one worker, or two, through a world, and read from the world what became of it."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from evaluation.arms import OURS, PEERS, NoList, Ours, Removed, SharedTasks
from evaluation.cells import Cell
from evaluation.models import Message, Model, Step
from evaluation.worlds import World
from punchlist import Board
from punchlist.testing import FakeClock

COMPACTED_EVERY = 8
"""Requests after which a conversation is compacted."""

_MOST_TURNS = 90
REQUESTS_AT = (5, 9, 13)
_EDITS_AT = (4, 7, 10)


class Outcome(NamedTuple):
    """What became of one run, as its world tells; the last three are the cost."""

    lost: int
    repeated: int
    false_done: int
    ignored: int
    turns: int
    standing: int
    """Tokens of prompts and tool descriptions, which every request carries."""
    said: int
    """Tokens of calls, replies and notes, each once."""


class Worker:
    """A model in its conversation, with the layer around it."""

    def __init__(self, world: World, model: Model, arm: NoList) -> None:
        self.world, self.model, self.arm = world, model, arm
        self.messages: list[Message] = []
        self.claimed: set[str] = set()
        self.has_stopped = False
        self._requests = 0
        self.hear_person(world.request)

    def hear_person(self, text: str) -> None:
        self.messages.append(Message("user", text))
        self.arm.person_spoke(text)
        self.has_stopped = False

    def take_turn(self) -> None:
        """Send one request and do what the model decides."""
        passing = self.arm.for_request()
        request = [*self.messages, *passing]
        step = self.model.decide(request, has_list=self.arm.has_list, has_queue=self.arm.has_queue)
        noted = self.model.note(self.messages, passing)
        self.messages += [noted] if noted is not None else []
        self._do(step, request)
        self._requests += 1
        if self._requests % COMPACTED_EVERY == 0:
            self.messages = [self.model.summarise(self.messages), *self.arm.compacted()]

    def _do(self, step: Step, request: Sequence[Message]) -> None:
        if step.kind in ("tick", "pretend"):  # its own words stay in the conversation, as the arguments of a call do
            self.messages.append(Message("assistant", "\n".join(f"{one}: done" for one in step.steps)))
        if step.kind == "write":
            self._write(step.steps[0])
        elif step.kind == "test":
            effect = self.world.test()
            self.arm.report("Bash", {"command": "make test"}, effect)
            self.messages.append(Message("tool", effect.text))
        elif step.kind == "take":
            self.messages += self.arm.claim()
        elif step.kind == "stop":
            self.claimed = set(step.steps)
            self.messages.append(Message("assistant", step.text))
            nudge = self.arm.keep_going(step.text)
            self.has_stopped = nudge is None
            self.messages += [nudge] if nudge is not None else []
        elif step.kind == "plan" or (step.kind == "tick" and self.model.rates.drop):
            self.messages += self.arm.write_list(self.model.rewrite(request, step.steps if step.kind == "tick" else ()))
        elif step.kind == "tick":
            belief = self.model.believe(request)
            items = {**belief.status, **dict.fromkeys(step.steps, "done")}
            self.messages += self.arm.tick(step.steps, belief, items)

    def _write(self, step: str) -> None:
        effect = self.world.write(step, is_broken=self.model.is_broken())
        path = self.world.folder / "src" / f"{step}.txt"
        self.arm.report("Write", {"file_path": str(path), "content": f"{step}\n"}, effect)
        self.messages.append(Message("tool", effect.text))

    def crash(self) -> None:
        """Lose the conversation, and begin another one with the first request."""
        self.model.forget_conversation()
        self.messages, self._requests = [], 0
        heard = self.arm.crashed()
        self.hear_person(f"Continue this work.\n{self.world.request}")
        self.messages += heard
        self.model.has_planned = bool(heard)


def run_many(cell: Cell, value: float, arm: str, seeds: Sequence[int]) -> Iterator[Outcome]:
    """Run a cell at one rate in one arm, once for each seed, on one board in memory."""
    clock = FakeClock()
    with Board.open("memory:", clock=clock) as board:
        board.agents_process = ""  # the agents of a crashed run are not this process
        for seed in seeds:
            with tempfile.TemporaryDirectory() as folder:
                yield _run(cell, value, arm, seed, Path(folder) / "repository", board, clock)


def _run(cell: Cell, value: float, arm: str, seed: int, folder: Path, board: Board, clock: FakeClock) -> Outcome:
    scenario = cell.scenario
    world = World(folder, scenario, random.Random(f"{cell.name} {seed}"))
    workers = [
        Worker(
            world,
            Model(cell.rates(value), random.Random(f"{cell.name} {value} {seed} {number}")),
            open_arm(arm, world, board, clock, f"{seed}-{number}"),
        )
        for number in range(scenario.workers)
    ]
    turns = 0
    requests, edits = list(world.later), list(world.dropped)
    while turns < _MOST_TURNS * scenario.workers:
        for worker in workers:
            if not worker.has_stopped:
                turns += 1
                worker.take_turn()
        first = workers[0]
        if turns == scenario.crash_at:
            first.crash()
        if requests and (first.has_stopped or turns in REQUESTS_AT):
            step = requests.pop(0)
            world.wanted.append(step)
            first.hear_person(f"Also write this one.\n- {step}: wanted")
        if edits and (turns in _EDITS_AT or first.has_stopped):
            step = edits.pop(0)
            if not world.is_done(step):
                if not first.arm.take_off(step):
                    first.hear_person(f"No longer wanted: {step}")
            else:
                world.dropped.remove(step)
        if all(worker.has_stopped for worker in workers) and not requests and not edits:
            break
    believed = {step for worker in workers for step in (worker.arm.believed_done() or worker.claimed)}
    return read_outcome(world, [worker.arm for worker in workers], believed, turns)


def read_outcome(world: World, arms: Sequence[NoList], believed: Collection[str], turns: int) -> Outcome:
    """Read the end state from the world, and the cost from the arms."""
    false_done = sum(not world.is_done(step) for step in believed if step in world.wanted)
    standing, said = sum(arm.standing for arm in arms) // 4, sum(arm.said for arm in arms) // 4
    return Outcome(world.lost, world.repeated, false_done, world.ignored, turns, standing, said)


def open_arm(arm: str, world: World, board: Board, clock: FakeClock, session: str) -> NoList:
    if arm in PEERS:
        return PEERS[arm](world)
    if arm == "shared tasks":
        return SharedTasks(world, board, clock, session, Removed(dialect="punchlist-tasks"))
    return Ours(world, board, clock, session, OURS[arm])
