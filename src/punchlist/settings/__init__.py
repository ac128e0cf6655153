"""Settings: here the places of the user's own board and settings file, in `table` all that the file may say.

A rule of our own for the places, and not the package platformdirs, because to import that takes longer than to start
Python: the status line would take 3.4 times a bare start instead of 2.1. It imports this module and no other.
"""

import os
import sys


def default_path() -> str:
    """Return the path of the user's own board, in the folder where the system keeps such data."""
    folder = os.environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(folder):
        place = "~/Library/Application Support" if sys.platform == "darwin" else "~/.local/share"
        folder = os.path.expanduser(place)
    return os.path.join(folder, "punchlist", "board.db")


def settings_path() -> str:
    """Return the path of the settings file: `$PUNCHLIST_CONFIG`, else in the folder where the system keeps settings."""
    named = os.environ.get("PUNCHLIST_CONFIG")
    if named:
        return os.path.abspath(os.path.expanduser(named))
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(folder):
        place = "~/Library/Application Support" if sys.platform == "darwin" else "~/.config"
        folder = os.path.expanduser(place)
    return os.path.join(folder, "punchlist", "config.toml")
