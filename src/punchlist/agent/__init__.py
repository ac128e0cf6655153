"""Build an agent's handle from a dialect, the rules of core and the store: one module per group of methods."""

from punchlist.agent.context import PROFILES, Mode
from punchlist.agent.handle import Agent
from punchlist.settings.options import AgentOptions

__all__ = ["PROFILES", "Agent", "AgentOptions", "Mode"]
