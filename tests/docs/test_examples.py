"""Each program in examples/ runs as it is, without a network, and prints what is shown here."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools import check_docs

FOLDER = check_docs.ROOT / "examples"
PRINTED = {
    "anthropic_loop": """\
Find the bug: in_progress · Fix it: pending · Test it: pending
Find the bug: failing · Fix it: in_progress · Test it: pending
Find the bug: failing · Fix it: unchecked · Test it: in_progress
Find the bug: unchecked · Fix it: verified · Test it: verified
`total` left out the last price. It is fixed, and the tests pass.
The session is green
""",
    "openai_loop": """\
list: 3 items, ids 1-3. Now 1: Look up Mars. 0/3
list: done 1. Now 2: Look up Venus. 1/3
list: done 2. Now 3: Compare the two. 2/3
model: I have looked up both planets.
Punchlist asks it to continue.
list: done 3. Nothing is open. 3/3
model: A year on Mars is three times as long as one on Venus: 687 days and 225.
list: Progress(done=3, total=3, percent=100)
""",
    "async_agents": """\
lead ['Write the docs: completed', 'Write the tests: pending']
docs ['Write the page: completed', 'Check its links: completed']
tests ['Write a test: completed', 'Run it: in_progress']
""",
    "worker": """\
1 Build completed attempts=2 build: ok
2 Test completed attempts=1 test: ok
3 Write the notes completed attempts=1 write the notes: ok
""",
}


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_runs_and_prints_what_it_promises(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py"],
        cwd=tmp_path,
        env=check_docs.environment(str(tmp_path)) | {"PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=check_docs.SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == PRINTED[name]


def test_every_example_is_run_by_a_test_and_listed_on_the_page_of_examples() -> None:
    programs = {path.stem for path in FOLDER.glob("*.py")} - {"stand_in"}
    assert programs == PRINTED.keys()
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert programs <= {link.removesuffix(".py") for link in check_docs.links(page)}


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_is_short_and_changes_to_a_real_client_in_one_import(name: str) -> None:
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert 25 <= len(text.splitlines()) <= 60
    swaps = re.findall(r"(?m)^from stand_in import (\w+)  # for a real model: from (\w+) import (\w+)$", text)
    assert len(swaps) == text.count("import stand_in") + text.count("from stand_in")
    assert all(stand_in == real for stand_in, _, real in swaps)
