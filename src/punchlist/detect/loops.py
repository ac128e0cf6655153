"""Loop detection over the calls of an agent: OpenClaw's, call by call.

`started` judges a call by those before it and records it; `finished` adds what it came to. A call judged critical
counts only if it is seen to have run all the same, or with `count_blocked`. The state holds the last `history_size`
calls and a few that were held back. The same in place, for whoever keeps the state in memory, is a `Window`.
"""

from __future__ import annotations

from punchlist.detect.findings import FINE, Verdict
from punchlist.detect.loop_options import DEFAULT, LoopOptions
from punchlist.detect.loop_state import STEP, Guard, LoopState
from punchlist.detect.window import Window


def started(
    state: LoopState,
    call_id: str,
    name: str,
    args: object,
    *,
    run: str | None = None,
    options: LoopOptions = DEFAULT,
    flat: bytes | None = None,
) -> tuple[LoopState, Verdict]:
    """What is thought of a call that is about to run, and the state behind it.

    Only calls of the same `run` count, or those of none where it is None. The same call reported again is judged
    anew and recorded once. An empty `call_id` is no id: such a call is never taken for another. `flat` is what
    `flat_json` makes of the arguments, where that is known.
    """
    if not options.enabled:
        return state, FINE
    window = Window(state)
    verdict, _ = window.started(call_id, name, args, run=run, options=options, flat=flat)
    return window.state(), verdict


def finished(
    state: LoopState,
    call_id: str,
    result: object = None,
    is_error: bool = False,
    *,
    name: str | None = None,
    args: object = None,
    run: str | None = None,
    options: LoopOptions = DEFAULT,
) -> LoopState:
    """The state with what a call came to. A call that has its outcome, or that nobody knows, changes nothing.

    One that was judged critical has run all the same, unless its result is our own refusal. With `name` and `args` a
    call that was never seen to start is recorded too, unless it was. A result that is None is not known, and so no
    sign of a loop.
    """
    if not options.enabled:
        return state
    window = Window(state)
    call = window.finished(call_id, result, is_error, name=name, args=args, run=run, options=options)
    return state if call is None else window.state()


def compacted(state: LoopState, *, run: str | None = None, options: LoopOptions = DEFAULT) -> LoopState:
    """The state after the agent's context was compacted: the next calls of the run are watched closely.

    If the whole window is one call with one result, `state.guard.persisted` is true as soon as the last of them has
    finished, and the next call of the run is judged critical by `compaction_loop_persisted`.
    """
    window = Window(state)
    return window.state() if window.compacted(run=run, options=options) else state


__all__ = ["STEP", "Guard", "LoopState", "compacted", "finished", "started"]
