"""Keep what the server needs: tokens, without their secrets, and replies to requests with an idempotency key."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from punchlist.store.records import Rows, check_row, checksum, microseconds, moment, readable


class TokenRow(NamedTuple):
    """A token as the board knows it."""

    id: int
    name: str
    digest: bytes
    """SHA-256 of the secret, which has 256 random bits: so it needs no salt."""
    scope: str
    project: str | None
    """The only project that it is good for; None for all."""
    created_at: datetime
    is_person: bool = False
    """It is for a person, and not for a program."""


class TokenRows(Rows):
    def add(
        self, name: str, digest: bytes, scope: str, project: str | None, *, at: datetime, is_person: bool = False
    ) -> None:
        values = {"name": name, "digest": digest, "scope": scope, "project": project, "at": microseconds(at)}
        self._rows.run("add_token", {**values, "is_person": is_person})

    def list(self) -> Sequence[TokenRow]:
        return [_token_row(row) for row in self._rows.all("list_tokens")]

    def find(self, *, digest: bytes | None = None, id: int | None = None, name: str | None = None) -> TokenRow | None:
        """Return the token with this digest, id or name."""
        row = self._rows.one("find_token", {"digest": digest, "id": id, "name": name})
        return None if row is None else _token_row(row)

    def remove(self, name: str) -> bool:
        """Delete a token; False if there is none of that name."""
        return bool(self._rows.run("remove_token", {"name": name}))


def _token_row(row: Any) -> TokenRow:
    number, name, digest, scope, project, created_at, is_person = row
    return TokenRow(number, name, digest, scope, project, moment(created_at), bool(is_person))


KEPT_FOR: Final = timedelta(days=1)
"""How long a key is known: a client that heard nothing repeats its request within minutes."""


class StoredRequest(NamedTuple):
    """A request that was applied. `reply` is None where the change itself is idempotent, by its call id."""

    fingerprint: bytes
    status: int = 0
    etag: str = ""
    reply: bytes | None = None


class RequestRows(Rows):
    """Reads and writes requests by their author and key, within one transaction."""

    def find(self, author: str, key: str, *, at: datetime) -> StoredRequest | None:
        row = self._rows.one("find_request", (author, key, microseconds(at - KEPT_FOR)))
        if row is None:
            return None
        total, fingerprint, status, etag, reply = row
        readable(lambda body: check_row(total, f"{author} {key} {status} {etag}", body, fingerprint), reply or b"")
        return StoredRequest(fingerprint, status, etag, reply)

    def save(self, author: str, key: str, request: StoredRequest, *, at: datetime) -> None:
        """Save a request; delete those that are old enough to be forgotten."""
        fingerprint, status, etag, reply = request
        total = checksum(f"{author} {key} {status} {etag}", reply or b"", fingerprint)
        self._rows.run("delete_old_requests", (microseconds(at - KEPT_FOR),))
        self._rows.run("save_request", (author, key, microseconds(at), total, fingerprint, status, etag, reply))
