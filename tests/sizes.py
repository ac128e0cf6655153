"""How large a test is: small with `make test`, large with `make storm`."""

import os
from typing import TypeVar

T = TypeVar("T")


def size(small: T, large: T) -> T:
    """The large size if `$PUNCHLIST_STORM` is set, else the small one."""
    return large if os.environ.get("PUNCHLIST_STORM") else small
