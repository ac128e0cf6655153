"""One request to the API: its caller, what it may see, and the transaction in which it changes something.

Every handler reaches sessions, agents and lists of tasks through `Call`, which hides what lies outside the project of a
token. Every change goes through `Call.commit` or takes its call id from `Call.take_call_id`: so a request that is
repeated under its `Idempotency-Key` is applied once, also where the server was killed before it could reply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import Struct

from punchlist.board import Board
from punchlist.core.presence import Presence
from punchlist.errors import AgentUnknown, SessionUnknown, TaskListUnknown
from punchlist.hosts.live import LiveRoster
from punchlist.server.access import Grant
from punchlist.server.problems import ApiProblem
from punchlist.server.state import has_person
from punchlist.store import AgentRow, Transaction
from punchlist.store.tasks import TaskListRow
from punchlist.store.tokens import StoredRequest
from punchlist.tasks import Tasks
from punchlist.tasks.fields import check_list_name
from punchlist.text.hashing import blake2b

# In one order, as the board keeps a reply: the same call again has the same bytes.
_encode: Final = msgspec.json.Encoder(order="deterministic").encode
_SESSION: Final = "session:"
_PROJECT: Final = "project:"


class Answer(Struct, frozen=True):
    """A reply as it is sent."""

    body: bytes
    status: int = 200
    etag: str = ""


class Call:
    """One request, by whoever made it."""

    def __init__(
        self,
        board: Board,
        grant: Grant,
        *,
        path: Mapping[str, str] | None = None,
        status: int = 200,
        revision: int | None = None,
        key: str | None = None,
        fingerprint: bytes = b"",
        live: LiveRoster | None = None,
    ) -> None:
        self.board = board
        self.path = path or {}
        self.revision = revision
        """The revision that `If-Match` names; None without it."""
        self.after: list[Callable[[], object]] = []
        """To be run once the reply is on its way: messages to hosts."""
        self._grant = grant
        self._status = status
        self._key = key
        self._fingerprint = fingerprint
        self._live = live

    # The caller.

    @property
    def by(self) -> str:
        """The author of what is changed."""
        return self._grant.name

    @property
    def is_person(self) -> bool:
        return has_person(self._grant)

    @property
    def project(self) -> str | None:
        """The only project that the caller may see; None for all."""
        return self._grant.project

    def sees(self, project: str | None) -> bool:
        """True if the caller may see what belongs to this project. All else below asks this."""
        return self._grant.project is None or self._grant.project == project

    def choose_project(self, wanted: str | None) -> str | None:
        """Return the project to look at, None for all; raise if it is not the caller's."""
        if wanted is not None and not self.sees(wanted):
            raise ApiProblem(404, "project_unknown", "There is no such project that this token may see.")
        return wanted or self._grant.project

    def choose_session(self, wanted: str | None) -> str | None:
        """Return the session to look at, None for all; raise if there is none that the caller sees."""
        if wanted is not None:
            self.find_project(wanted)
        return wanted

    def find_project(self, session: str) -> str:
        """Return the project of a session; raise `SessionUnknown`, also if the caller may not see it."""
        project = self.board.store.read(lambda tx: tx.session_project(session))
        if project is None or not self.sees(project):
            raise SessionUnknown(session=session[:200])
        return project

    def find_agent(self, session: str | None = None, agent: str | None = None) -> AgentRow:
        """Return an agent, by default the one of the path; raise if there is none that the caller sees."""
        session = self.path["session"] if session is None else session
        name = self.path["agent"] if agent is None else agent
        self.find_project(session)
        row = self.board.store.agent(session, name)
        if row is None:
            raise AgentUnknown(agent=name[:200], where=f"in session `{session}`")
        return row

    def find_list(self, name: str | None = None) -> TaskListRow:
        """Return a list of tasks, by default the one of the path; raise if there is none that the caller sees."""
        name = self.path["list"] if name is None else name
        check_list_name(name)
        found = self.board.store.read(lambda tx: tx.tasks.find_list(name))
        if found is None or not self.sees(found.project):
            raise TaskListUnknown(list=name[:200], known="`GET /api/v1/task-lists` shows those that there are")
        return found

    def open_tasks(self, *, creates: bool = False) -> Tasks:
        """Return the list of tasks of the path. With `creates` it need not be there yet."""
        name = check_list_name(self.path["list"])
        is_known = self.board.store.read(lambda tx: tx.tasks.find_list(name)) is not None
        if is_known or not creates:
            return self.board.tasks(name, project=self.find_list().project, by=self.by)
        return self.board.tasks(name, project=self._place_list(name), by=self.by)

    def _place_list(self, name: str) -> str | None:
        """Return the project of a list that is not there yet; raise if that is not the caller's."""
        if name.startswith(_SESSION):
            return self.find_project(name.removeprefix(_SESSION))
        if name.startswith(_PROJECT):
            return self.choose_project(name.removeprefix(_PROJECT))
        return self._grant.project

    def list_task_lists(self) -> list[tuple[TaskListRow, int]]:
        """Return the lists of tasks that the caller sees, with how many tasks they ever had."""
        found = self.board.store.read(lambda tx: tx.tasks.lists())
        return [(row, count) for row, count in found if self.sees(row.project)]

    def find_present(self) -> tuple[Sequence[Presence] | None, datetime | None]:
        """Return the agents that hosts know, and when these were asked, if the server follows them."""
        return (None, None) if self._live is None else self._live.find_present()

    # Changes.

    def commit(self, run: Callable[[Transaction], Struct]) -> Answer:
        """Run a change in one transaction with the note that it was made; return the reply.

        The same request again gets the same reply, and `run` is not called.
        """

        def work(tx: Transaction) -> Answer:
            known = self._find_known(tx)
            if known is not None and known.reply is not None:
                return Answer(known.reply, known.status, known.etag)
            answer = self.answer(run(tx))
            self._save(tx, answer)
            return answer

        return self.board.store.joined(work)

    def repeat(self, run: Callable[[], Struct]) -> Answer:
        """Run a change of several transactions that does nothing the second time; return the reply, the same again."""
        known = self.board.store.read(self._find_known)
        if known is not None and known.reply is not None:
            return Answer(known.reply, known.status, known.etag)
        answer = self.answer(run())
        self.board.store.transact(lambda tx: self._save(tx, answer), durable=False)
        return answer

    def _save(self, tx: Transaction, answer: Answer) -> None:
        if self._key is not None:
            stored = StoredRequest(self._fingerprint, answer.status, answer.etag, answer.body)
            tx.requests.save(self.by, self._key, stored, at=self.board.now())

    def take_call_id(self, given: str | None = None) -> str | None:
        """Return the id under which the board applies a change once; None if the request names none.

        Gates may be asked about such a change, outside of any transaction: so its reply is kept by the board, and here
        only that the key was used for this request and for no other.
        """
        if self._key is None:
            return given

        def reserve(tx: Transaction) -> None:
            if self._find_known(tx) is None:
                tx.requests.save(self.by, self._key or "", StoredRequest(self._fingerprint), at=self.board.now())

        self.board.store.transact(reserve, durable=False)
        return given or f"http:{blake2b(_encode([self.by, self._key]), digest_size=16).hexdigest()}"

    def _find_known(self, tx: Transaction) -> StoredRequest | None:
        if self._key is None:
            return None
        known = tx.requests.find(self.by, self._key, at=self.board.now())
        if known is not None and known.fingerprint != self._fingerprint:
            detail = "This Idempotency-Key was used before with another request; nothing was changed, use a new one."
            raise ApiProblem(422, "idempotency_key_reused", detail, field="Idempotency-Key")
        return known

    def answer(self, reply: Any) -> Answer:
        """Return a reply as it is sent. Its ETag begins with its revision, if it has one."""
        if isinstance(reply, Answer):
            return reply
        body = _encode(reply)
        revision: int | None = getattr(reply, "revision", None)
        digest = blake2b(body, digest_size=8).hexdigest()
        return Answer(body, self._status, f'"{digest}"' if revision is None else f'"{revision}.{digest}"')
