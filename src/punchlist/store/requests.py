"""Keep the replies to requests that came with an idempotency key, so that each is applied once."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from punchlist.store.records import Rows, check_row, checksum, microseconds, readable

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
