"""Fails when a Python file is longer than 400 lines: past that it is two things."""

import sys
from pathlib import Path

LIMIT = 400
FOLDERS = ("src", "tests", "benchmarks", "examples", "tools")


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    sizes = {
        path.relative_to(root): len(path.read_text(encoding="utf-8").splitlines())
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*.py"))
    }
    long = {path: lines for path, lines in sizes.items() if lines > LIMIT}
    for path, lines in long.items():
        print(f"{path}: {lines} lines, over the limit of {LIMIT}: split it", file=sys.stderr)
    if not long:
        print(f"{len(sizes)} Python files, none over {LIMIT} lines")
    return 1 if long else 0


if __name__ == "__main__":
    sys.exit(main())
