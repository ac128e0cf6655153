"""Ground progress: hold what was claimed against what tools really did.

- `tool_call`: one call, joined from reports in any order; code changes.
- `observe`: describe a call when it begins and ends; `results` and `places` read its result and its files.
- `session`: the bounded record of a session's checks and changes, and the state that follows from it.
- `grades`: the window of a completion, and its grade by the record.
- `tally`: count calls for people; `commits`: find calls that make commits; `evidence`: match evidence with calls.
"""
