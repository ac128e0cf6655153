"""Calls as an agent would make them, one after the other."""

from typing import Any

from punchlist.detect.findings import Verdict
from punchlist.detect.loops import DEFAULT, LoopOptions, LoopState, judge_start, record_end


class Caller:
    """An agent that calls tools and reports what they came to; ids are given in order."""

    def __init__(self, options: LoopOptions = DEFAULT) -> None:
        self.options = options
        self.state = LoopState()
        self.made = 0

    def start(self, name: str = "read", args: Any = None, *, run: str | None = None) -> Verdict:
        self.made += 1
        self.state, verdict = judge_start(self.state, f"c{self.made}", name, args, run=run, options=self.options)
        return verdict

    def finish(self, result: Any = "same", *, is_error: bool = False, run: str | None = None) -> None:
        self.state = record_end(self.state, f"c{self.made}", result, is_error, run=run, options=self.options).state

    def call(
        self,
        name: str = "read",
        args: Any = None,
        result: Any = "same",
        *,
        is_error: bool = False,
        run: str | None = None,
    ) -> Verdict:
        """Starts a call, and finishes it unless it was judged critical."""
        verdict = self.start(name, args, run=run)
        if verdict.level != "critical":
            self.finish(result, is_error=is_error, run=run)
        return verdict

    def run(self, name: str = "read", args: Any = None, result: Any = "same") -> Verdict:
        """Starts a call, and finishes it whatever was thought of it."""
        verdict = self.start(name, args)
        self.finish(result)
        return verdict

    def repeat(self, times: int, name: str = "read", args: Any = None, result: Any = "same", **more: Any) -> Verdict:
        """The verdict on the last of so many calls."""
        verdict = Verdict()
        for _ in range(times):
            verdict = self.call(name, args, result, **more)
        return verdict


def judged(verdict: Verdict) -> tuple[str, str | None, int]:
    return verdict.level, verdict.detector, verdict.count
