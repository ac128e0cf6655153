"""Have the agents of this machine report some projects to a team's server, and say what goes there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from punchlist.errors import AttachRefused, PunchlistError
from punchlist.hooks.outbox import read_patience
from punchlist.reader import BoardReader
from punchlist.settings import settings_path
from punchlist.settings.environment import find_project, normalise_remote
from punchlist.settings.servers import read_kept_token, token_path
from punchlist.settings.table import Share, Steer, TeamSettings, load_settings, set_setting, write_private_file
from punchlist.settings.team import find_team
from punchlist.views.findings import ago


class TeamStatus(Struct, frozen=True):
    """What this machine sends to a team's server, and how that stands."""

    server: str
    projects: tuple[str, ...]
    share: Share
    steer: Steer
    is_here: bool
    """The project of this folder is one of them."""
    waiting_bytes: int = 0
    dropped: int = 0
    """Lines that were dropped because more waited than fit, and are not yet told of."""
    sent_at: datetime | None = None
    is_connected: bool = False
    problem: str = ""
    """Why nothing can be sent; empty if nothing is known."""


def choose_projects(given: Sequence[str] | None) -> tuple[str, ...]:
    """Return the projects that are to be shared: those that were named, else that of this folder."""
    if given:
        found = [normalise_remote(one) for one in given]
    else:
        found = [remote] if (remote := find_project().remote) else []
    if not all("/" in one for one in found) or not found:
        problem = "A project is shared by the address that it was cloned from, and this folder has none"
        if given:
            problem = (
                f"`{next(one for one in given if '/' not in normalise_remote(one))}` is no address of a repository"
            )
        raise AttachRefused(problem=f"{problem}; name one with `--project https://git.example.org/shop`.")
    return tuple(dict.fromkeys(found))


def plan_team(server: str, projects: Sequence[str], *, share: Share | None, steer: Steer | None) -> TeamSettings:
    """Return what goes to a server from now on: what was agreed for it before, with what is given."""
    known = load_settings().team
    before = known if known.server == server else TeamSettings()
    return TeamSettings(
        server=server,
        projects=tuple(dict.fromkeys((*before.projects, *projects))),
        share=share or before.share,
        steer=steer or before.steer,
    )


def join_team(team: TeamSettings, token: str) -> None:
    """Keep the token for its owner alone, and write what goes to the server."""
    path = settings_path()
    write_private_file(token_path(team.server), f"{token}\n")
    if load_settings().team.server != team.server:  # what is agreed for the one does not go to the other
        set_setting(path, "team.server", "")
    for name in ("projects", "share", "steer", "server"):  # the server last: without it nothing is sent
        set_setting(path, f"team.{name}", getattr(team, name))


def leave_team() -> str | None:
    """Send nothing any more and forget the token; return the server, None without one."""
    server = load_settings().team.server
    if not server:
        return None
    set_setting(settings_path(), "team.server", "")
    set_setting(settings_path(), "team.projects", ())
    if os.path.lexists(token_path(server)):
        os.unlink(token_path(server))
    return server


def find_team_status(board: BoardReader | None) -> TeamStatus | None:
    """Return how it stands with the team's server; None without one. The board says what waits to be sent."""
    team = load_settings().team
    if not team.server:
        return None
    problem = ""
    try:
        read_kept_token(team.server)
    except PunchlistError as error:
        problem = str(error)
    status = TeamStatus(
        team.server, team.projects, team.share, team.steer, is_here=find_team(None) is not None, problem=problem
    )
    if board is None:
        return status
    state = board.store.read(lambda tx: tx.outbox.load_state())
    is_connected = read_patience(board.store.files) > 0
    return replace(
        status, waiting_bytes=state.bytes, dropped=state.dropped, sent_at=state.sent_at, is_connected=is_connected
    )


def describe_delivery(team: TeamStatus) -> str:
    """Say how far the events of this machine have come, in words."""
    if team.problem:
        return team.problem
    last = "nothing was sent yet" if team.sent_at is None else f"last sent {ago(team.sent_at, datetime.now(UTC))}"
    waiting = f"; {team.waiting_bytes:,} bytes wait" if team.waiting_bytes else ""
    dropped = f"; {team.dropped} events were dropped, because too much waited" if team.dropped else ""
    away = "" if team.is_connected else "; no relay is connected now (an agent or `punchlist watch` runs it)"
    return f"{last}{waiting}{dropped}{away}"
