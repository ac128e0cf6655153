"""`TodoWrite` of nexo-rs (head of 2026-05-04): the whole list, tight limits in bytes, a JSON object as reply.

Its goal is our session. In nexo the list dies with the goal; we keep it across restarts on purpose. With `plan_tools`
it also has the tools of plan mode, see plans.md.
"""

import json
import re
from datetime import UTC, datetime
from typing import Any, Literal, cast

from punchlist.core.approval import Plan, PlanState
from punchlist.core.commands import Entry, Limits, Policy, Problem, Replace
from punchlist.core.todo import Status
from punchlist.dialects.base import (
    IN_THREE,
    LOST_IN_THREE,
    THREE,
    Dialect,
    EnterPlan,
    Invalid,
    Parsed,
    PlanCall,
    Reply,
    ResolvePlan,
    Result,
    SubmitPlan,
    reply_invalid,
    reply_waiting,
    shown_items,
)
from punchlist.dialects.repair import mend, read_fields
from punchlist.dialects.tool_descriptions import TEXT, Tool, list_of, object_of, one_of

POLICY = Policy(
    dialect="nexo", limits=Limits(items=50, bytes=200, refuse_blank=True), wipe_finished=True, shown=IN_THREE
)

_INSTRUCTIONS = (
    "Todos updated. Keep exactly one item `in_progress` at a time. Mark completed IMMEDIATELY after finishing each "
    "task; do not batch completions."
)


TOOL = Tool(
    name="TodoWrite",
    description=(
        "Replace the scratch list of the current goal. Use it to keep track of several steps, not of one. "
        "Keep one item in_progress and mark it completed as soon as it is done. "
        "content says what to do (Run tests), activeForm what is being done (Running tests). "
        "At most 50 items of 200 bytes."
    ),
    input_schema=object_of(
        {"todos": list_of(object_of({"content": TEXT, "status": one_of(THREE), "activeForm": TEXT}))}
    ),
    annotations={"deferred": True, "searchHint": "todo, tasks, in-progress checklist", "tier": "ReadWrite"},
)


def parse(_tool: str, args: Any) -> Parsed:
    todos = read_fields(args).get("todos")
    if not isinstance(todos, list):
        return Invalid("TodoWrite requires `todos` (array)")
    entries: list[Entry] = []
    for index, todo in enumerate(cast("list[Any]", todos)):
        entry = _read_entry(todo)
        if isinstance(entry, str):
            return Invalid(f"todo[{index}]: {entry}")
        entries.append(entry)
    return Replace(tuple(entries))


def _read_entry(todo: Any) -> Entry | str:
    """Return the entry, or what is wrong with it. `active_form` counts only without a key `activeForm`."""
    given = read_fields(todo)
    content, status = given.get("content"), given.get("status")
    if not isinstance(content, str):
        return "missing string `content`"
    if not isinstance(status, str):
        return "missing string `status`"
    if status not in THREE:
        return f"unknown status `{mend(status[:1000])}` (expected pending|in_progress|completed)"
    form = given["activeForm"] if "activeForm" in given else given.get("active_form")
    if not isinstance(form, str):
        return "missing string `activeForm` (or `active_form`)"
    return Entry(mend(content), THREE[status], mend(form))


def render(result: Result) -> Reply:
    if result.refusals:
        return result.refuse(_describe_refusal(result.refusals[0]))
    written = result.entries
    data = {
        "in_progress_count": sum(entry.status is Status.IN_PROGRESS for entry in written),
        "instructions": _INSTRUCTIONS,
        "new_todos": [_show_todo(entry.active_form or "", entry.content, entry.status) for entry in written],
        "old_todos": [_show_todo(item.label, item.content, near) for item, near in shown_items(result.before, POLICY)],
        "wiped_on_all_completed": bool(written) and all(entry.status is Status.COMPLETED for entry in written),
    }
    return result.reply(json.dumps(data, ensure_ascii=False, separators=(",", ":")), data)


def _show_todo(form: str, content: str, status: Status) -> dict[str, str]:
    return {"active_form": form, "content": content, "status": status.value}


def _describe_refusal(problem: Problem) -> str:
    match problem.code:
        case "too_many_items":
            return f"too many todo items: {problem.data['count']} > max {problem.data['max']}. Consolidate the list."
        case "blank":
            return f"todo item #{problem.at}: `{problem.data['field']}` is empty"
        case "too_long":
            size, most = problem.data["size"], problem.data["max"]
            return f"todo item #{problem.at}: `{problem.data['field']}` is {size} bytes (max {most})"
        case _:
            return problem.text


# Plan mode: `EnterPlanMode`, `ExitPlanMode` and the operator's `plan_mode_resolve`. In the original `ExitPlanMode` does
# not return before the operator has decided. Here it returns at once, with a reply of ours that says what it waits for;
# `agent.plan_reply(agent.wait_for_plan())` is then the original's answer.

MAX_BYTES = 8192

_PLAN_INSTRUCTIONS = (
    "You are in plan mode. Use FileRead, Glob, Grep, WebSearch and any read-only tool to explore. Mutating tools "
    "refuse with PlanModeRefusal. When the plan is ready, call ExitPlanMode { final_plan } (≤ 8 KiB)."
)
_UNAVAILABLE = (
    "EnterPlanMode is unavailable in this context (sub-agent, cron, poller, or heartbeat-spawned goal). Plan mode "
    "requires an interactive channel that can deliver an approval message."
)
_OUTSIDE = (
    "ExitPlanMode called outside plan mode. Use EnterPlanMode first; the tool is only meaningful when a plan is in "
    "progress."
)

ENTER = Tool(
    name="EnterPlanMode",
    description=(
        "Plan before you change anything: until the plan is out, tools that write are refused and those that read "
        "work. For work with several ways to do it, not for a small fix. ExitPlanMode hands the plan in."
    ),
    input_schema=object_of({"reason": TEXT}, required=[]),
    annotations={"tier": "ReadOnly"},
)
EXIT = Tool(
    name="ExitPlanMode",
    description=(
        "Hand in the finished plan and leave plan mode. An operator may have to approve it first. "
        "final_plan is Markdown, at most 8192 bytes."
    ),
    input_schema=object_of({"final_plan": TEXT}),
    annotations={"tier": "ReadOnly"},
)
RESOLVE = Tool(
    name="plan_mode_resolve",
    description="For the operator: approve or reject the plan that waits. A rejection says why.",
    input_schema=object_of(
        {"plan_id": TEXT, "decision": one_of(("approve", "reject")), "reason": TEXT}, required=["plan_id", "decision"]
    ),
)


class NexoPlans:
    """nexo's plan tools. They ask for approval only if the host requires it."""

    tools = (ENTER, EXIT)
    operator_tools = (RESOLVE,)
    require_approval = False
    takes_blank = True
    unavailable = _UNAVAILABLE
    outside = _OUTSIDE

    def parse(self, tool: str, args: Any) -> PlanCall | Invalid:
        given = read_fields(args)
        match tool:
            case "EnterPlanMode":
                return EnterPlan(_read_text(given.get("reason")))
            case "ExitPlanMode":
                return _read_plan(given.get("final_plan"))
            case _:
                return _read_resolution(given)

    def reply_entered(self, at: datetime, reason: str | None, *, already: bool) -> Reply:
        return _reply_json(
            {
                "already_in_plan_mode": already,
                "entered_at": _to_seconds(at),
                "entered_plan_mode": True,
                "instructions": _PLAN_INSTRUCTIONS,
                "reason": reason,
            }
        )

    def reply_exited(self, plan: Plan, entered_at: datetime, now: datetime, *, required: bool = True) -> Reply:
        if plan.expired(now) and plan.expires_at is not None and plan.proposed_at is not None:
            waited = int((plan.expires_at - plan.proposed_at).total_seconds())
            text = (
                f"ApprovalTimeout: no operator decision within {waited}s for plan_id={plan.id}. "
                "Plan mode remains active; revisit the plan or reduce scope."
            )
            return reply_invalid(Invalid(text, code="plan_expired"))
        match plan.state:
            case PlanState.APPROVED:
                return _reply_json(
                    {
                        "approval_required": required,
                        "awaiting_acceptance": False,
                        "entered_at": _to_seconds(entered_at),
                        "exited_plan_mode": True,
                        "plan_bytes": plan.sent_bytes,
                        "plan_chars": plan.sent_chars,
                        "plan_id": plan.id,
                        "unlocked_at": _to_seconds(plan.decided_at or now),
                    }
                )
            case PlanState.REJECTED:
                text = (
                    f"Plan rejected by operator. Reason: {(plan.reason or '').strip()}.\n"
                    "Do not call ExitPlanMode again with the same plan.\n"
                    "Adjust the plan based on the rejection reason and present a revised plan."
                )
                return reply_invalid(Invalid(text, code="plan_rejected"))
            case PlanState.SUPERSEDED:
                text = (
                    f"Plan approval channel closed unexpectedly for plan_id={plan.id}. "
                    "Plan mode remains active; rebuild the plan and try again."
                )
                return reply_invalid(Invalid(text, code="plan_superseded"))
            case _:
                return reply_waiting(plan, {"approval_required": True, "exited_plan_mode": False, "plan_id": plan.id})

    def reply_resolved(self, id: str, *, done: bool) -> Reply:
        if done:
            return _reply_json({"plan_id": id, "resolved": True})
        return reply_invalid(Invalid(f"no pending plan_mode approval for plan_id={id}", code="plan_missing"))


def _read_plan(plan: Any) -> SubmitPlan | Invalid:
    if not isinstance(plan, str):
        return Invalid("ExitPlanMode requires `final_plan` (string)")
    size = len(plan.encode(errors="surrogatepass"))
    if size > MAX_BYTES:
        text = f"PlanTooLarge: actual={size} max={MAX_BYTES}. Trim the plan and retry."
        return Invalid(text, code="plan_too_large")
    return SubmitPlan(mend(plan))


def _read_resolution(given: dict[str, Any]) -> ResolvePlan | Invalid:
    plan_id, decision = given.get("plan_id"), given.get("decision")
    if not isinstance(plan_id, str):
        return Invalid("plan_mode_resolve requires `plan_id`")
    if not isinstance(decision, str):
        return Invalid("plan_mode_resolve requires `decision`")
    if decision == "approve":
        return ResolvePlan(mend(plan_id))
    if decision != "reject":
        said = mend(decision[:200])
        return Invalid(f"plan_mode_resolve: unknown decision `{said}` (expected approve|reject)")
    reason = _read_text(given.get("reason"))
    if reason is None:
        return Invalid("plan_mode_resolve(decision=reject) requires `reason`")
    return ResolvePlan(mend(plan_id), reason)


def _read_text(value: Any) -> str | None:
    return (mend(value).strip() or None) if isinstance(value, str) else None


def _reply_json(data: dict[str, Any]) -> Reply:
    return Reply(json.dumps(data, ensure_ascii=False, separators=(",", ":")), data)


def _to_seconds(at: datetime) -> int:
    return int(at.timestamp())


# Lines for people, and the line with which they decide.

_DECISION = r"\s*\[plan-mode\]\s+(approve|reject)\s+plan_id=(\S+)(?:\s+reason=(.*?))?\s*\Z"


def read_decision(line: str) -> ResolvePlan | Invalid | None:
    """Read the decision in a chat message: `[plan-mode] approve plan_id=…`; None if it holds none."""
    found = re.match(_DECISION, line)
    if found is None:
        return None
    decision, plan_id, reason = found.groups()
    return _read_resolution({"plan_id": plan_id, "decision": decision, "reason": reason})


def notify_entered(at: datetime, *, reason: str | None = None, by: Literal["model", "operator"] = "model") -> str:
    said = f"model: {reason}" if by == "model" and reason else by
    return f"[plan-mode] entered at {_to_rfc3339(at)} — reason: {said}"


def notify_entered_for_danger(at: datetime, check: str) -> str:
    return f"[plan-mode] entered at {_to_rfc3339(at)} — reason: auto-destructive: {check}"


def notify_exited(plan: str, turn: int) -> str:
    """Announce the plan; `turn` is its number in the host's own log."""
    more = "…" if len(plan) > 200 else ""
    return f"[plan-mode] exited — plan: {plan[:200]}{more} (full plan in turn log #{turn})"


def notify_refused(tool: str, kind: str) -> str:
    return f"[plan-mode] refused tool={tool} kind={kind}"


def notify_acceptance(summary: str, *, passed: bool) -> str:
    return f"[plan-mode] acceptance: {'pass' if passed else 'fail'} ({summary.strip()})"


def _to_rfc3339(at: datetime) -> str:
    return at.astimezone(UTC).replace(microsecond=0).isoformat()


DIALECT = Dialect(
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    repairs=frozenset({"active_form"}),
    plans=NexoPlans(),
    lossy=(*LOST_IN_THREE, "no ids, phases, notes, priorities, parents or explanation"),
)
