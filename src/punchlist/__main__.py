"""`python -m punchlist` is the command `punchlist`."""

import sys

from punchlist.cli import program

if __name__ == "__main__":
    sys.exit(program())
