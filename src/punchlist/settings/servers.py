"""Servers of boards: which addresses may be used and shown, and the token that this user has for each."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING

from punchlist.errors import ConfigInvalid, ServerInvalid, TokenMissing
from punchlist.settings import settings_path

if TYPE_CHECKING:
    from urllib.parse import SplitResult

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LONGEST_TOKEN = 500


def is_server(url: str | os.PathLike[str] | None) -> bool:
    """True if a board is named by the address of its server."""
    return isinstance(url, str) and url.lower().startswith(("https://", "http://"))


def check_server(url: str) -> str:
    """Return the address of a server without a slash at its end; refuse one to which a token would go unprotected."""
    try:
        parts = _split(url.strip())
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ServerInvalid(url=hide_password(url)[:200], problem="it cannot be read as an address") from None
    if not host or parts.scheme.lower() not in ("http", "https"):
        raise ServerInvalid(url=hide_password(url)[:200], problem="it is no address of a server")
    if parts.username or parts.password or parts.query or parts.fragment or parts.path not in ("", "/"):
        raise ServerInvalid(url=f"{parts.scheme}://{host}", problem="it may have a host and a port, and nothing else")
    if parts.scheme.lower() == "http" and host not in _LOOPBACK:
        raise ServerInvalid(url=url[:200], problem="`http://` is for this machine only, because a token goes with it")
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}"


def _split(url: str) -> SplitResult:
    from urllib.parse import urlsplit  # hooks and short commands import this module, and name no server

    return urlsplit(url)


def hide_password(url: str) -> str:
    """Return the address of a database as it may be shown. A password may hold any character that ends it."""
    shown = re.sub(r"(?s)^([^:/]*:/*[^:@/]*:).*@", r"\1…@", url)
    base, mark, query = shown.partition("?")
    parts = [part if is_shown_parameter(part) else f"{part.partition('=')[0]}=…" for part in query.split("&")]
    return base + mark + "&".join(parts)


def is_shown_parameter(parameter: str) -> bool:
    """True for a parameter of an address that holds no secret."""
    from urllib.parse import unquote

    name = unquote(parameter.partition("=")[0]).lower()
    return "pass" not in name and name != "listen_url"


def token_path(url: str) -> str:
    """Return the file that keeps the token for a server."""
    parts = _split(check_server(url))
    host = (parts.hostname or "").replace(":", "-")
    name = host if parts.port is None else f"{host}_{parts.port}"
    return os.path.join(os.path.dirname(settings_path()), "tokens", name)


def read_token(url: str) -> str:
    """Return the token for a server: `$PUNCHLIST_TOKEN`, else that of its file, which nobody else may read."""
    return os.environ.get("PUNCHLIST_TOKEN", "").strip() or read_kept_token(url)


def read_kept_token(url: str) -> str:
    """Return the token that a file keeps for a server. This machine reports with it, whoever's token is at hand."""
    path = token_path(url)
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            mode = os.fstat(file.fileno()).st_mode
            token = file.read(_LONGEST_TOKEN).strip()
    except FileNotFoundError:
        raise TokenMissing(url=url, path=path) from None
    if stat.S_IMODE(mode) & 0o077:
        raise ConfigInvalid(name=path, value="…", problem=f"others can read this token; `chmod 600 {path}`")
    if not token:
        raise TokenMissing(url=url, path=path)
    return token
