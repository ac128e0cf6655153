"""Scripted models. Each learns only from the texts that it is sent, and differs from the others by its rates alone."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

Status = Literal["open", "done", "dropped"]

STEP = re.compile(r"\b[a-z]+-\d\d\b")
_NUMBERED = re.compile(r"(?<![\w-])(\d+)[.:]? (?:\[.\] )?([a-z]+-\d\d)\b")
_DROPPED = re.compile(r"\[-\]|cancelled|no longer wanted:|taken off", re.IGNORECASE)
_DONE = re.compile(r"\[x\]|✓|\b(?:completed|done|written|verified)\b", re.IGNORECASE)
_OPEN = re.compile(r"\[[ >~!]\]|\b(?:pending|in_progress|open|wanted|left out|set aside|broken|ready|Yours)\b")


class Message(NamedTuple):
    """A message of a conversation. `tool`: the result of an action in the world, or of a call of the list."""

    role: Literal["user", "assistant", "tool", "list"]
    text: str


class Rates(NamedTuple):
    """How often a model errs, each between 0 and 1."""

    keep: float = 0.9
    """A fact survives a compaction."""
    tick: float = 0.7
    """A finished step is ticked off at once; the others wait for the next tick."""
    slip: float = 0.05
    """A step is written broken, unnoticed until a test runs."""
    stop: float = 0.0
    """It stops with work open, as it knows (lazy)."""
    claim: float = 0.0
    """It ticks a step off without doing it (eager)."""
    drop: float = 0.0
    """A rewrite of the list leaves an open item out; it then believes its list (rewriter)."""
    loop: float = 0.0
    """It does its last step again (looper)."""
    note: float = 0.8
    """What a text of one request alone says stays in its own words."""


class Step(NamedTuple):
    """What a model does next: one action, a write of the list, or the end of its turn."""

    kind: Literal["write", "test", "tick", "plan", "pretend", "take", "stop"]
    steps: tuple[str, ...] = ()
    text: str = ""


class Belief(NamedTuple):
    """What the texts of a request say: the last word on each step, and the ids that a list gave them."""

    status: Mapping[str, Status]
    ids: Mapping[str, str]


def read(messages: Sequence[Message]) -> Belief:
    """Read a request as a model does: what its actions showed outweighs what a list says, else the later counts."""
    said: dict[str, Status] = {}
    shown: dict[str, Status] = {}
    ids: dict[str, str] = {}
    for message in messages:
        found = _read_text(message.text)
        ids |= found.ids
        (shown if message.role == "tool" else said).update(found.status)
    dropped = {step: status for step, status in said.items() if status == "dropped"}
    return Belief({**said, **shown, **dropped}, ids)


@lru_cache(maxsize=10_000)  # a text stands in many requests, and reading them would take most of the time of an arm
def _read_text(text: str) -> Belief:
    """Return what one text says."""
    found: dict[str, Status] = {}
    for part in re.split(r"[\n}]|(?<=\.) (?=[A-Z])", text):
        status = _read_status(part)
        if status is not None:
            found.update(dict.fromkeys(STEP.findall(part), status))
    return Belief(found, {step: number for number, step in _NUMBERED.findall(text)})


def _read_status(part: str) -> Status | None:
    if _DROPPED.search(part):
        return "dropped"
    is_done, is_open = _DONE.search(part), _OPEN.search(part)
    if is_done and not is_open:
        return "done"
    return "open" if is_open and not is_done else None


class Model:
    """A worker with rates, and with chances of its own: the same in every arm for the same seed."""

    def __init__(self, rates: Rates, chance: random.Random) -> None:
        self.rates = rates
        self._chance = chance
        self._last = ""
        self._since_test = 0
        self._unticked: list[str] = []
        self._forgotten: dict[str, int] = {}
        self.has_planned = False

    def forget_conversation(self) -> None:
        """Begin anew, as after a crash."""
        self._last, self._unticked, self.has_planned = "", [], False
        self._forgotten.clear()

    def believe(self, messages: Sequence[Message]) -> Belief:
        """Read a request, without the steps that its last rewrite left out, unless a later text names them as open."""
        belief = read(messages)
        status = dict(belief.status)
        for step, since in list(self._forgotten.items()):
            if read(messages[since:]).status.get(step) == "open":
                del self._forgotten[step]
            else:
                status.pop(step, None)
        return belief._replace(status=status)

    def summarise(self, messages: Sequence[Message]) -> Message:
        """Write the summary that takes the place of the conversation: each fact survives with the rate `keep`."""
        status = self.believe(messages).status
        self._forgotten = dict.fromkeys(self._forgotten, 0)
        kept = {step: word for step, word in status.items() if self._chance.random() < self.rates.keep}
        words = {"open": "still open", "done": "done", "dropped": "taken off"}
        rows = [f"- {step}: {words[word]}" for step, word in kept.items()]
        return Message("user", "\n".join(["Summary of the conversation so far:", *rows]))

    def decide(self, messages: Sequence[Message], *, has_list: bool, has_queue: bool = False) -> Step:
        """Return what it does next, by the texts of this request alone."""
        belief = self.believe(messages)
        left = sorted(step for step, status in belief.status.items() if status == "open")
        if has_queue:  # it works on nothing but what it was given
            given = [message.text for message in messages if message.role == "list"]
            if given and not STEP.search(given[-1]):
                return Step("stop", (), "The queue is empty.")
            broken = read([message for message in messages if message.role == "tool"]).status
            left = [step for step in left if (given and step in given[-1]) or broken.get(step) == "open"]
            if not left:
                return Step("take")
        if has_list and not self.has_planned:
            self.has_planned = True
            return Step("plan", tuple(left))
        if self._unticked and has_list and self._chance.random() < self.rates.tick:
            ticked, self._unticked = tuple(self._unticked), []
            return Step("tick", ticked)
        if self._since_test >= 4 or (not left and self._since_test):
            self._since_test = 0
            return Step("test")
        if not left:
            if self._unticked and has_list:
                ticked, self._unticked = tuple(self._unticked), []
                return Step("tick", ticked)
            done = sorted(step for step, status in belief.status.items() if status == "done")
            return Step("stop", tuple(done), "All done.")
        if self._chance.random() < self.rates.stop:
            return Step("stop", (), "That is enough for now.")
        if self._last and self._chance.random() < self.rates.loop:
            return Step("write", (self._last,))
        step = left[0]
        if self._chance.random() < self.rates.claim:
            self._unticked.append(step)
            return Step("pretend", (step,))
        self._last = step
        self._since_test += 1
        self._unticked.append(step)
        return Step("write", (step,))

    def is_broken(self) -> bool:
        return self._chance.random() < self.rates.slip

    def note(self, messages: Sequence[Message], passing: Sequence[Message]) -> Message | None:
        """Return its own words on what only the passing texts of a request say; None where it says nothing of them."""
        if not passing or self._chance.random() >= self.rates.note:
            return None
        before, now = read(messages).status, read([*messages, *passing]).status
        words = {"open": "still open", "done": "done", "dropped": "taken off"}
        rows = [f"{step}: {words[status]}" for step, status in now.items() if before.get(step) != status]
        return Message("assistant", "\n".join(["I see:", *rows])) if rows else None

    def rewrite(self, messages: Sequence[Message], ticked: Sequence[str]) -> dict[str, Status]:
        """Return the whole list as it has it in mind, with what it ticks off; what it drops it no longer knows.

        The first list is written from the request in view, and nothing is dropped.
        """
        known: dict[str, Status] = {**self.believe(messages).status, **dict.fromkeys(ticked, "done")}
        open_steps = [step for step, status in known.items() if status == "open"] if ticked else []
        dropped = [step for step in open_steps if self._chance.random() < self.rates.drop]
        self._forgotten |= dict.fromkeys(dropped, len(messages))
        return {step: status for step, status in known.items() if step not in dropped}
