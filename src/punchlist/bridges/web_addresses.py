"""Addresses of webhooks, as people write them: made ready to be sent to, or refused at once."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlsplit, urlunsplit

from punchlist.errors import ConfigInvalid

_KEPT: Final = "/%:@!$&'()*+,;=~"
"""Characters of a path that stay as they are; in what follows `?` also that one."""

_HIDDEN: Final = "http…"
_NOWHERE: Final = "there can be no such host or port"


class WebAddress(NamedTuple):
    """`place` is as much of it as may be shown; the rest may hold secrets."""

    url: str
    place: str
    headers: Mapping[str, str]


def web_address(url: str) -> WebAddress:
    """Raises `ConfigInvalid` for what nothing can be sent to."""
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").encode("ascii" if _is_number(parts) else "idna").decode()
    except ValueError:  # of a host in brackets, a port, a name that is none
        raise _refused(_HIDDEN, _NOWHERE) from None
    place = f"{parts.scheme}://{host}"[:80]
    if parts.scheme not in {"http", "https"} or not host:
        raise _refused(place, "use an address with http:// or https://")
    if port == 0 or _unfit().search(host):
        raise _refused(_HIDDEN, _NOWHERE)
    shown = f"[{host}]" if ":" in host else host
    where = shown if port is None else f"{shown}:{port}"
    path, query = quote(parts.path, safe=_KEPT), quote(parts.query, safe=f"{_KEPT}?")
    return WebAddress(urlunsplit((parts.scheme, where, path, query, "")), place, _login(parts))


def is_sendable(name: str, value: str) -> bool:
    """Whether HTTP can have this header."""
    return bool(_token().fullmatch(name) and _line().fullmatch(value))


def _login(parts: SplitResult) -> dict[str, str]:
    if not parts.username and not parts.password:
        return {}
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return {"Authorization": f"Basic {b64encode(login.encode()).decode()}"}


def _is_number(parts: SplitResult) -> bool:
    return ":" in (parts.hostname or "")


def _refused(place: str, problem: str) -> ConfigInvalid:
    return ConfigInvalid(name="webhook", value=place, problem=problem)


@cache
def _unfit() -> re.Pattern[str]:
    return re.compile(r"[^A-Za-z0-9._:%-]")


@cache
def _token() -> re.Pattern[str]:
    return re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@cache
def _line() -> re.Pattern[str]:
    return re.compile(r"[\t\x20-\x7e\xa0-\xff]*")
