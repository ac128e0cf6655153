"""Classify evidence that was offered for a completion, and match it with the calls that were seen.

It is never believed alone: a command, an address or a file counts as seen if a call of the agent ran, fetched or wrote
it. It is shown with the grade, and changes none.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, cast

from msgspec import Struct

from punchlist.core.checks.outcome import find_checks, find_main_commands
from punchlist.core.grounding.tool_call import ToolCall
from punchlist.core.todo import Evidence, TodoItem
from punchlist.text.hashing import blake2b
from punchlist.text.patterns import compile_later
from punchlist.text.redaction import redact
from punchlist.text.tool_values import join_words, preview

_DIGEST: Final = 3
_WIDTH: Final = 2 * _DIGEST
"""Bytes of the hash of a word, and its characters."""

_MOST_WORDS: Final = 32
_MOST_COMMANDS: Final = 4
_LONGEST: Final = 2_000
_ADDRESS: Final = compile_later(r"""[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s"'<>`\\]+""")
_CODE: Final = compile_later(r"`([^`]+)`")
_PROMPT: Final = compile_later(r"(?i)\A(?:\$|>|(?:i )?(?:ran|run|executed)\b:?)\s*")
_REMARK: Final = compile_later(r"(?s)(?:[,:;](?=\s)|\s(?:->|=>|→|—|–|-)\s).*\Z")
_BARE: Final = compile_later(r"[\w@%+=:,./~^-]+")
_LINES: Final = ("command", "cmd", "script", "commands")
_URLS: Final = ("url", "uri", "href", "link", "address")

Kind = Literal["command", "url", "file", "person", "text"]
KINDS: Final[tuple[Kind, ...]] = ("command", "url", "file", "person", "text")
Words = tuple[str, ...]


class Matched(Struct, frozen=True):
    """One piece of evidence, its kind, and the call that it names, if one was seen."""

    evidence: Evidence
    kind: Kind
    call: ToolCall | None = None

    @property
    def is_seen(self) -> bool:
        return self.call is not None

    @property
    def holds(self) -> bool:
        """True if the call that it names went well: a check has to have passed."""
        if self.call is None or self.call.outcome != "ok":
            return False
        return self.call.check is None or self.call.check_outcome == "passed"


def match_evidence(
    given: Sequence[Evidence], calls: Sequence[ToolCall], *, until: datetime | None = None
) -> tuple[Matched, ...]:
    """Return each piece with the last of these calls that it names. A call that began after `until` does not count."""
    if not given:
        return ()
    known = [call for call in calls if until is None or call.started is None or call.started.at <= until]
    return tuple(_matched(evidence, known) for evidence in given)


def _matched(evidence: Evidence, calls: Sequence[ToolCall]) -> Matched:
    kind = classify_evidence(evidence.text, evidence.kind)
    if kind == "person":
        return Matched(evidence, kind)
    said: Named = named_in(evidence.text, kind)
    for call in reversed(calls):
        if call.kind != "todo" and said.names(call):
            return Matched(evidence, "command" if kind == "text" else kind, call)
    if kind == "file":  # none that was written: perhaps one that was run
        said = named_in(evidence.text, "command")
        ran = next((call for call in reversed(calls) if call.kind == "shell" and said.names(call)), None)
        return Matched(evidence, kind if ran is None else "command", ran)
    return Matched(evidence, kind)


# Kinds of evidence.

_URL: Final = compile_later(r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}://\S+")
_PERSON: Final = compile_later(r"(?is)(?:confirmed|approved|accepted|reviewed|checked|signed off) by\b.*")
_FILE: Final = compile_later(
    r"(?:[A-Za-z]:)?[\w.@~/\\-]*[\w-]\.[A-Za-z0-9]{1,8}|[\w.@~-]*/[\w.@/-]+|\.[A-Za-z][\w-]{1,32}"
    r"|(?:Make|Docker|Container|Just|Rake|Gem|Proc|Vagrant|Jenkins|Brew|Pip)file|LICENSE|README|CHANGELOG"
)
_LINE_NUMBER: Final = compile_later(r"(?::\d+(?:[-:]\d+)*|\#L\d+(?:-L?\d+)?)\Z")
_MARKED_COMMAND: Final = compile_later(r"(?s)\$ \S.*|`[^`]+`")
_LONGEST_COMMAND: Final = 1_000


def classify_evidence(text: str, given: str | None = None) -> Kind:
    """Return the given kind if it is one, else the kind that the text looks like."""
    wanted = (given or "").strip().lower()
    for kind in KINDS:
        if kind == wanted:
            return kind
    text = text.strip()
    if _URL.fullmatch(text) is not None:
        return "url"
    if _PERSON.match(text) is not None:
        return "person"
    is_script = text.startswith("`") and _is_check(text.strip("`"))  # a script in marks is rather one that was run
    if _FILE.fullmatch(strip_line_number(text)) is not None and not is_script:
        return "file"
    if _MARKED_COMMAND.fullmatch(text) is not None or _is_check(text):
        return "command"
    return "text"


def strip_line_number(text: str) -> str:
    """Return the name of a file without a line number (`a.py:12`, `a.py#L3-L9`) and without quotes."""
    return _LINE_NUMBER.sub("", text.strip().strip("`\"'"))


def _is_check(text: str) -> bool:
    return len(text) <= _LONGEST_COMMAND and find_checks(text) is not None


# Texts that name a call: by whole words, or by hashes of them where no preview of the call is kept.


class Named(Struct, frozen=True):
    """A piece of evidence in the form in which it is compared with calls."""

    kind: Kind
    text: str
    commands: tuple[Words, ...] = ()

    def names(self, call: ToolCall) -> bool:
        if self.kind == "file":
            return any(_is_same_file(self.text, _path(path)) for path in call.files)
        if self.kind == "url":
            is_hashed = any(_hashed(self.text) in _split(words) for words in call.words.split(" "))
            return is_hashed or self.text in map(_address, _ADDRESS.findall(call.preview))
        ran, hashed = _ran(call)
        said = (tuple(map(_hashed, words)) for words in self.commands) if hashed else self.commands
        return any(_is_same(words, other) for words in said for other in ran)


def named_in(text: str, kind: Kind) -> Named:
    """Read what evidence of this kind names."""
    text = text.strip()
    if kind == "url":
        return Named(kind, _address(redact(text)))
    if kind == "file":
        return Named(kind, _path(strip_line_number(text)))
    return Named(kind, text, tuple(dict.fromkeys(_said(preview(text, _LONGEST)))))


def words_of(arguments: Any, commands: Sequence[Sequence[str]], shown: str, own: re.Pattern[str] | None = None) -> str:
    """Return hashes of the words by which a call is recognised; empty where its preview holds them all.

    `commands` are those that a shell line runs, none for another tool; `shown` is the preview; `own` finds the user's
    own secrets. Who reads a hash of a word could guess it: so none is of a secret.
    """
    is_whole = shown != "" and not shown.endswith("…")
    if commands:
        if is_whole and _is_shown(arguments):
            return ""
        line = join_words(word for words in commands for word in words)  # in quotes a secret is one word
        if redact(line, own) != line:
            commands = [redact(join_words(words), own).split() for words in commands]
        return " ".join("".join(map(_hashed, _folded(words))) for words in commands[:_MOST_COMMANDS])
    if is_whole or not isinstance(arguments, Mapping):
        return ""
    fields = cast("Mapping[Any, Any]", arguments)
    given = next((value for name in _URLS if isinstance(value := fields.get(name), str)), "")
    if not given:
        return ""
    return _hashed(_address(redact(given[:_LONGEST], own)))


def _said(text: str) -> Iterable[Words]:
    """Yield the commands that a text is, or that it quotes as code, without the remarks after them."""
    spans = _CODE.findall(text) or [text]
    for span in spans:
        line = _PROMPT.sub("", span.strip())
        for part in (line, _REMARK.sub("", line)):
            yield from map(_folded, find_main_commands(part))


def _ran(call: ToolCall) -> tuple[Iterable[Words], bool]:
    if call.kind != "shell":
        return (), False
    if call.words:
        return [_split(words) for words in call.words.split(" ")], True
    return [_folded(words) for words in find_main_commands(call.preview)], False


def _is_same(said: Words, ran: Words) -> bool:
    """True if it is the same program, and one is the other with less than half of its words left out."""
    if not said or not ran or said[0] != ran[0]:
        return False
    short, long = sorted((said, ran), key=len)
    behind = iter(long)
    return 2 * len(short) > len(long) and all(word in behind for word in short)


def _is_same_file(said: str, written: str) -> bool:
    """True if one path is the end of the other, by whole names. One longer than the call's begins at the root."""
    if said == written or written.endswith(f"/{said}"):
        return bool(said)
    return written != "" and (said[:1] == "/" or said[1:2] == ":") and said.endswith(f"/{written}")


def _path(path: str) -> str:
    """Return a path as it is compared: with `/` between its names, and without `./` before them."""
    path = path.strip().replace("\\", "/")
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    return path


def _folded(words: Sequence[str]) -> Words:
    """Return words as they are compared: the program without its folder, in lower case, without quotes."""
    given = [word.strip("\"'`").lower() for word in words[:_MOST_WORDS]]
    first, *rest = [_address(word) if "://" in word else word for word in given] or [""]
    return (first.rpartition("/")[2], *rest) if first else ()


def _hashed(word: str) -> str:
    return blake2b(word.encode("utf-8", "replace"), digest_size=_DIGEST).hexdigest()


def _split(hashes: str) -> Words:
    return tuple(hashes[at : at + _WIDTH] for at in range(0, len(hashes), _WIDTH))


def _address(text: str) -> str:
    return text.strip().rstrip("/.,;)").lower()


def _is_shown(arguments: Any) -> bool:
    """True if the preview of a shell call can be read as the call was: one line, or words that need no quotes."""
    if not isinstance(arguments, Mapping):
        return not isinstance(arguments, str) or "\n" not in arguments.strip()
    fields = cast("Mapping[Any, Any]", arguments)
    for name in _LINES:
        value = fields.get(name)
        if isinstance(value, str):
            return "\n" not in value.strip()
        if isinstance(value, list):
            words = cast("list[Any]", value)
            return all(_BARE.fullmatch(str(word)) is not None for word in words)
    return True


# Labels that name an item.

_LEAST: Final = 6
"""Characters that the shorter text needs to count when it lies within the longer one."""

_LABEL_WINDOW: Final = 4000


def folded(text: str) -> str:
    """Return a text in lower case, with one space for each run of anything but letters and digits."""
    lowered = text[:_LABEL_WINDOW].lower()
    return " ".join("".join(char if char.isalnum() else " " for char in lowered).split())


def matching_item(description: str, items: Iterable[TodoItem]) -> TodoItem | None:
    """Return the one open item that a description names: equal when folded, else one within the other."""
    wanted = folded(description)
    if not wanted:
        return None
    texts = [(folded(item.content), item) for item in items if item.is_open]
    equal = [item for text, item in texts if text == wanted]
    if equal:
        return equal[0] if len(equal) == 1 else None
    near = [item for text, item in texts if _lies_within(text, wanted) or _lies_within(wanted, text)]
    return near[0] if len(near) == 1 else None


def _lies_within(short: str, long: str) -> bool:
    return len(short) >= _LEAST and short in long
