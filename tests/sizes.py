"""How large a test is: small with `make test`, large with `make storm`."""

import os


def size(small: int, large: int) -> int:
    """The large number if `$PUNCHLIST_STORM` is set, else the small one."""
    return large if os.environ.get("PUNCHLIST_STORM") else small
