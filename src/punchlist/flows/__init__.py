"""Run flows: work in named steps that survives restarts and waits for times, events or people; each has a session."""

from punchlist.core.flow import Flow, FlowStatus, FlowStep, WaitCondition, owner_key
from punchlist.flows.handle import Flows, TickReport
from punchlist.flows.work import FlowWork, NewFlow

__all__ = ["Flow", "FlowStatus", "FlowStep", "FlowWork", "Flows", "NewFlow", "TickReport", "WaitCondition", "owner_key"]
