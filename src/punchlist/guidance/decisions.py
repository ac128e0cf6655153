"""Decide what to say to a model, after an assistant message and when it is about to stop.

Pure steps: what is remembered and what is seen go in, what to remember and what to say come out. Their work does not
grow with the conversation.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from unicodedata import category
from unicodedata import name as character_name

import msgspec
from msgspec.structs import replace

from punchlist.core.commands import Policy
from punchlist.core.task import is_task_item
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.dialects.base import Dialect
from punchlist.guidance import words
from punchlist.guidance.ledger import TOLD, CallCounts, Memory, fingerprint
from punchlist.guidance.rules import Rules
from punchlist.guidance.tools import NONE, OwnTools, is_own
from punchlist.guidance.tools import changes as changes_something
from punchlist.guidance.words import Injection
from punchlist.text import for_terminal
from punchlist.text.patterns import compile_later


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """The situation that a decision is made from."""

    todos: TodoList
    """The agent's list, followed by its tasks."""
    news: tuple[str, ...] = ()
    """Answers and decisions of people, a row each: no profile and no budget holds their words back."""
    tally: CallCounts
    policy: Policy
    dialect: Dialect
    shown: tuple[TodoItem, ...] | None = None
    """Items that the model knows, where others changed the list since; else None."""
    authors: Mapping[str, str] = {}
    """Those who changed items since, by id of the item."""
    planning: bool = False
    """Plan mode is on."""
    offered: bool = True
    notice: str = ""
    """Text for plan mode."""
    entered: str = ""
    """Identifies the present stay in plan mode."""
    beyond: words.Beyond = words.NOTHING_BEYOND
    """Items that none of this agent's tools of ours can report."""
    left_out: tuple[TodoItem, ...] = ()
    """Open items that the model left out of its list since the person spoke, or the stop guard asked about them."""
    awaits_person: bool = False
    """A question, a plan or a permission of this agent waits for a person."""

    @property
    def tool(self) -> str:
        """The tools that write, as the texts name them: "`TaskCreate` or `TaskUpdate`"."""
        return " or ".join(f"`{name}`" for name in self.dialect.writers or (self.dialect.tools[0].name,))

    @property
    def updater(self) -> str:
        """The tool that reports what became of items: "`TaskUpdate`"."""
        return f"`{(self.dialect.writers or (self.dialect.tools[0].name,))[-1]}`"

    def items(self, *, unfinished: bool = False) -> words.Shown:
        """Return the items that the dialect shows."""
        found = words.list_rows(self.todos, self.dialect, self.policy)
        return [row for row in found if row.item.is_open] if unfinished else found


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


def count_message(
    memory: Memory,
    tools: Sequence[str],
    tally: CallCounts,
    dialect: Dialect,
    *,
    own: frozenset[str],
    host: OwnTools = NONE,
) -> Memory:
    """Count an assistant message by the tools that it used; `own` are all of ours, `host` says what its tools do."""
    turns, last_own = memory.turns + 1, -1
    for place, name in enumerate(tools):
        if is_own(name, frozenset(dialect.writers) or own):
            last_own = place
    named = last_own >= 0
    used_before = _was_used(memory, tally, dialect) and not memory.named  # by a message before this one
    changes = 0 if tally.writes != memory.writes else memory.changes
    if tools and not memory.reported:
        changes += sum(changes_something(name, None, host) for name in tools[last_own + 1 :])
    has_tools = bool(tools) or memory.others > 0
    return replace(
        memory,
        turns=turns,
        used=turns - 1 if named or used_before else memory.used,
        named=named,
        rounds=0 if named else (0 if used_before else memory.rounds) + has_tools,
        changes=changes,
        others=0,
        calls=tally.calls,
        writes=tally.writes,
        turn_characters=0,
        turn_injections=0,
        counted="tools" if has_tools else "message",
    )


def _was_used(memory: Memory, tally: CallCounts, dialect: Dialect) -> bool:
    """True if our tool was called since the last message was counted; where there are some that only read, written."""
    return tally.writes != memory.writes if dialect.writers else tally.calls != memory.calls


def decide_before_request(memory: Memory, seen: Situation, rules: Rules) -> TurnDecision:
    """Decide what to say in the next request: facts at once, reminders only after a message that was counted."""
    counted, memory = memory.counted, replace(memory, counted="")
    if not rules.speaks or not seen.offered:
        return TurnDecision(_catch_up(memory, seen, counted=bool(counted)), _tell_news(seen, rules))
    if seen.planning:
        is_new = memory.entered != seen.entered
        planned = 1 if is_new else memory.planned + bool(counted)
        memory = replace(memory, planned=planned, entered=seen.entered)
        every = rules.plan_notice_every
        said = [*_tell_news(seen, rules)]
        if every and seen.notice and (counted or is_new) and not (planned - 1) % every:
            said.append(Injection("plan_mode", seen.notice, role=rules.schedule.role))
        return spend(memory, said, rules)
    if memory.planned:
        memory = replace(memory, planned=0)
    memory, changed, shows_list = _tell_changes(memory, seen, rules)
    said = [*changed]
    memory = _tell_facts(memory, seen, rules, said)
    if counted and not changed:
        memory = _remind(memory, seen, rules, said, with_tools=counted == "tools")
    return spend(memory, said, rules, shows_list=shows_list) if said else TurnDecision(memory)


def _catch_up(memory: Memory, seen: Situation, *, counted: bool) -> Memory:
    """Mark everything as told: what is not said now is not said later either."""
    tally = seen.tally
    return replace(
        memory,
        failures=tally.failures,
        noted=tally.noted,
        batch=tally.batch_write,
        revision=seen.todos.revision,
        planned=memory.planned + counted if seen.planning else 0,
        finding="",
    )


def _tell_news(seen: Situation, rules: Rules) -> tuple[Injection, ...]:
    if not seen.news:
        return ()
    return (Injection("answer", words.tell_news(seen.news), role=rules.schedule.role),)


def _tell_changes(memory: Memory, seen: Situation, rules: Rules) -> tuple[Memory, tuple[Injection, ...], bool]:
    """Return at most one text about answers, decisions and changes of others, and True if it shows the whole list.

    One text, because an answer unblocks its item and an approval may write the list.
    """
    todos = seen.todos
    if seen.shown is None or todos.revision == memory.revision:
        return memory, _tell_news(seen, rules), False
    memory = replace(memory, revision=todos.revision)
    if not rules.tell_changes:
        return memory, _tell_news(seen, rules), False
    items = seen.items()
    listed = [item for item in todos.items if not is_task_item(item)]
    set_aside = {item.id for item in todos.omitted}
    missing = {item.id for item in seen.shown} - {item.id for item in listed}
    gone = ""
    if missing:
        gone = "set-aside" if missing <= set_aside else "removed"
    changes = words.describe_changes(seen.shown, listed, seen.authors, seen.dialect.words, set_aside)
    if seen.news:
        kind, text = "answer", words.tell_news(seen.news, changes, items, gone=gone)
    else:
        kind, text = "changed", words.tell_change(changes, items, gone=gone)
    told = Injection(kind, text, role=rules.schedule.role, for_user="The model is told that the list was changed.")
    return memory, (told,), words.shows_all(items)


def _tell_facts(memory: Memory, seen: Situation, rules: Rules, said: list[Injection]) -> Memory:
    """Append facts about calls and findings that the model does not know yet."""
    tally, role = seen.tally, rules.schedule.role
    if tally.failures != memory.failures:
        memory = replace(memory, failures=tally.failures)
        if rules.tell_failures and tally.failure:
            warning = for_terminal(f"Todo update failed: {tally.failure}")
            text = words.tell_failure(seen.tool, tally.failure, tally.applied)
            said.append(Injection("failed", text, role=role, for_user=warning))
    if tally.noted != memory.noted:
        memory = replace(memory, noted=tally.noted)
        if rules.tell_problems and tally.notes:
            said.append(Injection("problems", words.tell_notes(seen.tool, tally.notes), role=role))
    if memory.finding:
        said.append(Injection("finding", words.tell_findings(memory.finding), role=role))
        memory = replace(memory, finding="")
    return memory


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
    was_used = _was_used(memory, tally, seen.dialect)  # by the message that was counted: its calls have run since
    if schedule.after is not None and not was_used and _may_remind(memory, rules):
        text = _find_due_text(memory, seen, rules, with_tools=with_tools)
        if text:
            said.append(Injection("reminder", text, place=schedule.place, role=role))
            return replace(_count_reminder(memory), rounds=0 if schedule.restarts else memory.rounds)
    drifted = 0 < rules.drift_after <= memory.changes and tally.writes == memory.writes != memory.drifted
    if drifted and not memory.named and _may_remind(memory, rules):  # a model that names our tool may be about to write
        busy = [row for row in seen.items() if row.item.status is Status.IN_PROGRESS]
        state = fingerprint(seen.todos) if busy else 0
        if busy and state not in memory.told:
            said.append(
                Injection("reminder", words.remind_drift(seen.updater, memory.changes, busy, seen.beyond), role=role)
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
    if seen.news and rules.speaks and seen.offered and not seen.planning:
        memory, told, shows_list = _tell_changes(memory, seen, rules)
        return spend(memory, told, rules, shows_list=shows_list)
    if seen.news:
        return TurnDecision(memory, _tell_news(seen, rules))
    waits, revision = seen.planning or seen.awaits_person or background > 0, seen.todos.revision
    if not rules.speaks or not seen.offered or waits:
        return TurnDecision(memory)
    if memory.stops >= rules.stop_tries:
        return TurnDecision(memory if memory.judged == revision else replace(memory, judged=revision))
    items = find_owed(seen.items(unfinished=True))
    left_out = [item for item in seen.left_out if item.blocker is None and item.status is not Status.BLOCKED]
    mark = fingerprint(seen.todos, unfinished=True)
    if not left_out and (not items or mark == memory.stopped_at):
        return TurnDecision(memory)
    if asks_person(last_text, [item.content for item in (*(row.item for row in items), *left_out)]):
        return TurnDecision(memory)
    attempt = memory.stops + 1
    memory = replace(memory, stops=attempt, stopped_at=mark, judged=revision)
    text = words.ask_to_continue(
        seen.updater, items, left_out, attempt=attempt, tries=rules.stop_tries, beyond=seen.beyond
    )
    for_user = f"The model was about to stop with {len(items) + len(left_out)} open and is asked to continue."
    return spend(memory, [Injection("stop", text, role=rules.schedule.role, for_user=for_user)], rules)


def find_owed(items: words.Shown) -> words.Shown:
    """Return the open items that the model can work on now.

    An item that only comes after others can be begun once they are done; while one of those waits, it waits too.
    """
    started = [row for row in items if row.item.status is not Status.BLOCKED]
    free = [row for row in started if row.item.blocker is None]
    in_order = [row for row in started if row.item.blocker is not None and row.item.blocker.is_order]
    return items if len(free) + len(in_order) == len(items) else free


def start_prompt(memory: Memory, mark: int) -> Memory:
    """Reset the counters of a prompt: the stop guard accepts the open items of this mark.

    What the model left out of its list is not accepted by a prompt, which may come in the middle of the work.
    """
    return replace(memory, prompt_reminders=0, stops=0, stopped_at=mark, rounds=0, hinted=False)


def spend(memory: Memory, wanted: Sequence[Injection], rules: Rules, *, shows_list: bool = False) -> TurnDecision:
    """Inject what the budget allows. The rest is counted, and not said later either."""
    said: list[Injection] = []
    for injection in wanted:
        length = len(injection.text)
        if injection.kind == "answer":  # a person's word, and not ours to count
            said.append(injection)
            continue
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
    shows_list = shows_list and any(injection.kind in ("changed", "answer") for injection in said)
    return TurnDecision(memory, tuple(said), len(wanted) - len(said), shows_list)


# The last message of a model that wants to stop: does it ask the person something that only they can answer? A courtesy
# ("Anything else?") asks nothing, and neither does an offer to do what is on the list already.

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
_AFTERWARDS: Final = compile_later(r"(?:\([^()]{1,80}\)|\[[^\[\]]{1,80}\]|（[^（）]{1,80}）|【[^【】]{1,80}】)\W{0,4}$")
"""Choices after a question: `(yes/no)`, `[y/N]:`."""

_TAGS: Final = compile_later(r"(?:</?[A-Za-z][^<>]{0,80}>\s*)+$")
"""Markup tags that close a line."""

_WORDS: Final = compile_later(
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


# Questions that ask nothing, and requests without a question mark. The tables are English.

_SENTENCE_ENDS: Final = compile_later(r"(?<=[.!?…。！？])[\"'”’)*_`]*\s+")
_ROW: Final = compile_later(r"\s*(?:[-*+•]|\(?(?:\d{1,2}|[A-Za-z])[.)])\s+")
"""The beginning of a row of a list."""

_COURTESY: Final = compile_later(
    r"\b(?:(?:any|some)thing (?:else|more|further)|(?:any|other|more|further) (?:questions?|feedback|changes)"
    r"|let me know(?! (?:which|what|where|who|how(?! else)|when(?! you)|whether (?:I|to)|your)\b)|feel free"
    r"|hope (?:this|that|it) helps|thank(?:s| you)"
    r"|(?:how|what) do(?:es)? (?:that|this|it|they) (?:look|sound)"
    r"|do(?:es)? (?:that|this|it|these) (?:all )?(?:look|sound|help|work|make sense)|(?:sound|look)s? good"
    r"|what(?:'s| is| comes) (?:next|left)|what(?: else)? (?:would|do) you (?:want|like)(?: me)? to"
    r"|how (?:else )?(?:can|may) I help|(?:can|could|may) I help|(?:happy|glad) to (?:help|answer))",
    re.IGNORECASE,
)

_OFFER: Final = compile_later(
    r"\b(?:(?:shall|should|may|can|could) (?:I|we)\b|(?:(?:would|do|did) you )?(?:like|want|prefer|need) (?:me|us) to\b"
    r"|would you like to\b|(?:is it|would it be) (?:ok|okay|fine) (?:if I|for me to|to)\b"
    r"|(?:I|we)(?:'ll| will| can| could|'d)\b(?=.*\b(?:if|once|when|whenever) you\b)"
    r"|if you(?:'d| would)? (?:like|want|wish)\b)",
    re.IGNORECASE,
)
_ASKING: Final = compile_later(r"\b(?:what|which|how|where|when|who|why)\b", re.IGNORECASE)
_CONDITION: Final = compile_later(r"\b(?:if|once|when|whenever) you\b.*|\bor\b.*", re.IGNORECASE)
_CONTINUING: Final = frozenset(
    """
    continue continuing proceed go going ahead on carry keep move start started begin finish tackle take work working
    pick resume wrap complete address handle implement do get ready okay ok now then next up onto into the these this
    that those them it all of my our list rest remaining remainder other others open last first outstanding pending
    unfinished left item items task tasks todo todos step steps one ones point points phase part parts thing things two
    three four five here too also as well from for in with to and so right away straight be over i me
    explain clarify anything something
    """.split()  # noqa: SIM905
)
"""Words of an offer that names nothing but the list: "continue with the remaining items"; or "explain anything"."""

_CONTINUE_ELSEWHERE: Final = compile_later(
    r"weitermachen|fortfahren|continu[oe]|continuer|sigo|seguir|продолж|继续|繼續|続け|계속", re.IGNORECASE
)
"""To continue, in other languages."""

_REQUEST: Final = compile_later(
    r"\b(?:(?:please|kindly) (?:let me know (?:which|what|where|who|how|when|whether|your)|tell|advise|confirm|choose"
    r"|pick|decide|provide|share|send|reply|specify|clarify|check|approve|review|set|run|add|give|log|grant|answer|select)"
    r"|(?:let me know|tell me) (?:which|what|where|who|how(?! else)|when(?! you)|whether (?:I|to)|your)\b"
    r"|(?:reply|answer) with\b"
    r"|(?:wait(?:ing)?|blocked|holding|paus(?:ed|ing)) (?:for|on|until) (?:you|your)\b|awaiting (?:you|your)\b"
    r"|I(?:'ll| will) (?:wait|hold|pause)\b|I (?:still )?need (?:you|your|access|a decision|permission)\b"
    r"|(?:can't|cannot|won't|will not) (?:\w+ ){0,4}(?:until|without|unless|before) (?:\w+ ){0,2}you"
    r"|(?:needs?|requires?) your\b)",
    re.IGNORECASE,
)
"""Requests to the person that need no question mark."""

_GO_AHEAD: Final = compile_later(
    r"\W*(?:(?:me|us|that|if|whether|I|we|you|can|may|should|want|would|like|to)\b\W*)*"
    r"\b(?:proceed|continue|go ahead|start|begin|resume|carry on|move on)\b",
    re.IGNORECASE,
)
"""The rest of a request that asks for no more than leave to continue: "please confirm to proceed"."""

_ADDRESSED: Final = compile_later(r"\b(?:you|your|I|me|we|us|which|prefer|should|option)\b", re.IGNORECASE)
"""Words of a question that is put to a person, rather than of a heading."""

_STEM: Final = 4
"""Letters by which two words are taken for the same: `tests` and `testing`."""


def asks_person(text: str, open_items: Iterable[str]) -> bool:
    """True if the message ends by asking the person something: courtesies and offers to do open items ask nothing.

    It is read from its end, over courtesies, offers and lists of choices, to the first sentence that is none of these.
    """
    wanted = [stems for content in open_items if (stems := _stem_words(content))]
    has_rows = False
    for sentence, is_row in _read_backwards(text[-_LAST:].replace("’", "'")):
        request = _REQUEST.search(sentence)
        if request is not None:
            if not _asks_to_continue(sentence[request.end() :]):
                return True
            continue
        is_asked = is_question(sentence)
        if _COURTESY.search(sentence) or _is_offer(sentence, wanted, is_asked=is_asked):
            continue
        if is_asked:
            return is_row or not has_rows or _ADDRESSED.search(sentence) is not None
        if not is_row:
            return False
        has_rows = True
    return False


def _read_backwards(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the sentences of a text from its end, each with True if it stands in a row of a list."""
    for line in reversed(text.splitlines()):
        row = _ROW.match(line)
        for sentence in reversed(_SENTENCE_ENDS.split(line if row is None else line[row.end() :])):
            if not all(map(_is_closing, sentence)) and _AFTERWARDS.fullmatch(sentence.strip()) is None:
                yield sentence, row is not None


def _asks_to_continue(rest: str) -> bool:
    """True if the rest of a request asks for leave to continue with the list, and for nothing else."""
    found = _GO_AHEAD.match(rest)
    return found is not None and _CONTINUING.issuperset(re.findall(r"\w+", rest[found.end() :].casefold()))


def _is_offer(sentence: str, wanted: list[set[str]], *, is_asked: bool) -> bool:
    """True if the sentence offers to continue, or to do one of these items; a choice between two ways is no offer."""
    prefix = _OFFER.search(sentence)
    if prefix is not None and _ASKING.search(sentence, 0, prefix.start()):
        return False  # "what should I do", not "should I do it"
    if not is_asked:
        return prefix is not None
    if _CONTINUE_ELSEWHERE.search(sentence):
        return True
    offered = _CONDITION.sub("", sentence if prefix is None else sentence[prefix.end() :])
    words = re.findall(r"\w+", offered.casefold())
    if words and _CONTINUING.issuperset(words):
        return True
    if prefix is None or re.search(r"\bor\b", sentence):
        return False
    return any(2 * len(item & _stem_words(offered)) > len(item) for item in wanted)


def _stem_words(text: str) -> set[str]:
    words = re.findall(r"\w+", text[:_LAST].casefold())
    return {word[:_STEM] for word in words if word not in _CONTINUING}
