"""Make a release on this machine: check it, build it, install it as strangers do, and tag it. Nothing is published.

`python tools/release.py 0.2.0` does all; `--package` only builds and installs the version as it stands, `--notes`
prints the changelog's section. Every program that is not ours comes by `uvx`, at the version named here.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
TWINE, CHECK_WHEEL, PIPX = "twine==7.0.0", "check-wheel-contents==0.6.3", "pipx==1.18.4"
UV = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
_VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)


def read_version() -> str:
    """Return the version of the package, which stands in one place."""
    found = _VERSION.search((ROOT / "src/punchlist/__init__.py").read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def read_notes(changelog: str, version: str) -> str:
    """Return the changelog's section about a version; raise `SystemExit` if it has none, or an empty one."""
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$"
    found = re.search(rf"{heading}\n(.*?)(?=^## \[|\Z)", changelog, re.MULTILINE | re.DOTALL)
    if found is None:
        raise SystemExit(f"CHANGELOG.md has no heading `## [{version}] - YYYY-MM-DD`: rename `## [Unreleased]`.")
    if not found[1].strip():
        raise SystemExit(f"CHANGELOG.md says nothing about {version}.")
    return found[1].strip()


def run(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """Run a command and return what it printed; end with what it said if it fails."""
    print("$", *(Path(word).name if str(word).startswith("/") else word for word in command), flush=True)
    done = subprocess.run([*command], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{done.stdout}{done.stderr}\n`{command[0]}` ended with {done.returncode}")
    return done.stdout


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def build() -> list[Path]:
    """Build the sdist, and the wheel from it; check both as the index does."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(UV, "build", "--quiet", "--out-dir", DIST)
    made = sorted(DIST.glob("punchlist-*"))
    assert len(made) == 2, made
    run(UV, "tool", "run", "--quiet", TWINE, "check", "--strict", *made)
    # The two files beside the package are meant: agents start them without loading it.
    run(
        UV,
        "tool",
        "run",
        "--quiet",
        CHECK_WHEEL,
        "--toplevel",
        "punchlist,punchlist_hook.py,punchlist_statusline.py",
        made[0],
    )
    return made


def is_served(command: list[str], home: Path, env: dict[str, str]) -> None:
    """Start `serve` by this command, read its health over HTTP, and stop it."""
    serve = [*command, "serve", "--port", "0", "--no-watch"]
    print("$", *serve[1:], flush=True)
    with subprocess.Popen(serve, cwd=home, env=env, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        found = re.search(r"http://[0-9.:]+", line)
        if found is None:
            server.kill()
            raise SystemExit(f"`serve` printed {line!r} and no address")
        with urlopen(f"{found[0]}/healthz", timeout=10) as answer:
            assert answer.status == 200
        server.terminate()


def try_out(made: list[Path], version: str) -> None:
    """Install what was built as its users do, each time on a fresh home outside the repository, and run it."""
    extras = [*tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]]
    with tempfile.TemporaryDirectory(prefix="punchlist-release-") as folder:
        home = Path(folder)
        kept = ("PATH", "LANG", "UV_CACHE_DIR", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "PIP_INDEX_URL", "SSL_CERT_FILE")
        env = {name: os.environ[name] for name in kept if name in os.environ} | {"HOME": folder}
        env.setdefault("UV_CACHE_DIR", run(UV, "cache", "dir").strip())
        for file in made:
            uvx = [UV, "tool", "run", "--quiet", "--python", sys.executable, "--from", str(file), "punchlist"]
            assert run(*uvx, "--version", cwd=home, env=env) == f"punchlist {version}\n"
            is_served(uvx, home, env)
            run(
                UV,
                "tool",
                "run",
                "--quiet",
                PIPX,
                "install",
                "--force",
                "--python",
                sys.executable,
                file,
                cwd=home,
                env=env,
            )
            assert run(home / ".local/bin/punchlist", "--version", cwd=home, env=env) == f"punchlist {version}\n"
        for extra in extras:
            python = home / extra / "bin/python"
            run(UV, "venv", "--quiet", "--seed", "--python", sys.executable, home / extra, cwd=home, env=env)
            run(python, "-m", "pip", "install", "--quiet", f"{made[0]}[{extra}]", cwd=home, env=env)
            report = run(
                home / extra / "bin/punchlist", "--db", f"{home}/{extra}.db", "doctor", "--json", cwd=home, env=env
            )
            assert json.loads(report), report
            run(python, "-m", "pip", "check", cwd=home, env=env)
    print(f"{made[0].name} and {made[1].name} install and run by uvx, pipx and pip, with {', '.join(extras)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", nargs="?", help="the version to release, such as 0.2.0")
    parser.add_argument("--package", action="store_true", help="only build, install and run what is here")
    parser.add_argument("--notes", action="store_true", help="only print the section of the changelog")
    options = parser.parse_args()
    version = read_version()
    if options.package:
        try_out(build(), version)
        return
    wanted = options.version or ""
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", wanted):
        raise SystemExit("Name the version, as in `make release V=0.2.0`.")
    notes = read_notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), wanted)
    if options.notes:
        print(notes)
        return
    if wanted != version:
        raise SystemExit(
            f'src/punchlist/__init__.py says {version}: write `__version__ = "{wanted}"` there, and commit.'
        )
    if git("status", "--porcelain"):
        raise SystemExit("Commit first: a release is made of what is committed.")
    tag = f"v{wanted}"
    if git("tag", "--list", tag):
        raise SystemExit(f"There is a tag {tag} already.")
    subprocess.run(["make", "check", "test"], cwd=ROOT, check=True)
    try_out(build(), version)
    git("tag", "--annotate", tag, "--message", f"Punchlist {wanted}\n\n{notes}")
    print(f"Tagged {tag}. `git push origin {tag}` begins the release workflow, which waits for an approval.")


if __name__ == "__main__":
    main()
