"""Start the command `punchlist`. The status line, which a host runs every second, starts without the package."""

import sys


def program() -> int:
    if sys.argv[1:2] == ["statusline"]:
        from punchlist.places import default_path
        from punchlist_statusline import main

        return main(sys.argv[2:], find_board=default_path)
    from punchlist.cli import program as run_command

    return run_command()


if __name__ == "__main__":
    sys.exit(program())
