"""Read and write the tokens by which programs and people reach the server. Secrets are never stored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from punchlist.store.records import Rows, microseconds, moment


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
    """Reads and writes tokens, within one transaction."""

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
