"""The stop guard: a model that wants to stop with work open is asked once, and never in a circle."""

from __future__ import annotations

from msgspec.structs import replace

from punchlist.core.todo import Blocker, Status
from punchlist.guidance import words
from punchlist.guidance.budget import spend
from punchlist.guidance.injection import Injection
from punchlist.guidance.memory import Memory, fingerprint
from punchlist.guidance.question import asks
from punchlist.guidance.settings import Rules
from punchlist.guidance.situation import Outcome, Seen


def at_stop(memory: Memory, seen: Seen, rules: Rules, *, last_text: str, background: int) -> Outcome:
    """What to say to a model that wants to stop; nothing where it may."""
    if not rules.speaks or not seen.offered or seen.planning or background > 0 or memory.stops >= rules.stop_tries:
        return Outcome(memory)
    items = seen.items(unfinished=True)
    if not can_go_on(items) or asks(last_text):
        return Outcome(memory)
    mark = fingerprint(seen.todos, unfinished=True)
    if mark == memory.stopped_at:
        return Outcome(memory)
    attempt = memory.stops + 1
    memory = replace(memory, stops=attempt, stopped_at=mark)
    text = words.still_open(seen.tool, items, attempt=attempt, tries=rules.stop_tries, beyond=seen.beyond)
    told = f"The model was about to stop with {words.owed(items)} open and is asked to go on."
    return spend(memory, [Injection("stop", text, role=rules.rhythm.role, for_user=told)], rules)


def can_go_on(items: words.Shown) -> bool:
    """Whether any of these open items waits for nobody.

    One that only comes after others can be begun as soon as they are done; while one of the others is blocked, it
    waits too.
    """
    if any(item.blocker is None and item.status is not Status.BLOCKED for item, _ in items):
        return True
    waits = any(item.status is Status.BLOCKED or not _is_order(item.blocker) for item, _ in items)
    return bool(items) and not waits


def _is_order(blocker: Blocker | None) -> bool:
    return blocker is not None and blocker.is_order


def person_spoke(memory: Memory) -> Memory:
    """A new prompt: what is counted by the prompt begins anew."""
    return replace(memory, prompt_reminders=0, stops=0, stopped_at=0, rounds=0, hinted=False)
