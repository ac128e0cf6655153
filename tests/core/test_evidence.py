"""Evidence: matched to what was seen, and never believed alone."""

from datetime import timedelta

import pytest

from punchlist.core.grounding import NOTHING, Grade, grade, grounded_by, match_evidence
from punchlist.core.grounding.evidence import Matched, kind_of
from punchlist.core.todo import Evidence
from tests.core.build import NOW
from tests.core.runtime import MINE, Script, folded

SCRIPT = (
    Script("p1/9")
    .run("uv run pytest -q tests/core", "12 passed in 0.31s")
    .run("pytest -q tests/store", "1 failed in 0.1s")
    .edit("docs/guide.md")
    .call("WebFetch", {"url": "https://example.com/release"})
    .call("TodoWrite", {"todos": ["pytest"]})
)
CALLS = folded(SCRIPT.events).calls_by("s1", "main")


def matched(text: str, kind: str | None = None) -> Matched:
    (found,) = match_evidence([Evidence(text, kind)], CALLS)
    return found


@pytest.mark.parametrize(
    ("text", "kind", "call", "holds"),
    [
        ("pytest -q tests/core", "command", "main-c1", True),
        ("$ uv run pytest -q tests/core", "command", "main-c1", True),
        ("`uv run   pytest -q tests/core`", None, "main-c1", True),
        ("pytest -q tests/store", "command", "main-c2", False),
        ("12 passed", None, "main-c1", True),
        ("main-c1", None, "main-c1", True),
        ("docs/guide.md", "file", "main-c3", True),
        ("guide.md", None, "main-c3", True),
        ("https://example.com/release", "url", "main-c4", True),
        ("https://example.com/other", None, None, False),
        ("cargo test", "command", None, False),
        ("99 passed", None, None, False),
        ("ok", None, None, False),
        ("", None, None, False),
        ("ada", "person", None, False),
        ("approved by ada", None, None, False),
        ("12 passed", "command", None, False),  # a command is what was asked, not what came back
    ],
)
def test_evidence_is_matched_to_the_last_call_that_it_names(
    text: str, kind: str | None, call: str | None, holds: bool
) -> None:
    found = matched(text, kind)
    assert (found.call.id if found.call else None, found.holds) == (call, holds)
    assert found.is_seen is (call is not None)


@pytest.mark.parametrize(
    ("text", "given", "kind"),
    [
        ("https://x.y/z", None, "url"),
        ("src/a.py", None, "file"),
        ("README.md", None, "file"),
        ("confirmed by Ada", None, "person"),
        ("12 tests passed", None, "text"),
        ("anything", "Command", "command"),
        ("anything", "nonsense", "text"),
    ],
)
def test_the_kind_of_evidence_is_what_was_said_or_what_it_looks_like(text: str, given: str | None, kind: str) -> None:
    assert kind_of(Evidence(text, given)) == kind


def graded(text: str, since: int = 0) -> Grade:
    tally = grounded_by(NOTHING, [matched(text)], item=MINE.item, since=NOW + timedelta(seconds=since))
    return grade(tally)


def test_words_alone_ground_nothing() -> None:
    assert graded("all 500 tests pass, I promise") == "asserted"


def test_a_call_that_it_names_counts_though_it_ran_under_another_item() -> None:
    assert graded("pytest -q tests/core") == "verified"
    assert graded("pytest -q tests/store") == "contradicted"
    assert graded("docs/guide.md") == "worked"


def test_what_ran_before_the_item_was_there_proves_nothing_about_it() -> None:
    assert graded("pytest -q tests/core", since=1) == "asserted"


def test_a_call_of_the_item_itself_is_not_counted_again() -> None:
    tally = grounded_by(NOTHING, [matched("pytest -q tests/core")], item="p1/9")
    assert tally.calls == 0


def test_evidence_names_no_call_that_came_after_it() -> None:
    (found,) = match_evidence([Evidence("pytest -q")], CALLS, until=NOW + timedelta(seconds=1))
    assert found.call is not None
    assert found.call.id == "main-c1"
