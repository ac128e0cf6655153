"""The agent's handle: its public methods. Each one calls the module of this room that does the work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from punchlist.agent import calls, described_calls, edits, leftovers, plans, questions, subagents, tool_reports, turns
from punchlist.agent.context import AgentRunner, Mode
from punchlist.agent.described_calls import EndedCall, StartedCall
from punchlist.core.approval import Plan, Question
from punchlist.core.commands import Edit
from punchlist.core.grounding.tally import NOTHING, Tally
from punchlist.core.task import CurrentWork
from punchlist.core.todo import TodoList
from punchlist.detect.findings import Verdict
from punchlist.dialects.base import Reply, Tool
from punchlist.errors import UnknownName
from punchlist.guidance.layers import Layer, prompt
from punchlist.guidance.plan_mode import Because, PlanMode, Refusal
from punchlist.guidance.words import Injection
from punchlist.store import AgentRow, Transaction
from punchlist.tasks import Tasks
from punchlist.tasks.flows import Flows

# Formats of transcripts are an eighth of the time that a hook takes to load the package; only `restore` needs them.
if TYPE_CHECKING:
    from punchlist.agent.recovery import Recovery
    from punchlist.transcripts.values import Transcript, Written


class Agent:
    """One agent of one session. Nothing is written before its first change; until then its list is empty."""

    def __init__(self, runner: AgentRunner) -> None:
        self.board: Any = runner.board  # a `Board`; the parts that are needed here have types of their own
        self.name = runner.name
        self.session = runner.session
        self.profile = runner.profile
        self.task_list = runner.task_list
        self._board = runner.board
        self._runner = runner
        self._grading: str = runner.settings.grades
        self._plan_messages = plans.PlanMessages(runner)
        self._unjudged: set[str] = set()

    def __repr__(self) -> str:
        return f"Agent({self.name!r}, session={self.session!r}, dialect={self.dialect!r})"

    @property
    def dialect(self) -> str:
        """The name of the dialect whose tools this agent is offered."""
        return self._runner.dialect.name

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools to offer to the model: the original's, but for their descriptions, which are ours.

        Without the todo tool where that is not offered: a call is then answered as one of an unknown tool, and nothing
        is said.
        """
        return self._runner.tools

    @property
    def offered(self) -> bool:
        """True if the model has the todo tool: by the setting of the project, the host's word, then the dialect's."""
        return self._runner.offered

    @property
    def todos(self) -> TodoList:
        """The agent's list as it is now."""
        return self._runner.load_todos()

    @property
    def folder(self) -> str:
        """The root of the worktree in which the session was first seen; without a repository, the folder."""
        row = self._runner.load_row()
        return self._runner.place.folder if row is None else row.folder

    @property
    def project(self) -> str:
        """The project of the session, which is where the session was first seen: the same for all worktrees."""
        row = self._runner.load_row()
        return self._runner.project if row is None else row.project

    @property
    def mode(self) -> Mode:
        """`plan` while plan mode is on, else `execute`."""
        row = self._runner.load_row()
        return "plan" if row is not None and row.mode == "plan" else "execute"

    def at(self, revision: int) -> TodoList | None:
        """Return the list as it was at a revision; None if there is no such revision, or it was pruned."""
        row = self._runner.load_row()
        if row is None:
            return TodoList() if revision == 0 else None
        return self._board.store.list_at(row.number, revision)

    # Calls of the model.

    def call(self, name: str, args: Any = None, *, call_id: str | None = None) -> Reply:
        """Answer a tool call. Bad input gets an error reply; only a store that cannot write raises.

        The same `call_id` again gets the first reply again, and nothing is applied twice.
        """
        return calls.answer_call(self._runner, name, args, call_id)

    # Changes that do not come from the model.

    def edit(self, ops: Any, *, by: str, revision: int | None = None, person: bool = False) -> TodoList:
        """Apply targeted operations, all or none, in the name of a person or another agent; return the new list.

        With `revision`, only if the list is still at that revision. Raises `EditRefused` or `RevisionConflict`.
        `person=True`: the host knows that a person does this. An item that they complete is `confirmed`, also one that
        was completed before; what anybody else completes is graded by the agent's work.
        """
        command = Edit(edits.read_operations(ops))
        return edits.change_list(self._runner, command, by=by, revision=revision, person=person)

    def rewrite(self, todos: TodoList, *, by: str, revision: int | None = None, person: bool = False) -> TodoList:
        """Replace the whole list: items that match keep their ids, open ones left out are set aside.

        `person` as for `edit`.
        """
        command = edits.replace_list(todos)
        return edits.change_list(self._runner, command, by=by, revision=revision, person=person)

    def write(self, items: Iterable[Mapping[str, Any]], *, ids: str, seen: int | None = None) -> TodoList:
        """Write the whole list as this agent, from a program that gives items ids of its own; return the new list.

        Each item has `id` and `content`, and may have `status`, `active_form`, `phase`, `notes`, `priority`. Its id is
        kept as `item.aliases[ids]`. A known item without a status keeps its own. The write is merged with what others
        did since the agent last wrote, or since revision `seen`, which the program read.
        """
        return edits.write_list(self._runner, items, ids=ids, seen=seen)

    def undo(self, *, by: str, revision: int | None = None) -> TodoList:
        """Roll back this author's last change; refuse, and name the items, if they were changed again since.

        With `revision`, only if the list is still at that revision.
        """
        return edits.undo_change(self._runner, by=by, revision=revision)

    def restore_list(
        self, todos: TodoList, *, by: str, source: str, revision: int | None = None, graded: bool = False
    ) -> TodoList:
        """Replace the list by one that was kept elsewhere, as this agent's own; the event names the source.

        With `revision`, only if the list is still at that revision. With `graded`, what it completes is graded as the
        agent's own writes are.
        """
        return edits.restore_list(self._runner, todos, by=by, source=source, revision=revision, graded=graded)

    # Plan mode.

    @property
    def plan_mode(self) -> PlanMode | None:
        """When and why plan mode was entered; None while the agent works."""
        return plans.current_plan_mode(self._runner)

    def enter_plan_mode(
        self, reason: str | None = None, *, by: str | None = None, because: Because | None = None
    ) -> PlanMode:
        """Switch plan mode on and return it; where it is on already, nothing changes.

        `because` says who wanted it: by default the model, if `by` is this agent or nobody, else a person. For
        `auto_destructive` the reason is the check that tripped.
        """
        return plans.begin_plan_mode(self._runner, reason, by, because)

    def exit_plan_mode(self, *, by: str | None = None) -> None:
        """Switch plan mode off without a decision on a plan."""
        plans.end_plan_mode(self._runner, by)

    def permits(self, tool: str, args: Any = None) -> Refusal | None:
        """Return None if the agent may call this tool now, else the answer to a call that plan mode refuses.

        Tools that read pass, and shell commands that are known to only read. A tool of which nothing is known passes,
        with an event that says so; see `unjudged_tools` and the options `reading_tools` and `changing_tools`.
        """
        return plans.refuse_tool(self._runner, str(tool), args, self._unjudged)

    def unjudged_tools(self, tools: Iterable[str]) -> tuple[str, ...]:
        """Return those of the host's tools of which plan mode knows nothing, and which it would let pass."""
        return plans.unjudged_tools(self._runner, tools)

    # The plan and its decision.

    @property
    def plan(self) -> Plan | None:
        """The latest revision of the plan, decided or not; None if there was none."""
        return plans.latest_plan(self._runner)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """All revisions, the oldest first."""
        return plans.all_plans(self._runner)

    def propose_plan(self, text: str, *, by: str | None = None, timeout: float | None = None) -> Plan:
        """Propose a plan to a person. An earlier one that is still open is superseded; the same text stays as it is.

        After `timeout` seconds it can no longer be approved. Raises `PlanRefused` for an empty or too long text.
        """
        return plans.propose_plan(self._runner, text, by=by or self.name, timeout=timeout)

    def approve_plan(
        self, revision: int | None = None, *, by: str = "user", todos: bool = False, person: bool = False
    ) -> Plan:
        """Approve the plan and end plan mode. With `todos` its steps become the todo list, in the same transaction.

        `revision` is the one that was looked at: if the plan is at another by now, nothing is approved. Raises
        `PlanMissing`, `PlanRevisionConflict`, `PlanDecided`, `PlanExpired` or `PlanWithoutSteps`. `person=True`: the
        host knows that a person decides. The event says so, and steps that the plan calls done are `confirmed`.
        """
        return plans.approve_plan(self._runner, revision, by=by, todos=todos, person=person)

    def reject_plan(self, reason: str, *, by: str = "user", revision: int | None = None, person: bool = False) -> Plan:
        """Reject the plan and say why; plan mode stays on. `revision` and `person` as for `approve_plan`."""
        return plans.reject_plan(self._runner, reason, by=by, revision=revision, person=person)

    def wait_for_plan(self, id: str | None = None, *, timeout: float | None = None) -> Plan:
        """Return the plan once it is decided, superseded or expired; or as it stands after `timeout` seconds.

        Without an `id` the latest. It blocks this thread, and holds no lock: others decide meanwhile, in whichever
        process. Raises `PlanMissing`.
        """
        return plans.wait_for_plan(self._runner, id, timeout)

    def plan_reply(self, plan: Plan) -> Reply:
        """Return how a plan stands as the answer to the call that submitted it, in the words of the dialect.

        A decision that is told this way is not told again at the next turn.
        """
        return plans.render_plan(self._runner, plan)

    def plan_delta(self, text: str, *, turn: str) -> str:
        """Take a piece of an assistant's message; return what a person is to see of it. Outside plan mode: all."""
        return self._plan_messages.add_piece(text, turn=turn)

    def plan_message(self, text: str, *, turn: str) -> tuple[str, Plan | None]:
        """Take the end of a message, which was `text` as a whole; return its rest to be seen, and its proposed plan.

        The text of the message is what counts, whatever the pieces were; without pieces, all of it is left to be seen.
        A turn has one plan: later ones are passed over. A draft of which the message has nothing is dropped, and what
        waited before it waits again. Raises `PlanRefused` for an empty or too long plan.
        """
        return self._plan_messages.end(text, turn=turn)

    # Questions to people.

    def ask(self, item: str, question: str, *, of: str | None = None) -> Question:
        """Block an item, named by id or text, until a person answers. Asked again, the new question counts."""
        return questions.ask_person(self._runner, item, question, of)

    def answer(self, item: str, text: str, *, by: str, person: bool = False) -> Question:
        """Answer the question of an item, and unblock it; the agent is told at its next turn.

        An item that was in progress is so again, unless another is by now. `person=True`: the host knows that a person
        answers, and the event says so.

        Raises `NotAsked`, `AlreadyAnswered`, or `ItemGone` when the item is closed or no longer there.
        """
        return questions.answer_question(self._runner, item, text, by=by, person=person)

    def take_answers(self) -> str | None:
        """Return the text about answers and decisions that the model does not know yet, fenced; None without any.

        It is given once: the caller puts it before the model.
        """
        return questions.load_new_answers(self._runner)

    # Turns. Nothing here raises: on a fault it changes nothing, says nothing, and logs.

    def user_turn(self, text: str = "") -> None:
        """Note that the person spoke: forget the stop guard's tries and the reminders of the last prompt.

        A new run begins: earlier calls no longer count as part of a loop. The first line of the first `text` is kept,
        without secrets, as the title of the session.
        """
        turns.note_user_turn(self._runner, text)

    def before_request(self) -> list[Injection]:
        """Return texts for the request that is built now: what people changed and answered, failures, reminders.

        They belong at the tail of this request, or in front of its tool results, and into no other. Each is given once.
        """
        return self._runner.attempt(turns.write_texts(self._runner), [])

    def assistant_turn(
        self, tools_used: Iterable[str] = (), *, hold_approvals: bool = False, texts: bool = True
    ) -> list[Injection]:
        """Count an assistant message, with the names of the tools that it used, in order. Call it once for each.

        It also returns the texts of `before_request`, formed now: what a person changes while the tools run comes one
        request later. With `texts=False` it only counts, for a host that calls `before_request`. `hold_approvals` keeps
        the approval of a plan for a later turn: for a request that the model does not take for the person's.
        """
        if not texts:
            self._runner.attempt(turns.count_message(self._runner, tools_used), None)
            return []
        return self._runner.attempt(turns.make_turn(self._runner, tools_used, hold_approvals=hold_approvals), [])

    def preview_turn(self) -> list[Injection]:
        """Return the texts that `assistant_turn` would return now, and change nothing."""
        return turns.preview_turn(self._runner)

    def about_to_stop(self, last_text: str = "", *, background: int = 0) -> Injection | None:
        """Decide on a model that wants to stop: return a text that asks it to continue, or None to let it stop.

        `last_text` is its last message: a model that asks the person something may stop. `background` is how many
        pieces of its work still run elsewhere.
        """
        return turns.decide_stop(self._runner, last_text, background)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The pieces about the todo tool, by the option `layers`, else by the profile. They never change with the list.

        Empty where the tool is not offered and in the profile `off`.
        """
        return turns.todo_layers(self._runner)

    @property
    def prompt(self) -> str:
        """The layers that belong in the system prompt, as one text."""
        return prompt(self.layers)

    def offer_leftovers(self) -> str | None:
        """Return what a new conversation is told, once, of the open items that an ended one left in its worktree."""
        return leftovers.write_offer(self._runner)

    def open_work(self, because: Literal["resumed", "compacted"]) -> str | None:
        """Return unfinished work as a text for a conversation that lost its history; None when nothing is open.

        Fenced; in Hermes' own format under its dialect. `guidance.compaction.merge_block` puts it in its place. None in
        the profile `off` and where the tool is not offered.
        """
        return turns.write_open_work(self._runner, because)

    def compaction_block(self) -> str | None:
        """Return `open_work(because="compacted")`."""
        return self.open_work("compacted")

    # Reports of the host. They may come late, twice and in any order; none raises.

    def tool_started(self, call_id: str | None, name: str, args: Any = None, *, via: str = "") -> Verdict:
        """Record that a tool call begins; return the verdict on it, from the calls before. It belongs to the focus.

        Kept are the call's name, a hash of its arguments and a short preview without secrets. Calls without an id are
        told apart by name, the first begun being the first to end. `via` is the road of a report that is not the
        host's own (`transcript`): the host's report of the same call, however late, is then about this call.
        """
        return tool_reports.take_start(self._runner, call_id, name, args, via)

    def tool_updated(self, call_id: str | None, text: str, *, name: str = "") -> None:
        """Record output of a tool call that still runs. `name` is needed only for a call that has no id."""
        tool_reports.take_update(self._runner, call_id, text, name)

    def tool_finished(
        self,
        call_id: str | None,
        result: Any = None,
        *,
        is_error: bool | None = None,
        exit_code: int | None = None,
        name: str = "",
    ) -> None:
        """Record that a tool call has ended. `name` is needed only for a call that has no id.

        Say how it went: `exit_code`, or else `is_error`. Without either (None is "not told") a check is judged by what
        its result says of itself, and where that says nothing, it proves nothing.
        """
        tool_reports.take_end(
            self._runner, call_id, result, name, "tool.finished", is_error=is_error, exit_code=exit_code
        )

    def tool_failed(self, call_id: str | None, error: Any = None, *, name: str = "") -> None:
        """Record that a tool call failed: it was refused, timed out, or its tool broke."""
        tool_reports.take_end(self._runner, call_id, error, name, "tool.failed", is_error=True, exit_code=None)

    # A call is described where it runs, and recorded on a board that may be another machine's.

    def describe_start(self, name: str, args: Any = None) -> StartedCall:
        """Describe a call that begins, without its arguments and secrets; nothing is recorded. It goes to JSON."""
        return described_calls.describe_start(self._runner, name, args)

    def describe_end(
        self,
        name: str,
        result: Any = None,
        *,
        failed: bool = False,
        is_error: bool | None = None,
        exit_code: int | None = None,
        started: StartedCall | None = None,
        running: StartedCall | None = None,
    ) -> EndedCall:
        """Describe the end of a call, without its output; nothing is recorded. `failed` as for `tool_failed`.

        Without `started`, the description of its beginning, it may have printed a secret, and says little. `running` is
        the check in the background whose output it read.
        """
        kind: described_calls.EndKind = "tool.failed" if failed else "tool.finished"
        return described_calls.describe_end(
            self._runner,
            name,
            result,
            kind,
            is_error=True if failed else is_error,
            exit_code=exit_code,
            started=started,
            running=running,
        )

    def record_start(self, call_id: str | None, described: StartedCall) -> Verdict:
        """Record that a described call begins, as `tool_started` does; return the verdict on it."""
        return tool_reports.record_start(self._runner, call_id, described)

    def record_end(self, call_id: str | None, described: EndedCall) -> None:
        """Record that a described call has ended, as `tool_finished` and `tool_failed` do."""
        tool_reports.record_end(self._runner, call_id, described)

    def output(self, text: str) -> None:
        """Record visible output of the agent. It ends a stall."""
        tool_reports.take_output(self._runner, text)

    def finished(self, text: str = "", *, outcome: Literal["completed", "failed", "cancelled"] = "completed") -> None:
        """Record that the agent is done. Its open calls are abandoned.

        Where its label names an open item of its parent, that item is completed, if the parent was told to do so by
        `complete_by_subagents`, and the agent finished well.
        """
        if outcome not in (known := ("completed", "failed", "cancelled")):
            raise UnknownName(what="outcome", name=outcome, known=", ".join(known))
        tool_reports.take_finish(self._runner, text, outcome)
        if outcome == "completed" and self._runner.settings.complete_by_subagents:
            subagents.complete_item_of_parent(self._runner)

    def compacted(self) -> None:
        """Record that the agent's context was compacted; watch the next calls closely for repetition."""
        tool_reports.take_compaction(self._runner)

    @property
    def grounding(self) -> Mapping[str, Tally]:
        """The calls behind each item of the present list, by id; those behind none are under "".

        Those behind a task are under `task:<list>/<id>`.
        """
        return tool_reports.work_by_item(self._runner)

    def work_on(self, item: str) -> Tally:
        """Return the calls behind one item of the present list, those of subagents included."""
        return self.grounding.get(item, NOTHING)

    # Subagents, tasks and flows.

    def spawn(
        self,
        name: str,
        *,
        label: str | None = None,
        id: str | None = None,
        dialect: str | None = None,
        offered: bool | None = None,
    ) -> Agent:
        """Start a child of this agent: always a new one, numbered if the name is taken. The same `id` finds it again.

        It has the todo tool, with a list of its own, unless its dialect withholds that from subagents; `offered` says
        otherwise. An agent that has been denied the tool by its host denies it to its children.
        """
        child = self._add_child(name, label, id)
        denied = False if self._runner.options.get("offered") is False else None
        options = self._runner.options.copy()
        options.update(subagent=True, offered=denied if offered is None else offered)
        return self._board.agent(
            child,
            session=self.session,
            dialect=dialect or self.dialect,
            profile=self.profile,
            project=self._runner.place,
            **options,
        )

    def _add_child(self, name: str, label: str | None, id: str | None) -> str:
        return subagents.add_child(self._runner, name, label, id)

    @property
    def work(self) -> CurrentWork:
        """The agent's list, and the open or failed tasks that it started, owns, or is assigned to."""
        self._runner.settle_due_tasks()

        def read(tx: Transaction, row: AgentRow) -> CurrentWork:
            return CurrentWork(row.state.todos, tuple(each.task for each in tx.tasks.of_agent(row)))

        return self._runner.read(read, CurrentWork())

    def tasks(self, list: str | None = None, *, lease: float | None = None) -> Tasks:
        """Return a list of tasks in this agent's name, by default the project's. Activity keeps its claims alive."""
        name = f"project:{self._runner.project}" if list is None else list
        return self.board.tasks(name, project=self._runner.place, agent=self, lease=lease)

    def flows(self) -> Flows:
        """Return the board's flows in this agent's name: new ones belong to it and its session."""
        return Flows(self._board, agent=self)

    def _join(self, tx: Transaction, now: datetime) -> AgentRow:
        """Return the agent's row, for the handles of tasks and flows that act in its name."""
        return self._runner.join(tx, now)

    # Transcripts.

    def restore(
        self,
        records_or_path: Any,
        format: str | None = None,
        *,
        session: str | None = None,
        subagent: str | None = None,
        by: str | None = None,
        force: bool = False,
    ) -> bool:
        """Restore the list of a transcript (a path, or its records, oldest first), or its tasks in a task dialect.

        True: the transcript's list is this agent's, as far as people have not changed it since; nothing is written
        if it already was. False: there is none, or the agent wrote the list on the board later, which stands (`force`
        puts it aside all the same). A write that was restored once, by whichever road, is history from then on.
        A session of the same project under whose id the conversation went on before is adopted first, with the lists of
        all its agents.

        `format` is one of `transcripts.formats.FORMATS`, by default told from the transcript. `session` chooses in a
        store of several conversations, by default this agent's own. `subagent` is the id of one whose list is meant.

        A session has one list of tasks, so `session`, `subagent`, `by` and `force` mean nothing for tasks; True: the
        tasks of the transcript are on the board.
        """
        if self._runner.dialect.layer == "tasks":
            count = self.restore_tasks(records_or_path, format)
            return count > 0 or self._board.store.read(lambda tx: tx.tasks.find_list(self.task_list) is not None)
        transcript, written = self._recovery().open_latest(records_or_path, format, session=session, subagent=subagent)
        return self.take_over(transcript, written, by=by, force=force)

    def _recovery(self) -> Recovery:
        from punchlist.agent.recovery import Recovery

        return Recovery(self._runner)

    def take_over(
        self,
        transcript: Transcript,
        written: Written | None,
        *,
        by: str | None = None,
        force: bool = False,
        label: str | None = None,
    ) -> bool:
        """Restore from a transcript that was read already. `label` is for an agent that is not on the board yet."""
        author = by or self.name
        taken, earlier = self._recovery().restore_list(transcript, written, by=author, force=force, label=label)
        if earlier is not None:
            self._board.adopt(earlier, self.session, by=author)
        return taken

    def import_history(
        self,
        records_or_path: Any,
        format: str | None = None,
        *,
        session: str | None = None,
        subagent: str | None = None,
    ) -> int:
        """Record every list write of a transcript, in order and at its own time; return how many were new.

        Each is applied as the agent's own write, and the last one is the list. Where the board's list was written
        later, older writes are noted (`transcript.write`) and change nothing. What the board knows by its call id is
        passed over, so the same transcript may be imported again.
        """
        return self._recovery().import_history(records_or_path, format, session=session, subagent=subagent)

    def restore_tasks(self, records_or_path: Any, format: str | None = None) -> int:
        """Replay the task calls of a transcript on this agent's list of tasks; return how many were new.

        Of a file only what was added since the last time is read. A call that the board has answered itself, or read
        before, is passed over; a task that was changed on the board later than the transcript says keeps its state.
        """
        return self._recovery().restore_tasks(records_or_path, format)
