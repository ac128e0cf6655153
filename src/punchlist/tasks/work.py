"""Everything that can be done to the tasks of one list within one transaction."""

from __future__ import annotations

from punchlist.tasks.claims import Claims
from punchlist.tasks.edits import Edits
from punchlist.tasks.waits import Waits


class Work(Edits, Claims, Waits):
    """For whoever has a transaction open; `Tasks` opens one for each call."""
