"""Programs that only read: whatever their arguments, by their verb, or when asked for their version."""

from __future__ import annotations

from typing import Final

from punchlist.guidance.shell_options import words

PLAIN: Final = words(
    """
    : [ [[ b2sum base32 basename bzcat cal cat cd cksum cmp column comm cut df diff dir dirname
    dirs du echo egrep exa expand expr eza false fgrep fmt fold free getconf getent grep groups head hexdump id join
    jq last locale ls lsblk lscpu md5sum netstat nl nproc od paste pgrep popd printenv ps pushd pwd
    readlink realpath rev seq set sha1sum sha224sum sha256sum sha384sum sha512sum sleep stat strings sum tac tail
    test tr true tty type uname unexpand uptime users w wc whatis whereis which who whoami xzcat xzgrep zcat zgrep
    """
)
"""Nothing that these can be given writes a file, runs a command or asks the network to change something."""

VERBS: Final = {
    "docker": words("ps images logs inspect version info top stats port diff history search")
    | {"container ls", "image ls", "volume ls", "network ls", "compose ps", "compose logs"},
    "kubectl": words("get describe logs version explain top api-resources api-versions cluster-info"),
    "gh": frozenset(
        f"{thing} {verb}"
        for thing in ("pr", "issue", "run", "repo", "release", "workflow")
        for verb in ("view", "list")
    )
    | {
        "pr diff",
        "pr status",
        "pr checks",
        "issue status",
        "auth status",
        "search code",
        "search issues",
        "search prs",
    },
    "npm": frozenset({"ls", "list", "view", "outdated", "root", "prefix"}),
    "pip": frozenset({"list", "show", "freeze", "check"}),
    "pip3": frozenset({"list", "show", "freeze", "check"}),
    "uv": frozenset({"pip list", "pip show", "pip freeze", "pip tree", "pip check", "version", "python list"}),
    "cargo": frozenset({"tree", "search"}),
    "go": frozenset({"version", "doc"}),
    "systemctl": words("status list-units list-unit-files is-active is-enabled is-failed show cat"),
    "brew": frozenset({"list", "info", "search"}),
    "apt": frozenset({"list", "show", "search"}),
    "dpkg": frozenset({"-l", "-L", "-s", "-S", "--list", "--status"}),
}
"""Programs with the verbs that read, one word or two, which have to come first."""

VERSIONED: Final = words(
    """
    bun cargo clang cmake deno docker gcc gh git go gradle java javac kubectl make mvn node npm npx perl php pip pip3
    pnpm poetry psql pytest python python3 ruby ruff rustc rustup sqlite3 terraform tsc uv yarn
    """
)
"""Programs that may be asked for their version or help, and for nothing else."""
