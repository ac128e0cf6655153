"""What a flow tool may ask, as values; and what came of it, for the dialect that renders it."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from msgspec import field

from punchlist.core.commands import Elsewhere, Problem
from punchlist.core.flow import FIRST_STEP, Flow
from punchlist.core.flow_waits import WaitCondition
from punchlist.errors import PunchlistError


class StartFlow(Elsewhere, frozen=True, kw_only=True):
    """A new flow that runs at once."""

    controller_id: str
    goal: str
    current_step: str = FIRST_STEP
    state: Any = field(default_factory=dict[str, Any])


class ListFlows(Elsewhere, frozen=True):
    """The caller's own flows, the newest first."""

    reads: ClassVar[bool] = True


class OneFlow(Elsewhere, frozen=True, kw_only=True):
    """Something about one flow. `refused` is what is wrong with the rest, said once the flow is known to be there."""

    flow: str
    refused: str = ""


class ShowFlow(OneFlow, frozen=True, kw_only=True):
    reads: ClassVar[bool] = True


class AdvanceFlow(OneFlow, frozen=True, kw_only=True):
    patch: Any = field(default_factory=dict[str, Any])
    current_step: str | None = None


class WaitFlow(OneFlow, frozen=True, kw_only=True):
    condition: WaitCondition | None = None


class FinishFlow(OneFlow, frozen=True, kw_only=True):
    """`final_state` is in a tuple: it may be null."""

    final_state: tuple[Any] | None = None


class FailFlow(OneFlow, frozen=True, kw_only=True):
    reason: str = ""


class CancelFlow(OneFlow, frozen=True, kw_only=True):
    pass


OnFlow = ShowFlow | AdvanceFlow | WaitFlow | FinishFlow | FailFlow | CancelFlow
FlowCommand = StartFlow | ListFlows | OnFlow


class FlowResult(NamedTuple):
    """What a call did: the flow afterwards, None where there is no such flow; `flows` for a list; or why nothing."""

    command: FlowCommand
    flow: Flow | None = None
    flows: tuple[Flow, ...] = ()
    error: PunchlistError | None = None
    problems: tuple[Problem, ...] = ()
