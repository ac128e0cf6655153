"""What can be said about a flow: checked, cleaned, and as values of core."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Any, Final, TypedDict, TypeVar
from uuid import UUID

from punchlist.core.commands import Cleaner
from punchlist.core.flow import FlowStatus, WaitCondition, parse_condition
from punchlist.errors import InvalidInput
from punchlist.tasks.fields import plain

LONGEST: Final = 100_000
EMPTY: Final = MappingProxyType[str, Any]({})
"""The state of a flow of which nothing is said."""

T = TypeVar("T", bound=str)


class NewFlow(TypedDict, total=False):
    """What a new flow may be given besides its controller and its goal.

    `after`: ids of flows that have to be finished before it begins. `id`: a UUID; the same again makes no second flow.
    `owner_session_key` is by default that of the agent in whose name it is made (`agent:NAME:session:ID`), and
    `requester_origin` its session. `current_step` is `init`, `state` an empty object.
    """

    owner_session_key: str | None
    requester_origin: str | None
    current_step: str
    state: Any
    after: Iterable[str]
    id: str | None


def text_of(what: str, value: Any, cleaner: Cleaner, *, blank: bool = False) -> str:
    if not isinstance(value, str):
        raise InvalidInput(problem=f"The `{what}` of a flow is a text.")
    if len(value) > LONGEST:
        raise InvalidInput(problem=f"The `{what}` has {len(value)} characters; at most {LONGEST} fit. Shorten it.")
    cleaned = cleaner.text(value).strip()
    if not cleaned and not blank:
        raise InvalidInput(problem=f"A flow needs a `{what}` that is not empty.")
    return cleaned


def id_of(value: Any) -> str:
    """A UUID in its usual spelling."""
    try:
        return str(UUID(value))
    except (ValueError, TypeError, AttributeError) as error:
        raise InvalidInput(problem=f"`{str(value)[:80]}` cannot name a flow: its id is a UUID.") from error


def state_of(value: Any) -> Any:
    """A state as JSON, up to a million bytes of it."""
    return {} if value is EMPTY else plain("state", value)


def wait_of(value: Any) -> Any:
    """A wait as JSON: that of a condition, or whatever a controller has of its own."""
    if isinstance(value, WaitCondition):
        return value.json
    kept = plain("wait", value)
    found = parse_condition(kept)
    return kept if found is None else found.json


def status_of(word: Any) -> FlowStatus:
    return word_of("status", word, tuple(FlowStatus))


def word_of(what: str, value: Any, known: tuple[T, ...]) -> T:
    for each in known:
        if value == each:
            return each
    raise InvalidInput(problem=f"There is no {what} `{str(value)[:80]}`; known are: {', '.join(known)}.")
