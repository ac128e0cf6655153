"""`EnterPlanMode` and `ExitPlanMode` of Claude Code, late 2025.

Known, and kept: the names; that entering only reads while leaving does not; that a person confirms both (`permission`
is `ask`: the host asks before it calls); the sentences of success, as transcripts show them; the fields `plan` and
`planFilePath` of the input. Not known, hence in our words: what a refusal says, and everything that the original puts
before the model beside these sentences.
"""

from __future__ import annotations

from typing import Any, cast

from punchlist.core.approval import PlanState
from punchlist.dialects.base import Invalid, Reply, Tool, reply_invalid, sound
from punchlist.dialects.plan_tools import Entered, EnterPlan, Exit, PlanCall, SubmitPlan, outcome
from punchlist.dialects.repair import type_name
from punchlist.dialects.schema import TEXT, object_of

ENTERED = "Entered plan mode. You should now focus on exploring the codebase and designing an implementation approach."
APPROVED = "User has approved your plan. You can now start coding. Start with updating your todo list if applicable"

ENTER = Tool(
    name="EnterPlanMode",
    description=(
        "Ask to plan before you change anything. In plan mode you read and think, and write nothing but the plan; "
        "TodoWrite is off. For work that can be done in several ways, not for a small fix."
    ),
    input_schema=object_of({}, others=False),
    annotations={"permission": "ask", "readOnly": True, "concurrencySafe": True},
    examples=({},),
)
EXIT = Tool(
    name="ExitPlanMode",
    description=(
        "Show your finished plan to the person and ask to begin with it. Only for plans of work that changes "
        "something, and only once nothing is left to be asked. plan is Markdown."
    ),
    input_schema=object_of({"plan": TEXT}),
    annotations={"permission": "ask", "readOnly": False},
    examples=({"plan": "# Sessions\n\n1. Add the table\n2. Move the handlers over\n3. Run the tests"},),
)


class ClaudeCodePlans:
    """Claude Code's plan tools. A plan is not begun before a person approved it."""

    tools = (ENTER, EXIT)
    operator_tools = ()
    require_approval = True
    takes_blank = False

    def parse(self, tool: str, args: Any) -> PlanCall | Invalid:
        if args is None and tool == "EnterPlanMode":
            return EnterPlan()
        if not isinstance(args, dict):
            return _issue(tool, f"The input type is expected as `object` but provided as `{type_name(args)}`")
        given = cast("dict[Any, Any]", args)
        if tool == "EnterPlanMode":
            return EnterPlan()
        if "plan" not in given:
            return _issue(tool, "The required parameter `plan` is missing")
        plan = given["plan"]
        if not isinstance(plan, str):
            return _issue(
                tool, f"The parameter `plan` type is expected as `string` but provided as `{type_name(plan)}`"
            )
        return SubmitPlan(sound(plan))

    def entered(self, entered: Entered) -> Reply:
        return Reply(ENTERED, {"message": ENTERED})

    def unavailable(self) -> Reply:
        text = "EnterPlanMode is not for agents that another one started: no person would see their plan."
        return reply_invalid(Invalid(text, code="plan_mode_unavailable"))

    def outside(self) -> Reply:
        text = "ExitPlanMode is for plan mode, which is off. If a plan was approved, go on with it."
        return reply_invalid(Invalid(text, code="outside_plan_mode"))

    def exited(self, exit: Exit) -> Reply:
        if exit.plan.state is PlanState.APPROVED:
            return Reply(APPROVED, {"plan": exit.plan.text, "isAgent": False})
        return outcome(exit.plan, exit.now)

    def resolved(self, id: str, *, done: bool) -> Reply:
        raise NotImplementedError  # it has no tool for that


PLANS = ClaudeCodePlans()


def _issue(tool: str, issue: str) -> Invalid:
    return Invalid(f"InputValidationError: {tool} failed due to the following issue:\n{issue}")
