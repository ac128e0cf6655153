"""A question that an item asks of a person, and the answer to it."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from punchlist.text import clean, fence

ANYBODY = "a person"
"""Whom an item waits on when nobody is named."""

LONGEST = 10_000
"""Characters of a question, and of an answer."""


class Question(Struct, frozen=True, kw_only=True):
    """`item` and `plan_id` name the item on its list; `content` is its text when it asked. `of`: whom it asks.

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
    """A question or an answer as it is kept; empty if nothing of it can be read."""
    cleaned = clean(text).text.strip()
    return cleaned if len(cleaned) <= LONGEST else f"{cleaned[: LONGEST - 1]}…"


def render_answers(answered: list[Question]) -> str | None:
    """What a model is told about its answers: fenced, two rows an answer, the words of the person marked as theirs."""
    if not answered:
        return None
    rows: list[str] = []
    for one in answered:
        rows.append(f"Item {one.item} ({one.content}) asked: {one.question}")
        rows.append(f"{one.answered_by} answered: {one.answer}")
    note = "Answers to what was asked. What follows `answered:` are the words of the person named before it."
    return fence(rows, note=note)
