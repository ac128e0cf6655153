"""Mask secrets that are known by their shape, or by what stands right before them: a header, an address, a program."""

import re
from collections.abc import Iterable
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Final

_Row = tuple[str, tuple[str, ...], str]
"""A character that every match has in it, or none; what the lower-cased text has to hold, one of these; and a pattern
whose first group stays, while what comes behind it is the secret; its group `way`, if it has one, has to be of a single
command. A character is found in no time, and most texts have
few of these; what has none is looked for in every text, so its signs are rare ones."""

FREE: Final = r"""(?:(?<![\w-])|(?<=["'\n]-)|(?<=\A-)|(?<=\\n)|(?<=\\n-))"""
"""Where a program's name may begin: not within another, but behind the `-` of a line that a change took out."""

_QUOTE: Final = r"""(?P<quote>\\{0,3}["'])?"""
_INSIDE: Final = r"(?:(?!(?P=quote))[^\n]|(?<=\\)(?P=quote))++"
"""What stands behind a quote, up to the one that closes it."""

_REST: Final = r"""(?:"(?:[^"\\\n]|\\.)*+" | '[^'\n]*+' | [^\n|;&"'`])++"""
"""All that comes behind, to the end of the command; a quoted text is a part of it, whatever it has in it."""

_BLANKS: Final = r"(?:\s|\\{1,3}[nt]){1,16}"


def _given(head: str, before: str = "") -> str:
    """Return a pattern for a value given to a program, whole if quoted; `before` stands before it in the quotes."""
    bare = r"""(?:\\[^\n]|[^\s"'\\])++"""
    if before:
        bare = rf"""(?: \\{{0,3}}"[^"\n]++"? | \\{{0,3}}'[^'\n]++'? | {bare} )"""
    return rf"""({head}{_QUOTE}{before})(?(quote){_INSIDE}|{bare})"""


_CURL: Final = FREE + r"(?:curl|wget|https?)\b(?P<way>[^\n|]{0,400}?)"
_CURLS: Final = ("curl", "wget", "http ", "https ")
_TAKERS: Final = (
    r"--password-stdin|--with-token|sudo\b[^\n|]{0,80}?[ ]-\w{0,8}S|(?<!/etc/)passwd(?![\w.])|--passphrase-fd"
)
"""What reads a secret from its input."""

_LOGINS: Final = "cargo[ ]login|wandb[ ]login|vault[ ]login|ngrok[ ]authtoken|snyk[ ]auth"
_PROSE: Final = r"""(?:and|or|to|with|in|is|was|first|before|again|failed)\b
    | (?:commands?|calls?|steps?|page|fails|works|needs|succeeded)\b(?![^\n]{0,200}\d)"""
_SPOKEN: Final = ("passw",)

_ROWS: Final[tuple[_Row, ...]] = (
    (
        "-",
        _CURLS,
        _given(rf"{_CURL}[ \t](?:-u|-U|--user|--proxy-user|-a|--auth)[ \t=]{{0,4}}", r"""[^\s:"']{1,128}:"""),
    ),
    ("-", _CURLS, _given(rf"{_CURL}[ \t](?:-b|--cookie)[ \t=]{{0,4}}", r"""(?=[^\s"'=]{1,256}=)""")),
    (
        "-",
        (" -p",),
        _given(
            FREE
            + r"""(?:mysql\w*|mariadb\w*|mongo\w*|sshpass|7z\w?|(?:un)?zip
                |(?<![/.])login(?![/.])|twine|sqlcmd|bcp|useradd|usermod)\b
            (?P<way>[^\n|]{0,400}?)[ \t]-(?:p|P)[ \t=]{0,2}""",
            r"(?![-\s])",
        ),
    ),
    (
        "-",
        ("-cli",),
        _given(FREE + r"(?:redis|valkey|keydb)-cli\b(?P<way>[^\n|]{0,400}?)[ \t](?:-a|--pass)[ \t=]{1,4}"),
    ),
    ("-", ("pass:",), _given(FREE + r"--?pass\w{0,16}[ \t=]{1,4}", "pass:")),
    ("-", ("openssl",), _given(FREE + r"openssl\b(?P<way>[^\n|]{0,400}?)[ \t]-k[ \t]{1,4}")),
    ("-", ("ldap",), _given(FREE + r"ldap\w++(?P<way>[^\n|]{0,400}?)[ \t]-w[ \t]{1,4}")),
    ("-", ("ssh-keygen",), _given(FREE + r"ssh-keygen\b(?P<way>[^\n|]{0,400}?)[ \t]-[NP][ \t]{0,4}")),
    (
        "-",
        ("--from-literal",),
        rf"""((?P<quote>["'])--from-literal[ \t=]{{1,4}}[^\s="']{{1,128}}=){_INSIDE}""",
    ),
    ("-", ("--from-literal",), _given(r"--from-literal[ \t=]{1,4}", r"""[^\s="']{1,128}=""")),
    (
        "-",
        ("secret",),
        _given(FREE + r"secrets?\b(?P<way>[^\n|]{0,400}?)[ \t](?:-b|--body|--value|--plaintext)[ \t=]{1,4}"),
    ),
    (
        "=",
        ("secret",),
        rf"""({FREE}secrets?[ \t:]{{1,8}}set(?:[ \t]{{1,8}}-[\w-]{{1,32}}(?:[ \t=][^\s"'=]{{1,128}})?){{0,8}}
        [ \t]{{1,8}}["']?\w{{1,128}}=)(?!["']?\$){_REST}""",
    ),
    (
        "-",
        ("htpasswd",),
        rf"""({FREE}htpasswd(?=[^\n]{{0,80}}?[ \t]-\w{{0,8}}b)(?:[ \t]{{1,8}}-\w{{1,16}}){{1,8}}
        [ \t]{{1,8}}[^\s"']{{1,256}}[ \t]{{1,8}}){_REST}""",
    ),
    (
        "|",
        ("stdin", "--with-token", "sudo", "passwd", "-fd"),
        rf"""({FREE}(?:echo|printf)[ \t]{{1,8}}(?:-\w{{1,8}}[ \t]{{1,8}}){{0,2}}
        (?:\\{{0,3}}["']?%[^\s"'\\]{{1,16}}(?:\\{{1,3}}n)?\\{{0,3}}["']?[ \t]{{1,8}})?+)
        (?!\\{{0,3}}["']?\$)(?:\\{{0,3}}"[^"\n]{{0,512}}" | '[^'\n]{{0,512}}' | [^\s|"'])
        (?:\\{{0,3}}"[^"\n]{{0,512}}" | '[^'\n]{{0,512}}' | [^\n|"']){{0,512}}?
        (?=[ \t]{{0,8}}\|(?P<way>[^\n]{{0,200}}?(?:{_TAKERS})))""",
    ),
    (
        "",
        ("<<<",),
        _given(rf"(?:{_TAKERS}|\b(?:secret|login|auth)\b)[^\n|]{{0,200}}?<<<[ \t]{{0,8}}", r"(?![\s$])"),
    ),
    (
        "",
        ("cargo login", "wandb login", "ault login", "ngrok authtoken", "snyk auth"),
        rf"""({FREE}(?:{_LOGINS})(?![ \t]{{1,8}}(?:{_PROSE}))
        (?:[ \t]{{1,8}}--?\w[\w-]{{0,32}}(?:=[^\s"']{{0,128}})?){{0,4}}[ \t]{{1,8}})
        (?!["']?\$|-){_REST}""",
    ),
    (
        "",
        ("smbclient", "sqlplus"),
        _given(
            FREE
            + r"""(?:smbclient\b(?P<way>[^\n|]{0,400}?)[ \t](?:-U|--user)[ \t=]{0,4}
            | sqlplus(?:[ \t]{1,8}-\w{1,8}){0,4}[ \t]{1,8})""",
            r"""[^\s%/"']{1,128}[%/]""",
        ),
    ),
    (
        "",
        _SPOKEN,
        rf"""((?:
            (?:\bmachine{_BLANKS}[^\s"'\\]{{1,256}}{_BLANKS}|\bdefault{_BLANKS}|(?:\A|\n|\\n)[ \t]{{0,16}})
            (?:(?:login|account){_BLANKS}[^\s"'\\]{{1,256}}{_BLANKS}){{1,2}}password{_BLANKS}
          | {FREE}(?:mysqladmin|nmcli)\b(?P<way>[^\n|]{{0,400}}?)[ \t]password[ \t]{{1,8}}
        ){_QUOTE})(?(quote){_INSIDE}|(?![\s-])(?:\\[^\n]|[^\s"'\\])++)""",
    ),
    (
        "",
        _SPOKEN,
        r"""((?i:\bpassword
        (?:[ \t]{1,8}for[ \t]{1,8}[^\s=:]{1,128}[ \t]{0,8}[:=]|[ \t]{1,8}(?:is|was):?)?[ \t(]{1,8})
        (?P<quote>\\{0,3}["'])(?![\s,)\]}]))(?:(?P=quote){2}|(?!(?P=quote))[^\n]|(?<=\\)(?P=quote))++""",
    ),
    (
        "",
        _SPOKEN,
        r"""((?i:\bpassword[ \t]{1,8}(?:is|was):?[ \t]{1,8}))
        (?=[^\s"'\d]{0,64}\d)(?=[^\s"'a-zA-Z]{0,64}[a-zA-Z])[^\s"']{6,}+""",
    ),
    (
        "",
        ("identified by", "passw"),  # `IDENTIFIED WITH mysql_native_password BY` as well
        r"""((?i:identified\s{1,8}(?:with\s{1,8}\S{1,64}\s{1,8})?(?:by|as)\s{1,8}(?:password\s{1,8})?)
        (?P<quote>\\{0,3}["']))(?:(?P=quote){2}|(?!(?P=quote))[^\n]|(?<=\\)(?P=quote))++""",
    ),
    (
        "",
        ("identified by",),
        r"""((?i:\b(?:create|alter|grant)\b[^\n]{0,200}?\bidentified\s{1,8}by\s{1,8}))(?![\s"'\\])[^\s"';]++""",
    ),
)


_MARKS: Final = (
    r"""\\*["'] | \\+[^"'] | [({`] | \b(?:while|until|for|if)\b | ;(?=\s|\Z) | (?<=\s)&& | &&(?=\s|\Z) | \|\|"""
)
_QUOTES: Final = ('"', "'")


def end_of_command(way: str) -> int:
    """Return where the command that begins here ends; -1 if it goes on, or if that is not sure.

    A sign in quotes ends nothing. Where quotes stand on both sides of one, it may be in quotes that were opened before
    the program; and what stands behind a bracket, or in a loop, may belong together.
    """
    if ";" not in way and "&&" not in way and "||" not in way:
        return -1
    opened: list[str] = []
    is_quoted = False
    for found in _compiled(_MARKS).finditer(way):
        mark = found[0]
        if mark.endswith(_QUOTES):
            is_quoted = True
            opened = opened[: opened.index(mark)] if mark in opened else [*opened, mark]
        elif not opened and not mark.startswith("\\"):
            if mark[0] not in ";&|" or (is_quoted and any(quote in way[found.end() :] for quote in _QUOTES)):
                return -1
            return found.start()
    return -1


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

_BEHIND: Final[tuple[_Row, ...]] = (
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
    *_ROWS,
)
"""What stands right before a secret, see `_Row`."""

_ROWS_BY_SIGN: Final = tuple(
    (character, tuple((signs, tuple(row[2] for row in same)) for signs, same in groupby(rows, itemgetter(1))))
    for character, rows in groupby(_BEHIND, itemgetter(0))
)
"""The same, with what is asked of several of them asked once."""


def has_any(text: str, signs: Iterable[str]) -> bool:
    """True if one of these is in the text. A loop, because that takes half as long as `any`."""
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
    """True if `without_shapes` may find something in a text without any of `BARE_SIGNS` and `NAMED`.

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
    """Return the text with `***` for each secret that is known without a name. `lowered` is the text in lower case."""
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
    """Mask what follows the first group, unless another command begins before it."""
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
    """Return the words in which a secret would have room, one per line.

    Most texts have none, and that is found out on a map of the text, which has the same byte for all that words are
    made of: ten times as fast as a search for the words themselves.
    """
    if text.encode("utf-8", "replace").translate(_MAP).find(_LONG_ON_MAP) < 0:  # `in` takes bytes for a number first
        return ""
    return "\n".join(_compiled(_LONG).findall(text))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.VERBOSE)
