"""What a flow tool may ask, as values; and what came of it, for the dialect that renders it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from punchlist.core.commands import Elsewhere, Problem
from punchlist.core.flow import FIRST_STEP, Flow
from punchlist.core.flow_waits import WaitCondition
from punchlist.errors import PunchlistError


@dataclass(frozen=True, slots=True, kw_only=True)
class StartFlow(Elsewhere):
    """A new flow that runs at once."""

    controller_id: str
    goal: str
    current_step: str = FIRST_STEP
    state: Any = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ListFlows(Elsewhere):
    """The caller's own flows, the newest first."""

    reads: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class OneFlow(Elsewhere):
    """Something about one flow. `refused` is what is wrong with the rest, said once the flow is known to be there."""

    flow: str
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowFlow(OneFlow):
    reads: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvanceFlow(OneFlow):
    patch: Any = field(default_factory=dict[str, Any])
    current_step: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitFlow(OneFlow):
    condition: WaitCondition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishFlow(OneFlow):
    """`final_state` is in a tuple: it may be null."""

    final_state: tuple[Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailFlow(OneFlow):
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelFlow(OneFlow):
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
