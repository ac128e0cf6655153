"""Select what to watch by the settings: agents, and the folders of their sessions."""

from __future__ import annotations

import os
from datetime import datetime

from msgspec import Struct

from punchlist.settings.table import load_settings, read_age


class WatchScope(Struct, frozen=True):
    """Agents by name, and folders as they are on the disk; no folders are all."""

    agents: tuple[str, ...]
    folders: tuple[str, ...] = ()

    def has_folder(self, folder: str) -> bool:
        """True if sessions that work in a folder are watched."""
        if not self.folders:
            return True
        found = os.path.realpath(folder)
        return any(found == one or found.startswith(one.rstrip(os.sep) + os.sep) for one in self.folders)


def load_scope() -> WatchScope:
    """Return what the settings say is watched."""
    watch = load_settings().watch
    return WatchScope(watch.agents, tuple(os.path.realpath(os.path.expanduser(one)) for one in watch.folders))


def find_beginning(now: datetime) -> datetime:
    """Return the time from which on logs are read, by the settings."""
    return now - read_age(load_settings().watch.since)
