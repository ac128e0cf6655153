"""`punchlist tasks show`, `graph` and `history`; and that no text of a task is obeyed by whoever shows it."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.board import Board
from punchlist.core.events import KINDS, Event
from punchlist.core.task import Blocking, ChecklistLine, LateResult, Task, TaskStatus, Wait
from punchlist.terminal.sentences import sentence
from punchlist.terminal.spans import ASCII, UNICODE, Display, plain
from punchlist.terminal.tasks import (
    draw_dot,
    draw_mermaid,
    find_neighbours,
    graph_lines,
    task_card,
    task_lines,
)
from punchlist.views.findings import until_words
from tests.cli.conftest import Run
from tests.cli.test_hostile_text import EVIL, _assert_clean

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def diamond(run: Run) -> None:
    run("tasks", "add", "Design")
    run("tasks", "add", "Front", "--blocked-by", "design")
    run("tasks", "add", "Back", "--blocked-by", "design")
    run("tasks", "add", "Ship", "--blocked-by", "front", "--blocked-by", "back")
    run("tasks", "add", "Party")


@pytest.mark.usefixtures("diamond")
def test_the_graph_is_a_tree_in_the_order_of_work(run: Run):
    assert run("tasks", "graph").out.splitlines() == [
        "○ 1 Design",
        "└ ⊘ 2 Front — blocked by 1",
        "└ ⊘ 3 Back — blocked by 1",
        "  └ ⊘ 4 Ship — blocked by 2, 3",
        "○ 5 Party",
    ]


@pytest.mark.usefixtures("diamond")
def test_the_graph_of_one_task_is_what_it_waits_for_and_what_waits_for_it(run: Run):
    told = json.loads(run("tasks", "graph", "front", "--json").out)
    assert [task["id"] for task in told["tasks"]] == ["1", "2", "4"]
    assert told["edges"] == [{"blocker": "1", "task": "2"}, {"blocker": "2", "task": "4"}]


@pytest.mark.usefixtures("diamond")
def test_the_graph_leaves_out_what_is_done_unless_asked(run: Run):
    run("tasks", "done", "1")
    assert run("tasks", "graph").out.startswith("○ 2 Front\n")
    assert "● 1 Design" in run("tasks", "graph", "--all").out


@pytest.mark.usefixtures("diamond")
def test_the_graph_as_mermaid_and_for_graphviz(run: Run):
    lines = run("tasks", "graph", "--mermaid").out.splitlines()
    assert lines[:2] == ["flowchart TD", '  t1["1: Design (pending)"]']
    assert "  t3 --> t4" in lines
    lines = run("tasks", "graph", "--dot").out.splitlines()
    assert lines[0] == "digraph tasks {"
    assert "  t3 -> t4;" in lines
    assert lines[-1] == "}"


_MERMAID = re.compile(r'  t\d+\["\d+: (?:[^"\[\]{}<>%;&`#\\|]|#\d+;)*"\]')
_DOT = re.compile(r'  t\d+ \[label="(?:[^"\\]|\\\\|\\")*"\];')


@given(st.text())
def test_a_subject_cannot_leave_its_box_in_a_diagram(subject: str):
    _assert_boxed(subject)


def _assert_boxed(subject: str) -> None:
    task = Task(list="l", id="1", subject=subject)
    (_, box, *_) = draw_mermaid([task], [])
    assert _MERMAID.fullmatch(box)
    (_, _, node, _) = draw_dot([task], [])
    assert _DOT.fullmatch(node)
    assert not re.search(r"&(?!amp;)", node)


@pytest.mark.parametrize(
    "subject",
    ['"]; end', "%%{init: {'theme':'x'}}%%", "a\\", '\\" -> b', "&quot;", "<script>", "`x`", "#quot;", "x\ny --> z"],
)
def test_what_would_mean_something_in_a_diagram_is_written_as_a_code(subject: str):
    _assert_boxed(subject)


def test_a_long_chain_is_drawn_without_running_out_of_room():
    count = 5_000
    tasks = [Task(list="l", id=str(number), subject="x") for number in range(count)]
    edges = [(str(number), str(number + 1)) for number in range(count - 1)]
    lines = [plain(line) for line in graph_lines(tasks, edges, Display(columns=80), NOW)]
    assert len(lines) == count
    assert all(len(line) <= 80 for line in lines)
    assert find_neighbours("0", edges) == {task.id for task in tasks}


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=80))
def test_every_task_stands_in_the_tree_once_and_below_a_blocker_of_its_own(pairs: list[tuple[int, int]]):
    edges = [(str(min(pair)), str(max(pair))) for pair in dict.fromkeys(pairs) if pair[0] != pair[1]]
    tasks = [Task(list="l", id=str(number), subject=f"<{number}>") for number in range(31)]
    path: list[str] = []
    seen: list[str] = []
    for line in graph_lines(tasks, list(dict.fromkeys(edges)), Display(), NOW):
        text = plain(line)
        depth = (len(text) - len(text.lstrip(" └"))) // 2
        number = text.partition("<")[2].rstrip(">")
        del path[depth:]
        assert not path or (path[-1], number) in edges
        path.append(number)
        seen.append(number)
    assert sorted(seen, key=int) == [task.id for task in tasks]


def test_a_task_is_shown_with_all_that_is_known_about_it(run: Run):
    run("tasks", "add", "Whole")
    run(
        "tasks", "add", "Fix it", "--description", "In two\nlines", "--label", "web", "--check", "unit", "--parent", "1"
    )
    run("tasks", "fail", "1", "no luck")
    run("tasks", "block", "2", "1")
    assert run("tasks", "show", "fix").out.splitlines()[1:] == [
        "  status      pending, blocked by 1 (failed): retry that, or `tasks unblock` this",
        f"  list        project:{_project()}",
        "  labels      web",
        "  part of     1",
        "  blocked by  1",
        "  revision    0",
        "  created     just now by anna",
        "    ○ unit",
        "",
        "  In two",
        "  lines",
    ]


def _project() -> str:
    from punchlist.settings.environment import project_of

    return project_of()


def test_the_history_of_a_task_outlives_it(run: Run):
    run("tasks", "add", "One")
    run("tasks", "add", "Two", "--blocked-by", "1")
    run("tasks", "claim", "1", "--by", "w1")
    run("tasks", "fail", "1", "no luck")
    run("tasks", "delete", "1")
    said = [line[10:] for line in run("tasks", "history", "1").out.splitlines()]
    assert said == [
        "anna added task 1 “One”",
        "w1 claimed task 1 “One”",
        "anna failed at task 1 “One”: no luck",
        "anna deleted task 1 “One”",
    ]
    assert run("events", "--limit", "1").out.rstrip().endswith(said[-1])
    kinds = [event["kind"] for event in json.loads(run("tasks", "history", "two", "--json").out)]
    assert kinds == ["task.created", "task.linked"]
    assert run("tasks", "history", "9").code == 1


def test_a_subject_is_not_looked_at_for_places_to_fill():
    data = {"id": "3", "subject": "{task} {blocker}", "blocker": "1", "set": {"failure": "why"}}
    for kind in (kind for kind in KINDS if kind.startswith("task.")):
        for author in ("anna", ""):
            event = Event(seq=1, at=NOW, kind=kind, by=author, project="", session=None, agent=None, data=data)
            assert "task 3 “{task} {blocker}”" in sentence(event, UNICODE)


def test_a_distance_in_time_is_told_in_the_unit_that_fits():
    said = {0: "now", -5: "now", 40: "in 40 s", 100: "in 2 min", 900: "in 15 min", 7500: "in 2 h 5 min"}
    for seconds, text in {**said, 3 * 86_400: "in 3 days"}.items():
        assert until_words(NOW + timedelta(seconds=seconds), NOW) == text


# Hostile text.


def _evil(status: TaskStatus) -> Task:
    """A task as a careless store might hand it out: nothing in it was cleaned."""
    return Task(
        list=EVIL,
        id=f"1{EVIL}",
        subject=EVIL,
        description=EVIL,
        active_form=EVIL,
        status=status,
        owner=EVIL,
        parent=EVIL,
        labels=(EVIL,),
        blocks=(EVIL,),
        blocked_by=(EVIL,),
        held_by=(Blocking(EVIL, TaskStatus.FAILED),),
        open_blockers=1 if status is TaskStatus.PENDING else 0,
        checklist=(ChecklistLine(EVIL), ChecklistLine(EVIL, done=True)),
        state={EVIL: EVIL},
        metadata={EVIL: [EVIL]},
        wait=Wait(kind="event", topic=EVIL, correlation_id=EVIL),
        result=EVIL,
        late_results=(LateResult(fence=1, result={EVIL: EVIL}, by=EVIL),),
        failure=EVIL,
        reserved=(EVIL,),
        created_at=NOW,
        created_by=EVIL,
        progress=Task(list="", id="", subject="").progress._replace(total=2),
    )


def _without_escapes(text: str) -> str:
    """JSON, and a value that is quoted in an error, keep what a text says, as escapes that no terminal obeys."""
    return re.sub(r"\\(u001b|x1b)\]0;owned", "", text)


@pytest.mark.parametrize("status", list(TaskStatus))
@pytest.mark.parametrize("display", [Display(), Display(ASCII, 60)])
def test_every_field_of_a_task_is_cleaned_on_its_way_to_the_terminal(status: TaskStatus, display: Display):
    task = _evil(status)
    for lines in (
        task_lines([task], display, NOW),
        task_card(task, display, NOW),
        graph_lines([task], [], display, NOW),
    ):
        for line in map(plain, lines):
            _assert_clean(_without_escapes(line))
            assert "\n" not in line
    for text in (*draw_mermaid([task], [(EVIL, EVIL)]), *draw_dot([task], [(EVIL, EVIL)])):
        _assert_clean(text)
        assert "\n" not in text


def test_what_happened_to_a_task_is_cleaned_too():
    data = {"id": EVIL, "subject": EVIL, "blocker": EVIL, "reason": EVIL, "set": {"failure": EVIL}}
    for kind in KINDS:
        event = Event(seq=1, at=NOW, kind=kind, by=EVIL, project=EVIL, session=EVIL, agent=EVIL, data=data)
        _assert_clean(sentence(event, UNICODE))


def test_what_reaches_standard_output_is_clean_for_every_verb(run: Run, board: Board):
    with board:
        tasks = board.tasks()
        tasks.create(EVIL, description=EVIL, labels=[EVIL], checklist=[EVIL], metadata={EVIL: EVIL}, state={EVIL: EVIL})
        tasks.create(EVIL, blocked_by=["1"])
        tasks.fail("1", EVIL)
    for arguments in (
        (),
        ("list", "--all", "--json"),
        ("ready",),
        ("show", "1"),
        ("show", "1", "--json"),
        ("graph",),
        ("graph", "--mermaid"),
        ("graph", "--dot"),
        ("graph", "--json"),
        ("history", "1"),
        ("history", "1", "--json"),
        ("export",),
        ("export", "--format", "punchlist"),
        ("retry", "1"),
        ("claim", "1"),
        ("check", "1"),
        ("done", "1", "--result", EVIL),
        ("add", EVIL, "--label", EVIL, "--description", EVIL, "--check", EVIL),
        ("wait", "3", "--topic", EVIL, "--correlation", EVIL),
        ("show", "3"),
        ("signal", EVIL, EVIL, EVIL),
        ("edit", "3", "--subject", EVIL),
        ("cancel", "3", EVIL),
        ("delete", "3"),
    ):
        ran = run("tasks", *arguments)
        assert ran.code == 0, (arguments, ran.err)
        _assert_clean(_without_escapes(ran.out))


def test_what_reaches_standard_error_is_clean_for_every_verb(run: Run):
    run("tasks", "add", f"one {EVIL}")
    run("tasks", "add", f"one {EVIL}")
    for arguments in (
        (EVIL,),
        ("show", EVIL),
        ("done", "one"),
        ("done", "1", "--fence", "5"),
        ("list", "--status", EVIL),
        ("wait", "1", f"--until={EVIL}"),
        ("signal", EVIL, EVIL),
        ("add", "x", "--list", EVIL),
        ("add", "x", "--owner", EVIL),
        ("claim", "--by", EVIL),
        ("import", EVIL),
        ("export", "--format", EVIL),
        ("work", "--once", "--", EVIL),
    ):
        ran = run("tasks", *arguments)
        assert ran.code in (1, 2), arguments
        _assert_clean(_without_escapes(ran.err))


def test_a_task_that_an_agent_began_names_that_agent(run: Run, board: Board) -> None:
    with board:
        agent = board.agent("builder", session="s1", dialect="claude-tasks")
        agent.call("TaskCreate", {"subject": "Paint", "description": ""})
        agent.call("TaskUpdate", {"taskId": "1", "status": "in_progress"})
    for verb in ("list", "graph"):
        assert run("tasks", verb, "--list", "session:s1").out == "▸ 1 Paint — builder\n"
    assert "in progress, builder" in run("tasks", "show", "1", "--list", "session:s1").out
    assert json.loads(run("tasks", "list", "--list", "session:s1", "--json").out)[0]["owner"] is None
    run("tasks", "add", "Sand", "--list", "mine")
    board = Board.open()
    with board:
        board.tasks("mine").update("1", status="in_progress")
    assert run("tasks", "list", "--list", "mine").out == "▸ 1 Sand\n"
