"""Start the command `punchlist`. The status line, which a host runs every second, starts without the package."""

import os
import sys


def program() -> int:
    try:
        import fcntl  # noqa: F401 # pyright: ignore[reportUnusedImport]
    except ImportError:
        sys.exit("punchlist: Punchlist runs on Linux and macOS; on Windows, use WSL.")
    if sys.argv[1:2] == ["statusline"]:
        from punchlist_statusline import main

        return main(sys.argv[2:], find_board=_find_board)
    from punchlist.cli import program as run_command

    return run_command()


def _find_board() -> str:
    """Return the board of the settings file, else the user's own; only people who have the file wait for its reader."""
    from punchlist.settings import default_path, settings_path

    if not os.path.exists(settings_path()):
        return default_path()
    from punchlist.settings.table import load_settings

    return load_settings().db or default_path()


if __name__ == "__main__":
    sys.exit(program())
