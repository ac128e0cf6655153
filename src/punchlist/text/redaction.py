"""Secrets are taken out of what is shown and stored of a tool call: keys, tokens, passwords, private keys.

Known shapes are found wherever they stand (`secret_shapes`), other values by the name before them (`password=`,
`API_KEY: `, `--token `). Too much is redacted rather than too little. The work is linear in the text, and most texts
pass with a few looks for a word; redacting again changes nothing.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final

from punchlist.text.secret_shapes import MARK, without_shapes

_HEAD: Final = r"""
    (?<![A-Za-z0-9_-])--?(?P<option>[A-Za-z][A-Za-z0-9_-]++)[ \t]{1,8}(?!--|\s)
  | (?<![A-Za-z0-9_.-])(?P<name>[A-Za-z0-9_.-]++)\\{0,3}["']?\]?[ \t]{0,8}(?:=>|:=|=|:)[ \t]{0,8}
"""
"""A name and what comes between it and its value."""

_VALUE: Final = r"""
    \*\*\*(?=["'\s,)}\]\\@]|\Z)
  | (?P<open>\\*["']) (?: (?<=")(?<!\\")(?P<double>(?:[^"\\]|\\.)*+)" | (?<=')(?<!\\')(?P<single>(?:[^'\\]|\\.)*+)'
                        | (?<=\\["'])[^"'\\]*+(?P<close>\\++["'])? | [^\n]*+ )
  | [^\s;|&"'][^\s;|&]*+
"""

_WORDS: Final = frozenset({
    "pwd", "passwort", "kennwort", "senha", "credential", "credentials", "accesskey", "secretkey", "privatekey",
    "signature", "sig", "otp", "jwt", "bearer", "sessionid", "csrf", "xsrf", "authorization",
})  # fmt: skip
_ENDS: Final = ("password", "passwd", "passphrase", "passcode", "secret", "token", "apikey")
_KEYS: Final = frozenset({
    "api", "access", "secret", "private", "signing", "encryption", "master", "auth", "account", "shared", "service",
    "ssh", "deploy", "license", "session", "subscription", "storage", "app", "application", "client", "admin", "root",
})  # fmt: skip
"""Words that make the `key` behind them a secret."""

_LATER: Final = frozenset({"pass", "pw", "auth", "cookie", "dsn"})
"""Secret behind another word: `DB_PASS`, and not a count of passes."""

_SIGNS: Final = (
    "pass", "secret", "token", "key", "auth", "pwd", "cred", "sig", "jwt", "otp", "bearer", "sessionid", "kennwort",
    "senha", "srf", "pw", "cookie", "dsn",
)  # fmt: skip
"""Every secret name has one of these in it."""

_REFERENCE: Final = r"""["']?(?:\$\{?\w+\}?|\$\(.*|%\w+%|true|false|null|none|undefined)["']?[,)}\]]*"""
"""A value that says where the secret is, or that there is none."""

_IN_NAMES: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_RUN: Final = r"[A-Za-z0-9_.-]++"
_WORD: Final = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+"


def redact(text: str) -> str:
    """The text with `***` for each secret in it."""
    lowered = text.lower()
    kept = without_shapes(text, lowered)
    if "=" not in kept and ":" not in kept and "-" not in kept:
        return kept  # a name has one of these behind it, or before it
    signs = tuple([sign for sign in _SIGNS if sign in lowered])
    if not signs:
        return kept
    return _without_named(kept, lowered if kept is text else kept.lower(), signs)


def is_secret_name(name: str) -> bool:
    """Whether what goes by this name (of a variable, a field, an option) is to be kept secret."""
    return _is_secret_name(name[-128:])


@lru_cache(maxsize=1024)
def _is_secret_name(name: str) -> bool:
    found: list[str] = _compiled(_WORD).findall(name)
    words = [word.lower() for word in found]
    if any(word in _WORDS or word.endswith(_ENDS) for word in words):
        return True
    if any(second == "key" and first in _KEYS for first, second in pairwise(words)):
        return True
    if not _LATER.isdisjoint(words[1:]):
        return True
    return bool(found) and found[-1].endswith("KEY") and words[0] not in ("public", "primary", "foreign")


def _without_named(text: str, lowered: str, signs: tuple[str, ...]) -> str:
    """The text without values that stand behind a secret name. A name is looked at even within another's value."""
    kept: list[str] = []
    done = 0
    for head in _heads(text, lowered, signs):
        if head.start() < done or not is_secret_name(head["option"] or head["name"]):
            continue
        value = _compiled(_VALUE).match(text, head.end())
        if value is None or _compiled(_REFERENCE).fullmatch(value[0]) is not None:
            continue
        kept += (text[done : head.end()], _masked(value))
        done = value.end()
    return "".join((*kept, text[done:])) if kept else text


def _heads(text: str, lowered: str, signs: tuple[str, ...]) -> Iterator[re.Match[str]]:
    """Names with one of these signs in them and something behind them."""
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


def _masked(value: re.Match[str]) -> str:
    """The mark, within the quotes that the value had."""
    opening = value["open"]
    if opening is None:
        return MARK
    closed = value["double"] is not None or value["single"] is not None
    return opening + MARK + (opening if closed else value["close"] or "")


@lru_cache(maxsize=256)
def _any_of(signs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(signs))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE if pattern is _REFERENCE else re.VERBOSE)
