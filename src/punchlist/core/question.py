"""Define questions that an item asks of a person, and their answers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from punchlist.text import clean

ANYBODY = "a person"
"""The person that an item waits on when none is named."""

LONGEST = 10_000
"""Characters of a question, and of an answer."""


class Question(Struct, frozen=True, kw_only=True):
    """A question. `item` and `plan_id` name the item; `content` is its text when it asked; `of` is the person asked.

    `begun` says that the item was in progress when it asked.
    """

    item: str
    plan_id: str
    content: str
    question: str
    of: str = ANYBODY
    asked_at: datetime | None = None
    asked_by: str = ""
    answer: str | None = None
    answered_at: datetime | None = None
    answered_by: str | None = None
    begun: bool = False


def clean_answer(text: str) -> str:
    """Return a question or an answer, cleaned and cut; empty if nothing of it can be read."""
    cleaned = clean(text).text.strip()
    return cleaned if len(cleaned) <= LONGEST else f"{cleaned[: LONGEST - 1]}…"


def describe_answers(answered: Iterable[Question]) -> list[str]:
    """Return two rows per answer for a model; what follows `answered:` are the words of the person."""
    rows: list[str] = []
    for one in answered:
        rows.append(f"You asked about '{one.content}': {one.question}")
        rows.append(f"{one.answered_by} answered: {one.answer}")
    return rows
