"""What is said after an assistant message: a pure step from what is remembered to what is remembered next."""

from __future__ import annotations

from msgspec.structs import replace

from punchlist.core.todo import Status, TodoList
from punchlist.guidance import words
from punchlist.guidance.budget import spend
from punchlist.guidance.injection import Injection
from punchlist.guidance.memory import TOLD, Memory, fingerprint
from punchlist.guidance.settings import Rules
from punchlist.guidance.situation import Outcome, Seen, is_own
from punchlist.guidance.tools import changes as changes_something
from punchlist.text import for_terminal

CHECKED = frozenset({"verified", "confirmed"})
"""Grades of a completion that somebody or something has checked."""


def after_turn(memory: Memory, seen: Seen, rules: Rules) -> Outcome:
    """The decision after one assistant message. Its work does not grow with the conversation."""
    before, memory = memory, counted(memory, seen)
    if not rules.speaks or not seen.offered:
        return Outcome(_caught_up(memory, seen))
    if seen.planning:
        planned = memory.planned + 1 if memory.entered == seen.entered else 1
        memory = replace(memory, planned=planned, entered=seen.entered)
        every = rules.plan_notice_every
        if not every or not seen.notice or (planned - 1) % every:
            return Outcome(memory)
        return spend(memory, [Injection("plan_mode", seen.notice, role=rules.rhythm.role)], rules)
    if memory.planned:
        memory = replace(memory, planned=0)
    with_tools = bool(seen.tools) or before.others > 0
    said: list[Injection] = []
    memory, shows_list = _tell(memory, seen, rules, said)
    if not said or said[0].kind != "changed":
        memory = _remind(memory, seen, rules, said, with_tools=with_tools)
    return spend(memory, said, rules, shows_list=shows_list) if said else Outcome(memory)


def counted(memory: Memory, seen: Seen) -> Memory:
    """One turn more, and what happened in it."""
    tally, tools, turns = seen.tally, seen.tools, memory.turns + 1
    last_own = -1
    for place, name in enumerate(tools):
        if is_own(name, seen.writers or seen.own):
            last_own = place
    named = last_own >= 0
    moved = tally.writes != memory.writes if seen.writers else tally.calls != memory.calls
    used_before = moved and not memory.named  # our tool was called, by a message before this one
    changes = 0 if tally.writes != memory.writes else memory.changes
    if tools and not memory.reported:
        changes += sum(changes_something(name, None, seen.host) for name in tools[last_own + 1 :])
    return replace(
        memory,
        turns=turns,
        used=turns - 1 if named or used_before else memory.used,
        named=named,
        rounds=0 if named else (0 if used_before else memory.rounds) + (bool(tools) or memory.others > 0),
        changes=changes,
        others=0,
        calls=tally.calls,
        writes=tally.writes,
        turn_characters=0,
        turn_injections=0,
    )


def _caught_up(memory: Memory, seen: Seen) -> Memory:
    """What nobody was told now is not told later either."""
    tally = seen.tally
    return replace(
        memory,
        failures=tally.failures,
        noted=tally.noted,
        batch=tally.batch_write,
        revision=seen.todos.revision,
        planned=memory.planned + 1 if seen.planning else 0,
        finding="",
    )


def _tell(memory: Memory, seen: Seen, rules: Rules, said: list[Injection]) -> tuple[Memory, bool]:
    """Facts that the model does not know yet; whether they include its whole list."""
    tally, todos, role = seen.tally, seen.todos, rules.rhythm.role
    shows_list = False
    if seen.shown is not None and todos.revision != memory.revision:
        memory = replace(memory, revision=todos.revision)
        if rules.tell_changes:
            items = seen.items()
            now = {item.id for item in todos.items}
            removed = any(item.id not in now for item in seen.shown)
            text = words.changed(items, removed=removed)
            said.append(Injection("changed", text, role=role, for_user="The model is told that the list was changed."))
            shows_list = words.covers(items)
    if tally.failures != memory.failures:
        memory = replace(memory, failures=tally.failures)
        if rules.tell_failures and tally.failure:
            warning = for_terminal(f"Todo update failed: {tally.failure}")
            said.append(Injection("failed", words.failed(seen.tool, tally.failure), role=role, for_user=warning))
    if tally.noted != memory.noted:
        memory = replace(memory, noted=tally.noted)
        if rules.tell_problems and tally.notes:
            said.append(Injection("problems", words.noted(seen.tool, tally.notes), role=role))
    if memory.finding:
        said.append(Injection("finding", words.found(memory.finding), role=role))
        memory = replace(memory, finding="")
    return memory, shows_list


def _remind(memory: Memory, seen: Seen, rules: Rules, said: list[Injection], *, with_tools: bool) -> Memory:
    """At most one reminder: of a check, by the rhythm of the original, or of drift."""
    role, tally = rules.rhythm.role, seen.tally
    if tally.batch_write != memory.batch:
        memory = replace(memory, batch=tally.batch_write)
        if 0 < rules.verify_after <= tally.batch and not check_seen(seen.todos) and _may_remind(memory, rules):
            said.append(Injection("verify", words.unchecked(tally.batch), role=role))
            return _reminded(memory)
    rhythm = rules.rhythm
    if rhythm.hint != "never" and not memory.hinted and (rhythm.hint == "prompt" or memory.turns == 1):
        memory = replace(memory, hinted=True)
        if not seen.todos.items and not memory.named and not (rhythm.hint == "first" and tally.calls):
            said.append(Injection("hint", words.empty(seen.tool), place=rhythm.place, role=role))
            return memory
    if rhythm.after is not None and _may_remind(memory, rules):
        text = _by_rhythm(memory, seen, rules, with_tools=with_tools)
        if text:
            said.append(Injection("reminder", text, place=rhythm.place, role=role))
            return replace(_reminded(memory), rounds=0 if rhythm.restarts else memory.rounds)
    drifted = 0 < rules.drift_after <= memory.changes and memory.drifted != memory.writes
    if drifted and not memory.named and _may_remind(memory, rules):  # who names our tool may be about to write
        busy = [(item, status) for item, status in seen.items() if item.status is Status.IN_PROGRESS]
        state = fingerprint(seen.todos) if busy else 0
        if busy and state not in memory.told:
            said.append(Injection("reminder", words.drifted(seen.tool, memory.changes, busy, seen.beyond), role=role))
            return replace(_reminded(memory), told=(*memory.told, state)[-TOLD:], drifted=memory.writes)
    return memory


def _by_rhythm(memory: Memory, seen: Seen, rules: Rules, *, with_tools: bool) -> str:
    """The text that the rhythm wants now, or nothing."""
    rhythm, turns = rules.rhythm, memory.turns
    by_turns = rhythm.counts == "turns"
    since = turns - memory.used if by_turns else memory.rounds
    if rhythm.after is None or since < rhythm.after or turns - memory.reminded < rhythm.again:
        return ""
    if not by_turns and not with_tools:
        return ""
    limit = words.ROOM if rhythm.limit is None else rhythm.limit
    if rhythm.lists == "none":
        return words.update(seen.tool, limit=limit)
    items = seen.items(unfinished=rhythm.lists == "open")
    if not items:
        return words.empty(seen.tool, limit=limit) if rhythm.when_empty else ""
    if rhythm.lists == "open" or not rhythm.after:
        return words.current(items, unfinished=rhythm.lists == "open", limit=limit)
    return words.unused(seen.tool, since, items, limit=limit)


def check_seen(todos: TodoList) -> bool:
    """Whether something on the list was seen to be checked. Grades say so, once there are any."""
    return any(item.grade in CHECKED for item in todos.items)


def _may_remind(memory: Memory, rules: Rules) -> bool:
    in_prompt = memory.prompt_reminders < rules.reminders_per_prompt
    return in_prompt and memory.session_reminders < rules.reminders_per_session


def _reminded(memory: Memory) -> Memory:
    return replace(
        memory,
        reminded=memory.turns,
        prompt_reminders=memory.prompt_reminders + 1,
        session_reminders=memory.session_reminders + 1,
    )
