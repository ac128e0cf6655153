"""The lines of compilers, linters and of what runs others: whether something was built, and what was found."""

from __future__ import annotations

from typing import Final

from punchlist.core.checks.framework import SOME as _SOME
from punchlist.core.checks.framework import Framework

_PLACED: Final = r"[^\s:][^:\n]{0,400}:\d+:"
"""`src/a.py:12:`"""

_FINDINGS: Final = "(?:errors?|diagnostics|problems|issues)"

_ALL_CORRECTED: Final = r"(?P<offenses>[1-9]\d{0,8}) offenses? detected, (?P=offenses) offenses? corrected\b"

TOOLS: Final = (
    # mypy, Ruff, Pyright, tsc, ESLint, Biome, Black, Prettier, RuboCop, Pylint
    Framework(
        """mypy dmypy ruff pyright basedpyright tsc vue-tsc tsgo eslint eslint_d biome oxlint black prettier rubocop
        pylint svelte-check stylelint flake8 pycodestyle pydocstyle pyflakes""",
        (
            "error", "problem", "issues", "All checks passed", "All matched", "ould ", " inspected, ", "Oh no!",
            "Oops!", "already formatted", "too many warnings",
        ),
        failed=(
            rf"Found {_SOME} {_FINDINGS}(?:\.|$| in (?:{_SOME} (?:\w+ )?files?|the same file|\S+:\d+)\b)",
            rf"Found {_SOME} {_FINDINGS} \(\d+ fixed, {_SOME} remaining\)",
            rf"Found \d+ warnings? and {_SOME} errors?\.",
            rf"[ \t]*{_SOME} errors?, \d+ warnings?(?:, \d+ \w+)?\s*$",
            rf"[ \t]*✖ \d+ problems? \({_SOME} errors?, \d+ warnings?\)",
            "ESLint found too many warnings",
            "Oops! Something went wrong!",
            rf"{_SOME} files? would be reformatted[,.]",
            "Would reformat: ",
            "Oh no! 💥",
            r"\[warn\] Code style issues",
            rf"\d+ files? inspected, (?!{_ALL_CORRECTED}){_SOME} offenses?",
            rf"svelte-check found {_SOME} errors?",
            r"\S[^\n]{0,400}?(?:\(\d+,\d+\):|:\d+:\d+ -) error TS\d+:",
            r"error TS\d+: ",
        ),
        passed=(
            "All checks passed!",
            "Success: no issues found",
            r"[ \t]*0 errors, \d+ warnings?",
            r"Found 0 errors",
            r"Found \d+ warnings? and 0 errors\.",
            rf"Found {_SOME} errors? \([^\n]*\b0 remaining\)",
            r"[ \t]*✖ \d+ problems? \(0 errors, ",
            r"\d+ files? (?:already formatted|would be left unchanged\.)$",
            "All matched files use Prettier",
            rf"\d+ files? inspected, (?:no offenses|{_ALL_CORRECTED})",
            "svelte-check found 0 errors",
        ),
    ),
    # their findings one by one, where the summary is missing
    Framework(
        "mypy dmypy ruff pyright basedpyright eslint eslint_d pylint flake8 pycodestyle pydocstyle pyflakes",
        ("error", ": ", "-->"),
        hints=(
            rf"{_PLACED}(?:\d+:)? error: ",  # mypy
            rf" *{_PLACED}\d+ - error: ",  # Pyright
            rf"{_PLACED}(?:\d+:)? [A-Z]{{1,8}}\d{{1,4}}:? ",  # Ruff, Flake8, Pylint
            r"[A-Z]{1,8}\d{1,4} (?:\[\*\] )?[^\n]+\n *--> ",  # Ruff at length
            r" +\d+:\d+ +error  ",  # ESLint
            r"ruff failed$",
            r"error: (?:Failed to |Invalid |unexpected argument)",
            r"mypy: (?:error: |can't )",
        ),
        own=True,
    ),
    # shellcheck, golangci-lint, Semgrep, Terraform
    Framework(
        "shellcheck golangci-lint semgrep terraform tofu",
        ("line ", " issues", "rror: ", "Findings: ", " finding", "Success!", ".go:"),
        failed=(
            rf"{_SOME} issues?:$",
            rf"[^\w\n]{{0,8}}Findings: {_SOME}\b",
            rf"[^\w\n]{{0,8}}Ran \d+ rules? on \d+ files?: {_SOME} finding",
        ),
        passed=(
            r"0 issues\.",
            r"[^\w\n]{0,8}Ran \d+ rules? on \d+ files?: 0 findings",
            "Success! The configuration is valid",
        ),
        hints=(r"In \S[^\n]* line \d+:$", r"\S+\.go:\d+:\d+: \S", r"[│╷ ]*Error: \S"),
        own=True,
    ),
    # C, C++
    Framework(
        "gcc g++ cc c++ clang clang++ nvcc emcc",
        ("error",),
        hints=(rf"{_PLACED}(?:\d+:)? (?:fatal )?error: ", r"(?:\S+: )?(?:fatal )?error: ", r"\d+ errors? generated\."),
        own=True,
    ),
    # Docker
    Framework(
        "docker docker-compose podman buildah",
        ("ERROR", "non-zero code", "naming to", "Successfully built", "failed to solve", "rror: "),
        failed=("ERROR: failed to (?:build|solve)", r"(?:target \S+: )?failed to solve: "),
        built=(r"(?: => => |#\d+ )naming to \S", "Successfully built [0-9a-f]"),
        hints=(
            r"#\d+ ERROR: ",
            r"(?:ERROR|Error): (?:Cannot connect|failed |process |Service |target |[Nn]o such |building at |unable )",
            r"The command '[^\n]*' returned a non-zero code",
        ),
        own=True,
    ),
    # curl, wget
    Framework(
        "curl wget",
        ("curl: (", "ERROR ", "wget: ", "failed: "),
        hints=(r"curl: \(\d+\) ", r"[\d: -]*ERROR \d{3}: ", "wget: ", r"[^\n]{0,200}\.\.\. failed: "),
        own=True,
    ),
    # pre-commit, make, npm and its kin, tox, Docker
    Framework(
        "pre-commit prek",
        (
            "...", ": ***", "npm ", "ELIFECYCLE", "ERR_PNPM_", "evaluation failed", "congratulations", ": FAIL ",
            "ERROR:", "error Command ", "error: ", "no test specified", "find a script named",
        ),
        failed=(
            r"[^\n.]{1,200}\.{3,}(?:\([^)\n]*\))?Failed$",
            r"g?make(?:\[\d+\])?: \*\*\* ",
            r"npm (?:ERR!|error) (?:Test failed|code |Lifecycle|Missing script)",
            r" *ELIFECYCLE\b",
            r" *ERR_PNPM_",
            r"error Command (?:failed with exit code \d|\"[^\"\n]+\" not found)",
            r"error: (?:Script not found|script \"[^\"\n]+\" (?:exited|was terminated))",
            "(?:Usage Error: )?Couldn't find a script named",
            r"[ \t]*evaluation failed :\(",
            r"[ \t]*\w[\w.-]*: FAIL (?:code|✖)",
            "ERROR: failed to (?:build|solve)",
        ),
        passed=(r"[^\n.]{1,200}\.{3,}Passed$", r"[ \t]*congratulations :\)"),
        empty=("Error: no test specified$",),
    ),
)  # fmt: skip
