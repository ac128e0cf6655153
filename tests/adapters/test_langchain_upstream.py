"""LangChain's own tests of its TodoListMiddleware, from its sdist, with our middleware in its place.

The sdist is taken when the test runs, by the hash of the lock file; nothing of it is copied here.
"""

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.adapters

LOCK = Path(__file__).parent / "locks" / "langchain.lock"
FILE = "tests/unit_tests/agents/middleware/implementations/test_todo.py"

PLUGIN = """
from langchain.agents.middleware import todo
from punchlist import Board
from punchlist.adapters.langchain import Punchlist
from punchlist.dialects.langchain import TOOL

def make(system_prompt="", tool_description=TOOL.description):
    return Punchlist(Board.open("memory:"), dialect="langchain", profile="off", project="/p")

todo.TodoListMiddleware = make
"""

BEHAVIOUR = {
    "test_has_write_todos_tool",
    "test_todo_middleware_agent_creation_with_middleware",
    "test_todo_middleware_agent_creation_with_middleware_async",
    "test_parallel_write_todos_calls_rejected",
    "test_parallel_write_todos_calls_rejected_async",
    "test_parallel_write_todos_with_other_tools",
    "test_parallel_write_todos_with_other_tools_async",
    "test_single_write_todos_call_allowed",
    "test_single_write_todos_call_allowed_async",
}

_PROMPT = "about the system prompt, which ours leaves alone"
_TEXTS = "about the texts of the original's prompt and description, in place of which are ours"
_FUNCTION = "about a function of the original's module, which our middleware does not use"
EXCEPTIONS = {
    "test_todo_middleware_initialization": "about the class of the state; ours has a field more",
    "test_adds_system_prompt_when_none_exists": _PROMPT,
    "test_adds_system_prompt_when_none_exists_async": _PROMPT,
    "test_appends_to_existing_system_prompt": _PROMPT,
    "test_appends_to_existing_system_prompt_async": _PROMPT,
    "test_custom_system_prompt": _PROMPT,
    "test_custom_system_prompt_async": _PROMPT,
    "test_todo_middleware_custom_system_prompt": _PROMPT,
    "test_todo_middleware_custom_system_prompt_in_agent": _PROMPT,
    "test_todo_middleware_on_model_call": _PROMPT,
    "test_handler_called_with_modified_request_async": _PROMPT,
    "test_todo_middleware_default_prompts": _TEXTS,
    "test_custom_tool_description": _TEXTS,
    "test_todo_middleware_custom_tool_description": _TEXTS,
    "test_todo_middleware_custom_system_prompt_and_tool_description": _TEXTS,
    "test_todo_middleware_write_todos_tool_execution": _FUNCTION,
    "test_todo_middleware_write_todos_tool_validation_errors": _FUNCTION,
}


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    (entry,) = re.findall(r"(?m)^langchain==.*(?:\n .*)*", LOCK.read_text(encoding="utf-8"))
    (folder / "wanted").write_text(entry + "\n", encoding="utf-8")
    fetch = ["download", "--quiet", "--no-deps", "--no-build-isolation", "--no-binary", "langchain", "--require-hashes"]
    command = [sys.executable, "-m", "pip", *fetch, "--dest", str(folder), "--requirement", str(folder / "wanted")]
    subprocess.run(command, check=True, timeout=120)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def test_every_test_of_upstream_is_run_or_is_an_exception_with_a_reason(sdist: Path) -> None:
    names = re.findall(r"(?m)^(?:async )?def (test_\w+)", (sdist / FILE).read_text(encoding="utf-8"))
    assert set(names) == BEHAVIOUR | EXCEPTIONS.keys()


def test_upstreams_tests_of_behaviour_pass_with_ours_in_its_place(sdist: Path) -> None:
    (sdist / "ours_in_its_place.py").write_text(PLUGIN, encoding="utf-8")
    wanted = [f"{FILE}::{name}" for name in sorted(BEHAVIOUR)]
    options = ["-q", "--noconftest", "-c", os.devnull, "--rootdir", str(sdist), "-p", "ours_in_its_place"]
    options += ["-o", "asyncio_mode=auto", "-p", "no:cacheprovider", "-p", "no:randomly"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *wanted],
        cwd=sdist,
        env=os.environ | {"PYTHONPATH": str(sdist)},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=200,
    )
    assert f"{len(BEHAVIOUR)} passed" in done.stdout, done.stdout + done.stderr
