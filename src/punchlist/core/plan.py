"""Proposed plans in a model's text: `<proposed_plan>` blocks, found while the text streams in, split anywhere.

A tag counts only alone on its line, blanks around it allowed. A tag in the wrong place is text of where it stands.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

OPEN = "<proposed_plan>"
CLOSE = "</proposed_plan>"
_CITATION = re.compile(r"<oai-mem-citation>.*?(?:</oai-mem-citation>|\Z)", re.DOTALL)

Kind = Literal["normal", "start", "delta", "end"]


class Segment(NamedTuple):
    """A piece of the stream: visible text, the start of a plan, text of the plan, or its end."""

    kind: Kind
    text: str = ""


class _Line:
    """A line that is held back while it may still be a tag. Work is in the new piece only."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.word = ""
        self.may_be_tag = True
        self._blank_behind = False

    def add(self, piece: str) -> None:
        self.pieces.append(piece)
        word = piece.strip()
        if word:
            apart = self._blank_behind or (self.word and piece[0].isspace())
            self.word += word
            self.may_be_tag = not apart and (OPEN.startswith(self.word) or CLOSE.startswith(self.word))
        self._blank_behind = bool(self.word) and piece[-1:].isspace()


class ProposedPlanParser:
    """Takes text in pieces. The concatenated `normal` segments are what a person is to see."""

    def __init__(self) -> None:
        self._inside = False
        self._line = _Line()

    def push(self, text: str) -> list[Segment]:
        segments: list[Segment] = []
        for piece in _lines(text):
            self._take(piece, segments)
        return segments

    def finish(self) -> list[Segment]:
        """What is left: an unfinished line is still tested for a tag, an open block is closed."""
        segments: list[Segment] = []
        if self._line.pieces:
            self._end_line(segments)
        if self._inside:
            segments.append(Segment("end"))
        self._inside, self._line = False, _Line()
        return segments

    def _take(self, piece: str, segments: list[Segment]) -> None:
        """A piece of one line; its newline, if that is in it, is at the end."""
        line = self._line
        if line.may_be_tag:
            line.add(piece)
            if piece.endswith("\n"):
                self._end_line(segments)
            elif not line.may_be_tag:
                self._say("".join(line.pieces), segments)
                line.pieces.clear()
        else:
            self._say(piece, segments)
        if piece.endswith("\n"):
            self._line = _Line()

    def _end_line(self, segments: list[Segment]) -> None:
        tag = self._line.word if self._line.may_be_tag else ""
        if tag == OPEN and not self._inside:
            self._inside = True
            segments.append(Segment("start"))
        elif tag == CLOSE and self._inside:
            self._inside = False
            segments.append(Segment("end"))
        else:
            self._say("".join(self._line.pieces), segments)

    def _say(self, text: str, segments: list[Segment]) -> None:
        kind: Kind = "delta" if self._inside else "normal"
        if segments and segments[-1].kind == kind:
            segments[-1] = Segment(kind, segments[-1].text + text)
        else:
            segments.append(Segment(kind, text))


def _lines(text: str) -> list[str]:
    pieces = text.split("\n")
    return [*(f"{piece}\n" for piece in pieces[:-1]), *([pieces[-1]] if pieces[-1] else [])]


def _segments(text: str) -> list[Segment]:
    parser = ProposedPlanParser()
    return [*parser.push(_CITATION.sub("", text)), *parser.finish()]


def extract(text: str) -> str | None:
    """The text of the last plan in it, or None."""
    plan: str | None = None
    for segment in _segments(text):
        if segment.kind == "start":
            plan = ""
        elif segment.kind == "delta":
            plan = (plan or "") + segment.text
    return plan


def strip(text: str) -> str:
    """The text without its plans."""
    return "".join(segment.text for segment in _segments(text) if segment.kind == "normal")
