"""The pages of a real server: their forms work without a script, and change the board as the commands do."""

import re
from urllib.parse import quote

import httpx
import pytest

from punchlist.agent import Agent
from punchlist.board import Board
from punchlist.core.events import Draft
from punchlist.core.todo import Status
from punchlist.server.access import SECURITY_HEADERS
from punchlist.server.pages.handlers import render_topic
from punchlist.server.pages.rendering import content_digest, element_id
from punchlist.settings.environment import login_name
from punchlist.store import Transaction
from punchlist.testing.demo_script import Troupe
from tests.server.conftest import Running, make_token

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e\"'><img src=x onerror=alert(2)>"


@pytest.fixture
def agent(board: Board) -> Agent:
    agent = board.agent("main", session="s1", project="/projects/shop")
    agent.edit({"op": "init", "items": ["First", "Second", "Third"]}, by="main")
    return agent


def send(browser: httpx.Client, agent: Agent, do: str, **fields: str) -> httpx.Response:
    form = {"agent": agent.name, "plan": agent.todos.plan_id, "do": do, **fields}
    if (item := agent.todos.find(fields.get("item", ""))) is not None:
        form["read"] = content_digest(item.content)
    return browser.post(f"/sessions/{agent.session}", data=form)


def read_wait(board: Board) -> dict[str, str]:
    """Return the fields of the form of the only wait."""
    (wait,) = board.waits()
    fields = {"kind": wait.kind, "session": wait.session, "agent": wait.agent, "id": wait.id}
    return {**fields, "wait": element_id(wait)}


def contents(agent: Agent) -> list[str]:
    return [item.content for item in agent.todos.items]


def test_first_screen_shows_agents_with_a_link_to_their_session(browser: httpx.Client, agent: Agent) -> None:
    agent.edit({"op": "start", "item": "2"}, by="main")
    page = browser.get("/")
    assert page.status_code == 200
    assert 'href="/sessions/s1"' in page.text
    assert "Second" in page.text
    assert "0/3" in page.text


def test_first_screen_of_200_agents_is_small(browser: httpx.Client, board: Board) -> None:
    for number in range(200):
        agent = board.agent(
            "main", session=f"session-{number:04}-5f0c-4f6a", project=f"/home/ada/project-{number % 40}"
        )
        items = [f"Step {step} of module {number}: make it work" for step in range(12)]
        agent.edit([{"op": "init", "items": items}, {"op": "start", "item": "2"}], by="main")
        agent.tool_started("c1", "Bash", {"command": "pytest -q tests"})
        agent.tool_finished("c1", "1 failed in 1s", exit_code=1)
    page = browser.get("/")
    assert page.text.count('<li class="row') == 200
    assert len(page.content) <= 190_000  # with 40 lanes of the night; rows say what is red and where to see it


def test_empty_board_offers_the_demo(browser: httpx.Client) -> None:
    page = browser.get("/")
    assert "Play the demo" in page.text


def test_demo_plays_once_in_a_project_of_its_own(browser: httpx.Client, board: Board) -> None:
    session = browser.post("/demo").headers["location"]
    assert re.fullmatch(r"/sessions/demo-[0-9a-f]+\?said=playing", session)
    assert "Find the bug" in browser.get(session).text
    assert browser.post("/demo").headers["location"] == "/?said=playing"
    assert {row.project for row in board.lists()} == {"/demo"}
    assert len({row.session for row in board.lists()}) == 1


def test_demo_ends_on_the_item_that_was_failing_opened_with_its_story(browser: httpx.Client, board: Board) -> None:
    for scene in Troupe(board, "demo", project="/demo").scenes():
        scene.act()
    page = browser.get("/sessions/demo").text
    (opened,) = re.findall(r'<details class="ev"[^>]* open>(.*?)</details>', page, re.DOTALL)
    words = " ".join(re.sub("<[^>]*>", " ", opened).split())
    assert words.startswith("verified: pytest, 12 passed")
    assert "called this done while pytest failed, 1 of 12. The board had seen the run: failing." in words


def test_question_is_answered_in_place(browser: httpx.Client, board: Board, agent: Agent) -> None:
    agent.ask("1", "Which region?")
    assert "Which region?" in browser.get("/").text
    form = {**read_wait(board), "text": "eu-west"}
    answered = browser.post("/answer", data=form)
    assert (answered.status_code, answered.headers["location"]) == (303, "/?said=answered")
    assert not board.waits()
    assert "eu-west" in (agent.take_answers() or "")
    again = browser.post("/answer", data=form)
    assert again.status_code == 409
    assert "waits no more" in again.text


def test_answer_to_a_question_that_was_asked_anew_is_refused(browser: httpx.Client, board: Board, agent: Agent) -> None:
    agent.ask("1", "Keep the old table?")
    form = {**read_wait(board), "text": "no"}
    assert f'name="wait" value="{form["wait"]}"' in browser.get("/").text
    assert f'name="wait" value="{form["wait"]}"' in browser.get("/sessions/s1").text
    agent.ask("1", "Keep the backups?")
    for stale in (form, {name: value for name, value in form.items() if name != "wait"}):
        refused = browser.post("/answer", data=stale)
        assert refused.status_code == 409
        assert "asks something else" in refused.text
    assert [wait.text for wait in board.waits()] == ["Keep the backups?"]


def test_answer_without_a_text_changes_nothing(browser: httpx.Client, board: Board, agent: Agent) -> None:
    agent.ask("1", "Which region?")
    form = {**read_wait(board), "text": "  "}
    assert browser.post("/answer", data=form).status_code == 409
    assert len(board.waits()) == 1


def test_plan_is_read_with_its_changes_and_decided(browser: httpx.Client, board: Board, agent: Agent) -> None:
    agent.enter_plan_mode()
    agent.propose_plan("# Move\n\n1. Pack\n2. Drive")
    agent.reject_plan("Ask first", by="ada")
    agent.propose_plan("# Move\n\n1. Ask\n2. Pack\n3. Drive")
    page = browser.get("/sessions/s1/plan?agent=main&revision=2")
    assert "3 steps" in page.text  # what came and went is told above, step by step
    old = browser.get("/sessions/s1/plan?agent=main&revision=1")
    assert 'value="approve"' not in old.text
    form = {**read_wait(board), "decision": "approve", "make_list": "yes"}
    # The revision is told again: a person may have several plans open.
    assert browser.post("/answer", data=form).headers["location"] == "/?said=approved&revision=2"
    assert "Revision 2 of the plan is approved" in browser.get("/?said=approved&revision=2").text
    assert contents(agent) == ["Ask", "Pack", "Drive"]


def test_rejecting_a_plan_needs_a_reason(browser: httpx.Client, board: Board, agent: Agent) -> None:
    agent.enter_plan_mode()
    agent.propose_plan("# Move\n\n1. Pack")
    form = {**read_wait(board), "decision": "reject", "text": ""}
    assert browser.post("/answer", data=form).status_code == 409
    assert browser.post("/answer", data={**form, "text": "Tests first"}).status_code == 303
    assert agent.plan is not None
    assert agent.plan.reason == "Tests first"


def test_decision_on_an_old_revision_is_refused_on_the_page_of_the_newest(
    browser: httpx.Client, board: Board, agent: Agent
) -> None:
    agent.propose_plan("# Move\n\n1. Pack")
    form = {**read_wait(board), "decision": "reject", "text": "Ask first"}
    agent.propose_plan("# Move\n\n1. Burn")
    refused = browser.post("/sessions/s1/plan?agent=main", data=form)
    assert refused.status_code == 409
    assert "Revision 2 came meanwhile" in refused.text
    assert "Reject revision 2</button>" in refused.text
    assert agent.plan is not None
    assert (agent.plan.revision, agent.plan.state.value) == (2, "proposed")


def test_list_is_changed_by_forms(browser: httpx.Client, agent: Agent) -> None:
    assert send(browser, agent, "add", text="Fourth").headers["location"] == "/sessions/s1"
    assert send(browser, agent, "start", item="2").status_code == 303
    assert send(browser, agent, "done", item="1").status_code == 303
    assert (
        send(browser, agent, "save", item="3", text="Third, better", note="for ada", reason="a key").status_code == 303
    )
    items = agent.todos.items
    assert [item.content for item in items] == ["First", "Second", "Third, better", "Fourth"]
    assert [item.status for item in items[:3]] == [Status.COMPLETED, Status.IN_PROGRESS, Status.BLOCKED]
    assert items[0].grade == "confirmed"
    assert items[2].notes == ("for ada",)
    assert send(browser, agent, "unblock", item="3").status_code == 303
    assert send(browser, agent, "drop", item="4").status_code == 303
    assert send(browser, agent, "reopen", item="1").status_code == 303
    assert send(browser, agent, "undo").status_code == 303
    assert agent.todos.items[0].status is Status.COMPLETED


def test_form_changes_no_copy_of_a_list(browser: httpx.Client, board: Board, agent: Agent) -> None:
    def note_copy(tx: Transaction) -> None:
        row = tx.agent(agent.session, agent.name)
        assert row is not None
        tx.add_events(row, [Draft("agent.copied", {"source": "run.jsonl"})], by="ada", at=board.now())

    board.store.transact(note_copy)
    refused = send(browser, agent, "add", text="Fourth")
    assert (refused.status_code, "is read-only: it is a copy from run.jsonl" in refused.text) == (409, True)
    assert contents(agent) == ["First", "Second", "Third"]


def test_items_are_moved_and_keep_their_grades(browser: httpx.Client, agent: Agent) -> None:
    agent.edit({"op": "done", "item": "1"}, by="main")
    before = {item.id: item for item in agent.todos.items}
    send(browser, agent, "down", item="1")
    assert contents(agent) == ["Second", "First", "Third"]
    send(browser, agent, "move", item="3", before="2")
    assert contents(agent) == ["Third", "Second", "First"]
    send(browser, agent, "move", item="3", before="")
    send(browser, agent, "up", item="1")
    assert contents(agent) == ["First", "Second", "Third"]
    assert {item.id: item for item in agent.todos.items} == before


def test_item_moves_into_the_next_phase_at_the_edge_of_its_own(browser: httpx.Client, agent: Agent) -> None:
    groups = [{"phase": "A", "items": ["a1", "a2"]}, {"phase": "B", "items": ["b1"]}]
    agent.edit({"op": "init", "list": groups}, by="main")
    ids = {item.content: item.id for item in agent.todos.items}
    send(browser, agent, "down", item=ids["a2"])
    assert [(item.content, item.phase) for item in agent.todos.items] == [("a1", "A"), ("a2", "B"), ("b1", "B")]
    send(browser, agent, "up", item=ids["a2"])
    assert [(item.content, item.phase) for item in agent.todos.items] == [("a1", "A"), ("a2", "A"), ("b1", "B")]


def test_change_of_a_list_that_was_replaced_is_refused(browser: httpx.Client, agent: Agent) -> None:
    plan = agent.todos.plan_id
    agent.edit([{"op": "done"}], by="main")
    agent.edit({"op": "init", "items": ["Other"]}, by="main")
    refused = browser.post("/sessions/s1", data={"agent": "main", "plan": plan, "item": "1", "do": "done"})
    assert refused.status_code == 409
    assert "new list meanwhile" in refused.text
    assert agent.todos.items[0].status is Status.PENDING


def test_item_that_was_reworded_is_not_confirmed_by_an_old_page(browser: httpx.Client, agent: Agent) -> None:
    form = {"agent": "main", "plan": agent.todos.plan_id, "item": "1", "read": content_digest("First"), "do": "done"}
    assert f'name="read" value="{form["read"]}"' in browser.get("/sessions/s1").text
    agent.edit({"op": "reword", "item": "1", "text": "Drop the old table"}, by="main")
    refused = browser.post("/sessions/s1", data=form)
    assert refused.status_code == 409
    assert "reworded meanwhile" in refused.text
    assert agent.todos.items[0].status is Status.PENDING
    agent.edit({"op": "reword", "item": "1", "text": "First"}, by="main")
    for name in ("plan", "read"):
        less = {one: value for one, value in form.items() if one != name}
        assert browser.post("/sessions/s1", data=less).status_code == 409
    assert browser.post("/sessions/s1", data=form).status_code == 303
    assert agent.todos.items[0].grade == "confirmed"


def test_item_that_looks_done_is_closed_by_one_button(browser: httpx.Client, agent: Agent) -> None:
    agent.edit({"op": "start", "item": "1"}, by="main")
    agent.tool_started("c1", "Edit", {"file_path": "src/door.py"})
    agent.tool_finished("c1", result="ok")
    agent.tool_started("c2", "Bash", {"command": "pytest -q"})
    agent.tool_finished("c2", result="3 passed in 0.1s")
    agent.user_turn()
    for path in ("/", "/sessions/s1"):
        page = browser.get(path).text
        assert "“First” looks done: pytest passed" in page
        assert page.count("Yes, it is done</button>") == 1
    form = {"agent": "main", "plan": agent.todos.plan_id, "item": "1", "read": content_digest("First"), "do": "done"}
    assert agent.todos.items[0].status is Status.IN_PROGRESS
    assert browser.post("/sessions/s1", data={**form, "proof": "pytest -q"}).status_code == 303
    item = agent.todos.items[0]
    assert (item.grade, item.evidence[0].text) == ("confirmed", "pytest -q")
    assert "looks done" not in browser.get("/").text


def test_leftovers_of_a_session_that_ended_are_taken_over_by_one_button(
    browser: httpx.Client, agent: Agent, board: Board
) -> None:
    assert "Continue: take over" not in browser.get("/sessions/s1").text
    agent.finished()
    heir = board.agent("main", session="s2", project="/projects/shop")
    heir.call("todo", {"set": ["Look"]})
    count = len(agent.todos.open_items)
    assert browser.get("/sessions/s1").text.count(f"Continue: take over {count} open items</button>") == 1
    done = browser.post("/sessions/s1", data={"agent": "main", "do": "continue"})
    assert (done.status_code, done.headers["location"]) == (303, "/sessions/s2?said=continued")
    assert len(heir.todos.items) == 1 + count
    assert "Continue: take over" not in browser.get("/sessions/s1").text
    assert browser.post("/sessions/s1", data={"agent": "main", "do": "continue"}).status_code == 409


@pytest.mark.parametrize(("do", "fields"), [("done", {"item": "9"}), ("add", {"text": " "}), ("fly", {"item": "1"})])
def test_what_cannot_be_done_is_told_and_changes_nothing(
    browser: httpx.Client, agent: Agent, do: str, fields: dict[str, str]
) -> None:
    revision = agent.todos.revision
    assert send(browser, agent, do, **fields).status_code == 409
    assert agent.todos.revision == revision


def test_past_of_a_list_is_a_link(browser: httpx.Client, agent: Agent) -> None:
    agent.edit({"op": "remove", "item": "2"}, by="ada")
    page = browser.get("/sessions/s1?agent=main&revision=1")
    assert ">Second<" in page.text
    assert "Version 1 of 2" in page.text  # a revision is that of a plan
    assert ">Second<" not in browser.get("/sessions/s1").text
    assert browser.get("/sessions/s1?agent=main&revision=99").status_code == 200


def test_grade_is_explained_by_its_command_and_last_lines(browser: httpx.Client, agent: Agent) -> None:
    agent.edit({"op": "start", "item": "1"}, by="main")
    agent.tool_started("c1", "Edit", {"file_path": "/projects/shop/a.py"})
    agent.tool_finished("c1", "ok")
    agent.tool_started("c2", "Bash", {"command": "pytest -q tests"})
    agent.tool_finished("c2", "FAILED tests/test_a.py::test_total\n1 failed in 0.1s", exit_code=1)
    agent.edit({"op": "done", "item": "1"}, by="main")
    page = browser.get("/sessions/s1").text
    # The grade with its reason opens the evidence: one line in place of two.
    assert re.search(r'<details class="ev"[^>]* open><summary><strong class="red">failing:', page)
    assert "FAILED tests/test_a.py::test_total" in page
    assert 'class="tick failed"' in page


def test_no_text_of_a_board_becomes_markup(browser: httpx.Client, running: Running, board: Board) -> None:
    session = "s/<i>&?#1"
    agent = board.agent("<b>main", session=session, project="/projects/<u>shop")
    agent.edit({"op": "init", "list": [{"phase": HOSTILE, "items": [HOSTILE, "Two"]}]}, by="main")
    agent.edit([{"op": "note", "item": "1", "text": HOSTILE}, {"op": "block", "item": "2", "reason": HOSTILE}], by="x")
    agent.ask("1", HOSTILE)
    agent.tool_started("c1", HOSTILE, {"command": HOSTILE})
    agent.tool_finished("c1", HOSTILE, is_error=True)
    paths = ("/", f"/sessions/{quote(session, safe='')}", f"/?q={quote(HOSTILE)}", f"/search?q={quote(HOSTILE)}")
    pages = [browser.get(path) for path in paths]
    assert [page.status_code for page in pages] == [200] * len(pages)
    parts = [*render_topic(running.server.state, "now").values()]
    parts += render_topic(running.server.state, f"session:{session}").values()
    for text in [*(page.text for page in pages), *parts]:
        assert not re.search(r"<script(?! type=\"module\" src=\"/static/page.js\")|<img|<i>|<u>|<b>", text)
        assert not re.search(r"\sstyle=|\son\w+=\"", text)
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_figures_count_what_was_completed_and_what_it_cost(browser: httpx.Client, agent: Agent) -> None:
    assert "Nothing is completed yet" in browser.get("/stats").text
    agent.call("todo", {"done": "1"})
    agent.edit([{"op": "start", "item": "2"}, {"op": "done", "item": "2"}], by="ada", person=True)
    page = browser.get("/stats").text
    assert "2 completed" in page
    assert "1 confirmed" in page
    assert "punchlist/quiet" in page


def test_search_finds_items_sessions_and_tasks(browser: httpx.Client, board: Board, agent: Agent) -> None:
    board.tasks("default", by="ada").create("Second thoughts")
    agent.edit({"op": "remove", "item": "2"}, by="ada")
    page = browser.get("/search?q=second").text
    assert "2 found" in page
    assert "Second thoughts" in page
    assert 'href="/tasks/default/1"' in page
    assert 'href="/sessions/s1"' in page
    hits = browser.get("/api/v1/search?q=second").json()["hits"]
    assert [(hit["kind"], hit["id"]) for hit in hits] == [("item", "2"), ("task", "1")]
    assert "Nothing on this board" in browser.get("/search?q=nowhere-at-all").text


def test_search_names_sessions_by_links_as_every_page_does(browser: httpx.Client, board: Board) -> None:
    board.agent("claude", session="s1", project="/p/shop").call("todo", {"set": ["Find the needle"]})
    who = '<a class="who" href="/sessions/s1"><strong>shop</strong><span>claude</span><code>s1</code></a>'
    assert browser.get("/search?q=needle").text.count(who) == 2  # on Home, and beside the item
    assert browser.get("/search?q=s1+shop").text.count(who) == 2  # on Home, and among sessions


def test_search_folds_what_comes_after_ten_hits_of_a_kind(browser: httpx.Client, board: Board) -> None:
    tasks = board.tasks("default", by="ada")
    for place in range(60):
        tasks.create(f"Needle {place}")
    shown, _, folded = browser.get("/search?q=needle").text.partition('id="found-tasks-more"')
    assert (shown.count("Needle "), folded.count("Needle ")) == (10, 40)
    assert "and 50 more" in folded
    assert "and 10 more: another word finds fewer" in folded


def test_item_that_was_never_judged_has_the_mark_of_done_in_a_search(browser: httpx.Client, agent: Agent) -> None:
    agent.call("todo", {"done": "1"})
    (content, *_) = contents(agent)
    page = browser.get(f"/search?q={content.split()[0]}").text
    assert '<use href="#m-done"/>' in page
    assert "✓" not in page


def test_unknown_session_is_not_found(browser: httpx.Client) -> None:
    page = browser.get("/sessions/nothing")
    assert page.status_code == 404
    assert "nothing" in page.text


def test_brief_is_marked_as_read(browser: httpx.Client, board: Board, agent: Agent) -> None:
    agent.edit({"op": "done", "item": "1"}, by="main")
    page = browser.get("/")
    assert "1 item done" in page.text
    until = re.search(r'name="until" value="(\d+)"', page.text)
    assert until is not None
    assert browser.post("/brief", data={"until": until[1]}).status_code == 303
    assert "1 item done" not in browser.get("/").text
    agent.edit({"op": "done", "item": "2"}, by="main")
    assert browser.post("/brief", data={"until": "999999"}).status_code == 303
    assert "1 item done" in browser.get("/").text
    assert browser.get("/brief").headers["location"] == "/"


def test_visitor_moves_only_a_mark_of_their_own(
    browser: httpx.Client, running: Running, board: Board, agent: Agent
) -> None:
    agent.call("todo", {"done": "1"})
    last = board.store.last_seq()
    secret = make_token(board, "guest", "answer")
    headers = {"Authorization": f"Bearer {secret}", "Origin": running.origin, "Accept": "text/html"}
    with running.open_client(headers=headers) as visitor:
        assert visitor.post("/brief", data={"until": str(last), "spent": "999999999"}).status_code == 303
        assert "1 item done" not in visitor.get("/").text
    assert "1 item done" in browser.get("/").text
    spent = sum(row.cost.tokens for row in board.costs())
    marks = board.store.read(lambda tx: [tx.log.mark(f"brief {who} ") for who in ("guest", login_name())])
    assert marks == [last, 0]
    assert board.store.read(lambda tx: tx.log.mark("brief guest  tokens")) == spent


def test_theme_is_kept_in_a_cookie_and_leads_back_to_a_path_of_ours(browser: httpx.Client) -> None:
    chosen = browser.post("/theme", data={"theme": "dark", "back": "/brief"})
    assert chosen.headers["location"] == "/brief"
    assert 'data-theme="dark"' in browser.get("/").text
    for back in ("//evil.example/", "https://evil.example/", "/\\evil.example"):
        assert browser.post("/theme", data={"theme": "neon", "back": back}).headers["location"] == "/"
    assert 'data-theme="dark"' in browser.get("/").text


def test_files_of_the_page_are_sent_once(running: Running) -> None:
    with running.open_client() as client:
        first = client.get("/static/style.css")
        assert first.headers["content-type"].startswith("text/css")
        assert first.headers["content-security-policy"] == SECURITY_HEADERS["content-security-policy"]
        again = client.get("/static/style.css", headers={"If-None-Match": first.headers["etag"]})
        assert again.status_code == 304
        assert client.get("/static/nothing.css").status_code == 404


def test_page_calls_a_session_by_its_name(browser: httpx.Client, board: Board) -> None:
    session = "5c1de2a0-7a51-4c2e-9f1b-000000bede30"
    board.agent("main", session=session, project="/projects/api").call("todo", {"set": ["Paint"]})
    page = browser.get(f"/sessions/{session}").text
    assert re.search(r"<h1 [^>]*>Paint</h1>", page)  # its title is the first line of its list
    for shown in (page, browser.get("/").text):
        assert re.search(r"<strong>api</strong>.*?main.*?bede30", shown, re.DOTALL)
    assert f">{session}<" not in page
