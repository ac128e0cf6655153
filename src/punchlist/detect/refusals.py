"""Our own verdicts, given back as what a call came to: a host refused the call, and it did not run.

A host hands such a verdict on in the form of its tools: as a bare sentence, an error, an object with the text in it or
the original's `details`, blocks of content, or one of those as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, cast

from punchlist.detect.stable_json import fields

_LOOP: Final = re.compile(
    r"CRITICAL: (?:attempted unavailable tool |Called .{1,400} with identical arguments and |"
    r"You are alternating between repeated tool-call patterns|"
    r".{1,400} has repeated identical no-progress outcomes |tool .{1,400} repeated \d+ times with identical)|"
    r"\d+ calls in a row failed, whatever the tool\."
)
_GUARDRAIL: Final = re.compile(
    r"(?:with the same arguments it failed|it gave the same answer|this turn has (?:made|started)) \d"
)
"""Beginnings of critical verdicts; those of the guardrail behind the name of the tool."""

_NOT_RUN: Final = " was not run: "
_HALTED: Final = " times in this turn, so the turn stops here."
_LONGEST: Final = 600
"""Characters within which a verdict has said what it is."""

_ERROR: Final = "Error: "
"""Words that hosts put in front."""

_SIGNS: Final = ("CRITICAL: ", "tool-loop", "guardrail", " calls in a row failed", _NOT_RUN, _HALTED)
"""One of these is in every refusal that is written as JSON."""

_OPENINGS: Final = frozenset("C{[")
_PLACES: Final = ("text", "error", "message", "reason", "content", "output", "result")
_MOST: Final = 65_536
"""Characters of JSON that are read; a refusal is short."""

_BLOCKS: Final = 8
_DEEPEST: Final = 6


def may_refuse(result: str) -> bool:
    """True if a text begins like a verdict on a loop, or like JSON. Most results do neither."""
    return result[:1] in _OPENINGS


def may_be_refusal(given: Mapping[str, Any], text: str) -> bool:
    """True if an object with that text in its content may be a verdict."""
    details = given.get("details")
    return may_refuse(text) or "error" in given or "guardrail" in given or "deniedReason" in fields(details)


def is_refusal(result: object) -> bool:
    """True if a result is a verdict of ours, in whatever form. Never raises."""
    try:
        return _refuses(result, _DEEPEST)
    except Exception:  # an object that cannot be read is no verdict
        return False


def _refuses(result: object, depth: int) -> bool:
    if isinstance(result, str):
        return _says(result, depth)
    if depth <= 0 or result is None:
        return False
    if isinstance(result, Mapping):
        return _is_object(fields(cast("object", result)), depth - 1)
    if isinstance(result, list | tuple):
        return any(_refuses(block, depth - 1) for block in islice(cast("list[Any]", result), _BLOCKS))
    return isinstance(result, BaseException) and _says(str(result), depth)


def _says(text: str, depth: int) -> bool:
    opening = text[:_BLOCKS].lstrip()[:1]
    if opening not in ("{", "["):
        return _is_verdict(text.removeprefix(_ERROR)[:_LONGEST])
    if depth <= 0 or len(text) > _MOST or not any(sign in text for sign in _SIGNS):
        return False
    try:
        return _refuses(json.loads(text), depth - 1)
    except (ValueError, RecursionError):
        return False


def _is_verdict(text: str) -> bool:
    if _LOOP.match(text) is not None or _HALTED in text:
        return True
    name, found, rest = text.partition(_NOT_RUN)
    return bool(found and name) and _GUARDRAIL.match(rest) is not None


def _is_object(given: Mapping[str, Any], depth: int) -> bool:
    """OpenClaw's and Hermes' own objects, or one with a verdict where objects have their text."""
    details, guardrail = fields(given.get("details")), fields(given.get("guardrail"))
    if details.get("status") == "blocked" and details.get("deniedReason") == "tool-loop":
        return True
    if guardrail.get("action") in ("block", "halt"):
        return True
    return any(_refuses(given[place], depth) for place in _PLACES if place in given)
