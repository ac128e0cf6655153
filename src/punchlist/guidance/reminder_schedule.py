"""When the originals speak of a list, and what they show of it, as a table of values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from punchlist.guidance.words import Place, Role


class Rhythm(Struct, frozen=True, kw_only=True):
    """When to remind.

    Due `after` so many turns since the tool was used, and `again` so many since the last reminder; None is never. A
    turn is an assistant message; with `counts` of `rounds` only those with tools count. `lists` says which items are
    shown; `when_empty` whether an empty list is a reason too. `restarts`: a reminder counts as a look at the list.
    `hint`: the tool is mentioned at the first turn, or at the first of each prompt, while the list is empty.
    `limit` is in characters, fence included. The rest are moments beside the reminder: `changed` when somebody else
    changed the list, `failed` after a write that failed, `stops` how often at most when the model wants to stop,
    `verify` how many items completed at once ask for a check, `finds` whether what detectors see is told.
    `main_only`: an agent that another one started hears none of it.
    """

    after: int | None = None
    again: int = 1
    counts: Literal["turns", "rounds"] = "turns"
    lists: Literal["all", "open", "none"] = "all"
    when_empty: bool = False
    restarts: bool = False
    hint: Literal["never", "first", "prompt"] = "never"
    place: Place = "tail"
    role: Role = "user"
    limit: int | None = None
    changed: bool = False
    failed: bool = False
    stops: int = 0
    verify: int = 0
    finds: bool = False
    main_only: bool = False


NEVER = Rhythm()
_CLAUDE = Rhythm(after=7, again=3, when_empty=True, changed=True, verify=3)
_EVERY_TURN = Rhythm(after=0)

RHYTHMS: Mapping[str, Rhythm] = {
    "none": NEVER,
    "claude-code": _CLAUDE,
    "claude-tasks": replace(_CLAUDE, after=10, again=10, changed=False, verify=0),
    "claude-code-10": replace(_CLAUDE, after=10, again=10),
    "gencode": Rhythm(after=10, again=10, lists="none", when_empty=True, hint="first"),
    "learn-claude-code": Rhythm(after=3, counts="rounds", lists="none", when_empty=True, place="before_results"),
    "oh-my-pi": Rhythm(role="developer", changed=True, failed=True, stops=3),
    "qwen": Rhythm(after=3, counts="rounds", lists="open", restarts=True, limit=800),
    "roo": replace(_EVERY_TURN, when_empty=True),
    "goose": replace(_EVERY_TURN, when_empty=True),
    "copilot": _EVERY_TURN,
    "openclaw": Rhythm(finds=True),
    "hermes": Rhythm(finds=True),
    "crush": Rhythm(hint="prompt", main_only=True),
}
"""By dialect, or by the name of a variant. A dialect that is not here has an original that says nothing."""


def rhythm_of(dialect: str) -> Rhythm:
    """The rhythm of a dialect's original."""
    return RHYTHMS.get(dialect, NEVER)
