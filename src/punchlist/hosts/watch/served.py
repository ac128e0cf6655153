"""Bind the conversation that a log tells of to the session that our MCP server made for it.

Gemini CLI and opencode do not tell our MCP server which conversation calls it, so its list has a session of its own.
The log has the same call: what began there within five seconds in the same project is the same, and is bound to it.
"""

from __future__ import annotations

from collections.abc import Iterable

from punchlist.agent.tool_reports import SAME_CALL
from punchlist.bridges.replay import OWN
from punchlist.config import project_of
from punchlist.store import Transaction
from punchlist.store.hosts import Conversation
from punchlist.transcripts.activity import ListWrite, Step


def bind_served(
    tx: Transaction, host: str, conversation: str, folder: str, steps: Iterable[Step]
) -> Conversation | None:
    """Return the conversation, bound to its session, if these steps tell of a call that our server answered."""
    for step in steps:
        if isinstance(step, ListWrite) and step.dialect == OWN and step.at is not None:
            project = project_of(folder)
            session = tx.hosts.find_served_session(host, project, step.at, within=SAME_CALL)
            if session is not None:
                tx.hosts.bind_conversation(host, conversation, session, project=project, at=step.at)
                return tx.hosts.find_conversation(host, conversation)
    return None
