"""The pages of tasks: they show every state, and their forms change tasks as the commands do."""

import re
from html import unescape

import httpx
import pytest

from punchlist.board import Board
from punchlist.core.task import TaskStatus
from punchlist.server.pages.handlers import render_topic
from punchlist.server.pages.rendering import list_path, task_path
from punchlist.server.pages.tasks import HEIGHT, lay_out_graph
from punchlist.settings.environment import project_of
from punchlist.tasks import Tasks
from tests.server.conftest import Running, make_token

LIST = "project:/projects/shop"
PATH = list_path(LIST)
HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e\"'><img src=x onerror=alert(2)>"


@pytest.fixture
def tasks(board: Board) -> Tasks:
    tasks = board.tasks(LIST, project="/projects/shop", by="ada")
    tasks.create("Write the schema")
    tasks.create("Write the migration", blocked_by=["1"], labels=["db"])
    tasks.create("Rotate the keys", checklist=["Ask Bob", "Restart"], priority=0)
    return tasks


def send(browser: httpx.Client, task: str, do: str, **fields: str) -> httpx.Response:
    return browser.post(task_path(LIST, task), data={"do": do, **fields})


def read(page: httpx.Response) -> str:
    """Return the words of a page, one space between them."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page.text)))


def test_empty_board_says_what_to_do_first(browser: httpx.Client) -> None:
    page = browser.get("/tasks")
    assert page.status_code == 200
    assert "Write your first task" in page.text
    assert "punchlist tasks add" in page.text


def test_first_task_is_added_to_the_list_of_the_project_that_is_served(browser: httpx.Client, board: Board) -> None:
    own = f"project:{project_of()}"
    assert browser.post("/tasks", data={"text": "Begin"}).headers["location"] == list_path(own)
    assert [task.subject for task in board.tasks().list()] == ["Begin"]
    assert browser.post("/tasks", data={"text": "  "}).status_code == 409
    assert browser.post("/tasks", data={"text": "Lost", "list": "no such list"}).status_code == 409
    assert len(board.tasks().list()) == 1


def test_all_lists_are_shown_with_the_claims_on_them(browser: httpx.Client, board: Board, tasks: Tasks) -> None:
    board.tasks("nightly", project="/projects/ops").create("Check the backups")
    tasks.claim("worker-7", id="1")
    page = browser.get("/tasks")
    words = read(page)
    assert "worker-7" in words
    assert "1 at work · 1 ready · 1 not ready" in words
    assert f'href="{PATH}"' in page.text
    assert 'href="/tasks/nightly"' in page.text


def test_list_shows_tasks_by_state(browser: httpx.Client, tasks: Tasks) -> None:
    tasks.claim("worker-7", id="1", lease=600)
    tasks.wait("3")
    tasks.create("Broken")
    tasks.update("4", status="in_progress")
    tasks.fail("4", "no network")
    page = browser.get(PATH)
    groups = re.findall(r'id="state-([a-z-]+)-title">[^<]*<span class="number">(\d+)', page.text)
    assert groups == [("at-work", "1"), ("asking", "1"), ("failed", "1"), ("blocked", "1")]
    words = read(page)
    assert "blocked by 1" in words
    assert "failed: no network" in words
    assert re.search(r'data-until="\d+" data-lease="600"', page.text)


def test_tasks_of_a_project_whose_folder_is_a_number_are_found(browser: httpx.Client, board: Board) -> None:
    board.tasks("project:/projects/3", project="/projects/3").create("Here")
    assert "Here" in browser.get(list_path("project:/projects/3")).text
    assert "Here" in browser.get(task_path("project:/projects/3", "1")).text


def test_table_is_filtered_and_read_in_pages(browser: httpx.Client, tasks: Tasks) -> None:
    everything = browser.get(f"{PATH}?view=table")
    assert everything.text.count("<tr id=") == 3
    labelled = browser.get(f"{PATH}?view=table&label=db&status=pending")
    assert labelled.text.count("<tr id=") == 1
    assert "Write the migration" in labelled.text
    assert "No task fits" in browser.get(f"{PATH}?view=table&owner=nobody").text
    for number in range(250):
        tasks.create(f"Small {number}")
    first = browser.get(f"{PATH}?view=table")
    following = re.search(r'href="([^"]+)">Next page', first.text)
    assert following is not None
    second = browser.get(unescape(following[1]))
    assert first.text.count("<tr id=") + second.text.count("<tr id=") == 253


def test_graph_draws_blockers_before_what_waits_for_them(browser: httpx.Client, tasks: Tasks) -> None:
    page = browser.get(f"{PATH}?view=graph")
    assert page.text.count('class="edge"') == 1
    assert "1 task waits for none and blocks none" in page.text
    tasks.complete("1")
    assert "No open task waits for another" in browser.get(f"{PATH}?view=graph").text
    assert browser.get(f"{PATH}?view=graph&done=1").text.count('class="edge"') == 1


def test_layout_is_the_same_each_time_and_puts_no_box_on_another(board: Board) -> None:
    tasks = board.tasks("wide")
    for number in range(1, 41):
        tasks.create(f"Task {number}", blocked_by=[str(one) for one in (number // 2, number // 3) if one])
    layout = lay_out_graph(tasks.list())
    assert layout == lay_out_graph(tasks.list())
    places = {node.task.id: node for node in layout.nodes}
    assert len(places) == 40
    for edge in layout.edges:
        assert places[edge.blocker].x < places[edge.task].x
    for one in layout.nodes:
        assert not [
            other for other in layout.nodes if other is not one and other.x == one.x and abs(other.y - one.y) < HEIGHT
        ]
    assert all(0 <= node.y <= layout.height - HEIGHT for node in layout.nodes)
    assert lay_out_graph(tasks.list(), most=10).left_out == 30


def test_task_page_has_facts_neighbours_and_history(browser: httpx.Client, tasks: Tasks) -> None:
    tasks.update("1", description="In two steps.\n\nFirst the tables.")
    tasks.create("Tables", parent="1")
    page = browser.get(task_path(LIST, "1"))
    words = read(page)
    assert "In two steps." in words
    assert "Others that wait for it 1" in words
    assert "Parts 1" in words
    assert "ada added task 1 “Write the schema”" in words
    tasks.delete("1")
    gone = browser.get(task_path(LIST, "1"))
    assert gone.status_code == 200
    assert "ada deleted task 1" in read(gone)
    assert browser.get(task_path(LIST, "99")).status_code == 404
    assert browser.get("/tasks/nothing").status_code == 404
    assert browser.get("/tasks/board:flows").status_code == 404


def test_person_does_with_forms_what_the_commands_do(browser: httpx.Client, tasks: Tasks) -> None:
    more = {"description": "d", "priority": "1", "labels": "one, two", "blocked_by": "#1 2", "parent": "3"}
    added = browser.post(PATH, data={"do": "add", "text": "New", **more})
    assert (added.status_code, added.headers["location"]) == (303, PATH)
    made = tasks.get("4")
    assert (made.description, made.priority, made.labels) == ("d", 1, ("one", "two"))
    assert (made.blocked_by, made.parent) == (("1", "2"), "3")
    assert send(browser, "1", "start").headers["location"] == task_path(LIST, "1")
    assert tasks.get("1").status is TaskStatus.IN_PROGRESS
    send(browser, "1", "release")
    assert tasks.get("1").status is TaskStatus.PENDING
    send(browser, "1", "wait")
    send(browser, "1", "resume", text="Use blue")
    assert tasks.get("1").state == {"answer": "Use blue"}
    send(browser, "1", "start")
    send(browser, "1", "fail", text="no luck")
    assert tasks.get("1").failure == "no luck"
    send(browser, "1", "retry")
    send(browser, "1", "save", text="Write it", description="", priority="3", labels="x")
    assert (tasks.get("1").subject, tasks.get("1").priority, tasks.get("1").labels) == ("Write it", 3, ("x",))
    send(browser, "3", "check", place="1")
    assert [check.done for check in tasks.get("3").checklist] == [False, True]
    send(browser, "3", "uncheck", place="1")
    send(browser, "4", "unblock", blocked_by="2")
    assert tasks.get("4").blocked_by == ("1",)
    send(browser, "2", "block", blocked_by="3")
    assert tasks.get("2").blocked_by == ("1", "3")
    send(browser, "3", "cancel", text="not needed")
    assert tasks.get("3").status is TaskStatus.CANCELLED
    assert send(browser, "4", "delete").headers["location"] == f"{PATH}?said=deleted"
    assert browser.post(PATH, data={"task": "1", "do": "done"}).headers["location"] == PATH
    done = tasks.get("1")
    assert (done.status, done.grade) == (TaskStatus.COMPLETED, "confirmed")


def test_task_under_a_lease_is_only_taken_from_its_worker_on_purpose(browser: httpx.Client, tasks: Tasks) -> None:
    tasks.claim("worker-7", id="1")
    refused = send(browser, "1", "done")
    assert refused.status_code == 409
    assert "under the lease of worker-7" in read(refused)
    send(browser, "1", "ask_cancel", text="stop")
    assert tasks.get("1").cancel_requested
    assert send(browser, "1", "cancel", force="on").status_code == 303
    assert tasks.get("1").status is TaskStatus.CANCELLED


def test_event_is_delivered_to_the_task_that_waits_for_it(browser: httpx.Client, tasks: Tasks) -> None:
    tasks.wait("1", topic="build", correlation_id="7")
    event = {"do": "signal", "topic": "build", "correlation": "7", "payload": '{"ok": true}'}
    assert browser.post(PATH, data=event).headers["location"] == f"{PATH}?said=delivered"
    assert tasks.get("1").status is TaskStatus.PENDING
    assert browser.post(PATH, data=event).status_code == 409
    assert browser.post(PATH, data={**event, "keep": "on"}).headers["location"] == f"{PATH}?said=kept"


@pytest.mark.parametrize(
    ("do", "fields"),
    [
        ("fly", {}),
        ("", {}),
        ("check", {"place": "x"}),
        ("check", {"place": "99"}),
        ("block", {"blocked_by": "2"}),
        ("block", {"blocked_by": "77"}),
        ("wait", {"until": "soon"}),
        ("resume", {}),
        ("retry", {}),
    ],
)
def test_form_that_cannot_be_done_is_told_and_changes_nothing(
    browser: httpx.Client, tasks: Tasks, do: str, fields: dict[str, str]
) -> None:
    before = tasks.list()
    refused = send(browser, "1", do, **fields)
    assert refused.status_code == 409, refused.text
    assert 'role="alert"' in refused.text
    assert tasks.list() == before


def test_hostile_texts_stay_texts(browser: httpx.Client, board: Board) -> None:
    name = "list <b>'\"&"
    tasks = board.tasks(name, by=HOSTILE[:50])
    tasks.create(
        HOSTILE,
        description=HOSTILE,
        labels=["<i>x</i>"],
        checklist=[HOSTILE],
        state={"<k>": HOSTILE},
        active_form=HOSTILE,
    )
    tasks.create("Second", blocked_by=["1"])
    tasks.claim("<u>worker</u>", id="1")
    path = list_path(name)
    for page in (
        "/tasks",
        path,
        f"{path}?view=table",
        f"{path}?view=graph",
        f"{path}/1",
    ):
        text = browser.get(page).text
        assert "alert" in text or page == "/tasks"
        assert "\x1b" not in text
        assert "\u202e" not in text
        for forbidden in ("<script>alert", "<img", "<i>x", "<u>worker", "<b>"):
            assert forbidden not in text, page


def test_topics_render_the_parts_of_their_pages(browser: httpx.Client, running: Running, tasks: Tasks) -> None:
    tasks.claim("worker-7", id="1")
    pages = {
        "tasks": "/tasks",
        f"tasks-states:{LIST}": PATH,
        f"tasks-table:{LIST}": f"{PATH}?view=table",
        f"tasks-graph:{LIST}": f"{PATH}?view=graph",
        f"task:{LIST}/1": task_path(LIST, "1"),
    }
    for topic, path in pages.items():
        page = browser.get(path).text
        assert f'data-topic="{topic}"' in unescape(page)
        parts = render_topic(running.state, topic)
        assert len(parts) > 1
        for element, html in parts.items():
            assert f'id="{element}"' in page
            assert f'id="{element}"' in html[:200]
        assert parts == render_topic(running.state, topic), "a part that changes by itself is sent all the time"


def test_token_that_may_only_look_changes_no_task(running: Running, board: Board, tasks: Tasks) -> None:
    secret = make_token(board, "reader", "look")
    with running.open_client(headers={"Authorization": f"Bearer {secret}"}) as client:
        assert client.get(PATH).status_code == 200
        assert client.post(PATH, data={"do": "add", "text": "No"}).status_code == 403
    assert len(tasks.list()) == 3


def test_search_finds_the_same_tasks_in_the_page_and_in_the_api(browser: httpx.Client, tasks: Tasks) -> None:
    tasks.create("Sweep", description="Below the bench", labels=["chores"])
    wanted: dict[str, list[str]] = {
        "MIGRATION the": ["2"],
        "write": ["1", "2"],
        "schema keys": [],
        " ": [],
        "bench chores": ["4"],
    }
    for query, found in wanted.items():
        hits = browser.get("/api/v1/search", params={"q": query}).json()["hits"]
        assert [hit["id"] for hit in hits] == found
        page = browser.get("/search", params={"q": query}).text
        assert re.findall(rf'href="{re.escape(PATH)}/(\d+)"', page) == found
