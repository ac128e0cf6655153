"""What a transcript says was written just before its latest list, without reading it all again."""

from __future__ import annotations

from itertools import islice

from punchlist.transcripts.lines import LineTranscript
from punchlist.transcripts.values import Call, Transcript, Written

MOST = 32
"""So many calls are told at most; the one that comes late by another road is one of the last."""


def calls_before(transcript: Transcript, written: Written, *, subagent: str | None = None) -> list[Call]:
    """Calls with an id that stand before the latest list, which `written` is, the newest first. May be none."""
    if isinstance(transcript, LineTranscript):
        found = transcript.before(subagent=subagent)
    elif not transcript.is_store:
        writes = reversed(list(transcript.history(subagent=subagent)))
        found = (write.call for write in writes if write.call is not None)
    else:
        return []
    return list(islice((call for call in found if call.call_id not in (None, written.call_id)), MOST))
