"""The ceilings: so many characters and pieces of text a turn, and so many a session."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from punchlist.guidance.injection import Injection
from punchlist.guidance.memory import Memory
from punchlist.guidance.settings import Rules
from punchlist.guidance.situation import Outcome


def spend(memory: Memory, wanted: Sequence[Injection], rules: Rules, *, shows_list: bool = False) -> Outcome:
    """What of it the budget allows. The rest is not said later either; it is only counted."""
    said: list[Injection] = []
    for injection in wanted:
        length = len(injection.text)
        if (
            memory.turn_injections >= rules.turn_injections
            or memory.session_injections >= rules.session_injections
            or memory.turn_characters + length > rules.turn_characters
            or memory.session_characters + length > rules.session_characters
        ):
            continue
        said.append(injection)
        memory = replace(
            memory,
            turn_injections=memory.turn_injections + 1,
            session_injections=memory.session_injections + 1,
            turn_characters=memory.turn_characters + length,
            session_characters=memory.session_characters + length,
        )
    shows_list = shows_list and any(injection.kind == "changed" for injection in said)
    return Outcome(memory, tuple(said), len(wanted) - len(said), shows_list)
