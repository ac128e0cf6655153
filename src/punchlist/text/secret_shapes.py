"""Secrets that are known by their shape, or by what stands right before them: a header, an address, a program."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

MARK: Final = "***"
"""What stands where a secret stood."""

_SHAPES: Final = r"""
    eyJ[\w-]{5,}\.[\w-]{2,}(?:\.[\w-]*)*                                             # JSON web token
  | (?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ANVA|ABIA|ACCA)[A-Z0-9]{12,}                    # AWS
  | gh[pousr]_\w{16,} | github_pat_\w{16,}                                           # GitHub
  | gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas)-[\w.-]{16,}                            # GitLab
  | xox[a-z]-[\w-]{8,} | xapp-[\w-]{8,} | xoxe\.[\w.-]{8,}                           # Slack
  | sk-[\w-]{16,}                                                                    # OpenAI, Anthropic, OpenRouter
  | gsk_\w{16,} | xai-[\w-]{16,} | pplx-\w{16,} | hf_\w{16,} | r8_\w{16,} | tvly-[\w-]{16,}
  | AIza[\w-]{24,} | ya29\.[\w-]{8,} | GOCSPX-[\w-]{8,}                              # Google
  | [rs]k_(?:live|test)_\w{8,} | whsec_[\w+/=]{8,}                                   # Stripe
  | npm_\w{16,} | pypi-[\w-]{16,} | dckr_pat_[\w-]{8,} | rubygems_\w{16,}            # registries
  | SG\.[\w-]{8,}\.[\w-]{8,} | SK[0-9a-f]{32} | key-[0-9a-f]{32}                     # SendGrid, Twilio, Mailgun
  | do[opr]_v1_\w{16,} | hv[sbr]\.[\w-]{16,} | dapi[0-9a-f]{32} | dp\.(?:pt|st|ct|sa)\.\w{8,}
  | lin_api_\w{8,} | ntn_\w{16,} | secret_\w{32,} | ATATT[\w=-]{16,} | shp(?:at|ss|ca|pa)_\w{16,}
  | sntry[su]_[\w=+/-]{16,} | figd_[\w-]{16,} | PMAK-[\w-]{16,} | HRKU-[\w-]{16,} | pscale_[a-z]{2,8}_[\w.-]{8,}
  | sbp_\w{16,} | tskey-[\w-]{8,} | AGE-SECRET-KEY-1\w{8,} | ops_eyJ[\w=-]{8,}
  | \d{8,12}:AA[\w-]{30,}                                                            # Telegram
"""

_RUN: Final = r"[A-Za-z0-9_\-.:/+=]{12,}+"
"""Every shape lies within such a run, and most runs hold none."""

_NOT_SMALL: Final = r"[A-Z0-9_-]"
_SMALL: Final = ("xoxe.", "hvs.", "hvb.", "hvr.", "dapi", "dp.")
"""Every shape has one of the former in it, but for those with one of these."""

_SHAPE: Final = rf"(?<![A-Za-z0-9])(?:{_SHAPES})[A-Za-z0-9_-]*+"

_BLOCK: Final = r"""
    -----BEGIN[A-Z ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----(?s:.*?)
    (?:-----END[A-Z ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----|\Z)
"""
_END_OF_BLOCK: Final = r"\A(?s:.*)-----END[A-Z ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----"

_BEHIND: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("hooks.slack.com/services/", "/api/webhooks/"), r"(hooks\.slack\.com/services/|/api/webhooks/)[\w/-]++"),
    (
        ("authorization", "cookie"),
        r"""((?<![\w/-])(?i:(?:proxy-)?authorization|(?:set-)?cookie)\\{0,3}["']?[ \t]{0,8}[:=][ \t]{0,8}\\{0,3}["']?)
        [^\n"'\\]++""",
    ),
    (
        ("bearer", "basic", "digest", "negotiate"),
        r"""((?<![\w-])(?i:bearer|basic|digest|negotiate)[ \t]{1,8})(?=[^\s"']{8})[^\s"'\\,;]++""",
    ),
    (("://",), r"""(://[^\s/?\#:@"'<>]{0,256}:)[^\s/"'<>]{1,1024}(?=@)"""),
    (("://",), r"""(://)[^\s/?\#:@"'<>]{16,1024}(?=@)"""),
    (
        ("-u",),
        r"""((?<![\w-])(?:curl|wget|https?)\b[^\n]{0,400}?[ \t](?:-u|--user)[ \t=]{0,4}["']?[^\s:"']{1,128}:)
        [^\s"']++""",
    ),
    (
        (" -p",),
        r"""((?<![\w-])(?:mysql\w*|mariadb\w*|sshpass)\b[^\n]{0,400}?[ \t]-p[ \t]{0,2})(?![-\s])[^\s"']++""",
    ),
)
"""What the lower-cased text has to hold, one of these, and the secret behind the group that stays."""


_SIGNS: Final = tuple(dict.fromkeys(sign for signs, _ in _BEHIND for sign in signs))


def without_shapes(text: str, lowered: str) -> str:
    """The text with `***` for each secret that needs no name to be known. `lowered` is the text in small letters."""
    if "-----" in text and "private key" in lowered:
        text = _compiled(_BLOCK).sub(MARK, text)
        text = _compiled(_END_OF_BLOCK).sub(MARK, text)
    if has_any(lowered, _SIGNS):
        for signs, pattern in _BEHIND:
            if has_any(lowered, signs):
                text = _compiled(pattern).sub(rf"\1{MARK}", text)
    return _compiled(_RUN).sub(_without_shape, text)


def has_any(text: str, signs: Iterable[str]) -> bool:
    """Whether one of these is in the text. A loop, because that takes half as long as `any`."""
    for sign in signs:  # noqa: SIM110
        if sign in text:
            return True
    return False


def _without_shape(run: re.Match[str]) -> str:
    text = run[0]
    if _compiled(_NOT_SMALL).search(text) is None and not has_any(text, _SMALL):
        return text
    return _compiled(_SHAPE).sub(MARK, text)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.VERBOSE)
