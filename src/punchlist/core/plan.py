"""Parse `<proposed_plan>` blocks out of a model's text while it streams in, split anywhere.

A tag counts only alone on its line, with whitespace around it at most. Any other tag is plain text.
Citations are taken out of the text before tags are looked for.
"""

from itertools import groupby
from typing import Literal, NamedTuple

OPEN = "<proposed_plan>"
CLOSE = "</proposed_plan>"
_CITATION = ("<oai-mem-citation>", "</oai-mem-citation>")
# What the original, in Rust, takes for a blank: Python's own idea has four control characters more.
_BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

_LONGEST_TAG = 1_000
"""Characters of a line that may be a tag: with more blanks around it a tag is text."""

Kind = Literal["normal", "start", "delta", "end"]


class Segment(NamedTuple):
    """A piece of the stream: visible text, the start of a plan, text of the plan, or its end."""

    kind: Kind
    text: str = ""


def _join(segments: list[Segment]) -> list[Segment]:
    """Put text of one kind in a row together."""
    groups = [list(group) for _, group in groupby(segments, key=lambda segment: segment.kind)]
    return [Segment(group[0].kind, "".join(segment.text for segment in group)) for group in groups]


class _Citations:
    """Remove citations from a stream. One that is never closed ends with the text."""

    def __init__(self) -> None:
        self._inside = False
        self._held = ""

    def push(self, text: str) -> str:
        """Return the text without citations; hold back the end that may still become a tag."""
        text, at, visible = self._held + text, 0, list[str]()
        while (found := text.find(tag := _CITATION[self._inside], at)) >= 0:
            if not self._inside:
                visible.append(text[at:found])
            at, self._inside = found + len(tag), not self._inside
        longest = min(len(tag) - 1, len(text) - at)
        held = next((size for size in range(longest, 0, -1) if text.endswith(tag[:size])), 0)
        if not self._inside:
            visible.append(text[at : len(text) - held])
        self._held = text[len(text) - held :]
        return "".join(visible)

    def finish(self) -> str:
        left = "" if self._inside else self._held
        self._inside, self._held = False, ""
        return left


class ProposedPlanParser:
    """Parse text that comes in pieces. The concatenated `normal` segments are what a person is to see."""

    def __init__(self) -> None:
        self._inside = False
        self._held = ""  # the beginning of a line that may still be a tag
        self._is_text = False  # the line has begun as text
        self._citations = _Citations()

    def push(self, text: str) -> list[Segment]:
        segments = list[Segment]()
        self._read(self._citations.push(text), segments)
        return _join(segments)

    def finish(self) -> list[Segment]:
        """Return the rest: an unfinished line is still tested for a tag, an open block is closed."""
        segments = list[Segment]()
        self._read(self._citations.finish(), segments)
        if self._held:
            self._end_line(self._held, segments)
        if self._inside:
            segments.append(Segment("end"))
        self._inside, self._held, self._is_text = False, "", False
        return _join(segments)

    def _read(self, text: str, segments: list[Segment]) -> None:
        *lines, rest = (self._held + text).split("\n")
        self._held = ""
        for line in lines:
            self._end_line(f"{line}\n", segments)
        word = rest.strip(_BLANKS)
        may_be_tag = len(rest) < _LONGEST_TAG and (OPEN.startswith(word) or CLOSE.startswith(word))
        if may_be_tag and not self._is_text:
            self._held = rest
        elif rest:
            self._is_text = True
            self._say(rest, segments)

    def _end_line(self, line: str, segments: list[Segment]) -> None:
        tag = "" if self._is_text or len(line) > _LONGEST_TAG else line.strip(_BLANKS)
        self._is_text = False
        if tag == OPEN and not self._inside:
            self._inside = True
            segments.append(Segment("start"))
        elif tag == CLOSE and self._inside:
            self._inside = False
            segments.append(Segment("end"))
        else:
            self._say(line, segments)

    def _say(self, text: str, segments: list[Segment]) -> None:
        segments.append(Segment("delta" if self._inside else "normal", text))


def _parse_whole(text: str) -> list[Segment]:
    parser = ProposedPlanParser()
    return [*parser.push(text), *parser.finish()]


def extract(text: str) -> str | None:
    """Return the last plan in a text, or None."""
    plan: list[str] | None = None
    for segment in _parse_whole(text):
        if segment.kind == "start":
            plan = []
        elif segment.kind == "delta" and plan is not None:
            plan.append(segment.text)
    return None if plan is None else "".join(plan)


def strip(text: str) -> str:
    return "".join(segment.text for segment in _parse_whole(text) if segment.kind == "normal")


# A plan while its turn streams in. A turn has one plan item, however many blocks its messages hold; what counts in
# the end is the text of the whole message, not the sum of the pieces.

StepKind = Literal["visible", "started", "delta", "completed", "dropped"]


class PlanStreamStep(NamedTuple):
    """A step of a turn: `visible` text; a plan `started`, a `delta`, `completed` with its text, or `dropped`."""

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

    def push(self, text: str) -> list[PlanStreamStep]:
        """Add a piece of the message and return its steps. Whitespace before the first visible text is held back."""
        self.fed = True
        return self._steps(self._parser.push(text))

    def message(self, text: str) -> list[PlanStreamStep]:
        """End a message, whose whole text is given, and return its steps. The next message of the turn begins afresh.

        A message that did not come in pieces is shown now.
        """
        if self.fed:
            steps = self._steps(self._parser.finish())
        else:
            steps = [step for step in self._visible(strip(text)) if step.text]
        self._parser, self._blanks, self.fed = ProposedPlanParser(), "", False
        plan = None if self.completed else extract(text)
        if plan is not None:
            steps += [] if self.started else [PlanStreamStep("started")]
            steps.append(PlanStreamStep("completed", plan))
            self.started = self.completed = True
        elif self.started and not self.completed:
            steps.append(PlanStreamStep("dropped"))
            self.started = False
        return steps

    def _steps(self, segments: list[Segment]) -> list[PlanStreamStep]:
        steps: list[PlanStreamStep] = []
        for kind, text in segments:
            if kind == "normal":
                steps += self._visible(text)
            elif kind in ("start", "delta") and not self.completed:
                if not self.started:
                    self.started = True
                    steps.append(PlanStreamStep("started"))
                if text:
                    steps.append(PlanStreamStep("delta", text))
        return steps

    def _visible(self, text: str) -> list[PlanStreamStep]:
        if self._blanks is not None:
            self._blanks += text
            if not self._blanks.strip():
                return []
            text, self._blanks = self._blanks, None
        return [PlanStreamStep("visible", text)]
