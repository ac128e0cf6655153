"""Tasks in a browser: what workers do is painted, leases run down, and a person works by keys or by the mouse."""

from contextlib import suppress

import pytest
from playwright.sync_api import Error, expect

from punchlist.board import Board
from punchlist.core.task import TaskStatus
from punchlist.tasks import Tasks
from tests.web.conftest import Tabs
from tests.web.test_live import run_command


@pytest.fixture
def tasks(board: Board) -> Tasks:
    tasks = board.tasks("release", by="ada")
    tasks.create("Build it")
    tasks.create("Test it", blocked_by=["1"])
    tasks.create("Choose a name")
    return tasks


def test_claim_of_another_process_is_painted(tabs: Tabs, board: Board, tasks: Tasks) -> None:
    paths = ("/tasks", "/tasks/release", "/tasks/release?view=table", "/tasks/release?view=graph", "/tasks/release/1")
    context = tabs.open_context()
    pages = [context.new_page() for _ in paths]
    for page, path in zip(pages, paths, strict=True):
        page.goto(tabs.origin + path)
        expect(page.locator("#link")).to_have_text("live")
    run_command(board, "tasks", "claim", "1", "--list", "release", "--by", "worker-7", "--lease", "600")
    for page in pages:
        expect(page.locator("main")).to_contain_text("worker-7")
    tasks.complete("1")
    expect(pages[1].locator("#state-done")).to_contain_text("Build it")
    expect(pages[1].locator("#state-ready")).to_contain_text("Test it")
    expect(pages[3].locator("#tasks-graph")).to_contain_text("No open task waits for another")
    expect(pages[4].locator("#task-head")).to_contain_text("completed")


def test_lease_runs_down_and_the_task_is_free_again(tabs: Tabs, tasks: Tasks) -> None:
    task = tasks.claim("worker-7", id="1", lease=600)
    assert task is not None
    page = tabs.open("/tasks/release")
    left = page.locator(".lease .left")
    before = left.get_attribute("width")
    assert before is not None
    expect(left).not_to_have_attribute("width", before)
    tasks.heartbeat("1", fence=task.fence, lease=1)
    expect(page.locator("#state-ready")).to_contain_text("Build it")
    assert tasks.get("1").owner is None


def test_tasks_are_worked_by_keys_alone(tabs: Tabs, tasks: Tasks) -> None:
    page = tabs.open("/tasks")
    expect(page.locator("#link")).to_have_text("live")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/tasks/release")
    page.keyboard.press("a")
    page.keyboard.type("Tell everyone")
    page.keyboard.press("Enter")
    expect(page.locator("#state-ready")).to_contain_text("Tell everyone")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator(":focus")).to_contain_text("Build it")
    page.keyboard.press("d")
    expect(page.locator("#state-done")).to_contain_text("Build it")
    assert tasks.get("1").grade == "confirmed"
    while page.url != f"{tabs.origin}/":  # two keys within 1.5 s, which a busy machine may not manage
        page.keyboard.press("g")
        page.keyboard.press("h")
        with suppress(Error):
            page.wait_for_url(f"{tabs.origin}/", timeout=2_000)
    page.goto(f"{tabs.origin}/stats")
    expect(page.locator("#days")).to_contain_text("1 task in all")


def test_answer_that_is_being_typed_stays_while_the_list_changes(tabs: Tabs, tasks: Tasks) -> None:
    tasks.wait("3")
    page = tabs.open("/tasks/release")
    expect(page.locator("#link")).to_have_text("live")
    field = page.get_by_placeholder("An answer, or nothing")
    field.fill("Bir")
    tasks.create("One more")
    expect(page.locator("#state-ready")).to_contain_text("One more")
    expect(field).to_have_value("Bir")
    expect(field).to_be_focused()
    field.press_sequentially("ch")
    page.get_by_role("button", name="Go on").click()
    expect(page.locator("#state-asking")).to_have_count(0)
    assert tasks.get("3").state == {"answer": "Birch"}


HOLD_ANSWERS = """() => {
  const load = window.fetch;
  const held = new Promise((release) => { window.release = release; });
  window.fetch = async (...given) => {
    const answer = await load(...given);
    await held;
    return answer;
  };
}"""


def test_a_filter_stays_when_the_list_changes_while_its_answer_is_on_its_way(tabs: Tabs, tasks: Tasks) -> None:
    page = tabs.open(f"/tasks/{tasks.name}?view=table")
    expect(page.locator("#link")).to_have_text("live")
    page.evaluate(HOLD_ANSWERS)
    page.get_by_label("Status").select_option("failed")
    page.get_by_role("button", name="Filter").click()
    tasks.create("One more")
    expect(page.locator("tbody")).to_contain_text("One more")
    page.evaluate("release()")
    expect(page.get_by_text("No task fits.")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(0)


def test_tasks_are_added_cancelled_and_found_by_the_mouse(tabs: Tabs, tasks: Tasks) -> None:
    page = tabs.open("/tasks")
    page.locator("#tasks .who", has_text="release").click()
    page.get_by_label("Add a task to release").fill("Tell everyone")
    page.locator("main").get_by_text("More", exact=True).click()  # the frame has a menu of that name
    page.get_by_label("Waits for tasks").fill("2")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#state-blocked")).to_contain_text("Tell everyone")
    page.get_by_role("link", name="Graph", exact=True).click()
    page.locator("#node-4").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Tell everyone")
    expect(page.locator("#task-history")).to_contain_text("wait for task 2")
    page.get_by_label("Reason or answer").fill("nobody is there")
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.locator("#task-head")).to_contain_text("cancelled")
    assert tasks.get("4").status is TaskStatus.CANCELLED
    page.get_by_role("link", name="release", exact=True).click()
    page.get_by_role("link", name="Table", exact=True).click()
    page.get_by_label("Status").select_option("cancelled")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("tbody tr")).to_have_count(1)
