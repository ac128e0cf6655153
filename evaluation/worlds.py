"""Worlds with an end state that can be checked: steps are files of a repository, `make test` its real test runner."""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from pathlib import Path
from typing import NamedTuple

GREEK = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu")

_MAKEFILE = """\
test:
\t@passed=0; failed=0; for file in src/*.txt; do \\
\t\ttest -e $$file || continue; read -r line < $$file; name=$${file#src/}; \\
\t\tif test "$$line" = broken; then failed=$$((failed + 1)); echo "FAILED $${name%.txt}: broken"; \\
\t\telse passed=$$((passed + 1)); fi; \\
\tdone; echo "$$passed passed, $$failed failed"; test $$failed -eq 0
"""
"""Words of the shell alone: a run calls it several times, and each process costs as much as the layer in between."""


class Effect(NamedTuple):
    """An action's effect as its tool tells the model."""

    text: str
    exit_code: int = 0


class Scenario(NamedTuple):
    """What a world asks for, and what happens in it."""

    steps: int = 12
    follow_ups: int = 0
    """Steps that show up in the result of another step."""
    requests: int = 0
    """Steps that the person asks for while the model works."""
    edits: int = 0
    """Steps that the person takes off the list while the model works."""
    crash_at: int = 0
    """The turn after which the conversation is lost; 0 for never."""
    workers: int = 1


class World:
    """A repository in a folder, with the log of what was done in it."""

    def __init__(self, folder: Path, scenario: Scenario, chance: random.Random) -> None:
        self.folder, self.scenario = folder, scenario
        names = [f"{GREEK[number % len(GREEK)]}-{number + 1:02d}" for number in range(40)]
        self.asked = names[: scenario.steps]
        rest = iter(names[scenario.steps :])
        reveals = chance.sample(self.asked, scenario.follow_ups)
        self._follow_ups = {step: next(rest) for step in reveals}
        self.later = [next(rest) for _ in range(scenario.requests)]
        self.dropped = chance.sample(self.asked[scenario.steps // 2 :], scenario.edits)
        self.wanted = [*self.asked]
        self.done = Counter[str]()
        (folder / "src").mkdir(parents=True)
        (folder / "Makefile").write_text(_MAKEFILE)

    @property
    def request(self) -> str:
        rows = "\n".join(f"- {step}: wanted" for step in self.asked)
        return f"Write these files in src/, one after the other:\n{rows}"

    def write(self, step: str, *, is_broken: bool = False) -> Effect:
        """Write the file of a step. A second time, while it is whole, counts as repeated."""
        path = self.folder / "src" / f"{step}.txt"
        if self.is_done(step):
            self.done[step] += 1
        path.write_text("broken\n" if is_broken else f"{step}\n")
        if not is_broken:
            self.done[step] += 1 if self.done[step] == 0 else 0
        said = f"{step}: written"
        if step in self._follow_ups:
            found = self._follow_ups.pop(step)
            self.wanted.append(found)
            said += f"\n{found}: wanted too, because of it"
        return Effect(said)

    def test(self) -> Effect:
        """Run the repository's own tests."""
        ran = subprocess.run(["make", "-s", "test"], cwd=self.folder, capture_output=True, text=True, check=False)
        return Effect(ran.stdout, ran.returncode)

    def is_done(self, step: str) -> bool:
        path = self.folder / "src" / f"{step}.txt"
        return path.exists() and path.read_text() == f"{step}\n"

    # The end state.

    @property
    def lost(self) -> int:
        return sum(not self.is_done(step) for step in self.wanted if step not in self.dropped)

    @property
    def repeated(self) -> int:
        return sum(count - 1 for count in self.done.values() if count > 1)

    @property
    def ignored(self) -> int:
        """Return how many steps were done although the person had taken them off."""
        return sum(self.is_done(step) for step in self.dropped)
