"""Ids that a host uses again: some number their calls from one in each turn, or in each message.

Once a call has ended, or was given up, another tool or other arguments under its id are another call. The same tool
with the same arguments is that call told once more, however late: nobody can tell the two apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from punchlist.agent.kept import PAST, Contents, Kept
from punchlist.core.grounding.watched import used_again
from punchlist.store import Transaction

_NONE: Contents = frozenset()


def id_in_use(tx: Transaction, known: Kept, call_id: str, facts: Mapping[str, Any]) -> str:
    """The id of the call that begins, with these facts, under one that is known already.

    It does not depend on when it is told, so that what is told again counts once. Ends go to the call that began last.
    """
    found = _id_of(tx, known, call_id, facts.get("name", ""), facts.get("hash", ""))
    if known.watcher.begins_as(call_id, found):
        known.is_due = True  # no hint tells of it
    return found


def _id_of(tx: Transaction, known: Kept, call_id: str, name: str, hash: str) -> str:
    first = known.watcher.open.get(call_id)
    if first is None:
        contents = _contents(tx, known, call_id)
    elif first.is_open or first.started is None:  # it still runs, or its end was told first
        return call_id
    else:
        contents = frozenset([(first.name, first.hash)])
    if not contents or (name, hash) in contents:
        return call_id
    return used_again(call_id, name, hash)


def _contents(tx: Transaction, known: Kept, call_id: str) -> Contents:
    """With what a call that has ended was told to begin; nothing if that was too long ago."""
    if known.told_of is None:
        known.told_of = {}
        for facts in tx.work.begun_calls(known.number, PAST):
            known.begun(facts.get("call_id", ""), facts)
    return known.told_of.get(call_id, _NONE)
