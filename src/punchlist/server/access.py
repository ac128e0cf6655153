"""Decide which requests are answered: Host, Origin, token or cookie, scope, size and type of the body.

`AccessGate` stands before the whole application, so that a route cannot be reached around it, and puts the security
headers on every response. What a route needs is said at its handler by `needs`; without that, a route that only reads
needs `look` and any other one `edit`, and a token for one project may call neither.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from hashlib import sha256
from html import escape
from typing import Any, Final, Literal, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from punchlist.remote.connection import TYPED
from punchlist.server.problems import RETRY_SECONDS, ApiProblem, respond_to_error
from punchlist.settings.environment import (
    Project,
    find_project_elsewhere,
    is_project_of,
    login_name,
    normalise_remote,
)
from punchlist.store import Store
from punchlist.store.tokens import TokenRow, digest_of

Need = Literal["public", "look", "answer", "edit", "report"]

SCOPES: Final = ("look", "answer", "edit")
"""Scopes of a token; each includes those before it."""

REPORT: Final = "report"
"""The scope of a machine of the team. It includes none of the others: what it reaches is said at each route."""

LONGEST_BODY: Final = 1_000_000

MOST_BODIES: Final = 32_000_000
"""Bytes that the bodies of all requests may have together, from their first piece to the reply."""

SECURITY_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}

_COOKIE_SECONDS: Final = 365 * 24 * 3600
_READING: Final = ("GET", "HEAD")
_JSON_PATHS: Final = ("/api/", "/mcp")
_JSON: Final = "application/json"
_NDJSON: Final = "application/x-ndjson"
HOOKS_PATH: Final = "/api/v1/hooks"
"""Takes lines of hooks, many at a time."""

_FORM: Final = "application/x-www-form-urlencoded"
_TLS_PORT: Final = 443
SIGN_IN: Final = "si_"
"""Beginning of the secret of a link that signs a person in once."""

_LINK_TOKEN: Final = "link"
"""The id of the token in the printed link; those of others are numbers."""


class Grant(NamedTuple):
    """A caller's rights: the scopes of its token, and the project that it is limited to."""

    name: str
    """The author of what the caller changes."""
    scopes: frozenset[str]
    project: str | None = None
    is_person: bool = False
    """A person has the token, and uses it on the page or types our command: what they complete is confirmed."""
    machine: str = ""
    """The machine that reports with the token; empty for every other token. Nothing that it does is a person's."""
    projects: tuple[str, ...] = ()
    """The repositories that this machine may report on."""
    owner: str = ""
    """The person whose machine it is."""

    def may_report(self, project: str) -> bool:
        """True for the key of a project that this machine may report on."""
        return is_project_of(project, self.name, self.projects)

    def find_place(self, remote: str) -> Project | None:
        """Return the project of a repository on this machine, by its URL or key; None if it may not report on it."""
        place = find_project_elsewhere(self.machine, self.name, normalise_remote(remote.removeprefix("repo://")), "")
        return place if self.may_report(place.key) else None


def make_owner() -> Grant:
    """Return the grant of the printed link: it is for the person who runs the server."""
    return Grant(login_name(), frozenset(SCOPES), is_person=True)


class KnownToken(NamedTuple):
    """A token as the board knows it: the hash of its secret, and what it grants."""

    id: str
    digest: bytes
    grant: Grant


class Rule(NamedTuple):
    """The scope that a route needs. One that is `per_project` limits itself to the project of the grant.

    One `for_machines` may be reached with the scope `report` too: it limits itself to what is the machine's own.
    """

    need: Need
    per_project: bool = False
    for_machines: bool = False


Handler = TypeVar("Handler")


def needs(need: Need, *, per_project: bool = False, for_machines: bool = False) -> Callable[[Handler], Handler]:
    """Mark a handler, or the application of a mount, with what a caller needs to reach it."""

    def mark(handler: Handler) -> Handler:
        handler.access_rule = Rule(need, per_project, for_machines)  # pyright: ignore[reportAttributeAccessIssue]
        return handler

    return mark


def guard_routes(routes: Iterable[BaseRoute]) -> list[BaseRoute]:
    """Put the check of its rule before each route, and return them."""
    guarded = list(routes)
    for route in guarded:
        if not isinstance(route, Route | Mount):
            raise TypeError(f"a {type(route).__name__} cannot be guarded")
        if not isinstance(route.app, _Guard):  # the routes of a module may serve several applications
            route.app = _Guard(route.app, find_rule(route))
    return guarded


def find_rule(route: Route | Mount) -> Rule:
    """Return what a route needs: as its handler is marked, else by its methods."""
    if isinstance(route.app, _Guard):
        return route.app.rule
    marked: Any = route.endpoint if isinstance(route, Route) else route.app
    rule: Rule | None = getattr(marked, "access_rule", None)
    if rule is not None:
        return rule
    reads = isinstance(route, Route) and (route.methods or set()) <= set(_READING)
    return Rule("look" if reads else "edit")


class _Guard:
    def __init__(self, app: ASGIApp, rule: Rule) -> None:
        self._app = app
        self.rule = rule

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._check(scope["state"]["grant"])
        await self._app(scope, receive, send)

    def _check(self, grant: Grant | None) -> None:
        if self.rule.need == "public":
            return
        if grant is None:
            detail = "Open the link that `punchlist serve` prints (`punchlist serve --status` shows it again)."
            raise _refuse(401, "token_missing", detail)
        if grant.machine and self.rule.for_machines:
            return
        if self.rule.need not in grant.scopes:
            raise _refuse(403, "scope_missing", f"This needs a token with the scope `{self.rule.need}`.")
        if grant.project is not None and not self.rule.per_project:
            raise _refuse(403, "project_only", "A token for one project does not reach this.")


# After a request that is not read to its end, nothing else can follow on its connection.
_CLOSE: Final = {"connection": "close"}
_REFUSAL_HEADERS: Final = {
    400: _CLOSE,
    401: {"www-authenticate": "Bearer"},
    413: _CLOSE,
    503: {**_CLOSE, "retry-after": str(RETRY_SECONDS)},
}


def _refuse(status: int, code: str, detail: str) -> ApiProblem:
    return ApiProblem(status, code, detail, headers=_REFUSAL_HEADERS.get(status))


def _refuse_size() -> ApiProblem:
    return _refuse(413, "body_too_large", f"A body may have {LONGEST_BODY} bytes at most.")


class Access:
    """The tokens, cookies and host names that one server accepts."""

    def __init__(
        self,
        secret: str,
        store: Store,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        name: str = "",
        has_tls: bool = False,
    ) -> None:
        self.host = host
        self.port = port
        self.name = name
        self.has_tls = has_tls
        self.secret = secret
        self._store = store
        # Away from this machine only tokens count that somebody made for it: the link's own is printed for the owner.
        self._link = KnownToken(_LINK_TOKEN, digest_of(secret), make_owner()) if is_loopback(host) else None
        here = socket.gethostname().lower()
        self._names = {"localhost", here, f"{here}.local", host.lower(), *([_host_of(name)] if name else [])}

    @property
    def cookie_name(self) -> str:
        """One per port: cookies do not know ports, and two servers on a machine must not sign each other out."""
        return f"punchlist_{self.port}"

    @property
    def origin(self) -> str:
        """The address of the page. Where the server listens on all addresses, that of this machine.

        A server with a name is reached by it over TLS: its own, on its own port, or that of a proxy before it.
        """
        if self.name:
            has_port = ":" in self.name or not self.has_tls or self.port == _TLS_PORT
            return f"https://{self.name}" if has_port else f"https://{self.name}:{self.port}"
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        return f"http{'s' if self.has_tls else ''}://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def has_link(self) -> bool:
        return self._link is not None

    @property
    def link(self) -> str:
        """The address that signs a browser in; without a token where the link's own does not count."""
        return f"{self.origin}/?token={self.secret}" if self.has_link else f"{self.origin}/"

    def is_own_host(self, given: str) -> bool:
        """True if a Host header names this machine. An address cannot be rebound by DNS, so any is accepted."""
        name = "" if any(char in given for char in "@/?#\\ ") else _host_of(given)
        return name in self._names or is_address(name)

    def is_secure(self, given: str) -> bool:
        """True if a browser that sends this Host header came over TLS, so that its cookie needs no other way."""
        return self.has_tls or (bool(self.name) and _host_of(given) == _host_of(self.name))

    def find_token(self, secret: str) -> KnownToken | None:
        """Return what is known of a secret; None for one that is unknown or revoked. Reads the board."""
        digest = digest_of(secret)
        if self._link is not None and hmac.compare_digest(digest, self._link.digest):
            return self._link
        return _find_known(self._store.read(lambda tx: tx.tokens.find(digest=digest)))

    def use_sign_in(self, secret: str) -> KnownToken | None:
        """Return the token of a sign-in link, which works once; None for one that was used, is old, or is none."""
        digest, now = digest_of(secret), datetime.now(UTC)
        if self._store.read(lambda tx: tx.tokens.find_sign_in(digest, now)) is None:
            return None  # a stranger who guesses does not wait for the lock, on a thread that others need
        return _find_known(self._store.transact(lambda tx: tx.tokens.use_sign_in(digest, now)))

    def make_cookie(self, token: KnownToken) -> str:
        """Return the value of the cookie for a token. The secret cannot be had from it."""
        return f"{token.id}.{self._sign(token, 'cookie')}"

    def make_key(self, token: KnownToken) -> str:
        """Return the key that a page sends with each change. Neither the secret nor the cookie tells it."""
        return self._sign(token, "key")

    def find_cookie(self, value: str) -> KnownToken | None:
        """Return the token of a cookie; None for one that we did not make, or of a revoked token. Reads the board."""
        number, _, signature = value.partition(".")
        if number == _LINK_TOKEN:
            token = self._link
        elif number.isascii() and number.isdecimal() and len(number) < 10:
            token = _find_known(self._store.read(lambda tx: tx.tokens.find(id=int(number))))
        else:
            return None
        if (
            token is None
            or token.grant.machine
            or not hmac.compare_digest(self._sign(token, "cookie").encode(), signature.encode())
        ):
            return None
        return token

    def _sign(self, token: KnownToken, use: str) -> str:
        return hmac.new(token.digest, f"{use} {self.cookie_name}".encode(), sha256).hexdigest()


def _find_known(row: TokenRow | None) -> KnownToken | None:
    if row is None or not row.is_good(datetime.now(UTC)):
        return None
    if row.scope == REPORT and row.machine:
        grant = Grant(row.name, frozenset({REPORT}), machine=row.machine, projects=row.projects, owner=row.owner)
    elif row.scope in SCOPES and not row.machine:
        scopes = SCOPES[: SCOPES.index(row.scope) + 1]
        grant = Grant(row.name, frozenset(scopes), row.project, row.is_person)
    else:
        return None
    return KnownToken(str(row.id), row.digest, grant)


def _host_of(given: str) -> str:
    """Return the host in a Host header, in small letters; empty if it is none."""
    try:
        return urlsplit(f"//{given}").hostname or ""
    except ValueError:  # a bracket without its other one, or no address in them
        return ""


def is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """True if only programs of this machine reach an address."""
    return host == "localhost" or (is_address(host) and ipaddress.ip_address(host).is_loopback)


class AccessGate:
    """Stands before the application: refuses what is not allowed, and sets the security headers."""

    def __init__(self, app: ASGIApp, access: Access, check_board: Callable[[], None]) -> None:
        self._app = app
        self._access = access
        self._check_board = check_board
        self.received = 0
        """Bytes of the bodies of all requests that are under way."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        send = _with_security_headers(send)
        try:
            response = await self._admit(scope)
        except Exception as error:  # as of the board, where the tokens are
            response = respond_to_error(error, Headers(scope=scope))
        if response is not None:
            await response(scope, receive, send)
            return
        size = 0

        async def receive_limited() -> Message:
            """Count the body as it comes: it may come without a length, or be longer than it said."""
            nonlocal size
            message = await receive()
            length = len(message.get("body", b""))
            size += length
            self.received += length
            if size > LONGEST_BODY:
                raise _refuse_size()
            if self.received > MOST_BODIES:
                raise _refuse(503, "bodies_too_large", "The server receives too much at once; repeat the request.")
            return message

        try:
            await self._app(scope, receive_limited, send)
        finally:
            self.received -= size

    async def _admit(self, scope: Scope) -> Response | None:
        """Note the grant of a request, or raise why it is refused; return the response to the printed link."""
        headers = Headers(scope=scope)
        self._check_headers(scope["method"], scope["path"], headers)
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in query if name == "token"), None)
        if given is not None and scope["method"] in _READING:
            return await self._sign_in(scope, given, [pair for pair in query if pair[0] != "token"])
        kind, _, secret = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            token = await self._find_token(secret.strip())
            name = _LINK_TOKEN if token.id == _LINK_TOKEN else token.grant.name  # a program sends it, not the owner
            is_typed = token.grant.is_person and token.id != _LINK_TOKEN and headers.get(TYPED) is not None
            token = token._replace(grant=token.grant._replace(name=name, is_person=is_typed))
        else:
            token = await self._find_cookie(headers)
            if token is not None:
                self._check_page(token, scope["method"], headers)
        if token is not None:
            self._check_board()
        # The token of the link is not revoked while the server runs.
        digest = token.digest if token is not None and token.id != _LINK_TOKEN else None
        scope.setdefault("state", {}).update(grant=token and token.grant, token=digest)
        return None

    def _check_headers(self, method: str, path: str, headers: Headers) -> None:
        if "content-length" in headers and "transfer-encoding" in headers:
            detail = "A request has a `Content-Length` or a `Transfer-Encoding`, never both."
            raise _refuse(400, "length_ambiguous", detail)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._access.is_own_host(hosts[0]):
            raise _refuse(421, "host_refused", "This server has another name; use the address that it prints.")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 9 or int(length) > LONGEST_BODY:
            raise _refuse_size()
        if method in _READING:
            return
        if "origin" in headers and not _is_same_origin(headers):
            raise _refuse(403, "origin_refused", "Another page may not change anything here.")
        if length == "0" and "transfer-encoding" not in headers:
            return
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        allowed = (_JSON,) if path.startswith(_JSON_PATHS) else (_JSON, _FORM)
        allowed = (_JSON, _NDJSON) if path == HOOKS_PATH else allowed
        if kind not in allowed:
            raise _refuse(415, "type_refused", f"The body has to be {' or '.join(allowed)}.")

    def _check_page(self, token: KnownToken, method: str, headers: Headers) -> None:
        """Refuse what others ask for with the cookie: another page, or a server on another port, which is sent it."""
        if not _is_same_origin(headers):
            _check_origin_of_cookie(method, headers)
        key, given = self._access.make_key(token), headers.get("x-punchlist-key", "")
        if method not in _READING and not hmac.compare_digest(key.encode(), given.encode()):
            detail = "This browser only reads: allow scripts, and open the link of `punchlist serve --status` again."
            raise _refuse(403, "key_missing", detail)

    async def _find_token(self, secret: str) -> KnownToken:
        token = await run_in_threadpool(self._access.find_token, secret)
        if token is None:
            raise _refuse(401, "token_unknown", "This token is unknown or was revoked.")
        return token

    async def _sign_in(self, scope: Scope, secret: str, query: list[tuple[str, str]]) -> Response:
        # A program that only looks what a link is, such as that of a chat, does not ask for a page.
        is_browser = "text/html" in Headers(scope=scope).get("accept", "")
        if secret.startswith(SIGN_IN):
            token = await run_in_threadpool(self._access.use_sign_in, secret) if is_browser else None
            if token is None:
                detail = "This sign-in link was used, or is older than 10 minutes. Ask for another one."
                raise _refuse(401, "sign_in_over", detail)
        else:
            token = await self._find_token(secret)
        if token.grant.machine:
            raise _refuse(403, "scope_missing", "The token of a machine signs no browser in.")
        # A path that begins with two slashes would lead to another host.
        target = "/" + scope["path"].lstrip("/\\")
        response: Response = RedirectResponse(f"{target}?{urlencode(query)}" if query else target, 303)
        if is_browser:
            page = _draw_handover(response.headers["location"], self._access.make_key(token))
            response = Response(page, media_type="text/html")
        response.set_cookie(
            self._access.cookie_name,
            self._access.make_cookie(token),
            max_age=_COOKIE_SECONDS,
            httponly=True,
            secure=self._access.is_secure(Headers(scope=scope)["host"]),
            samesite="strict",
        )
        return response

    async def _find_cookie(self, headers: Headers) -> KnownToken | None:
        # `http.cookies` stops at a cookie that it cannot read, and other servers of this host have theirs here too.
        found = cookie_parser(headers.get("cookie", "")).get(self._access.cookie_name)
        return None if found is None else await run_in_threadpool(self._access.find_cookie, found)


def _draw_handover(address: str, key: str) -> str:
    """Return a page that keeps the key in `localStorage`, which each port has for itself, and leads on."""
    to = escape(address)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Punchlist</title>'
        f'<noscript><meta http-equiv="refresh" content="0; url={to}"></noscript>'
        f'<script src="/static/sign_in.js" data-key="{key}" data-to="{to}"></script></html>'
    )


def _is_same_origin(headers: Headers) -> bool:
    """True for a request of our own page: by its Origin, or by the word of the browser.

    The Origin has to be the server as `Host` names it, which was checked before. It is another one behind a proxy with
    TLS that sets `Host`, and `null` for a form of a page without a referrer; no page can write `Sec-Fetch-Site` itself.
    """
    if headers.get("sec-fetch-site") == "same-origin":
        return True
    host = headers["host"].lower()
    return headers.get("origin", "").lower() in (f"http://{host}", f"https://{host}")


def _check_origin_of_cookie(method: str, headers: Headers) -> None:
    """Refuse what another page asks for with the browser's cookie; it may only lead a person here."""
    if method not in _READING:
        raise _refuse(403, "origin_missing", "A change needs this page's `Origin`, or a token in `Authorization`.")
    site = headers.get("sec-fetch-site", "none")
    if site in ("cross-site", "same-site") and headers.get("sec-fetch-mode") != "navigate":
        raise _refuse(403, "origin_refused", "Another page may not read this.")


def _with_security_headers(send: Send) -> Callable[[Message], Awaitable[None]]:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-cache" if "etag" in headers else "no-store")
        await send(message)

    return send_with_headers
