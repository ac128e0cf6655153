"""Read the last message of a model that wants to stop: does it ask the person something that only they can answer?

A courtesy ("Anything else?") asks nothing, and neither does an offer to do what is on the list already.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final
from unicodedata import category
from unicodedata import name as character_name

from punchlist.text.patterns import compile_later

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
