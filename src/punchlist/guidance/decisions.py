"""Decide what to say to a model, after an assistant message and when it is about to stop.

Pure steps: what is remembered and what is seen go in, what to remember and what to say come out. Their work does not
grow with the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple
from unicodedata import category
from unicodedata import name as character_name

import msgspec
from msgspec.structs import replace

from punchlist.core.commands import Policy
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.dialects.base import shown_items
from punchlist.guidance import words
from punchlist.guidance.ledger import CallCounts
from punchlist.guidance.memory import TOLD, Memory, fingerprint
from punchlist.guidance.settings import Rules
from punchlist.guidance.tools import NONE, OwnTools, is_own
from punchlist.guidance.tools import changes as changes_something
from punchlist.guidance.words import Injection
from punchlist.text import for_terminal


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """The situation that a decision is made from."""

    todos: TodoList
    """The agent's list, followed by its tasks."""
    tally: CallCounts
    policy: Policy
    tool: str
    """The tool that the texts name."""
    own: frozenset[str]
    """Names of all our tools."""
    writers: frozenset[str] = frozenset()
    """Those of them whose use counts; empty if all do."""
    shown: tuple[TodoItem, ...] | None = None
    """Items that the model knows, where others changed the list since; else None."""
    planning: bool = False
    """Plan mode is on."""
    offered: bool = True
    tools: Sequence[str] = ()
    """Tools that the message used."""
    notice: str = ""
    """Text for plan mode."""
    entered: str = ""
    """Identifies the present stay in plan mode."""
    host: OwnTools = NONE
    """Tools as the host declares them."""
    beyond: words.Beyond = words.NOTHING_BEYOND
    """Items that none of this agent's tools of ours can report."""

    def items(self, *, unfinished: bool = False) -> words.Shown:
        """Return the items that the dialect shows, each with the status that it shows."""
        found = shown_items(self.todos, self.policy)
        return [(item, status) for item, status in found if item.is_open] if unfinished else found


class TurnDecision(NamedTuple):
    """A decision: the memory to store and the texts to inject."""

    memory: Memory
    said: tuple[Injection, ...] = ()
    withheld: int = 0
    """Texts that the budget kept back."""
    shows_list: bool = False
    """The model now sees its whole list."""


CHECKED = frozenset({"verified", "confirmed"})
"""Grades of a completion that a person or a check has confirmed."""


def decide_after_turn(memory: Memory, seen: Situation, rules: Rules) -> TurnDecision:
    """Decide what to say after one assistant message."""
    before, memory = memory, _count_turn(memory, seen)
    if not rules.speaks or not seen.offered:
        return TurnDecision(_catch_up(memory, seen))
    if seen.planning:
        planned = memory.planned + 1 if memory.entered == seen.entered else 1
        memory = replace(memory, planned=planned, entered=seen.entered)
        every = rules.plan_notice_every
        if not every or not seen.notice or (planned - 1) % every:
            return TurnDecision(memory)
        return spend(memory, [Injection("plan_mode", seen.notice, role=rules.schedule.role)], rules)
    if memory.planned:
        memory = replace(memory, planned=0)
    with_tools = bool(seen.tools) or before.others > 0
    said: list[Injection] = []
    memory, shows_list = _tell(memory, seen, rules, said)
    if not said or said[0].kind != "changed":
        memory = _remind(memory, seen, rules, said, with_tools=with_tools)
    return spend(memory, said, rules, shows_list=shows_list) if said else TurnDecision(memory)


def _count_turn(memory: Memory, seen: Situation) -> Memory:
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


def _catch_up(memory: Memory, seen: Situation) -> Memory:
    """Mark everything as told: what is not said now is not said later either."""
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


def _tell(memory: Memory, seen: Situation, rules: Rules, said: list[Injection]) -> tuple[Memory, bool]:
    """Append facts that the model does not know yet. Return the memory, and True if they show its whole list."""
    tally, todos, role = seen.tally, seen.todos, rules.schedule.role
    shows_list = False
    if seen.shown is not None and todos.revision != memory.revision:
        memory = replace(memory, revision=todos.revision)
        if rules.tell_changes:
            items = seen.items()
            now = {item.id for item in todos.items}
            removed = any(item.id not in now for item in seen.shown)
            text = words.tell_change(items, removed=removed)
            said.append(Injection("changed", text, role=role, for_user="The model is told that the list was changed."))
            shows_list = words.shows_all(items)
    if tally.failures != memory.failures:
        memory = replace(memory, failures=tally.failures)
        if rules.tell_failures and tally.failure:
            warning = for_terminal(f"Todo update failed: {tally.failure}")
            said.append(Injection("failed", words.tell_failure(seen.tool, tally.failure), role=role, for_user=warning))
    if tally.noted != memory.noted:
        memory = replace(memory, noted=tally.noted)
        if rules.tell_problems and tally.notes:
            said.append(Injection("problems", words.tell_notes(seen.tool, tally.notes), role=role))
    if memory.finding:
        said.append(Injection("finding", words.tell_findings(memory.finding), role=role))
        memory = replace(memory, finding="")
    return memory, shows_list


def _remind(memory: Memory, seen: Situation, rules: Rules, said: list[Injection], *, with_tools: bool) -> Memory:
    """Append at most one reminder: of a check, by the schedule of the original, or of drift."""
    role, tally = rules.schedule.role, seen.tally
    if tally.batch_write != memory.batch:
        memory = replace(memory, batch=tally.batch_write)
        has_check = any(item.grade in CHECKED for item in seen.todos.items)
        if 0 < rules.verify_after <= tally.batch and not has_check and _may_remind(memory, rules):
            said.append(Injection("verify", words.ask_for_check(tally.batch), role=role))
            return _count_reminder(memory)
    schedule = rules.schedule
    if schedule.hint != "never" and not memory.hinted and (schedule.hint == "prompt" or memory.turns == 1):
        memory = replace(memory, hinted=True)
        if not seen.todos.items and not memory.named and not (schedule.hint == "first" and tally.calls):
            said.append(Injection("hint", words.mention_tool(seen.tool), place=schedule.place, role=role))
            return memory
    if schedule.after is not None and _may_remind(memory, rules):
        text = _find_due_text(memory, seen, rules, with_tools=with_tools)
        if text:
            said.append(Injection("reminder", text, place=schedule.place, role=role))
            return replace(_count_reminder(memory), rounds=0 if schedule.restarts else memory.rounds)
    drifted = 0 < rules.drift_after <= memory.changes and memory.drifted != memory.writes
    if drifted and not memory.named and _may_remind(memory, rules):  # a model that names our tool may be about to write
        busy = [(item, status) for item, status in seen.items() if item.status is Status.IN_PROGRESS]
        state = fingerprint(seen.todos) if busy else 0
        if busy and state not in memory.told:
            said.append(
                Injection("reminder", words.remind_drift(seen.tool, memory.changes, busy, seen.beyond), role=role)
            )
            return replace(_count_reminder(memory), told=(*memory.told, state)[-TOLD:], drifted=memory.writes)
    return memory


def _find_due_text(memory: Memory, seen: Situation, rules: Rules, *, with_tools: bool) -> str:
    """Return the text that the schedule wants now, or an empty one."""
    schedule, turns = rules.schedule, memory.turns
    by_turns = schedule.counts == "turns"
    since = turns - memory.used if by_turns else memory.rounds
    if schedule.after is None or since < schedule.after or turns - memory.reminded < schedule.again:
        return ""
    if not by_turns and not with_tools:
        return ""
    limit = words.ROOM if schedule.limit is None else schedule.limit
    if schedule.lists == "none":
        return words.remind_update(seen.tool, limit=limit)
    items = seen.items(unfinished=schedule.lists == "open")
    if not items:
        return words.mention_tool(seen.tool, limit=limit) if schedule.when_empty else ""
    if schedule.lists == "open" or not schedule.after:
        return words.show_list(items, unfinished=schedule.lists == "open", limit=limit)
    return words.remind_unused(seen.tool, since, items, limit=limit)


def _may_remind(memory: Memory, rules: Rules) -> bool:
    in_prompt = memory.prompt_reminders < rules.reminders_per_prompt
    return in_prompt and memory.session_reminders < rules.reminders_per_session


def _count_reminder(memory: Memory) -> Memory:
    return replace(
        memory,
        reminded=memory.turns,
        prompt_reminders=memory.prompt_reminders + 1,
        session_reminders=memory.session_reminders + 1,
    )


def decide_at_stop(memory: Memory, seen: Situation, rules: Rules, *, last_text: str, background: int) -> TurnDecision:
    """Decide what to say to a model that is about to stop: nothing if it may, and never twice about one state."""
    if not rules.speaks or not seen.offered or seen.planning or background > 0 or memory.stops >= rules.stop_tries:
        return TurnDecision(memory)
    items = seen.items(unfinished=True)
    if not can_go_on(items) or is_question(last_text):
        return TurnDecision(memory)
    mark = fingerprint(seen.todos, unfinished=True)
    if mark == memory.stopped_at:
        return TurnDecision(memory)
    attempt = memory.stops + 1
    memory = replace(memory, stops=attempt, stopped_at=mark)
    text = words.ask_to_continue(seen.tool, items, attempt=attempt, tries=rules.stop_tries, beyond=seen.beyond)
    told = f"The model was about to stop with {words.count_owed(items)} open and is asked to go on."
    return spend(memory, [Injection("stop", text, role=rules.schedule.role, for_user=told)], rules)


def can_go_on(items: words.Shown) -> bool:
    """True if the model can work on one of these open items now.

    An item that only comes after others can be begun once they are done; while one of those is blocked, it waits too.
    """
    if any(item.blocker is None and item.status is not Status.BLOCKED for item, _ in items):
        return True
    return bool(items) and all(
        item.status is not Status.BLOCKED and item.blocker is not None and item.blocker.is_order for item, _ in items
    )


def start_prompt(memory: Memory) -> Memory:
    """Reset the counters of a prompt: the person has written a new one."""
    return replace(memory, prompt_reminders=0, stops=0, stopped_at=0, rounds=0, hinted=False)


_LAST: Final = 2_000
"""Characters from the end of a text that are read: a question that ends it is shorter."""

MARKS: Final = frozenset(
    "?\u061f\u1367\u1945\u2047\u2048\u2049\u203d\u2753\u2754\u2cfa\u2cfb\u2e18\u2e2e\u2e54\ua60f\ua6f7\ufe16\ufe56\uff1f"
    "\u037e\U00011143\U00016e9a"
)
"""Question marks: Latin, Arabic, Ethiopic, Limbu, doubled, interrobang, emoji, Old Nubian, reversed, Vai, Bamum, …"""

_ARMENIAN: Final = "\u055e"
_STOPS: Final = frozenset("!.…。．｡！‥:：,،;")
_MARKUP: Final = frozenset("*_~`|#>^+=-—")
_AFTERWARDS: Final = re.compile(r"(?:\([^()]{1,80}\)|\[[^\[\]]{1,80}\]|（[^（）]{1,80}）|【[^【】]{1,80}】)\W{0,4}$")
"""Choices after a question: `(yes/no)`, `[y/N]:`."""

_TAGS: Final = re.compile(r"(?:</?[A-Za-z][^<>]{0,80}>\s*)+$")
"""Markup tags that close a line."""

_WORDS: Final = re.compile(
    r"(?:(?:です|ます|ません|ました|でしょう|ましょう|だろう|よい|良い|いい|ない|たい|の)か(?:な|ね)?"
    r"|(?:吗|嗎)|(?:是否|要不要|能不能|可不可以|可否|好不好|行不行|需不需要|需要不需要)[^。！，,.]{0,40}"
    r"|[습합입됩갑봅옵랍]니까|까요|[을할될볼일갈줄쓸올]까|[하되있없같싶]나요|[인은한던]가요"
    r"|(?:ไหม|มั้ย|หรือไม่|หรือเปล่า|หรือยัง)(?:ครับ|คะ|ค่ะ)?)$"
)
"""Ends of questions that need no mark: Japanese, Chinese, Korean, Thai."""


def is_question(text: str) -> bool:
    """True if the last line that is not blank ends as a question."""
    lines = (_TAGS.sub("", line) for line in reversed(text[-_LAST:].splitlines()))
    line = next((line for line in lines if not all(map(_is_closing, line))), "")
    return _ends_in_question(line) or _ends_in_question(_AFTERWARDS.sub("", line))


def _ends_in_question(line: str) -> bool:
    """True if a question mark, or a word that asks, ends the line; stops and closing characters may follow it."""
    is_greek = _is_greek(line)  # once for the line: nothing that is skipped below is a letter
    end = len(line)
    while end:
        last = line[end - 1]
        if last in MARKS or (last == ";" and is_greek):
            return True
        if last not in _STOPS and not _is_closing(last):
            break
        end -= 1
    last_sentence = re.split(r"[։:.]\s", line[:end])[-1]
    # The Armenian mark stands on the word that is asked about, anywhere in the sentence.
    return _WORDS.search(line[:end]) is not None or _ARMENIAN in last_sentence


def _is_greek(text: str) -> bool:
    """True if a semicolon after this text is a question mark."""
    last = next((char for char in reversed(text) if char.isalpha()), "")
    return bool(last) and character_name(last, "").startswith("GREEK")


def _is_closing(char: str) -> bool:
    """True for what may follow the end of a sentence: whitespace, quotes, brackets, Markdown, emoji, invisible ones."""
    if char in MARKS:
        return False
    if char.isspace() or char in _MARKUP or char in "\"'" or "\ufe00" <= char <= "\ufe0f":
        return True
    return category(char) in ("Pe", "Pf", "Pi", "So", "Sk", "Cf", "Me")


def spend(memory: Memory, wanted: Sequence[Injection], rules: Rules, *, shows_list: bool = False) -> TurnDecision:
    """Inject what the budget allows. The rest is counted, and not said later either."""
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
    return TurnDecision(memory, tuple(said), len(wanted) - len(said), shows_list)
