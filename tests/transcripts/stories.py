"""Three long sessions as agents really work, each with the grade that every item has earned."""

# ruff: noqa: PLR0915 - a session is one long list of steps
from __future__ import annotations

from typing import NamedTuple

from tests.transcripts.sessions import ClaudeSession, CodexSession


class Story(NamedTuple):
    """A session, the grade of each item that it completes, by the item's text, and the state in which it ends."""

    session: ClaudeSession | CodexSession
    grades: dict[str, str]
    state: str


def _pytest(passed: int, failed: str = "") -> str:
    dots = "." * passed
    if not failed:
        return f"{dots}  [100%]\n{passed} passed in 1.42s"
    summary = f"FAILED {failed} - AssertionError: assert 90 == 100"
    return f"{dots}F  [100%]\n=== FAILURES ===\n{summary}\n1 failed, {passed} passed in 1.61s"


RUFF_OK = "All checks passed!"
RUFF_BAD = "src/shop/coupons.py:12:5: F841 Local variable `rate` is assigned to but never used\nFound 1 error."
NO_DOCKER = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"


# A feature, test first, on Claude Code's task tools.


def coupons() -> Story:
    session = ClaudeSession("/projects/shop", "9f1d6c1e-0000-4000-8000-00000000000a")
    session.user("Add coupon codes to the checkout. Work test first.")
    grades: dict[str, str] = {}
    subjects = [
        ("Read how the checkout computes totals", "unchecked"),
        ("Write failing tests for coupon codes (RED)", "verified"),
        ("Implement the coupon model", "verified"),
        ("Apply coupons at checkout", "verified"),
        ("Smoke-test the service", "verified"),
        ("Clean up lint findings", "verified"),
        ("Tell support about the feature", "unseen"),
        ("Show coupons on the admin page", "failing"),
    ]
    for number, (subject, grade) in enumerate(subjects, 1):
        session.add_task(str(number), subject)
        grades[subject] = grade

    session.set_task("1", "in_progress")
    session.bash("git status --short", "")
    session.bash("ls src/shop tests", "cart.py\ncheckout.py\nmodels.py")
    for file in ("cart.py", "checkout.py", "models.py", "prices.py", "api.py"):
        session.read(f"src/shop/{file}")
    session.grep("def total")
    session.grep("Discount")
    session.bash("git log --oneline -5", "1a2b3c4 Round prices half up")
    session.set_task("1", "completed")

    session.set_task("2", "in_progress")
    session.read("tests/test_checkout.py")
    session.create("tests/test_coupons.py")
    session.bash("uv run pytest -q tests/test_coupons.py", "E   ModuleNotFoundError: shop.coupons\n1 error in 0.31s", 2)
    session.edit("tests/test_coupons.py")
    session.bash("uv run pytest -q", _pytest(41, "tests/test_coupons.py::test_ten_percent"), 1)
    session.set_task("2", "completed")

    session.set_task("3", "in_progress")
    session.create("src/shop/coupons.py")
    session.edit("src/shop/models.py")
    session.bash("uv run pytest -q tests/test_coupons.py", _pytest(2, "tests/test_coupons.py::test_expired"), 1)
    session.read("src/shop/coupons.py")
    session.edit("src/shop/coupons.py")
    session.bash("uv run pytest -q tests/test_coupons.py", _pytest(5))
    session.bash("uv run pytest -q", _pytest(46))
    session.bash("git add -A && git commit -qm 'Add coupon model'", "")
    session.set_task("3", "completed")

    session.set_task("4", "in_progress")
    for file in ("checkout.py", "cart.py", "api.py"):
        session.read(f"src/shop/{file}")
        session.edit(f"src/shop/{file}")
    session.edit("tests/test_checkout.py")
    session.bash("uv run pytest -q", _pytest(48, "tests/test_checkout.py::test_coupon_and_shipping"), 1)
    session.grep("shipping")
    session.edit("src/shop/checkout.py")
    session.bash("uv run pytest -q -x", _pytest(49))
    session.bash("git add -A && git commit -qm 'Apply coupons at checkout'", "")
    session.set_task("4", "completed")

    # Docker is not there, so the service is started by hand.
    session.user("Please also make sure that it really starts.")
    session.set_task("5", "in_progress")
    session.bash("docker compose up -d", NO_DOCKER, 1)
    session.bash("docker info", NO_DOCKER, 1)
    session.read("docker-compose.yml")
    session.background("uv run uvicorn shop.api:app --port 8001", "bash_1")
    session.bash("curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8001/health", "200")
    session.bash("uv run pytest -q tests/integration", _pytest(6))
    session.tool("KillShell", {"shell_id": "bash_1"}, "Successfully killed shell: bash_1")
    session.set_task("5", "completed")

    session.set_task("6", "in_progress")
    session.bash("uv run ruff check .", RUFF_BAD, 1)
    session.edit("src/shop/coupons.py")
    session.bash("uv run ruff check .", RUFF_OK)
    session.bash("uv run ruff format .", "2 files reformatted, 31 files left unchanged")
    session.bash("uv run ruff check . && uv run pytest -q", f"{RUFF_OK}\n{_pytest(49)}")
    session.bash("git commit -qam 'Clean up'", "")
    session.set_task("6", "completed")

    # Nothing is behind this one.
    session.set_task("7", "in_progress")
    session.bash("echo 'Support knows about the feature'", "Support knows about the feature")
    session.set_task("7", "completed")

    # Its own tests are red when it is called done, and nobody looks again.
    session.set_task("8", "in_progress")
    session.bash("ls frontend/src/admin", "Orders.tsx\nUsers.tsx")
    for file in ("Orders.tsx", "Users.tsx", "routes.ts"):
        session.read(f"frontend/src/admin/{file}")
    session.create("frontend/src/admin/Coupons.tsx")
    session.create("frontend/src/admin/Coupons.test.tsx")
    session.edit("frontend/src/admin/routes.ts")
    red = "FAIL src/admin/Coupons.test.tsx\n  ✕ lists coupons (21 ms)\n\nTests:       1 failed, 11 passed, 12 total"
    session.bash("cd frontend && npm test -- --watchAll=false", red, 1)
    session.edit("frontend/src/admin/Coupons.tsx")
    session.bash("cd frontend && npm test -- --watchAll=false", red, 1)
    session.bash("git add -A && git commit -qm 'Show coupons on the admin page'", "")
    session.set_task("8", "completed")
    session.say("All done: coupon codes work end to end.")
    return Story(session, grades, "red")


# A refactoring with lint and tests, on Codex.


def storage() -> Story:
    session = CodexSession("/projects/ledger", "0198f2aa-0000-7000-8000-0000000000b1")
    session.user("Put all storage behind one interface, and fix the timeout that users report.")
    inventory = "List the callers of the old storage functions"
    interface = "Define the storage interface"
    sqlite, memory, callers = "Move SQLite behind it", "Move the memory store behind it", "Switch the callers over"
    reproduce, fix = "Reproduce the import timeout", "Fix the import timeout"
    slow, log = "Run the slow suite", "Note the change in CHANGELOG.md"
    plan = [inventory, interface, sqlite, memory, callers, reproduce, fix, slow, log]

    def mark(done: int, doing: int = 1) -> None:
        rest = [f"> {step}" if place < doing else step for place, step in enumerate(plan[done:])]
        session.plan(*[f"x {step}" for step in plan[:done]], *rest)

    mark(0)
    session.shell("git status --short", "")
    session.shell("rg -n 'storage\\.' src | head -50", "src/ledger/cli.py:14: storage.save(entry)")
    for part in ("cli.py", "imports.py", "reports.py", "storage.py", "memory.py"):
        session.shell(f"sed -n 1,200p src/ledger/{part}", "import sqlite3")
    session.shell("rg -n 'def (save|load|find)' src", "src/ledger/storage.py:20:def save(entry):")
    mark(1)

    session.patch("src/ledger/interface.py")
    session.shell("ruff check src", "src/ledger/interface.py:3:1: F401 `os` imported but unused\nFound 1 error.", 1)
    session.patch("src/ledger/interface.py")
    session.shell("ruff check src", RUFF_OK)
    session.shell("mypy src", "Success: no issues found in 24 source files")
    session.shell("pytest -q", _pytest(88))
    mark(2, doing=3)

    # Three steps are done together, and ticked off together.
    session.patch("src/ledger/storage.py", "src/ledger/interface.py")
    session.shell("pytest -q", _pytest(80, "tests/test_storage.py::test_reopen"), 1)
    session.shell("sed -n 40,120p src/ledger/storage.py", "def reopen(path):")
    session.patch("src/ledger/storage.py")
    session.shell("pytest -q tests/test_storage.py", _pytest(17))
    session.patch("src/ledger/memory.py")
    session.patch("tests/test_memory.py")
    session.shell("pytest -q tests/test_memory.py", _pytest(9))
    with session.subagent("Switch the callers over", "0198f2aa-0000-7000-8000-0000000000b2", "Ada") as child:
        for part in ("cli.py", "imports.py", "reports.py", "export.py", "rules.py"):
            child.exec(f"rg -n storage src/ledger/{part}", f"src/ledger/{part}:9: storage.find(key)")
            child.patch(f"src/ledger/{part}")
        child.exec("pytest -q", _pytest(87, "tests/test_reports.py::test_month"), 1)
        child.patch("src/ledger/reports.py")
        child.exec("pytest -q", _pytest(88))
    session.shell("git diff --stat", " 9 files changed, 210 insertions(+), 171 deletions(-)")
    session.shell(
        "ruff check src tests && mypy src && pytest -q", f"{RUFF_OK}\nSuccess: no issues found\n{_pytest(97)}"
    )
    session.shell("git add -A && git commit -qm 'Put storage behind an interface'", "")
    mark(5)

    session.user("Good. Now the timeout.")
    session.shell("rg -n timeout src tests", "src/ledger/imports.py:31: timeout=5")
    session.patch("tests/test_timeout.py")
    session.shell("pytest -q tests/test_timeout.py", _pytest(0, "tests/test_timeout.py::test_large_file"), 1)
    session.shell("python -c 'import ledger.imports; print(ledger.imports.TIMEOUT)'", "5")
    mark(6)

    # The list is lost on the way, and sent again.
    session.plan()
    session.shell("sed -n 1,80p src/ledger/imports.py", "TIMEOUT = 5")
    mark(6)
    session.patch("src/ledger/imports.py")
    session.shell("pytest -q tests/test_timeout.py", _pytest(0, "tests/test_timeout.py::test_large_file"), 1)
    session.shell("sed -n 25,60p src/ledger/imports.py", "def read(file):")
    session.patch("src/ledger/imports.py")
    session.shell("pytest -q tests/test_timeout.py", _pytest(1))
    session.shell("pytest -q", _pytest(98))
    session.shell("git commit -qam 'Read large files in parts'", "")
    mark(7)

    session.exec_on("pytest -q tests/slow", 4711, "....")
    session.exec("ls -la /var/tmp", "total 0")
    session.poll(4711, "........")
    session.poll(4711, _pytest(34), 0)
    mark(8)

    session.patch("CHANGELOG.md")
    session.shell("git add -A && git commit -qm 'Note the change'", "")
    mark(9)
    grades = {
        inventory: "unchecked",
        interface: "verified",
        sqlite: "verified",
        memory: "verified",
        callers: "verified",
        reproduce: "verified",
        fix: "verified",
        slow: "verified",
        log: "unchecked",  # only prose: it has earned nothing, whatever tests ran before
    }
    return Story(session, grades, "green")


# A night alone, on Claude Code's list, with subagents and runs in the background.


def night() -> Story:
    session = ClaudeSession("/projects/billing", "9f1d6c1e-0000-4000-8000-00000000000c")
    session.user("Work through the backlog tonight. I will look at it in the morning.")
    session.read("BACKLOG.md")
    session.bash("git switch -c night", "Switched to a new branch 'night'")
    session.bash("uv run pytest -q", _pytest(112))
    rounding = "Fix the failing invoice rounding test"
    parts = ["Split the tax module", "Split the invoice module", "Split the ledger module"]
    broker, e2e = "Check the service against a real broker", "Run the end-to-end tests"
    export, types, queries = "Speed up the CSV export", "Tighten the types of the importer", "Log slow queries"
    summary, dates = "Send the weekly summary", "Make the date parser strict"
    plan = [rounding, *parts, broker, e2e, export, types, queries, summary, dates]

    def mark(done: int, doing: int = 1) -> None:
        rest = [f"> {item}" if place < doing else item for place, item in enumerate(plan[done:])]
        session.todo(*[f"x {item}" for item in plan[:done]], *rest)

    mark(0)
    session.bash("uv run pytest -q tests/test_rounding.py", _pytest(3, "tests/test_rounding.py::test_half_cent"), 1)
    session.grep("quantize")
    session.read("src/billing/money.py")
    session.edit("src/billing/money.py")
    session.bash("uv run pytest -q tests/test_rounding.py", _pytest(3, "tests/test_rounding.py::test_negative"), 1)
    session.edit("src/billing/money.py")
    session.bash("uv run pytest -q tests/test_rounding.py", _pytest(4))
    session.bash("uv run pytest -q", _pytest(113))
    session.bash("git commit -qam 'Round half cents to even'", "")
    mark(1, doing=3)

    # Three subagents, each with a module; the main agent only looks at what they did, and ticks off all three.
    for number, part in enumerate(("tax", "invoice", "ledger")):
        with session.subagent(parts[number], f"a{number}") as child:
            child.grep(f"from billing.{part} import")
            for file in ("__init__.py", "rules.py", "rows.py"):
                child.read(f"src/billing/{part}.py")
                child.create(f"src/billing/{part}/{file}")
            child.bash(f"git rm -q src/billing/{part}.py", "")
            child.bash("uv run pytest -q", _pytest(110, f"tests/test_{part}.py::test_imports"), 1)
            child.edit(f"src/billing/{part}/__init__.py")
            child.bash("uv run pytest -q", _pytest(113))
    session.bash("git diff --stat main", " 12 files changed, 402 insertions(+), 388 deletions(-)")
    session.bash("git add -A && git commit -qm 'Split the large modules'", "")
    mark(4)

    # No docker here: the broker of the system does as well.
    session.bash("docker run -d -p 5672:5672 rabbitmq:3", NO_DOCKER, 125)
    session.bash("sudo systemctl start docker", "sudo: a password is required", 1)
    session.bash("which rabbitmq-server", "/usr/sbin/rabbitmq-server")
    session.background("rabbitmq-server", "bash_1")
    session.edit("src/billing/broker.py")
    session.bash("BROKER=amqp://localhost uv run pytest -q tests/broker", _pytest(8))
    mark(5)

    session.background("uv run pytest -q tests/e2e", "bash_2")
    session.read("tests/e2e/conftest.py")
    session.background_output("bash_2", "......")
    session.bash("sleep 60", "")
    session.background_output("bash_2", f"......\n{_pytest(22)}", 0)
    mark(6)

    # The list is wiped, and sent again as it was.
    session.todo()
    session.read("src/billing/export.py")
    mark(6)
    session.bash("uv run python benchmarks/export.py", "export of 100000 rows: 4.1 s")
    session.edit("src/billing/export.py")
    session.bash("uv run python benchmarks/export.py", "export of 100000 rows: 0.9 s")
    session.bash("uv run pytest -q", _pytest(113, "tests/test_export.py::test_quotes"), 1)
    session.edit("src/billing/export.py")
    session.edit("tests/test_export.py")
    session.bash("uv run pytest -q", _pytest(114))
    session.bash("git commit -qam 'Write rows in blocks'", "")
    mark(7)

    # Ticked off while its check is red; that is put right at once.
    for file in ("importer.py", "rows.py"):
        session.read(f"src/billing/{file}")
        session.edit(f"src/billing/{file}")
    session.bash("uv run mypy src", "src/billing/importer.py:40: error: Returning Any\nFound 1 error in 1 file", 1)
    mark(8)
    session.edit("src/billing/importer.py")
    session.bash("uv run mypy src", "Success: no issues found in 31 source files")
    session.bash("git commit -qam 'Type the importer'", "")
    session.read("src/billing/database.py")
    session.edit("src/billing/database.py")
    session.edit("tests/test_database.py")
    session.bash("uv run pytest -q", _pytest(115))
    session.bash("git commit -qam 'Log slow queries'", "")
    mark(9)

    mark(10)  # the summary: nothing was done for it

    # The last one is left as it is.
    session.read("src/billing/dates.py")
    session.edit("src/billing/dates.py")
    session.bash("uv run pytest -q", _pytest(111, "tests/test_dates.py::test_two_digit_years"), 1)
    session.edit("src/billing/dates.py")
    session.bash("uv run pytest -q", _pytest(112, "tests/test_dates.py::test_two_digit_years"), 1)
    session.bash("git commit -qam 'Strict dates'", "")
    mark(11)
    session.say("The backlog is done.")
    grades = {
        rounding: "verified",
        **dict.fromkeys(parts, "verified"),
        broker: "verified",
        e2e: "verified",
        export: "verified",
        types: "verified",
        queries: "verified",
        summary: "unseen",
        dates: "failing",
    }
    return Story(session, grades, "red")


STORIES = {"coupons": coupons, "storage": storage, "night": night}
