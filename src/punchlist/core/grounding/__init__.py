"""Grounded progress: what tools really did, beside what was claimed.

- `tool_call`: one call, put together from reports in any order, and the pairing of reports with calls.
- `observe`: what is kept of a call when it begins and ends; `results` and `places` read its result and its files.
- `tally`: what was seen of the work on one item; `fold`: the log as calls and tallies.
- `grades`: a completion judged by its tally; `evidence`: what was offered for it, held against what was seen.
"""
