"""Evidence: matched to what was seen, and never believed alone."""

from datetime import timedelta

import pytest

from punchlist.core.grounding.evidence import Matched, classify_evidence, match_evidence
from punchlist.core.grounding.observe import Watch, call_from, start_facts
from punchlist.core.todo import Evidence
from tests.core.build import NOW
from tests.core.runtime import Script, calls_of

SCRIPT = (
    Script("p1/9")
    .run("uv run pytest -q tests/core", "12 passed in 0.31s")
    .run("pytest -q tests/store", "1 failed in 0.1s")
    .edit("docs/guide.md")
    .call("WebFetch", {"url": "https://example.com/release"})
    .call("TodoWrite", {"todos": ["pytest"]})
)
CALLS = calls_of(SCRIPT.events)


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
        ("pytest tests/core", None, "main-c1", True),
        ("ran pytest -q tests/core: all green", None, "main-c1", True),
        ("I saw that `pytest -q tests/core` is fine", None, "main-c1", True),
        ("pytest -q tests/other", None, None, False),
        ("pytest -v tests/core", None, None, False),
        ("pytest", None, None, False),  # half of a command is not the command
        ("test", None, None, False),
        ("core", None, None, False),
        ("passed", None, None, False),  # what came back is no command
        ("12 passed", None, None, False),
        ("main-c1", None, None, False),
        ("I only looked at pytest -q tests/core", None, None, False),
        ("docs/guide.md", "file", "main-c3", True),
        ("guide.md", None, "main-c3", True),
        ("https://example.com/release", "url", "main-c4", True),
        ("https://example.com/release/", None, "main-c4", True),
        ("https://example.com/rel", None, None, False),
        ("https://example.com/other", None, None, False),
        ("cargo test", "command", None, False),
        ("99 passed", None, None, False),
        ("ok", None, None, False),
        ("", None, None, False),
        ("ada", "person", None, False),
        ("approved by ada", None, None, False),
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
        ("uv run pytest -q", None, "command"),
        ("`./deploy now`", None, "command"),
        ("`./run_tests.sh`", None, "command"),
        ("`src/a.py`", None, "file"),
        ("src/a.py:12", None, "file"),
        ("src/a.py:10-20", None, "file"),
        ("src/a.py#L3-L9", None, "file"),
        (".env", None, "file"),
        (".github/workflows/ci.yml", None, "file"),
        ("Makefile", None, "file"),
        ("C:\\r\\a.py", None, "file"),
        ("$ ls", None, "command"),
        ("anything", "Command", "command"),
        ("anything", "nonsense", "text"),
    ],
)
def test_the_kind_of_evidence_is_what_was_said_or_what_it_looks_like(text: str, given: str | None, kind: str) -> None:
    assert classify_evidence(text, given) == kind


@pytest.mark.parametrize(
    ("text", "written", "seen"),
    [
        (".github/workflows/ci.yml", "/r/.github/workflows/ci.yml", True),
        ("./.github/workflows/ci.yml", ".github/workflows/ci.yml", True),
        ("github/workflows/ci.yml", "/r/.github/workflows/ci.yml", False),
        (".env", "/r/.env", True),
        (".env", "/r/prod.env", False),
        ("./src/a.py", "src/a.py", True),
        ("src/a.py", "./src/a.py", True),
        ("/r/src/a.py", "src/a.py", True),
        ("/r/src/a.py", "./src/a.py", True),
        ("other/src/a.py", "src/a.py", False),
        ("/r/src/a.py", "/s/src/a.py", False),
        ("src/a.py:12", "/r/src/a.py", True),
        ("src/a.py:10-20", "/r/src/a.py", True),
        ("src/a.py#L3", "/r/src/a.py", True),
        ("`src/a.py`", "/r/src/a.py", True),
        ("src\\a.py", "C:\\r\\src\\a.py", True),
        ("Makefile", "/r/Makefile", True),
        ("rc/a.py", "/r/src/a.py", False),
        ("./", "src/a.py", False),
    ],
)
def test_a_file_is_named_by_any_of_its_usual_names(text: str, written: str, seen: bool) -> None:
    calls = calls_of(Script().edit(written).events)
    (found,) = match_evidence([Evidence(text)], calls)
    assert found.is_seen is seen


@pytest.mark.parametrize("previews", [0, 8, 160])
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"command": ["bash", "-lc", "cargo test --workspace"]}, "cargo test --workspace"),
        ({"command": ["cargo", "test", "--workspace"]}, "cargo test --workspace"),
        ({"command": ["git", "commit", "-m", "fix the bug"]}, "git commit -m 'fix the bug'"),
        ({"command": "curl -f https://x.example/a"}, "https://x.example/a"),
        ({"command": "curl -f 'https://x.example/a/'"}, "https://x.example/a"),
        ({"command": "curl -f https://x.example/a"}, "curl -f https://x.example/a/"),
        ({"command": "./run_tests.sh"}, "./run_tests.sh"),
        ({"command": "./run_tests.sh"}, "`./run_tests.sh`"),
        ({"action": {"type": "exec", "command": ["bash", "-lc", "make deploy"]}}, "$ make deploy"),
    ],
)
def test_a_shell_call_is_known_again_whatever_is_kept_of_it(
    arguments: dict[str, object], text: str, previews: int
) -> None:
    facts = start_facts("shell", arguments, kind="shell", changes=True, watch=Watch(previews=previews))
    call = call_from("tool.started", {"call_id": "c1", **facts}, NOW)
    (found,) = match_evidence([Evidence(text)], [call])
    assert found.call == call


LONG = "pytest -q " + " ".join(f"tests/part_{number}" for number in range(30))


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("Bash", {"command": "uv run pytest -q tests/core"}, "pytest -q tests/core"),
        ("Bash", {"command": "set -e\nmake build\nmake test"}, "make test"),
        ("Bash", {"command": LONG}, LONG),
        (
            "Bash",
            {"command": "API_KEY=abcdef ./deploy --token abcdef now"},
            "API_KEY=abcdef ./deploy --token abcdef now",
        ),
        ("WebFetch", {"url": "https://example.com/a"}, "https://example.com/a"),
    ],
)
@pytest.mark.parametrize("previews", [160, 0])
def test_a_call_is_known_again_whether_or_not_a_preview_of_it_is_kept(
    name: str, arguments: dict[str, str], text: str, previews: int
) -> None:
    kind = "shell" if name == "Bash" else "read"
    facts = start_facts(name, arguments, kind=kind, watch=Watch(previews=previews))
    call = call_from("tool.started", {"call_id": "a", **facts}, NOW)
    (found,) = match_evidence([Evidence(text)], [call])
    (other,) = match_evidence([Evidence(text + "x")], [call])
    assert (found.call, other.call) == (call, None)
    assert previews or not {"preview"} & set(facts)


def test_evidence_names_no_call_that_came_after_it() -> None:
    (found,) = match_evidence([Evidence("pytest -q")], CALLS, until=NOW + timedelta(seconds=1))
    assert found.call is not None
    assert found.call.id == "main-c1"
