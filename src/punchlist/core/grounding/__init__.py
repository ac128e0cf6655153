"""Grounded progress: what tools really did, beside what was claimed.

- `calls`: one call, put together from reports in any order; `pairing`: which call a report is about.
- `tally`: what was seen of the work on one item; `counting`: how that grows, call by call.
- `work`: the fold of runtime events into calls and tallies.
- `grades`: a completion judged by its tally; `evidence`: what was offered for it, held against what was seen.
- `observing`: what is kept of a call when it begins and ends; `subagents`: which item a subagent works on.
"""

from punchlist.core.grounding.calls import (
    Moment,
    Subject,
    ToolCall,
    is_task,
    item_key,
    joined,
    subject,
    task_key,
    task_of,
)
from punchlist.core.grounding.counting import counted, tally_of, work_during
from punchlist.core.grounding.evidence import Matched, completion_before, grounded_by, match_evidence, with_unclaimed
from punchlist.core.grounding.grades import GRADES, SOUND, Grade, against, grade, regrade
from punchlist.core.grounding.observing import Watch, call_from, end_facts, start_facts
from punchlist.core.grounding.subagents import matching_item
from punchlist.core.grounding.tally import NOTHING, CheckSeen, Tally, combined
from punchlist.core.grounding.work import Grounding

__all__ = [
    "GRADES",
    "NOTHING",
    "SOUND",
    "CheckSeen",
    "Grade",
    "Grounding",
    "Matched",
    "Moment",
    "Subject",
    "Tally",
    "ToolCall",
    "Watch",
    "against",
    "call_from",
    "combined",
    "completion_before",
    "counted",
    "end_facts",
    "grade",
    "grounded_by",
    "is_task",
    "item_key",
    "joined",
    "match_evidence",
    "matching_item",
    "regrade",
    "start_facts",
    "subject",
    "tally_of",
    "task_key",
    "task_of",
    "with_unclaimed",
    "work_during",
]
