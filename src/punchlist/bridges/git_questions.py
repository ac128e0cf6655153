"""Questions to Git, asked so that nothing which a repository brings along is run.

Its configuration may name programs: a pager, an external diff, a file monitor, filters, hooks, the way to a remote. A
repository may come from anywhere, and who asks for a report wants to run none of them. Filters have no switch of their
own, so those that are set are set to nothing; `--attr-source` would not do: `.git/info/attributes` goes before it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

_UNSET: Final = frozenset({
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX",
    "GIT_EXTERNAL_DIFF",
})  # fmt: skip
_SET: Final[Mapping[str, str]] = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # of a partial clone nothing is fetched, by whatever way
    "LC_ALL": "C",
}
_SAFELY: Final = ("core.fsmonitor=false", "core.hooksPath=/dev/null", "core.quotePath=false")
_FILTER: Final = "filter."
_FILTERED_BY: Final = ("clean", "smudge", "process")

_NUMBERS: Final = (
    "--numstat", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--ignore-submodules=dirty",
)  # fmt: skip


class GitQuestions:
    """Questions to the Git of one folder, each with so many seconds for its answer."""

    def __init__(self, folder: str, timeout: float) -> None:
        self.folder = folder
        self._timeout = timeout

    def ask(self, *words: str, told: str = "", settings: Sequence[str] = ()) -> str | None:
        """What Git says to this; None if it fails, is slow or missing. `told` is what it can read."""
        environment = {name: value for name, value in os.environ.items() if name not in _UNSET} | _SET
        given = [part for setting in (*_SAFELY, *settings) for part in ("-c", setting)]
        try:
            done = subprocess.run(
                ["git", "-C", self.folder, "--no-pager", *given, *words],
                env=environment,
                input=told.encode(),
                capture_output=True,
                timeout=self._timeout,
                check=False,
            )
        except (OSError, ValueError, subprocess.SubprocessError):
            return None
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None

    def commits(self, *words: str, form: str) -> str | None:
        """Commits in this form, newest first."""
        return self.ask("log", "--no-show-signature", f"--format={form}", *words)

    def numbers(self, commits: Iterable[str], form: str) -> str | None:
        """These commits in this form, in their order, each with the lines that it changed in each file."""
        words = ("log", "--no-show-signature", "--no-walk=unsorted", "--stdin", f"--format={form}", *_NUMBERS)
        return self.ask(*words, told="".join(f"{commit}\n" for commit in commits))

    def diff(self, against: str) -> str | None:
        """The lines by which each file in the folder differs from a commit. None if that cannot be told safely."""
        unfiltered = self._unfiltered()
        return None if unfiltered is None else self.ask("diff", *_NUMBERS, against, "--", settings=unfiltered)

    def _unfiltered(self) -> list[str] | None:
        """Settings without which Git would run filters on files; None if there is a filter that no setting reaches."""
        names = self.ask("config", "--list", "--name-only", "-z")
        if names is None:
            return None
        found = dict.fromkeys(
            name.rpartition(".")[0] for name in names.split("\0") if name.startswith(_FILTER) and name.count(".") > 1
        )
        if any("=" in driver or "\ufffd" in driver for driver in found):  # a setting's name ends there, or is no UTF-8
            return None
        return [setting for driver in found for setting in _nothing(driver)]


def _nothing(driver: str) -> list[str]:
    return [*(f"{driver}.{name}=" for name in _FILTERED_BY), f"{driver}.required=false"]
