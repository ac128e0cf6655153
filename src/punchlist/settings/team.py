"""Find which projects report to a team's server."""

from __future__ import annotations

from punchlist.settings.environment import Folder, find_project
from punchlist.settings.table import TeamSettings, load_settings


def find_team(folder: Folder) -> TeamSettings | None:
    """Return the settings of the team's server if the project of a folder reports to it; None if it stays here."""
    team = load_settings().team
    if not team.server or not team.projects:
        return None
    remote = find_project(folder).remote
    return team if remote and remote in team.projects else None
