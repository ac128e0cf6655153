"""Mask secrets in what is shown and stored of a tool call: keys, tokens, passwords, private keys.

Known shapes are found wherever they stand (`secret_shapes`), other values by the name before them (`password=`,
`API_KEY: `, `--token `), whole, and a user's own secrets by the user's own patterns. Too much is masked rather than too
little. The work is linear in the text, and most texts pass after a few searches for a word; redacting again changes
nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from punchlist.text.secret_shapes import BARE_SIGNS, FREE, MARK, NAMED, has_any, may_have_shapes, without_shapes

_BELOW: Final = r"(?:[|>][-+]?)?[^\S\n]{0,8}(?:\n|\\{1,3}n)[^\S\n]{1,32}(?:-[^\S\n]{1,8})?(?![\w.-]{1,128}:)"
"""The way from a name to a value on the next line, as in YAML."""

_VALUE: Final = r"""
    \*\*\*(?=["'\s,)}\]\\@]|\Z)
  | (?P<open>\\*["']) (?: (?<=")(?<!\\")(?P<double>(?:[^"\\]|\\.)*+)" | (?<=')(?<!\\')(?P<single>(?:[^'\\]|\\.)*+)'
                        | (?<=\\["'])[^"'\\]*+(?P<close>\\++["'])? | [^\n]*+ )
  | (?P<many>[\[{(])
  | (?:\\[^\S\n]|[^\s;|&"'])(?:\\[^\S\n]|[^\s;|&])*+
"""
_BRACKET: Final = r"""\\.|["'\[\](){}]"""
_GLUED: Final = r"""[^\s;|&"',)}\]\\@]++"""
_GLUED_QUOTES: Final = r"""(?:'[^'\n]*+' | "[^"\n]*+" | [^\s;|&"'`,:<>()\[\]{}\\])++"""
_REFERENCE: Final = r"""["']?(?:\$\{?\w+\}?|\$\(.*|%\w+%|true|false|null|none|undefined)["']?[,)}\]]*"""
"""A value that says where the secret is, or that there is none."""

_LINE: Final = r"""(?:[\s"']-\w{0,4}c | (?:command|cmd|script)\\{0,3}["'][ \t]{0,8}:)[ \t]{0,8}\Z"""
"""What stands before the quotes of a command line, which goes on behind a value: `sh -c "TOKEN=… make"`."""

_SEARCHES: Final = r"""(?<![\w-])(?:[a-z]{0,4}grep|rg|ag|ack)[ \t][^\n|;&]{0,200}\Z"""
"""What stands before the pattern of a search."""

_CLOSED: Final = r"""\\*["'](?:[\s\\"'}\]),;]*(?:\n|\Z) | ,\s{0,8}\\*["'][\w-]{1,64}\\*["']\s{0,8}:)"""
_CLOSED_SEARCH: Final = r"""\\*["'](?=[\s|;&)]|\Z)"""
"""A quote that closes, with nothing behind it that could be the value, or another field; or one in a search."""

_FIELDS: Final = frozenset({
    "server", "host", "source", "address", "port", "user", "username", "id", "uid", "database", "catalog", "driver",
    "endpoint",
})  # fmt: skip
_MORE_FIELDS: Final = r"""[^;"'\n=]{0,256};[A-Za-z][A-Za-z ]{0,31}="""
"""Last words of names before, and what stands behind a value in a connection string: `User Id=sa;Password=…;`. It may
have blanks in it."""

_INSTRUCTION: Final = rf"{FREE}(?:ENV|ARG)[ \t]{{1,8}}"
"""What stands before a name in a Dockerfile; all that the line has behind the name is its value."""

_INSTRUCTED: Final = rf"{_INSTRUCTION}\Z"
_NEAR: Final = 256
_FAR: Final = 4096
"""Characters before a name, and of an element, that are looked at."""


class _Value(NamedTuple):
    """A value in a text: its start, its end, and its replacement."""

    start: int
    end: int
    shown: str


def _value_behind(text: str, head: re.Match[str], done: int = 0) -> _Value | None:
    """Return the value to mask after a name; None if there is none, or only a reference to it.

    `done` is the end of the value before it: quotes before that are ignored.
    """
    if head["tag"] is not None:
        return _in_element(text, head)
    below = _compiled(_BELOW).match(text, head.end()) if head["said"] else None
    found = _compiled(_VALUE).match(text, head.end() if below is None else below.end())
    if found is None or _is_reference(found[0]) or (found["open"] and _is_empty(text, head, found, done)):
        return None
    end = found.end() if found["many"] is None else _closed(text, found.start())
    if head["set"] is not None and _compiled(_INSTRUCTED).search(text, max(0, head.start() - _NEAR), head.start()):
        rest = _compiled(r"""[^\n"']*+""").match(text, end)
        return _Value(found.start(), end if rest is None else rest.end(), _masked(found))
    if found["open"] is None and below is None and head["name"] is not None and head["field"] is None:
        return _reaching(text, done, head.start(), found.start()) or _Value(found.start(), end, MARK)
    return _Value(found.start(), end, _masked(found))


def _is_empty(text: str, head: re.Match[str], value: re.Match[str], done: int) -> bool:
    """True if the quote after a name closes one that was opened right before it: `rg "token=" src`."""
    near = text[max(done, head.start() - _NEAR) : head.start()]
    word = "" if not near or near[-1].isspace() else near.split()[-1]
    opened = _opened(word)
    if head["field"] is not None or opened is None or opened[0] != value["open"]:
        return False
    if _compiled(_CLOSED).match(text, value.start()) is not None:
        return True
    is_search = _compiled(_SEARCHES).search(near[: len(near) - len(word) + opened.start()]) is not None
    return is_search and _compiled(_CLOSED_SEARCH).match(text, value.start()) is not None


def _reaching(text: str, done: int, name: int, value: int) -> _Value | None:
    """Return a bare value that may have spaces in it: in quotes with its name, or in a connection string."""
    near = text[max(done, name - _NEAR) : name]
    word = "" if not near or near[-1].isspace() else near.split()[-1]
    opened = _opened(word)
    if opened is not None:
        if _compiled(_LINE).search(near[: len(near) - len(word) + opened.start()]) is not None:
            return None
        return _unquoted(text, value, opened[0], "&" if word[-1] in "?&" else "")
    if _is_behind_field(near) or _compiled(_MORE_FIELDS).match(text, value) is not None:
        found = _compiled(r"""[^;"'\n]*+""").match(text, value)
        return None if found is None else _Value(value, found.end(), MARK)
    return None


def _is_behind_field(near: str) -> bool:
    """True if this ends with a field of a connection string; before a space only if it is a known one."""
    before = near.rstrip(" ")
    name, assigned, _ = before[:-1].rpartition(";")[2].rpartition("\n")[2].partition("=")
    if not before.endswith(";") or not assigned:
        return False
    return before == near or (name.split() or [""])[-1].lower() in _FIELDS


def _opened(word: str) -> re.Match[str] | None:
    """Return the last quote in a word that no other closes."""
    if '"' not in word and "'" not in word:
        return None
    stack: list[re.Match[str]] = []
    for found in _compiled(r"""\\*["']""").finditer(word):
        level = next((place for place, other in enumerate(stack) if other[0] == found[0]), None)
        if level is None:
            stack.append(found)
        else:
            del stack[level:]
    return stack[-1] if stack else None


def _unquoted(text: str, start: int, quote: str, stop: str) -> _Value:
    """Return the value up to the closing quote, the end of the line, or `stop`, with what is glued to the quote."""
    for found in _compiled(r"""\\*["'] | \\+[^"'\n] | [\n&]""").finditer(text, start):
        if found[0] == quote and len(quote) == 1:
            glued = _compiled(_GLUED_QUOTES).match(text, found.end())
            return _Value(start, found.end() if glued is None else glued.end(), MARK + quote)
        if found[0] in (quote, "\n", stop):
            return _Value(start, found.start(), MARK)
    return _Value(start, len(text), MARK)


def _in_element(text: str, head: re.Match[str]) -> _Value | None:
    """Return the value between two tags, or after one if the other is missing; a type in `<…>` has none."""
    opening = text.rfind("<", 0, head.start("tag"))
    end = text.find(f"</{text[opening + 1 : head.end('tag')]}", head.end(), head.end() + _FAR)
    if end < 0:
        if opening and (text[opening - 1].isalnum() or text[opening - 1] == "_"):
            return None
        end = text.find("<", head.end())
        end = len(text) if end < 0 else end
    inner = text[head.end() : end].strip()
    return _Value(head.end(), end, MARK) if inner and not _is_reference(inner) else None


def _closed(text: str, start: int) -> int:
    """Return the place after the bracket that closes the one here, ignoring quoted text; else the end."""
    depth, quote = 0, ""
    for found in _compiled(_BRACKET).finditer(text, start):
        mark = found[0]
        if mark in ('"', "'"):
            quote = "" if quote == mark else quote or mark
        elif not quote and len(mark) == 1:
            depth += 1 if mark in "[{(" else -1
            if not depth:
                glued = _compiled(_GLUED).match(text, found.end())
                return found.end() if glued is None else glued.end()
    return len(text)


def _masked(value: re.Match[str]) -> str:
    """Return the mark, within the quotes that the value had."""
    opening = value["open"]
    if opening is None:
        return MARK
    closed = value["double"] is not None or value["single"] is not None
    return opening + MARK + (opening if closed else value["close"] or "")


def _is_reference(value: str) -> bool:
    return _compiled(_REFERENCE).fullmatch(value) is not None


Secrecy = Literal["sure", "assigned", "likely", "none"]
"""How secret what goes by a name is: always; where it is assigned or a field; only if it looks like chance; not."""

_SIGN: Final = r"(?::{1,3}=|[=!]==?|=>|=~(?=\s)|<[>-]|-[ci]?(?:eq|ne)\b|(?:\|\||&&|\?\?|[?+.|&])?=)"
"""What assigns a value to a name or compares the two, but for a single colon; it is no value itself."""

_HEAD: Final = rf"""
    (?:(?<=<)|(?<=<\w:)|(?<=<\w{{2}}:)|(?<=<\w{{3}}:)|(?<=<\w{{4}}:)|(?<=<\w{{5}}:)|(?<=<\w{{6}}:))(?P<tag>[A-Za-z0-9_.-]++)(?:\s[^<>]{{0,256}}(?<!/))?>
  | (?<![A-Za-z0-9_-])--?(?P<option>[A-Za-z][A-Za-z0-9_-]++)[^\S\n]{{1,8}}(?!:|{_SIGN})(?:<<<[^\S\n]{{0,8}})?(?!--|\s)
  | (?<![A-Za-z0-9_.-])(?P<name>[A-Za-z0-9_.-]++)(?:
        (?P<field>\\{{0,3}}["'])?\]?[^\S\n]{{0,32}}(?:(?P<said>:(?!:{{0,2}}=))|{_SIGN})[^\S\n]{{0,32}}
      | \\{{0,3}}["'][^\S\n]{{0,8}},\s{{0,8}}\\{{0,3}}["'](?i:value)\\{{0,3}}["'][^\S\n]{{0,8}}:[^\S\n]{{0,8}}
      | (?P<pair>\\{{0,3}}["'])[^\S\n]{{0,8}},\s{{0,8}}(?=\\{{0,3}}["'])
      | \\{{0,3}}["'][^\S\n]{{1,8}}(?i:value)[^\S\n]{{0,4}}=[^\S\n]{{0,4}}
      | (?P<set>["']?)[^\S\n]{{1,8}}(?!-|:|{_SIGN})
    )
"""
"""A name and what comes between it and its value: a sign, a blank behind an option or a command that sets it.

A header may be given as a pair, `["X-Api-Key", "…"]`, or as `{"name": "X-Api-Key", "value": "…"}`; an element of XML
has its name in a tag, `<password>…</password>`, or in a field, `<add key="password" value="…"/>`.
"""

_SETS: Final = rf"""
    (?:{FREE}(?:set|setx|setenv|config|configure)(?:[^\S\n]{{1,8}}-[\w-]{{1,32}}){{0,4}}[^\S\n]{{1,8}}[^\s=]{{0,128}}
    | {_INSTRUCTION})\Z
"""
"""What stands before a name whose value follows behind a blank: `npm config set //registry/:`, `ENV`."""

_FILE: Final = r"""
    .*\.(?:py|pyi|ipynb|[cm]?[jt]sx?|vue|svelte|go|rs|java|kts?|scala|groovy|rb|erb|php|c|h|cc|hh|cpp|hpp|cs|fs|swift
    |dart|exs?|erl|hs|ml|lua|pl|r|jl|zig|sh|sql|md|rst|html|s?css|proto|tf)
"""
_SOURCE_LINE: Final = r"""
    :(?::[Tt]est | [ ]?\d{1,6}(?:[:-]\d{1,6})?[:.]?(?=\s|\\{1,3}[nrt]|(?:\\{0,3}["']|[,;)\]}])+(?:\s|\Z)|\Z))
"""
"""A name that is a source file's, and what stands behind it that is no secret: a line, a number, a test."""

_NUMBER: Final = r"[\d.,:%]+[)}\]]*"
_NEAR_NAME: Final = 128
"""Characters behind a name that only sounds secret, and before one that may be set, that are looked at."""

_WORDS: Final = frozenset({
    "pwd", "passwort", "kennwort", "senha", "credential", "credentials", "creds", "accesskey", "secretkey",
    "privatekey", "signature", "sig", "otp", "jwt", "bearer", "sessionid", "csrf", "xsrf", "authorization",
})  # fmt: skip
_ENDS: Final = (
    "password", "passwd", "passphrase", "passcode", "secret", "token", "apikey",
    "passwords", "passphrases", "passcodes", "secrets", "apikeys", "storepass", "keypass",
)  # fmt: skip
_KEYS: Final = frozenset({
    "api", "access", "secret", "private", "signing", "encryption", "master", "auth", "account", "shared", "service",
    "ssh", "deploy", "license", "session", "subscription", "storage", "app", "application", "client", "admin", "root",
    "stripe", "openai", "anthropic", "aws", "azure", "google", "gemini", "github", "slack", "twilio", "sendgrid",
    "mailgun", "firebase", "supabase", "hmac", "aes", "rsa", "gpg", "pgp", "tls", "ssl",
})  # fmt: skip
"""Words that make the `key` behind them a secret."""

_LATER: Final = frozenset({"pass", "pw", "auth", "cookie", "cookies", "dsn"})
"""Secret behind another word (`DB_PASS`), and alone where it is assigned: not in `PASS: 12 tests`."""

_LIKELY: Final = frozenset({"key", "tokens", "sid"})
"""Secret as the last word, if the value looks like it: `key=name` and `max_tokens=4096` hide nothing."""

_SIGNS: Final = (
    "pass", "secret", "token", "key", "auth", "cred", "sig", "jwt", "otp", "bearer", "sessionid", "kennwort",
    "senha", "srf", "pw", "cookie", "dsn", "sid",
)  # fmt: skip
"""Every secret name has one of these in it."""

_HARMLESS: Final = {"pass": "(?:ed|es|ing)(?![a-z])", "sid": "[a-z]"}
"""What comes behind a sign in words that are no secret names and in many texts: `passed`, `inside`."""

_PAIRED: Final = ('",', "',")
"""A name has one of these behind it, or one of those in `_is_marked` before it, unless it is an option, or has `=` or
`:` behind it."""

_PIECE: Final = r"""[^\s"',;:()\[\]{}<>&|\\]{8,}"""
_FIRST: Final = r"""(?:\[[^\]]*+|\{[^}]*+|\([^)]*+|\\*["'][^"'\\\n]*+|[^\s;|&,]*+)"""
_PLACE: Final = r"[~.]{0,2}/.*|.*\.[a-z]{1,4}"

_IN_NAMES: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_RUN: Final = r"[A-Za-z0-9_.-]++"
_WORD: Final = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+"


def redact(text: str, own: re.Pattern[str] | None = None, *, clear: str = "") -> str:
    """Return the text with `***` for each secret in it, and for each match of the user's own pattern.

    `clear` is a text that `redacted` found clear: no part of it needs to be searched.
    """
    return text if text in clear else redacted(text, own)[0]


def redacted(text: str, own: re.Pattern[str] | None = None) -> tuple[str, bool]:
    """Return the text without secrets, and True if it is clear: then each part of it can be shown as it is.

    Nothing is masked unless one of a number of signs is in the text, and a sign that the whole lacks no part has.
    With a user's own pattern no text counts as clear.
    """
    if own is not None:
        text = own.sub(_own_mark, text)
    lowered = text.lower()
    is_marked = _is_marked(text, lowered)
    sign = (_any_sign() if is_marked else _any_bare_sign()).search(lowered)
    if sign is None and not may_have_shapes(text, lowered):
        return text, own is None
    kept = without_shapes(text, lowered)
    signs = tuple([sign for sign in _SIGNS if sign in lowered]) if is_marked else ()
    if signs:
        kept = _without_named(kept, lowered if kept is text else kept.lower(), signs)
    return kept, False


def _is_marked(text: str, lowered: str) -> bool:
    """True if a name in this text could have a value."""
    if ":" in lowered or "=" in lowered or "-" in lowered:
        return True
    if "set" in lowered or "config" in lowered:
        return True
    if ("V" in text and "ENV" in text) or ("G" in text and "ARG" in text):  # a single character is found in no time
        return True
    return "<" in lowered or ("," in lowered and has_any(lowered, _PAIRED))


def secrecy(name: str) -> Secrecy:
    """Return how secret the value of this name is."""
    return _secrecy(name[-128:])


def looks_secret(text: str) -> bool:
    """True if the text has a random-looking word of letters and digits in it that is no path."""
    words: list[str] = _compiled(_PIECE).findall(text)
    return any(
        not word.isalpha()
        and _compiled(r"\d").search(word) is not None
        and _compiled(r"[A-Za-z]").search(word) is not None
        and _compiled(_PLACE).fullmatch(word) is None
        for word in words
    )


@lru_cache(maxsize=1024)
def _secrecy(name: str) -> Secrecy:
    found: list[str] = _compiled(_WORD).findall(name)
    words = [word.lower() for word in found]
    if not words:
        return "none"
    if any(word in _WORDS or word.endswith(_ENDS) for word in words):
        return "sure"
    if any(second == "key" and first in _KEYS for first, second in pairwise(words)):
        return "sure"
    if not _LATER.isdisjoint(words[1:]):
        return "sure"
    is_public = words[0] in ("public", "primary", "foreign")
    if found[-1].endswith("KEY") and not is_public:
        return "sure"
    if len(words) == 1 and words[0] in _LATER:
        return "assigned"
    return "likely" if words[-1] in _LIKELY and not is_public else "none"


def _without_named(text: str, lowered: str, signs: tuple[str, ...]) -> str:
    """Return the text without values after a secret name, also where that name is another's value."""
    kept: list[str] = []
    done = 0
    for head in _heads(text, lowered, signs):
        if head.end() <= done or not _hides(head, text):
            continue
        value = _value_behind(text, head, done)
        if value is not None:
            kept += (text[done : value.start], value.shown)
            done = value.end
    return "".join((*kept, text[done:])) if kept else text


def _hides(head: re.Match[str], text: str) -> bool:
    """True if the value after this name is a secret."""
    how = secrecy(head["tag"] or head["option"] or head["name"])
    if how == "none" or (head["said"] is not None and head["field"] is None and _is_place(head, text)):
        return False
    if head["set"] is not None:
        sets = _compiled(_SETS).search(text, max(0, head.start() - _NEAR_NAME), head.start())
        return how != "likely" and sets is not None
    if how == "sure" and head["pair"] is None:
        return True
    near = text[head.end() : head.end() + _NEAR_NAME]
    if how == "assigned" and head["pair"] is None and (head["said"] is None or head["field"] is not None):
        first = near.split(maxsplit=1)[0] if near.strip() else ""
        return _compiled(_NUMBER).fullmatch(first) is None
    value = _compiled(_FIRST).match(near)
    return value is not None and looks_secret(value[0])


def _is_place(head: re.Match[str], text: str) -> bool:
    """True for a place in a source file: `src/token.ts:12:3`."""
    return (
        _compiled(_FILE).fullmatch(head["name"]) is not None
        and _compiled(_SOURCE_LINE).match(text, head.end("name")) is not None
    )


def _heads(text: str, lowered: str, signs: tuple[str, ...]) -> Iterator[re.Match[str]]:
    """Yield names with one of these signs in them and something after them."""
    if len(lowered) != len(text):  # a letter that has no small form of one character
        yield from _compiled(_HEAD).finditer(text)
        return
    end = 0
    for sign in _any_of(signs).finditer(lowered):
        if sign.start() < end:
            continue
        start = sign.start()
        while start > end and text[start - 1] in _IN_NAMES:
            start -= 1
        run = _compiled(_RUN).match(text, sign.end())
        end = sign.end() if run is None else run.end()
        head = _compiled(_HEAD).match(text, start)
        while head is None and (start := text.find(".", start, end) + 1):  # an option may begin behind a dot
            head = _compiled(_HEAD).match(text, start)
        if head is not None:
            yield head


def _own_mark(found: re.Match[str]) -> str:
    return MARK if found[0] else ""


@cache
def _any_sign() -> re.Pattern[str]:
    bare = [sign for sign in BARE_SIGNS if not has_any(sign, NAMED)]
    return re.compile(any_of((*_SIGNS, *bare), _HARMLESS))


@cache
def _any_bare_sign() -> re.Pattern[str]:
    return re.compile(any_of(BARE_SIGNS))


@lru_cache(maxsize=256)
def _any_of(signs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(signs))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE if pattern is _REFERENCE else re.VERBOSE)


_COMMON_FIRST: Final = " etaoinsrhldcum:/_.-fpgwybvkxjqz"
"""Characters by how often they occur in what agents read and write, the common ones first."""


def any_of(words: Iterable[str], unless: Mapping[str, str] | None = None) -> str:
    """Return a pattern that is found in a lower-cased text if one of the words is in it; not where, nor which.

    Each word is looked for from its rarest letter on, so that most places of a text are passed by with one look at a
    table of letters, and only behind the rest of a word is it asked what stands before. `unless` has patterns of what
    a word is not followed by where it counts.
    """
    rests: list[tuple[str, str]] = []
    given = tuple(dict.fromkeys(words))
    for word in given:
        if any(other in word for other in given if other != word and other not in (unless or ())):
            continue  # where this is, the other is too
        start = max(range(len(word)), key=lambda place: _COMMON_FIRST.find(word[place]))
        behind = f"(?!{unless[word]})" if unless and word in unless else ""
        rests.append((word[start:], (f"(?<={re.escape(word)})" if start else "") + behind))
    return _branches(rests)


def _branches(rests: list[tuple[str, str]]) -> str:
    """Return a pattern for any of these, each followed by its end; a common beginning is written once."""
    ends = [end for rest, end in rests if not rest]
    if "" in ends:
        return ""
    by_letter: dict[str, list[tuple[str, str]]] = {}
    for rest, end in rests:
        if rest:
            by_letter.setdefault(rest[0], []).append((rest[1:], end))
    found = [*ends, *(re.escape(letter) + _branches(behind) for letter, behind in by_letter.items())]
    return found[0] if len(found) == 1 else f"(?:{'|'.join(found)})"
