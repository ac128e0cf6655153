"""One request to the API: its caller, what it may see, and the transaction in which it changes something.

Every handler reaches sessions, agents and lists of tasks through `ApiCall`, which hides what lies outside the project
of a token. Every change goes through its `commit` or takes its id from `take_call_id`: so a request that is repeated
under its `Idempotency-Key` is applied once, also where the server was killed before it could reply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from punchlist.board import Board
from punchlist.conversations.bindings import check_steering
from punchlist.core.events import Event
from punchlist.errors import AgentUnknown, SessionUnknown, TaskListUnknown
from punchlist.presence.screen_feed import LiveRoster
from punchlist.server.access import Grant
from punchlist.server.problems import ApiProblem
from punchlist.server.state import has_person
from punchlist.settings.environment import Folder
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


@dataclass
class ApiCall:
    """One request, by whoever made it."""

    board: Board
    grant: Grant
    path: Mapping[str, str] = field(default_factory=dict[str, str])
    status: int = 200
    revision: int | None = None
    """The revision that `If-Match` names; None without it."""
    key: str | None = None
    """The `Idempotency-Key`."""
    acting: str = ""
    """The agent that acts on tasks, as `SESSION/AGENT` (`Punchlist-Agent`); empty if the token itself does."""
    fingerprint: bytes = b""
    """What makes two requests with one key the same."""
    live: LiveRoster | None = None
    """The agents of this machine, if the server follows them."""
    after: list[Callable[[], object]] = field(default_factory=list[Callable[[], object]])
    """To be run once the reply is on its way: messages to hosts."""

    # The caller.

    @property
    def by(self) -> str:
        """The author of what is changed."""
        return self.grant.name

    @property
    def is_person(self) -> bool:
        return has_person(self.grant)

    def sees(self, project: str | None) -> bool:
        """True if the caller may see what belongs to this project. All else below asks this."""
        if self.grant.machine:
            return project is not None and self.grant.may_report(project)
        return self.grant.project is None or self.grant.project == project

    def owns(self, session: str) -> bool:
        """True unless the caller is a machine, and the session is not its own: neither begun there nor handed over."""
        if not self.grant.machine:
            return True
        machine = self.grant.machine
        return self.board.store.read(
            lambda tx: tx.find_machine(session) == machine or tx.hosts.is_continued_on(machine, session)
        )

    def check_claim(self, tasks: Tasks, fence: int | None) -> None:
        """Refuse what a machine does to the task of the path unless it claimed that itself: a fence can be guessed."""
        if not self.grant.machine:
            return
        if fence is None:
            raise ApiProblem(422, "fence_missing", "A machine shows the fence of its claim.", field="fence")
        claims = [event for event in tasks.history(self.path["task"]) if event.kind == "task.claimed"]
        if not claims or not self._has_made(claims[-1]):
            raise ApiProblem(403, "scope_missing", "A machine changes only the tasks that it has claimed.")

    def _has_made(self, event: Event) -> bool:
        return event.by == self.grant.name if event.session is None else self.owns(event.session)

    def choose_project(self, wanted: str | None) -> str | None:
        """Return the project to look at, None for all; raise if it is not the caller's."""
        if (wanted is not None or self.grant.machine) and not self.sees(wanted):
            raise ApiProblem(404, "project_unknown", "There is no such project that this token may see.")
        return wanted or self.grant.project

    def place_session(self, wanted: str | None) -> Folder:
        """Return the project of a new session; of a machine's, the repository that it names by its URL."""
        if not self.grant.machine:
            return self.choose_project(wanted)
        place = self.grant.find_place(wanted or "")
        if place is None:
            raise ApiProblem(404, "project_unknown", "The token of this machine was not made for this project.")
        return place

    def choose_session(self, wanted: str | None) -> str | None:
        """Return the session to look at, None for all; raise if there is none that the caller sees."""
        if wanted is not None:
            self.find_project(wanted)
        return wanted

    def find_project(self, session: str) -> str:
        """Return the project of a session; raise `SessionUnknown`, also if the caller may not see it."""
        project = self.board.store.read(lambda tx: tx.session_project(session))
        if project is None or not self.sees(project) or not self.owns(session):
            raise SessionUnknown(session=session[:200])
        return project

    def check_steering(self, session: str) -> None:
        """Refuse to change what an agent of another person's machine works on; its own machine may."""
        if not self.grant.machine:
            self.board.store.read(lambda tx: check_steering(tx, session, self.by))

    def find_agent(self, session: str | None = None, agent: str | None = None) -> AgentRow:
        """Return an agent, by default the one of the path; raise if there is none that the caller sees."""
        session = self.path["session"] if session is None else session
        name = self.path["agent"] if agent is None else agent
        self.find_project(session)
        row = self.board.store.agent(session, name)
        if row is None:
            raise AgentUnknown(agent=name[:200], where=f"in session `{session}`")
        return row

    def open_tasks(self, *, creates: bool = False) -> Tasks:
        """Return the list of tasks of the path. With `creates` it need not be there yet."""
        name = check_list_name(self.path["list"])
        project = self._place_list(name, creates=creates)
        if not self.acting:
            return self.board.tasks(name, project=project, by=self.by)
        session, _, agent = map(unquote, self.acting.partition("/"))
        known = self.board.store.read(lambda tx: tx.session_project(session))
        where = self.place_session(project) if known is None else self.find_project(session)
        self.check_steering(session)
        return self.board.tasks(name, project=project, agent=self.board.agent(agent, session=session, project=where))

    def check_list(self, name: str) -> None:
        """Refuse a list of tasks that is not the caller's, or that an agent of another person's machine works on."""
        self._place_list(check_list_name(name), creates=True)
        if name.startswith(_SESSION):
            self.check_steering(name.removeprefix(_SESSION))

    def _place_list(self, name: str, *, creates: bool) -> str | None:
        """Return the project of a list of tasks; raise if the caller does not see it, or it is not there yet."""
        found = self.board.store.read(lambda tx: tx.tasks.find_list(name))
        if found is not None and self.sees_list(found):
            return found.project
        if found is not None or not creates:
            raise TaskListUnknown(list=name[:200], known="`GET /api/v1/task-lists` shows those that there are")
        if name.startswith(_SESSION):
            return self.find_project(name.removeprefix(_SESSION))
        if name.startswith(_PROJECT):
            return self.choose_project(name.removeprefix(_PROJECT))
        return self.choose_project(None)

    def list_task_lists(self) -> list[tuple[TaskListRow, int]]:
        found = self.board.store.read(lambda tx: tx.tasks.lists())
        return [(row, count) for row, count in found if self.sees_list(row)]

    def sees_list(self, row: TaskListRow) -> bool:
        """True if the caller may see a list of tasks. A machine sees those of its projects and of its own sessions."""
        if not self.sees(row.project):
            return False
        return not self.grant.machine or row.name == f"{_PROJECT}{row.project}" or self.owns(row.session or "")

    # Changes.

    def commit(self, run: Callable[[Transaction], Struct], *, durable: bool = True) -> Answer:
        """Run a change in one transaction with the note that it was made; return the reply, the same again."""

        def work(tx: Transaction) -> Answer:
            answer = self._find_answer(tx)
            if answer is None:
                answer = self.answer(run(tx))
                self._save(tx, answer)
            return answer

        return self.board.store.joined(work, durable=durable)

    def repeat(self, run: Callable[[], Struct]) -> Answer:
        """Run a change of several transactions that does nothing the second time; return the reply, the same again."""
        known = self.board.store.read(self._find_answer)
        if known is not None:
            return known
        answer = self.answer(run())
        self.board.store.transact(lambda tx: self._save(tx, answer), durable=False)
        return answer

    def _find_answer(self, tx: Transaction) -> Answer | None:
        known = self._find_known(tx)
        if known is None or known.reply is None:
            return None
        return Answer(known.reply, known.status, known.etag)

    def _save(self, tx: Transaction, answer: Answer) -> None:
        if self.key is not None:
            stored = StoredRequest(self.fingerprint, answer.status, answer.etag, answer.body)
            tx.requests.save(self.by, self.key, stored, at=self.board.now())

    def take_call_id(self, given: str | None = None) -> str | None:
        """Return the id under which the board applies a change once; None if the request names none.

        Gates may be asked about such a change, outside of any transaction: so its reply is kept by the board, and here
        only that the key was used for this request and for no other.
        """
        if self.key is None:
            return given

        def reserve(tx: Transaction) -> None:
            if self._find_known(tx) is None:
                tx.requests.save(self.by, self.key or "", StoredRequest(self.fingerprint), at=self.board.now())

        self.board.store.transact(reserve, durable=False)
        return given or f"http:{blake2b(_encode([self.by, self.key]), digest_size=16).hexdigest()}"

    def _find_known(self, tx: Transaction) -> StoredRequest | None:
        if self.key is None:
            return None
        known = tx.requests.find(self.by, self.key, at=self.board.now())
        if known is not None and known.fingerprint != self.fingerprint:
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
        return Answer(body, self.status, f'"{digest}"' if revision is None else f'"{revision}.{digest}"')
