"""Secrets that are known by their shape, or by what stands right before them: a header, an address, a program.

What goes by programs and their words is in `secret_commands`.
"""

import re
from collections.abc import Iterable
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Final

from punchlist.text.secret_commands import ROWS, Row
from punchlist.text.secret_reach import end_of_command

MARK: Final = "***"
"""What stands where a secret stood."""

_SHAPES: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("eyJ",), r"eyJ[\w-]{5,2048}+\.[\w-]{2,}(?:\.[\w-]*)*"),  # JSON web token
    (
        ("AKIA", "ASIA", "AGPA", "AIDA", "AROA", "ANPA", "ANVA", "ABIA", "ACCA"),
        r"(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ANVA|ABIA|ACCA)[A-Z0-9]{12,}",  # AWS
    ),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"), r"gh[pousr]_\w{16,} | github_pat_\w{16,}"),
    (("gl",), r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas)-[\w.-]{16,}"),  # GitLab
    (("xox", "xapp-"), r"xox[a-z]-[\w-]{8,} | xapp-[\w-]{8,} | xoxe\.[\w.-]{8,}"),  # Slack
    (("sk-",), r"sk-[\w-]{16,}"),  # OpenAI, Anthropic, OpenRouter
    (("gsk_", "xai-", "pplx-"), r"gsk_\w{16,} | xai-[\w-]{16,} | pplx-\w{16,}"),
    (("hf_", "r8_", "tvly-"), r"hf_\w{16,} | r8_\w{16,} | tvly-[\w-]{16,}"),
    (("AIza", "ya29.", "GOCSPX-"), r"AIza[\w-]{24,} | ya29\.[\w-]{8,} | GOCSPX-[\w-]{8,}"),  # Google
    (("k_live_", "k_test_"), r"[rs]k_(?:live|test)_\w{8,}"),  # Stripe
    (
        ("npm_", "pypi-", "dckr_pat_", "rubygems_"),
        r"npm_\w{16,} | pypi-[\w-]{16,} | dckr_pat_[\w-]{8,} | rubygems_\w{16,}",
    ),
    (("SG.", "SK", "key-"), r"SG\.[\w-]{8,256}+\.[\w-]{8,} | SK[0-9a-f]{32} | key-[0-9a-f]{32}"),  # mail and calls
    (("_v1_", "hvs.", "hvb.", "hvr.", "dapi"), r"do[opr]_v1_\w{16,} | hv[sbr]\.[\w-]{16,} | dapi[0-9a-f]{32}"),
    (("dp.", "lin_api_", "ntn_"), r"dp\.(?:pt|st|ct|sa)\.\w{8,} | lin_api_\w{8,} | ntn_\w{16,}"),
    (("secret_", "ATATT", "shp"), r"secret_\w{32,} | ATATT[\w=-]{16,} | shp(?:at|ss|ca|pa)_\w{16,}"),
    (("sntry", "figd_", "PMAK-", "HRKU-"), r"sntry[su]_[\w=+/-]{16,} | figd_[\w-]{16,} | (?:PMAK|HRKU)-[\w-]{16,}"),
    (("pscale_", "sbp_", "tskey-"), r"pscale_[a-z]{2,8}_[\w.-]{8,} | sbp_\w{16,} | tskey-[\w-]{8,}"),
    (("AGE-SECRET-KEY-1", "ops_eyJ"), r"AGE-SECRET-KEY-1\w{8,} | ops_eyJ[\w=-]{8,}"),
)
"""What a long word of the text has to hold, one of these, and the shape of the secret."""

_LONG: Final = r"[A-Za-z0-9_.-]{16,}+"
_MAP: Final = bytes(
    ord("w") if chr(code).isascii() and (chr(code).isalnum() or chr(code) in "_.-") else ord(" ") for code in range(256)
)
_LONG_ON_MAP: Final = b"w" * 16
"""A word in which such a secret would have room; and how it looks on the map of a text, see `_long_words`."""

_BLOCK: Final = r"""
    -----BEGIN[A-Z ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----(?s:.*?)
    (?:-----END[A-Z ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----|\Z)
"""
_END_OF_BLOCK: Final = r"\A(?s:.*)-----END[A-Z ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----"

_BEHIND: Final[tuple[Row, ...]] = (
    ("", ("hooks.slack.com/services/", "/api/webhooks/"), r"(hooks\.slack\.com/services/|/api/webhooks/)[\w/-]++"),
    ("", ("whsec_",), r"(?<![A-Za-z0-9])(whsec_)[\w+/=]{8,}+"),  # Stripe
    ("", (":aa",), r"(?<!\d)(\d{8,12}:)AA[\w-]{30,}+"),  # Telegram, in an address right behind `bot`
    (
        "",
        ("authorization", "cookie"),
        r"""((?<![\w/-])(?i:(?:proxy-)?authorization|(?:set-)?cookie)\\{0,3}["']?[ \t]{0,8}[:=]
        [ \t]{0,8}+\\{0,3}+["']?+)(?!\*\*\*)
        (?:[^\n"'\\]|(?<=\w=)\\{0,3}["'](?![\s,}\])])[^\n"'\\]{0,1024}\\{0,3}["'])++""",
    ),
    (
        "",
        ("bearer", "basic", "digest", "negotiate"),
        r"""((?<![\w-])(?i:bearer|basic|digest|negotiate)[ \t]{1,8})(?=[^\s"']{8})[^\s"'\\,;]++""",
    ),
    ("@", ("://",), r"""(://[^\s/?\#:@"'<>]{0,256}:)[^\s/"'<>]{1,1024}(?=@)"""),
    ("@", ("://",), r"""(://)[^\s/?\#:@"'<>]{16,1024}(?=@)"""),
    *ROWS,
)
"""What stands right before a secret, see `Row`."""

_ROWS_BY_SIGN: Final = tuple(
    (character, tuple((signs, tuple(row[2] for row in same)) for signs, same in groupby(rows, itemgetter(1))))
    for character, rows in groupby(_BEHIND, itemgetter(0))
)
"""The same, with what is asked of several of them asked once."""


def has_any(text: str, signs: Iterable[str]) -> bool:
    """Whether one of these is in the text. A loop, because that takes half as long as `any`."""
    for sign in signs:  # noqa: SIM110
        if sign in text:
            return True
    return False


_SHAPE_SIGNS: Final = "|".join(re.escape(sign) for signs, _ in _SHAPES for sign in signs)
"""Most long words have none of these in them."""


def _signs_with(character: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sign for beside, signs, _ in _BEHIND if beside == character for sign in signs))


BARE_SIGNS: Final = _signs_with("")
"""The signs of what no character tells of, see `_BEHIND`."""

NAMED: Final = ("pass", "secret", "key")
"""Signs of names as well: a text that has one of these, and a `-` or `=`, is looked at in any case."""

_DASHED: Final = tuple(sign for sign in _signs_with("-") if not has_any(sign, NAMED))
_SENT: Final = _signs_with("@")
_PIPED: Final = _signs_with("|")


def may_have_shapes(text: str, lowered: str) -> bool:
    """Whether `without_shapes` may find something in a text that has none of `BARE_SIGNS` in it, nor of `NAMED`.

    If not, then in no part of the text either: whatever is looked for here is not in the part.
    """
    if "-" in lowered:
        for sign in _DASHED:  # a loop, as in `has_any`
            if sign in lowered:
                return True
    if ("@" in lowered and has_any(lowered, _SENT)) or ("|" in lowered and has_any(lowered, _PIPED)):
        return True
    words = _long_words(text)
    return words != "" and _compiled(_SHAPE_SIGNS).search(words) is not None


def without_shapes(text: str, lowered: str) -> str:
    """The text with `***` for each secret that needs no name to be known. `lowered` is the text in small letters."""
    if "-----" in text and "private key" in lowered:
        text = _compiled(_BLOCK).sub(MARK, text)
        text = _compiled(_END_OF_BLOCK).sub(MARK, text)
    for character, rows in _ROWS_BY_SIGN:
        if character in lowered:
            for signs, patterns in rows:
                for sign in signs:
                    if sign in lowered:
                        for pattern in patterns:
                            text = _without(_compiled(pattern), text)
                        break
    words = _long_words(text)
    if words and _compiled(_SHAPE_SIGNS).search(words) is not None:
        for signs, shape in _SHAPES:
            if has_any(words, signs):
                text = _compiled(rf"(?<![A-Za-z0-9])(?:{shape})[A-Za-z0-9_-]*+").sub(MARK, text)
    return text


def _without(pattern: re.Pattern[str], text: str) -> str:
    """The text with `***` for what comes behind the first group, unless another command is on the way to it."""
    if "way" not in pattern.groupindex:
        return pattern.sub(rf"\1{MARK}", text)
    kept: list[str] = []
    done = start = 0
    while (found := pattern.search(text, start)) is not None:
        end = -1 if found["way"] is None else end_of_command(found["way"])
        if end < 0:
            kept += (text[done : found.end(1)], MARK)
            done = start = found.end()
        else:
            start = min(found.end(1), found.start("way") + end + 1)
    return "".join((*kept, text[done:])) if kept else text


def _long_words(text: str) -> str:
    """The words in which a secret would have room, one a line.

    Most texts have none, and that is found out on a map of the text, which has the same byte for all that words are
    made of: ten times as fast as a search for the words themselves.
    """
    if text.encode("utf-8", "replace").translate(_MAP).find(_LONG_ON_MAP) < 0:  # `in` takes bytes for a number first
        return ""
    return "\n".join(_compiled(_LONG).findall(text))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.VERBOSE)
