"""Check module sizes: fail over 800 lines, and name small modules that belong in their only importer."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path

LONGEST = 800
SHORTEST = 80
FOLDERS = ("src", "tests", "benchmarks", "tools")


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    texts = {
        path.relative_to(root): path.read_text(encoding="utf-8")
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*.py"))
    }
    sizes = {path: len(text.splitlines()) for path, text in texts.items()}
    for path, importer in find_mergeable(texts, sizes).items():
        print(f"{path}: {sizes[path]} lines, imported by {importer} alone: merge it there?")
    long = {path: lines for path, lines in sizes.items() if lines > LONGEST}
    for path, lines in long.items():
        print(f"{path}: {lines} lines, over the limit of {LONGEST}: split it", file=sys.stderr)
    own = [path for path in sizes if path.parts[0] == "src"]
    print(f"src/: {len(own)} files, {sum(sizes[path] for path in own)} lines")
    return 1 if long else 0


def find_mergeable(texts: Mapping[Path, str], sizes: Mapping[Path, int]) -> dict[Path, Path]:
    """Return each short module of the package that exactly one other module of it imports, with that module."""
    modules = {path: ".".join(path.with_suffix("").parts[1:]) for path in texts if path.parts[0] == "src"}
    found: dict[Path, Path] = {}
    for path, name in modules.items():
        if sizes[path] >= SHORTEST or path.stem in ("__init__", "__main__"):
            continue
        parent, _, own = name.rpartition(".")
        pattern = re.compile(rf"(from|import) {re.escape(name)}\b|from {re.escape(parent)} import [^\n]*\b{own}\b")
        importers = [other for other in modules if other != path and pattern.search(texts[other])]
        if len(importers) == 1:
            found[path] = importers[0]
    return found


if __name__ == "__main__":
    sys.exit(main())
