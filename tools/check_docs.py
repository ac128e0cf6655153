"""Run what README.md and the pages in docs/ show, each block in an empty folder with a board of its own.

- A ```python block is run, unless its fence says ```python no-run.
- A shell block is run when its fence says so: ```sh run, or ```console run.
- In a console block the lines after `$ ` are the commands, and what follows a command, up to the next, is what it must
  print; `...` stands for any text. A command with nothing after it may print anything.
"""

import doctest
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(?P<info>[^`\n]*)\n(?P<body>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
SECONDS = 60


@dataclass(frozen=True, slots=True)
class Block:
    place: str
    language: str
    body: str


def blocks(path: Path) -> Iterator[Block]:
    """Return the blocks of one file that are to be run, in order."""
    text = path.read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        language, *words = fence["info"].split() or [""]
        wanted = "no-run" not in words if language == "python" else language in {"sh", "console"} and "run" in words
        if wanted:
            line = text.count("\n", 0, fence.start()) + 1
            yield Block(f"{path.relative_to(ROOT)}:{line}", language, fence["body"])


def links(text: str) -> list[str]:
    """Return the files that a page links to."""
    return [target.partition("#")[0] for target in LINK.findall(text) if "://" not in target and target[0] != "#"]


def environment(folder: str) -> dict[str, str]:
    """Return the caller's environment with a home and a board in `folder`, and this Python's programs first."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PUNCHLIST_", "XDG_"))}
    return kept | {
        "HOME": folder,
        "PUNCHLIST_DB": f"sqlite:///{folder}/board.db",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    }


def execute(command: list[str], source: str, folder: str) -> tuple[str, str | None]:
    """Return the output of a command (both streams), and the problem or None. As a person does: with a terminal."""
    ours, theirs = os.openpty()
    try:
        done = subprocess.run(
            [*command, source],
            cwd=folder,
            env=environment(folder),
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", f"not finished after {SECONDS} seconds"
    finally:
        os.close(ours)
        os.close(theirs)
    return done.stdout, f"exit code {done.returncode}\n{done.stdout}" if done.returncode else None


def console_steps(body: str) -> Iterator[tuple[str, str]]:
    """Return each command of a console block with the output shown for it."""
    for step in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, shown = step.partition("\n")
        yield command, shown.strip()


def fault(block: Block) -> str | None:
    """Return the problem of a block, or None."""
    with tempfile.TemporaryDirectory() as folder:
        if block.language == "python":
            return execute([sys.executable, "-c"], block.body, folder)[1]
        if block.language == "sh":
            return execute(["bash", "-euo", "pipefail", "-c"], block.body, folder)[1]
        for command, shown in console_steps(block.body):
            printed, problem = execute(["bash", "-c"], command, folder)
            if problem:
                return f"$ {command}: {problem}"
            same = doctest.OutputChecker().check_output(shown + "\n", printed.strip() + "\n", doctest.ELLIPSIS)
            if shown and not same:
                return f"$ {command} printed\n{printed}where the page shows\n{shown}\n"
    return None


def main() -> int:
    pages = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if page.exists()]
    found = [block for page in pages for block in blocks(page)]
    faults = [(block, problem) for block in found if (problem := fault(block))]
    for block, problem in faults:
        print(f"{block.place}: {block.language} block: {problem}", file=sys.stderr)
    if not found:
        print("README.md and docs/ show nothing that can be run", file=sys.stderr)
    else:
        print(f"{len(found) - len(faults)} of {len(found)} blocks of {len(pages)} pages run as shown")
    return 1 if faults or not found else 0


if __name__ == "__main__":
    sys.exit(main())
