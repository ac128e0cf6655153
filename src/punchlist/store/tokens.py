"""Keep what the server needs: tokens, without their secrets, machines, and replies to requests with a key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from punchlist.core.events import Draft
from punchlist.store.events import append_events
from punchlist.store.records import Rows, check_row, checksum, microseconds, moment, readable

SILENT_AFTER: Final = timedelta(seconds=15)
"""A machine that was not heard of for so long cannot be reached: its relay sends a heartbeat every five seconds."""


def digest_of(secret: str) -> bytes:
    """Return what the board keeps of the secret of a token or of a sign-in link."""
    from hashlib import sha256  # loads OpenSSL, and every hook imports this module

    return sha256(secret.encode(errors="surrogatepass")).digest()


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
    machine: str = ""
    """The machine that reports with it; empty unless its scope is `report`."""
    projects: tuple[str, ...] = ()
    """The repositories that this machine may report on, by their normalised URLs; `*` is any project."""
    owner: str = ""
    """The person whose machine it is."""
    expires_at: datetime | None = None

    def is_good(self, now: datetime) -> bool:
        """True until it expires."""
        return self.expires_at is None or now < self.expires_at


class MachineRow(NamedTuple):
    """A machine of the team as it was last heard of. `agents` are its conversations then, as JSON."""

    id: str
    name: str
    owner: str
    steer: str
    heard_at: datetime
    agents: str

    def reaches(self, now: datetime) -> bool:
        """True while it is heard of."""
        return now - self.heard_at <= SILENT_AFTER


class TokenRows(Rows):
    def add(
        self,
        name: str,
        digest: bytes,
        scope: str,
        project: str | None,
        *,
        at: datetime,
        by: str = "",
        is_person: bool = False,
        machine: str = "",
        projects: Sequence[str] = (),
        owner: str = "",
        expires_at: datetime | None = None,
    ) -> None:
        values = {"name": name, "digest": digest, "scope": scope, "project": project, "at": microseconds(at)}
        more = {"is_person": is_person, "machine": machine, "projects": json.dumps(list(projects)), "owner": owner}
        self._rows.run("add_token", {**values, **more, "expires": expires_at and microseconds(expires_at)})
        facts = {"scope": scope, "project": project, "projects": list(projects), "owner": owner}
        self._note("token.created", name, by, at, {key: value for key, value in facts.items() if value})

    def list(self) -> Sequence[TokenRow]:
        return [_token_row(row) for row in self._rows.all("list_tokens")]

    def find(self, *, digest: bytes | None = None, id: int | None = None, name: str | None = None) -> TokenRow | None:
        """Return the token with this digest, id or name."""
        row = self._rows.one("find_token", {"digest": digest, "id": id, "name": name})
        return None if row is None else _token_row(row)

    def renew(
        self,
        token: TokenRow,
        digest: bytes,
        projects: Sequence[str],
        *,
        by: str,
        at: datetime,
        expires_at: datetime | None,
    ) -> None:
        """Give a token another secret: its scope, and the machine that it stands for, stay."""
        values = {"id": token.id, "digest": digest, "projects": json.dumps(list(projects))}
        self._rows.run("renew_token", {**values, "expires": expires_at and microseconds(expires_at)})
        self._note("token.renewed", token.name, by, at)

    def remove(self, name: str, *, by: str, at: datetime) -> bool:
        """Delete a token; False if there is none of that name."""
        is_there = bool(self._rows.count("remove_token", {"name": name}))
        if is_there:
            self._note("token.revoked", name, by, at)
        return is_there

    def _note(self, kind: str, name: str, by: str, at: datetime, facts: Mapping[str, Any] = {}) -> None:
        append_events(self._rows, [Draft(kind, {"name": name, **facts})], by=by, at=at, agent=None)

    def add_sign_in(self, digest: bytes, token: int, *, expires_at: datetime) -> None:
        self._rows.run("add_sign_in", {"digest": digest, "token": token, "expires": microseconds(expires_at)})

    def find_sign_in(self, digest: bytes, at: datetime) -> TokenRow | None:
        """Return the token of a sign-in link that still works."""
        number = self._rows.value("find_sign_in", {"digest": digest, "at": microseconds(at)})
        return None if number is None else self.find(id=number)

    def use_sign_in(self, digest: bytes, at: datetime) -> TokenRow | None:
        """Return the token of a sign-in link, and delete the link: it works once."""
        token = self.find_sign_in(digest, at)
        self._rows.run("delete_sign_ins", {"digest": digest, "at": microseconds(at)})
        if token is not None:
            self._note("token.signed_in", token.name, token.name, at)
        return token


class MachineRows(Rows):
    def save(self, id: str, name: str, owner: str, steer: str, agents: str, *, at: datetime) -> None:
        values = {"id": id, "name": name, "owner": owner, "steer": steer, "agents": agents}
        self._rows.run("save_machine", {**values, "at": microseconds(at)})

    def find(self, id: str) -> MachineRow | None:
        row = self._rows.one("find_machine", {"id": id})
        return None if row is None else _machine_row(row)

    def list(self) -> Sequence[MachineRow]:
        return [_machine_row(row) for row in self._rows.all("list_machines")]

    def named(self, name: str) -> Sequence[str]:
        """Return the ids of the machines that have this name, or had it when they were last heard of."""
        known = [one.id for one in self.list() if one.name == name]
        made = [one.machine for one in TokenRows(self._rows).list() if one.machine and one.name == name]
        return list(dict.fromkeys((*known, *made)))


def _machine_row(row: Any) -> MachineRow:
    return MachineRow(*row)._replace(heard_at=moment(row[4]))


def _token_row(row: Any) -> TokenRow:
    found, projects, expires = TokenRow(*row), json.loads(row[8]), row[10]
    times = {"created_at": moment(row[5]), "expires_at": None if expires is None else moment(expires)}
    return found._replace(is_person=bool(found.is_person), projects=tuple(projects), **times)


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
