"""Loops and stalls: what an agent's calls, silence and list give away. Pure: states and times are passed in.

- `loops`: the same calls again and again, as OpenClaw judges them. `guardrail`: the same question as Hermes asks it.
- `rounds`: rounds without progress. `stalls`: an agent that says nothing. `list_upkeep`: a list that nobody keeps.

Each has a state, which is a value of bounded size that a store can encode, and functions from one state to the next.
Nothing here acts: a `Verdict`, a `Decision` or a `Finding` says what was seen, and the caller decides.
"""
