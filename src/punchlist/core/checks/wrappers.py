"""Remove wrappers from the commands of a line: return the commands that are really run.

`timeout 60 uv run pytest` is `pytest`; `bash -c "…"` is what its text says. A wrapper that is not known is left as it
is, so what it runs is not seen.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from punchlist.core.checks.shell import PROCESS, SimpleCommand, compiled, split_line

_DEEPEST: Final = 6
_MOST: Final = 256
"""Simple commands of one line that are looked at."""


class Wrapper(NamedTuple):
    """A command that runs another: its options with a value, and how many words come before that other one."""

    valued: frozenset[str] = frozenset()
    operands: int = 0


def _wraps(valued: str = "", operands: int = 0) -> Wrapper:
    return Wrapper(frozenset(valued.split()), operands)


_UV: Final = _wraps(
    "--with --with-requirements --with-editable --extra --no-extra --group --no-group --only-group -p --python "
    "--directory --project --env-file --package --index --index-url --extra-index-url --config-file --cache-dir --from"
)
_INSIDE: Final = _wraps(
    "-e --env -w --workdir -u --user --index -f --file -p --project-name --name -v --volume --entrypoint -n "
    "--namespace -c --container --env-file --network --mount --platform --context --profile",
    operands=1,
)
WRAPPERS: Final[dict[str, Wrapper]] = {
    **dict.fromkeys(
        (
            "nohup", "setsid", "command", "builtin", "unbuffer", "chronic", "rye run", "pipenv run", "hatch run",
            "pnpx", "yarn exec", "bun x", "bundle exec", "mise exec", "mise x", "asdf exec",
        ),
        _wraps(),
    ),
    **dict.fromkeys(("timeout", "gtimeout"), _wraps("-k --kill-after -s --signal", operands=1)),
    "time": _wraps("-f -o"),
    "nice": _wraps("-n"),
    "ionice": _wraps("-c -n"),
    "stdbuf": _wraps("-i -o -e"),
    "sudo": _wraps("-u -g -C -D -h -p --user --group"),
    "doas": _wraps("-u"),
    "exec": _wraps("-a"),
    "caffeinate": _wraps("-t -w"),
    "xvfb-run": _wraps("-s -n -e -f --server-args --server-num"),
    "flock": _wraps("-w --timeout -E", operands=1),
    "taskset": _wraps(operands=1),
    "env": _wraps("-u --unset -C --chdir"),
    **dict.fromkeys(("uv run", "uvx", "uv tool run"), _UV),
    "pipx run": _wraps("--spec --python"),
    "poetry run": _wraps("-C -P --directory --project"),
    "pdm run": _wraps("-p --project"),
    **dict.fromkeys(("conda run", "mamba run", "micromamba run"), _wraps("-n -p --name --prefix --cwd")),
    "pixi run": _wraps("-e --environment --manifest-path"),
    **dict.fromkeys(("npx", "bunx", "yarn dlx"), _wraps("-p --package")),
    "npm exec": _wraps("-p --package -w --workspace --prefix"),
    "pnpm exec": _wraps("-F --filter -C --dir"),
    "pnpm dlx": _wraps("--package"),
    "coverage run": _wraps("--source --rcfile --data-file --include --omit --context --concurrency"),
    "direnv exec": _wraps(operands=1),
    "devbox run": _wraps("-c --config"),
    "doppler run": _wraps("-p --project -c --config"),
    "xargs": _wraps("-n -P -I -d -L -s -a -E --max-args --max-procs --delimiter --arg-file"),
    **dict.fromkeys(("dotenv run", "dotenvx run"), _wraps("-f")),
    "op run": _wraps("--env-file"),
    **dict.fromkeys(
        (
            "docker exec", "docker run", "docker compose exec", "docker compose run", "docker-compose exec",
            "docker-compose run", "podman exec", "podman run", "kubectl exec",
        ),
        _INSIDE,
    ),
}  # fmt: skip
"""By the words that begin it, the program without its folder."""

_LETS_GO: Final = {
    "xargs": r"-[0prtx]*r|--no-run-if-empty",
    **dict.fromkeys(("docker", "docker-compose", "podman"), r"-[it]*d[it]*|--detach(?:=true)?"),
    "ssh": r"-[a-zA-Z]*f",
    "sudo": r"-[a-zA-Z]*b|--background",
}
"""Options with which a wrapper comes back before what it runs has ended, or does not run it at all."""

_SSH: Final = frozenset({"-i", "-p", "-o", "-l", "-F", "-J"})
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish", "busybox"})
_POWERSHELLS: Final = frozenset({"powershell", "pwsh"})
_SCRIPTS: Final = frozenset({"pdm run", "hatch run", "rye run", "pixi run"})
"""What runs a project's own scripts by their names too; `SCRIPT_NAMES` are no programs."""

SCRIPT_NAMES: Final = frozenset(
    {"test", "tests", "lint", "check", "checks", "types", "typecheck", "build", "ci", "cov"}
)
_ASSIGNMENT: Final = r"(?s)[A-Za-z_]\w*\+?=.*"
_PYTHON: Final = r"(?:python|pypy|py)[\d.]*(?:\.exe)?"


def unwrap_commands(line: str | Sequence[str], depth: int = 0) -> Iterator[SimpleCommand]:
    """Yield the simple commands that a line, or the words of one command, really runs."""
    given = split_line(line) if isinstance(line, str) else (SimpleCommand(tuple(line)),)
    count = 0
    for place, command in enumerate(given[:_MOST]):
        for inner in _unwrapped(command, depth, place):
            count += 1
            if count > _MOST:
                return
            yield inner


def program_name(words: Sequence[str]) -> str:
    """Return the name of the program that the words run, without its folder."""
    if not words:
        return ""
    name = words[0]
    if "/" in name or "\\" in name:
        name = name.rpartition("/")[2].rpartition("\\")[2]
    return name.removesuffix(".exe")


def _unwrapped(command: SimpleCommand, depth: int, place: int = 0) -> Iterator[SimpleCommand]:
    words, unsure = command.words, command.unsure
    for _ in range(_DEEPEST):
        words = _without_assignments(words)
        inner = _inner(words)
        if inner is None:
            break
        unsure = unsure or _lets_go(words[: len(words) - len(inner)])
        words = inner
    script = _script(words) if depth < _DEEPEST else None
    if script is None:
        yield command if words is command.words else replace(command, words=words, unsure=unsure)
        return
    found = list(unwrap_commands(script, depth + 1))
    group = () if program_name(words) == "eval" else (f"{PROCESS}{place}",)
    for at, inner in enumerate(found):
        last = at == len(found) - 1
        yield replace(
            inner,
            scope=(*command.scope, *group, *inner.scope),
            inner=(*inner.inner, *command.inner) if last else inner.inner,
            joint=command.joint if last else inner.joint or ";",
            loose=inner.loose or command.loose or _keeps_quiet(words),
            writes=inner.writes or (last and command.writes),
            unsure=inner.unsure or unsure or (program_name(words) == "ssh" and _lets_go(words)),
        )


def _lets_go(words: tuple[str, ...]) -> bool:
    """True if a wrapper, by its own words, does not wait for what it runs, or runs it only if there is a reason."""
    options = _LETS_GO.get(program_name(words), "")
    return bool(options) and any(compiled(options).fullmatch(word) for word in words[1:])


def _keeps_quiet(words: tuple[str, ...]) -> bool:
    """True if this runs a command and does not tell how it ended: `script`, unless it is told to."""
    told = any(
        word == "--return" or compiled(r"-[a-zA-Z]*e[a-zA-Z]*").fullmatch(word) is not None for word in words[1:]
    )
    return program_name(words) == "script" and not told


def _without_assignments(words: tuple[str, ...]) -> tuple[str, ...]:
    at = 0
    while at < len(words) and "=" in words[at] and compiled(_ASSIGNMENT).fullmatch(words[at]) is not None:
        at += 1
    return words[at:] if at else words


def _inner(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """The words of the command that these ones run; None if they run no other."""
    name = program_name(words)
    if name in ("uvx", "npx", "bunx", "pnpx"):
        name = name.partition("@")[0]
    if compiled(_PYTHON).fullmatch(name) is not None:
        return _module(words[1:], "-W -X")
    for length in (1, 2, 3):
        wrapper = WRAPPERS.get(" ".join((name, *words[1:length])))
        if wrapper is not None:
            inner = _behind(words[length:], wrapper)
            is_script = inner is not None and inner[0].rpartition(":")[2] in SCRIPT_NAMES
            return None if is_script and " ".join((name, *words[1:length])) in _SCRIPTS else inner
    return None


def _behind(words: tuple[str, ...], wrapper: Wrapper) -> tuple[str, ...] | None:
    at = _options(words, wrapper.valued)
    if words[at : at + 1] == ("-m",):  # `uv run -m pytest`, `coverage run -m pytest`
        return words[at + 1 :] or None
    operands = wrapper.operands
    while operands and at < len(words):
        at += 1
        operands -= 1
    at += words[at : at + 1] == ("--",)
    inner = words[at:]
    if not inner:
        return None
    return (_unversioned(inner[0]), *inner[1:])


def _options(words: tuple[str, ...], valued: frozenset[str]) -> int:
    """How many words in front are options with their values. A `-m` of Python's is not among them."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-m":
        if words[at] == "--":
            return at + 1
        at += 2 if words[at] in valued else 1
    return at


def _module(words: tuple[str, ...], valued: str) -> tuple[str, ...] | None:
    """`python -m pytest x` is `pytest x`; a file that Python runs stays as it is."""
    at = _options(words, frozenset(valued.split()))
    return words[at + 1 :] or None if words[at : at + 1] == ("-m",) else None


def _unversioned(word: str) -> str:
    """`ruff@latest` is `ruff`; a scope such as `@angular/cli` stays."""
    return word if word.startswith("@") else word.partition("@")[0] or word


def _script(words: tuple[str, ...]) -> str | None:
    """The text that a shell is told to run."""
    name = program_name(words)
    if name == "nix-shell" and "--run" in words[:-1]:
        return words[words.index("--run") + 1]
    if name == "nix" and words[1:2] in (("develop",), ("shell",)):
        for option in ("-c", "--command"):
            if option in words[:-1]:
                return " ".join(words[words.index(option) + 1 :])
    if name == "eval":
        return " ".join(words[1:])
    if name == "script":
        option = next((word for word in words[1:-1] if word == "--command" or compiled(r"-\w*c").fullmatch(word)), "")
        return words[words.index(option) + 1] if option else None
    if name in _POWERSHELLS:
        option = next((word for word in words[1:-1] if word.lower() in ("-command", "-c")), "")
        return " ".join(words[words.index(option) + 1 :]) if option else None
    if name == "ssh":
        return " ".join(words[_options(words[1:], _SSH) + 2 :])
    return _shell_script(words[1:]) if name in _SHELLS else None


def _shell_script(words: tuple[str, ...]) -> str | None:
    """Return the text after `-c`, preceded by the settings that were given as options."""
    settings: list[str] = []
    at = 0
    while at < len(words) and words[at].startswith("-"):
        option = words[at]
        if option.endswith("o") and not option.startswith("--"):  # `-eo pipefail`
            settings.append(" ".join(words[at : at + 2]))
            at += 2
            continue
        if option.endswith("c") and not option.startswith("--"):
            settings += ["-e"] * ("e" in option)
            return "".join(f"set {setting}\n" for setting in settings) + " ".join(words[at + 1 : at + 2])
        settings += [option] * (option == "-e")
        at += 1
    return None
