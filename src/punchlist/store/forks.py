"""Prepare open stores for a fork of the process.

SQLite keeps what it knows of a file's locks for the whole process, and a child inherits that knowledge without the
locks: it would write to a file that others take for unused. So every connection is closed before a fork, and both
sides open their own again when they need them.
"""

from __future__ import annotations

import os
import weakref
from functools import cache, partial
from typing import Protocol


class Forking(Protocol):
    def before_fork(self) -> None: ...
    def after_fork(self, *, child: bool) -> None: ...


_stores: weakref.WeakSet[Forking] = weakref.WeakSet()
_paused: list[Forking] = []


def _pause() -> None:
    _paused[:] = _stores
    for store in _paused:
        store.before_fork()


def _resume(*, child: bool) -> None:
    paused = _paused[::-1]
    _paused.clear()
    for store in paused:
        store.after_fork(child=child)


@cache
def _register() -> None:
    if hasattr(os, "register_at_fork"):
        in_parent, in_child = partial(_resume, child=False), partial(_resume, child=True)
        os.register_at_fork(before=_pause, after_in_parent=in_parent, after_in_child=in_child)


def follow_forks(store: Forking) -> None:
    """Tell the store of each fork from now on, as long as it lives."""
    _register()
    _stores.add(store)


def never_close(*inherited: object) -> None:
    """Keep a parent's connections from being closed in a child, even at its end: closing one writes to the file."""
    import ctypes

    for connection in inherited:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
