"""Count rounds without progress by Magentic-One's rule: a bad round adds one, a good round subtracts one.

The host decides what a round is: a turn of the agent, a task handed to a worker. When the count reaches its limit, the
plan is due for review, and counting starts again.
"""

from collections.abc import Collection

from msgspec import Struct

from punchlist.core.inputs import Count, CountOrOff, parse_options
from punchlist.core.todo import TodoList
from punchlist.detect.findings import Finding

_MOST_ITEMS = 512
_ON = frozenset({"in_progress", "completed", "cancelled"})


class RoundOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`max_stalls` as in the original. `max_rounds` ends it all; 0 for no end."""

    max_stalls: Count = 3
    max_rounds: CountOrOff = 0


DEFAULT = RoundOptions()


class RoundState(Struct, frozen=True):
    """`stalls` is the count now, `rounds` how many there were."""

    stalls: int = 0
    rounds: int = 0


def round_options(given: object) -> RoundOptions:
    return parse_options(RoundOptions, given, "rounds")


def places(todos: TodoList) -> tuple[str, ...]:
    """Return the status of each item of a list, in a form that `has_moved` compares."""
    return tuple(f"{todos.plan_id}/{item.id}:{item.status}" for item in todos.items[:_MOST_ITEMS])


def has_moved(before: Collection[str], now: Collection[str]) -> bool:
    """True if an item was started, finished, given up or unblocked between these two, or a new list was begun."""
    known = set(before)
    for place in now:
        if place not in known:
            name, _, status = place.rpartition(":")
            if status in _ON or (status != "blocked" and f"{name}:blocked" in known):
                return True
    return False


def count_round(
    state: RoundState, *, progress: bool, looping: bool = False, options: RoundOptions = DEFAULT
) -> tuple[RoundState, Finding | None]:
    """End a round; return the state after it, and the finding if a limit is reached.

    A round that made progress but `looping` over it counts as a bad one.
    """
    good = progress and not looping
    rounds = state.rounds + 1
    stalls = max(0, state.stalls - 1) if good else state.stalls + 1
    if options.max_rounds and rounds >= options.max_rounds:
        said = f"{rounds} rounds are over, as many as there may be."
        return RoundState(stalls, rounds), Finding("rounds_over", "critical", said, rounds)
    if stalls < options.max_stalls:
        return RoundState(stalls, rounds), None
    said = f"{stalls} rounds more brought nothing than brought something: the plan needs another look."
    return RoundState(0, rounds), Finding("stalled_rounds", "warning", said, stalls)
