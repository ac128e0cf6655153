"""The Agent Client Protocol: an agent's list and its tool calls as session updates, for editors that speak it.

`updates` makes them from the events of a board: plain values, for which the protocol's SDK is not needed. `reporter`
sends them over a connection of that SDK.
"""
