"""Offer prompts that a person starts from the client: plan work, resume it, review what is open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from punchlist.mcp.stdio import INVALID_PARAMS, RpcError
from punchlist.text import clean

if TYPE_CHECKING:
    from punchlist.board import Board
    from punchlist.mcp.sessions import Caller

_LONGEST = 20_000

PROMPTS: tuple[Mapping[str, Any], ...] = (
    {
        "name": "plan",
        "title": "Plan work",
        "description": "Plan a piece of work, and let you approve the plan before it begins.",
        "arguments": [{"name": "goal", "description": "What is to be reached", "required": True}],
    },
    {
        "name": "resume",
        "title": "Resume work",
        "description": "Continue with the open items of this session.",
        "arguments": [{"name": "note", "description": "What changed in the meantime", "required": False}],
    },
    {
        "name": "review-open-work",
        "title": "Review open work",
        "description": "Check each open item of this session: done, still to do, blocked or no longer needed.",
        "arguments": [],
    },
)

_PLAN = (
    "Plan this work: {goal}\n\nFirst look at what is there. Then propose the plan with the tool `todo`, argument "
    "`plan`: a short text with one line per step, and how each step is checked. Wait for the decision. When the plan "
    "is approved, write its steps with `set` and begin; when it is rejected, revise it by the reason."
)
_RESUME = (
    "Continue with the open work of this session:\n\n{work}\nStart with the item in progress, else with the first open "
    "one. Mark each item done at once when it is, with evidence."
)
_REVIEW = (
    "Review the open work of this session:\n\n{work}\nLook for each item at the present state of the code. Mark as "
    "done what is done, with evidence; drop what is no longer needed; block what cannot go on, with the reason. Then "
    "say in a few lines what is left."
)


def write_prompt(board: Board, caller: Caller, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the messages of a prompt. Raises `RpcError` for an unknown prompt or a missing argument."""
    from punchlist.mcp.resources import write_work

    prompt = find_prompt(name)
    given = {one["name"]: _read_argument(arguments, one) for one in prompt["arguments"]}
    match name:
        case "plan":
            text = _PLAN.format(goal=given["goal"])
        case "resume":
            text = _RESUME.format(work=write_work(board, caller))
            text += f"\n\n{given['note']}" if given["note"] else ""
        case _:
            text = _REVIEW.format(work=write_work(board, caller))
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": prompt["description"], "messages": [message]}


def find_prompt(name: str) -> Mapping[str, Any]:
    found = next((one for one in PROMPTS if one["name"] == name), None)
    if found is None:
        known = ", ".join(one["name"] for one in PROMPTS)
        raise RpcError(INVALID_PARAMS, f"There is no prompt `{name[:100]}`; use one of {known}.")
    return found


def _read_argument(arguments: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    value = arguments.get(wanted["name"])
    if value is None and not wanted["required"]:
        return ""
    if not isinstance(value, str) or (wanted["required"] and not value.strip()):
        raise RpcError(INVALID_PARAMS, f"The argument `{wanted['name']}` is missing, or no text.")
    if len(value) > _LONGEST:
        raise RpcError(INVALID_PARAMS, f"The argument `{wanted['name']}` has more than {_LONGEST} characters.")
    return clean(value).text
