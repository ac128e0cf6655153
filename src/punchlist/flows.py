"""Export flows: work in named steps that survives restarts and waits for times, events or people."""

from punchlist.core.flow import Flow, FlowStatus, FlowStep, WaitCondition, owner_key
from punchlist.tasks.flows import Flows, FlowWork, NewFlow, TickReport

__all__ = ["Flow", "FlowStatus", "FlowStep", "FlowWork", "Flows", "NewFlow", "TickReport", "WaitCondition", "owner_key"]
