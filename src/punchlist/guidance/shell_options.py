"""Words and options, as the tables of commands use them."""

from __future__ import annotations

from collections.abc import Callable


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def without(*writing: str, short: str = "") -> Callable[[list[str]], bool]:
    """All forms but those with an option that writes: a long one, or its beginning, or a letter among short ones."""

    def judge(args: list[str]) -> bool:
        for arg in args:
            if arg.startswith("--"):
                name = arg.partition("=")[0]
                if len(name) > 2 and any(one.startswith(name) or name.startswith(one) for one in writing):
                    return False
            elif arg.startswith("-") and any(letter in arg for letter in short):
                return False
        return True

    return judge
