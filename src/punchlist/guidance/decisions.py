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
from punchlist.core.todo import Blocker, Status, TodoItem, TodoList
from punchlist.dialects.base import shown_items
from punchlist.guidance import words
from punchlist.guidance.memory import TOLD, Memory, fingerprint
from punchlist.guidance.settings import Rules
from punchlist.guidance.tally import Tally
from punchlist.guidance.tools import NONE, OwnTools
from punchlist.guidance.tools import changes as changes_something
from punchlist.guidance.words import Injection
from punchlist.text import for_terminal


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What is known at the moment of a decision.

    `todos` is the agent's list, with its tasks behind it; `shown` is what the model knows of the list where others
    changed it since, else None. `tool` is the one that the texts name, `own` are the names of all our tools, `writers`
    those whose use counts, if not all do; `tools` are those that the message used, and `host` what the host says about
    its own. `notice` is the text for plan mode, and `entered` says which stay in it this is. `beyond`: the items that
    none of our tools that this agent has can report.
    """

    todos: TodoList
    tally: Tally
    policy: Policy
    tool: str
    own: frozenset[str]
    writers: frozenset[str] = frozenset()
    shown: tuple[TodoItem, ...] | None = None
    planning: bool = False
    offered: bool = True
    tools: Sequence[str] = ()
    notice: str = ""
    entered: str = ""
    host: OwnTools = NONE
    beyond: words.Beyond = words.NOTHING_BEYOND

    def items(self, *, unfinished: bool = False) -> words.Shown:
        """The items that the dialect shows, each with the status that it shows."""
        found = shown_items(self.todos, self.policy)
        return [(item, status) for item, status in found if item.is_open] if unfinished else found


class Outcome(NamedTuple):
    """What to remember, what to say, how much the budget kept back, and whether the model now sees its whole list."""

    memory: Memory
    said: tuple[Injection, ...] = ()
    withheld: int = 0
    shows_list: bool = False


def is_own(name: str, own: frozenset[str]) -> bool:
    """Whether a tool is ours, also behind the name of a server: `mcp__punchlist__todo`."""
    return name in own or name.rpartition("__")[2] in own


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


_LAST: Final = 2_000
"""Characters from the end of a text that are looked at."""

MARKS: Final = frozenset(
    "?\u061f\u1367\u1945\u2047\u2048\u2049\u203d\u2753\u2754\u2cfa\u2cfb\u2e18\u2e2e\u2e54\ua60f\ua6f7\ufe16\ufe56\uff1f"
    "\u037e\U00011143\U00016e9a"
)
"""Question marks: Latin, Arabic, Ethiopic, Limbu, doubled, interrobang, emoji, Old Nubian, reversed, Vai, Bamum, …"""

_ARMENIAN: Final = "\u055e"
_STOPS: Final = frozenset("!.…。．｡！‥:：,،;")
_MARKUP: Final = frozenset("*_~`|#>^+=-—")
_AFTERWARDS: Final = re.compile(r"(?:\([^()]{1,80}\)|\[[^\[\]]{1,80}\]|（[^（）]{1,80}）|【[^【】]{1,80}】)\W{0,4}$")
"""What may follow a question: `(yes/no)`, `[y/N]:`."""

_TAGS: Final = re.compile(r"(?:</?[A-Za-z][^<>]{0,80}>\s*)+$")
"""Tags of a markup that close a line."""

_WORDS: Final = re.compile(
    r"(?:(?:です|ます|ません|ました|でしょう|ましょう|だろう|よい|良い|いい|ない|たい|の)か(?:な|ね)?"
    r"|(?:吗|嗎)|(?:是否|要不要|能不能|可不可以|可否|好不好|行不行|需不需要|需要不需要)[^。！，,.]{0,40}"
    r"|[습합입됩갑봅옵랍]니까|까요|[을할될볼일갈줄쓸올]까|[하되있없같싶]나요|[인은한던]가요"
    r"|(?:ไหม|มั้ย|หรือไม่|หรือเปล่า|หรือยัง)(?:ครับ|คะ|ค่ะ)?)$"
)
"""How a question ends where the writing needs no mark: Japanese, Chinese, Korean, Thai."""


def asks(text: str) -> bool:
    """True if the last line that is not blank ends as a question."""
    lines = (_TAGS.sub("", line) for line in reversed(text[-_LAST:].splitlines()))
    line = next((line for line in lines if not all(map(_closes, line))), "")
    return _ends_asking(line) or _ends_asking(_AFTERWARDS.sub("", line))


def _ends_asking(line: str) -> bool:
    """True if a question mark, or a word that asks, ends the line; stops and closing characters may follow it."""
    is_greek = _is_greek(line)  # once for the line: nothing that is skipped below is a letter
    end = len(line)
    while end:
        last = line[end - 1]
        if last in MARKS or (last == ";" and is_greek):
            return True
        if last not in _STOPS and not _closes(last):
            break
        end -= 1
    return _WORDS.search(line[:end]) is not None or _asks_in_armenian(line[:end])


def _asks_in_armenian(line: str) -> bool:
    """In Armenian the mark stands on the word that is asked about, not at the end."""
    if _ARMENIAN not in line:
        return False
    sentence = re.split(r"[։:.]\s", line)[-1]
    return _ARMENIAN in sentence


def _is_greek(text: str) -> bool:
    """True if a semicolon after this text is a question mark."""
    last = next((char for char in reversed(text) if char.isalpha()), "")
    return bool(last) and character_name(last, "").startswith("GREEK")


def _closes(char: str) -> bool:
    """True for what may follow the end of a sentence: whitespace, quotes, brackets, Markdown, emoji, invisible ones."""
    if char in MARKS:
        return False
    if char.isspace() or char in _MARKUP or char in "\"'" or "\ufe00" <= char <= "\ufe0f":
        return True
    return category(char) in ("Pe", "Pf", "Pi", "So", "Sk", "Cf", "Me")


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
