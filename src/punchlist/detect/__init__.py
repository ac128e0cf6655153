"""Detect loops, stalls and neglected lists from an agent's calls, output and events. Pure: no store, no clock.

- `loops`: repeated tool calls, by OpenClaw's rules. `guardrail`: repeated failures and reads, by Hermes' rules.
- `rounds`: rounds without progress. `stalls`: agents without output. `list_upkeep`: lists that are not maintained.

Each detector has a state, a value of bounded size that a store can encode, and functions from one state to the next.
Detectors do not act: they return a `Verdict`, a `Decision` or a `Finding`, and the caller decides.
"""
