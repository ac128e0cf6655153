"""What tests of concurrent things need: errors that are expected, threads that must end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

PATIENCE = 60.0
"""Seconds after which a thread that should have ended counts as hung."""


def raises(kind: type[Exception], action: Callable[[], Any]) -> None:
    try:
        action()
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was expected")


def in_threads(count: int, action: Callable[[int], Any]) -> None:
    """Runs the action in so many threads; the first error of any of them is raised here."""
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            action(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        join(thread)
    if errors:
        raise errors[0]


def join(thread: threading.Thread) -> None:
    thread.join(PATIENCE)
    assert not thread.is_alive(), "a thread hangs"
