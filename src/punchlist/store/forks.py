"""Prepare open stores for a fork of the process.

SQLite keeps what it knows of a file's locks for the whole process, and a child inherits that knowledge without the
locks: it would write to a file that others take for unused. So every connection is closed before a fork, and both
sides open their own again when they need them.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forking(Protocol):
    def before_fork(self) -> None: ...
    def after_fork(self, *, child: bool) -> None: ...


class _Registry:
    def __init__(self) -> None:
        self.registered = False
        self.stores: weakref.WeakSet[Forking] = weakref.WeakSet()
        self.paused: list[Forking] = []

    def before(self) -> None:
        self.paused = list(self.stores)
        for store in self.paused:
            store.before_fork()

    def in_parent(self) -> None:
        self._resume(child=False)

    def in_child(self) -> None:
        self._resume(child=True)

    def _resume(self, *, child: bool) -> None:
        paused, self.paused = self.paused, []
        for store in reversed(paused):
            store.after_fork(child=child)


_registry = _Registry()


def follow_forks(store: Forking) -> None:
    """Tell the store of each fork from now on, as long as it lives."""
    if not _registry.registered and hasattr(os, "register_at_fork"):
        _registry.registered = True
        os.register_at_fork(
            before=_registry.before, after_in_parent=_registry.in_parent, after_in_child=_registry.in_child
        )
    _registry.stores.add(store)


def never_close(*inherited: object) -> None:
    """Keep a parent's connections from being closed in a child, even at its end: closing one writes to the file."""
    import ctypes

    for connection in inherited:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
