"""What a transcript says of the time before its latest list, without reading it all again."""

from __future__ import annotations

from itertools import islice

from punchlist.transcripts.at_hand import RecordTranscript
from punchlist.transcripts.lines import LineTranscript
from punchlist.transcripts.values import Call, Transcript

MOST = 32
"""So many calls are told at most; the one that comes late by another road is one of the last."""


def sessions_of(transcript: Transcript) -> list[str]:
    """The ids under which the conversation went on, the latest first; none for a store of several."""
    if isinstance(transcript, LineTranscript | RecordTranscript):
        return list(dict.fromkeys(transcript.lineage()))
    return [] if transcript.is_store else list(transcript.sessions)


def calls_before(transcript: Transcript, *, subagent: str | None = None) -> list[Call]:
    """Calls with an id up to the latest list, when it was looked for, the newest first. May be none."""
    if isinstance(transcript, LineTranscript):
        found = transcript.before(subagent=subagent)
    elif not transcript.is_store:
        writes = reversed(list(transcript.history(subagent=subagent)))
        found = (write.call for write in writes if write.call is not None)
    else:
        return []
    return list(islice((call for call in found if call.call_id is not None), MOST))
