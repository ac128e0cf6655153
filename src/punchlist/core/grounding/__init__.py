"""Grounded progress: what tools really did, beside what was claimed.

- `tool_call`: one call, put together from reports in any order, and the pairing of reports with calls.
- `observe`: what is kept of a call when it begins and ends; `results` and `places` read its result and its files.
- `tally`: what was seen of the work on one item; `fold`: the log as calls and tallies.
- `grades`: a completion judged by its tally; `evidence`: what was offered for it, held against what was seen.
"""

from punchlist.core.grounding.evidence import (
    Matched,
    completion_before,
    grounded_by,
    match_evidence,
    matching_item,
    with_unclaimed,
)
from punchlist.core.grounding.fold import Grounding
from punchlist.core.grounding.grades import GRADES, SOUND, Grade, against, grade, regrade
from punchlist.core.grounding.observe import Watch, call_from, end_facts, start_facts
from punchlist.core.grounding.tally import NOTHING, CheckSeen, Tally, combined, tally_of, work_during
from punchlist.core.grounding.tool_call import (
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
