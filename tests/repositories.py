"""Make Git repositories for tests."""

from __future__ import annotations

import subprocess
from pathlib import Path


def clone(folder: Path, url: str) -> Path:
    """Make a repository that says it was cloned from this address."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), "remote", "add", "origin", url], check=True)
    return folder
