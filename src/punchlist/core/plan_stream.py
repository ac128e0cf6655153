"""A plan while its turn streams in: which text a person sees, and when the plan begins, grows and is complete.

A turn has one plan item, however many blocks its messages hold; what counts in the end is the text of the whole
message, not the sum of the pieces.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from punchlist.core.plan import ProposedPlanParser, Segment, extract, strip

StepKind = Literal["visible", "started", "delta", "completed", "dropped"]


class Step(NamedTuple):
    """`visible` text for the person; the plan `started`, a `delta` of it, or its whole text, `completed`.

    `dropped`: a plan started, and in the end the message has none.
    """

    kind: StepKind
    text: str = ""


class PlanStream:
    """The state of one turn. Feed it each piece of an assistant's message, then the whole message."""

    def __init__(self, turn: str) -> None:
        self.turn = turn
        self.item = f"{turn}-plan"
        self.started = False
        self.completed = False
        self.fed = False
        self._parser = ProposedPlanParser()
        self._blanks: str | None = ""

    def push(self, text: str) -> list[Step]:
        """What a piece of the message brings. Blanks before the first visible text are held back."""
        self.fed = True
        return self._steps(self._parser.push(text))

    def message(self, text: str) -> list[Step]:
        """What the end of a message brings: all of it was `text`. The next message of the turn begins afresh.

        Of a message that did not come in pieces, all that is to be seen comes now.
        """
        if self.fed:
            steps = self._steps(self._parser.finish())
        else:
            steps = [step for step in self._visible(strip(text)) if step.text]
        self._parser, self._blanks, self.fed = ProposedPlanParser(), "", False
        plan = None if self.completed else extract(text)
        if plan is not None:
            steps += [] if self.started else [Step("started")]
            steps.append(Step("completed", plan))
            self.started = self.completed = True
        elif self.started and not self.completed:
            steps.append(Step("dropped"))
            self.started = False
        return steps

    def _steps(self, segments: list[Segment]) -> list[Step]:
        steps: list[Step] = []
        for kind, text in segments:
            if kind == "normal":
                steps += self._visible(text)
            elif kind in ("start", "delta") and not self.completed:
                if not self.started:
                    self.started = True
                    steps.append(Step("started"))
                if text:
                    steps.append(Step("delta", text))
        return steps

    def _visible(self, text: str) -> list[Step]:
        if self._blanks is not None:
            self._blanks += text
            if not self._blanks.strip():
                return []
            text, self._blanks = self._blanks, None
        return [Step("visible", text)]
