"""Find checks in a command line: known commands, scripts with telling names, patterns that users add.

A pattern is the words of a command: the program, then what has to be among its arguments. `a|b` is one of them. A word
that begins with `-` is an option, wherever it stands; another is the next verb (`go test`); with `*` before it, it may
be any argument, by its last part between colons (`gradle *test` holds for `gradle clean :app:test`).
Options can make a check idle (`--help`, `--collect-only`) or let it end with 0 whatever it finds (`--exit-zero`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from punchlist.core.checks.shell import compiled
from punchlist.core.checks.wrappers import program_name
from punchlist.errors import ConfigInvalid

_TEST: Final = """
    pytest, py.test, pytest-3, unittest, doctest, nosetests, nose2, trial, behave, robot, tox, nox, hatch test, stestr,
    go test, gotestsum, ginkgo, cargo test|t|nextest|llvm-cov|tarpaulin|miri, jest, vitest, mocha, ava, tap, tape,
    jasmine, karma start, uvu, qunit, c8, nyc, node --test, deno test, bun test, playwright test, cypress run, wdio,
    testcafe, newman run, ng test|e2e, vue-cli-service test:unit|test:e2e, react-scripts test, storybook test,
    lerna run test, nx *test|e2e, turbo *test, mvn *test|verify|integration-test,
    mvnw *test|verify|integration-test, mvnd *test|verify, gradle *test|check|integrationTest|connectedAndroidTest,
    gradlew *test|check|integrationTest, ant *test, sbt *test, lein test, kaocha, bb test, clojure -M:test|-X:test,
    clj -M:test|-X:test, mill *test, rspec, minitest, rake *test|spec, rails test|test:all|spec, cucumber, phpunit,
    pest, paratest, codecept run, artisan test, composer *test, dotnet test, vstest.console, nunit3-console,
    xunit.console, swift test, xcodebuild *test|test-without-building, xctest, fastlane *test|scan, flutter test,
    dart test, ctest, meson test, bazel test|coverage, bazelisk test, buck2 test, buck test, pants test,
    please test, plz test, mix test, rebar3 eunit|ct|proper, stack test, cabal test, dune test|runtest, zig test,
    nimble test, crystal spec, elm-test, busted, prove, bats, shellspec, shunit2, sqitch verify, pg_prove,
    molecule test|verify, kitchen test|verify, conftest test|verify, opa test, hardhat test, forge test,
    anchor test, truffle test, k6 run
"""
_BUILD: Final = """
    cargo build|b|check|c|doc|rustc, rustc, tsc, vue-tsc, tsgo, ngc, next build, nuxt build, vite build, webpack,
    rollup, esbuild, parcel build, tsup, rspack build, astro build|check, gatsby build, ng build,
    react-scripts build, remix build, svelte-kit build, expo export, nx *build, turbo *build, mvnd *package|install,
    gradle *build|assemble|compileJava|compileKotlin|assembleDebug|bundle, gradlew *build|assemble|compileKotlin,
    javac, kotlinc, scalac, sbt *compile|package|assembly, ant *compile|build|jar, dotnet build|publish|pack,
    msbuild, swift build, xcodebuild *build|archive, swiftc, flutter build, cmake --build, ninja, meson compile,
    scons, gcc, g++, cc, c++, clang, clang++, nvcc, emcc, zig build, bazel build, bazelisk build, buck2 build,
    pants package, mix compile, rebar3 compile, stack build, cabal build, ghc, dune build, elm make, nim c,
    crystal build, docker build, docker buildx build|bake, docker compose build|config, docker-compose build|config,
    podman build, buildah build|bud, nix build, nix flake check, nix-build, earthly, packer validate|build,
    pyproject-build, compileall, py_compile, maturin build|develop, poetry build|check, uv build, hatch build,
    flit build, twine check, sphinx-build, mkdocs build, jekyll build, wasm-pack build, trunk build, protoc,
    pdflatex, latexmk, tectonic, typst compile, terraform plan|validate, tofu plan|validate,
    terragrunt plan|validate, pulumi preview, cdk synth, sam build|validate, serverless package, helm template,
    kustomize build, forge build, kubectl --dry-run, ansible-playbook --syntax-check|--check, nginx -t,
    apachectl configtest, sqlc compile|vet, go build|install, buf build, mvn *compile|package|install|test-compile,
    mvnw *compile|package|install|test-compile
"""
_LINT: Final = """
    ruff check, ruff format --check|--diff, mypy, dmypy run|check, pyright, basedpyright, pytype, pyre check,
    ty check, pyrefly check, flake8, pylint, pycodestyle, pydocstyle, pyflakes, black --check|--diff,
    isort --check|--check-only|-c, autoflake --check, yapf --diff, bandit, vulture, lint-imports, deptry,
    interrogate, pip-audit, djlint, eslint, eslint_d, biome check|lint|ci, oxlint,
    prettier --check|-c|--list-different|-l, stylelint, xo, tslint, svelte-check, knip, next lint, ng lint, publint,
    attw, dprint check, rome check|ci, deno lint|check, deno fmt --check,
    cargo clippy|deny|audit|machete|udeps|semver-checks, cargo fmt --check, rustfmt --check, gofmt -l|-d,
    goimports -l|-d, golangci-lint run, staticcheck, revive, govulncheck, errcheck, gosec, rubocop, standardrb,
    reek, brakeman, sorbet tc, srb tc, steep check, erb_lint, phpstan, psalm, phpcs, phan, pint --test, php -l,
    checkstyle, spotbugs, pmd, ktlint, detekt, scalafmt --check|--test, scalafix --check, swiftlint,
    swift-format lint, swiftformat --lint, dart analyze, flutter analyze, dart format --set-exit-if-changed,
    clang-tidy, cppcheck, cpplint, clang-format --dry-run|-n, cmake-lint, gersemi --check, mix credo|dialyzer,
    mix format --check-formatted, hlint, ormolu --mode, fourmolu --mode, luacheck, shellcheck, shfmt -d|-l, bash -n,
    sh -n, checkbashisms, hadolint, yamllint, markdownlint, markdownlint-cli2, mdl, vale, codespell, cspell, typos,
    actionlint, zizmor, commitlint, ansible-lint, tflint, tfsec, checkov, trivy, terraform fmt -check,
    tofu fmt -check, helm lint, kubeconform, kubeval, kube-linter lint, conftest verify, sqlfluff lint, squawk,
    buf lint|breaking, spectral lint, redocly lint, vacuum lint, taplo check|lint, pre-commit run, prek run,
    lefthook run, lint-staged, semgrep, gitleaks, statix check, reuse lint, nx *lint|typecheck,
    turbo *lint|typecheck|check-types, pants lint|check, xmllint --noout, go vet, dotnet format --verify-no-changes,
    php-cs-fixer --dry-run
"""
_PROBE: Final = """
    curl -f|--fail|--fail-with-body, wget --spider, hurl --test, pg_isready, kubectl wait, kubectl rollout status,
    wait-for-it.sh, http --check-status, https --check-status, xh --check-status
"""


Family = Literal["test", "build", "lint", "probe"]
FAMILIES: Final[tuple[Family, ...]] = ("test", "build", "lint", "probe")

_KNOWN: Final[Mapping[Family, str]] = {
    "test": _TEST,
    "build": _BUILD,
    "lint": _LINT,
    "probe": _PROBE,
}

_VALUED: Final = frozenset({
    "-C", "-f", "--file", "--prefix", "--filter", "-F", "--manifest-path", "--config", "-pl", "--project-dir", "-p",
    "--directory", "--cwd", "--dir", "-w", "--workspace", "-m", "--context", "-n", "--namespace", "-c", "--rcfile",
    "--toolchain", "--workdir",
})  # fmt: skip
"""Options whose value could be taken for a verb."""


def strongest_family(families: Iterable[Family]) -> Family:
    """Return the family that proves most: a test, then a build, a lint, a probe. There is at least one."""
    given = set(families)
    return next(family for family in FAMILIES if family in given)


class FoundCheck(NamedTuple):
    """A check that a command is: what to call it, and what it checks."""

    name: str
    family: Family


class Pattern(Struct, frozen=True):
    """One kind of command that is a check, for example `Pattern.parsed("go test", "test")`."""

    family: Family
    program: str
    verbs: tuple[frozenset[str], ...] = ()
    options: tuple[frozenset[str], ...] = ()
    anywhere: frozenset[str] = frozenset()

    @classmethod
    def parsed(cls, text: str, family: Family) -> Pattern:
        """Parse the words of a pattern, or raise `ConfigInvalid`."""
        words = text.split()
        if not words or family not in FAMILIES:
            problem = "a check is the words of a command, and one of test, build, lint, probe"
            raise ConfigInvalid(name="checks", value=f"{text}: {family}", problem=problem)
        options = tuple(frozenset(word.split("|")) for word in words[1:] if word.startswith("-"))
        verbs = tuple(frozenset(word.split("|")) for word in words[1:] if not word.startswith(("-", "*")))
        anywhere = frozenset(name for word in words[1:] if word.startswith("*") for name in word[1:].split("|"))
        return cls(family, program_name(words), verbs, options, anywhere)

    def name_in(self, words: Sequence[str]) -> str | None:
        """Return the name of this check, None if the words are not it. Their program fits already."""
        if not all(any(_is_option(word, options) for word in words[1:]) for options in self.options):
            return None
        positional = verbs(words[1:]) if self.verbs or self.anywhere else []
        if self.anywhere:
            found = next((word for word in positional if word.rpartition(":")[2] in self.anywhere), None)
            return None if found is None else f"{self.program} {found}"
        for place, wanted in enumerate(self.verbs):
            if place >= len(positional) or positional[place] not in wanted:
                return None
        return " ".join((self.program, *positional[: len(self.verbs)]))


def verbs(arguments: Sequence[str], valued: frozenset[str] = _VALUED) -> list[str]:
    """The arguments that are neither options nor, as far as known, values of one."""
    found: list[str] = []
    at = 0
    while at < len(arguments) and len(found) < 64:
        word = arguments[at]
        if word.startswith(("-", "+")):
            at += 2 if word in valued else 1
            continue
        found.append(word)
        at += 1
    return found


def _is_option(word: str, wanted: frozenset[str]) -> bool:
    if not word.startswith("-"):
        return False
    name = word.partition("=")[0]
    if name in wanted:
        return True
    bundled = not word.startswith("--") and 2 < len(word) <= 8 and word[1:].isalpha()
    return bundled and any(len(option) == 2 and option[1] in word for option in wanted)


class Patterns:
    """Patterns by their program, so that a command meets few of them. Earlier ones go first.

    `own` are the programs that a person's own patterns name.
    """

    def __init__(self, patterns: Sequence[Pattern], own: Iterable[str] = ()) -> None:
        self.own = frozenset(own)
        self._by_program: dict[str, list[Pattern]] = {}
        for pattern in patterns:
            self._by_program.setdefault(pattern.program, []).append(pattern)

    def find(self, words: Sequence[str]) -> FoundCheck | None:
        """Return the check that these words are."""
        for pattern in self._by_program.get(program_name(words), ()):
            name = pattern.name_in(words)
            if name is not None:
                return FoundCheck(name, pattern.family)
        return None

    def knows(self, name: str) -> bool:
        """True if a program of this name can be a check."""
        return name in self._by_program


@cache
def defaults() -> Patterns:
    """Return the patterns that hold unless a user says otherwise."""
    return Patterns(_default_patterns())


@cache
def _default_patterns() -> tuple[Pattern, ...]:
    return tuple(
        Pattern.parsed(text, family) for family, table in _KNOWN.items() for text in table.split(",") if text.strip()
    )


def with_own(own: Mapping[str, Family], *, alone: bool = False) -> Patterns:
    """Return a user's own patterns, before the known ones or, with `alone`, in their place."""
    mine = tuple(Pattern.parsed(text, family) for text, family in own.items())
    return Patterns(mine if alone else mine + _default_patterns(), [pattern.program for pattern in mine])


_RUNNERS: Final = frozenset({"make", "gmake", "just", "task", "rake", "invoke", "inv", "doit", "nox", "poe", "mage"})
_RUNNER_VALUED: Final = frozenset(
    {"-C", "-f", "--file", "--directory", "--makefile", "-d", "--justfile", "-c", "--collection"}
)
_PROJECTS: Final = frozenset({"pdm", "hatch", "rye", "pixi"})
"""Their verb `run` takes the name of a script."""

_PACKAGE_MANAGERS: Final = frozenset({"npm", "pnpm", "yarn", "bun"})
_NAMED: Final[tuple[tuple[Family, frozenset[str]], ...]] = (
    ("test", frozenset({
        "test", "tests", "testing", "spec", "specs", "unit", "unittest", "e2e", "integration", "check", "checks", "ci",
        "verify", "validate", "qa", "coverage", "cov", "smoke", "pytest", "jest", "vitest", "mocha", "cypress",
        "playwright", "presubmit", "precommit",
    })),
    ("lint", frozenset({"lint", "typecheck", "types", "tsc", "eslint", "mypy", "pyright", "ruff", "vet", "clippy"})),
    ("build", frozenset({"build", "compile", "dist", "bundle", "typegen"})),
)  # fmt: skip
_HOSTS: Final = frozenset({"manage.py", "artisan", "rails", "setup.py"})
"""Programs of a project whose verb `test` runs its tests; often behind what runs them."""

_NOT: Final = frozenset({
    "watch", "dev", "serve", "start", "deploy", "clean", "update", "install", "setup", "debug", "ui", "open", "deps",
    "seed", "data", "fixtures", "report", "env", "db", "publish", "release", "storybook",
})  # fmt: skip
"""A script with such a part in its name does something else: `test:watch`, `build-deps`."""

_FILE: Final = r"(?:run[_-]?)?tests?(?:[_-]\w+)?|\w+[_-]tests?|check[_-]\w+|ci|verify|lint"
_SCRIPT_ENDS: Final = (".py", ".sh", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".bash")
_INTERPRETERS: Final = re.compile(r"(?:python|pypy)[\d.]*|node|deno|bun|ruby|perl|php|bash|sh|zsh|tsx|ts-node")


def script_family(name: str) -> Family | None:
    """Return the family of a script or target, by the parts of its name; None if it checks nothing."""
    parts = [part for part in compiled(r"[^a-z0-9]+").split(name.lower()) if part]
    if "typecheck" in name.lower().replace("-", "").replace("_", "") or parts == ["type", "check"]:
        return None if not _NOT.isdisjoint(parts) else "lint"
    if len(parts) > 4 or not _NOT.isdisjoint(parts):
        return None
    for family, names in _NAMED:
        if not names.isdisjoint(parts):
            return family
    return None


def find_script(words: Sequence[str], patterns: Patterns) -> FoundCheck | None:
    """Return the check that a script runner is told to run, or that a script is by its own name."""
    name = program_name(words)
    if name in _PACKAGE_MANAGERS:
        return _package_script(name, words[1:], patterns)
    if name in _RUNNERS:
        return _target(name, words[1:])
    if name in _PROJECTS and tuple(words[1:2]) == ("run",):
        script = next(iter(verbs(words[2:])), "")
        family = script_family(script.rpartition(":")[2])
        return None if family is None else FoundCheck(f"{name} run {script[:64]}", family)
    if program_name(words[1:]) in _HOSTS:
        words = words[1:]
        name = program_name(words)
    if name in _HOSTS:
        return FoundCheck(f"{name} test", "test") if tuple(words[1:2]) == ("test",) else None
    return _file(name, words)


def _package_script(manager: str, words: Sequence[str], patterns: Patterns) -> FoundCheck | None:
    found = verbs(words)
    if found[:1] == ["workspace"] or found[:2] == ["workspaces", "foreach"]:
        found = found[2:]
    if not found:
        return None
    if found[0] in ("run", "run-script"):
        script = found[1] if len(found) > 1 else ""
    elif found[0] in ("test", "t", "tst"):
        script = "test"
    elif manager == "npm":
        return None
    elif patterns.knows(found[0]):  # `yarn jest`
        return patterns.find(words[list(words).index(found[0]) :])
    else:
        script = found[0]
    family = script_family(script)
    if family is None:
        return None
    return FoundCheck(f"{manager} test" if script == "test" else f"{manager} run {script[:64]}", family)


def _target(runner: str, words: Sequence[str]) -> FoundCheck | None:
    targets = [word for word in verbs(words, _RUNNER_VALUED) if "=" not in word]
    if not targets:
        return FoundCheck("make", "build") if runner in ("make", "gmake") else None
    named = [FoundCheck(target, family) for target in targets if (family := script_family(target)) is not None]
    if not named:
        return None
    names = list(dict.fromkeys(target.name[:64] for target in named))[:4]
    return FoundCheck(" ".join((runner, *names)), strongest_family(target.family for target in named))


def _file(name: str, words: Sequence[str]) -> FoundCheck | None:
    """A file with a name such as `run_tests.py`, alone or behind what runs it."""
    path = words[0] if words else ""
    if _INTERPRETERS.fullmatch(name) is not None:
        path = next((word for word in words[1:4] if not word.startswith("-")), "")
        if "-c" in words[1:4] or "-e" in words[1:4]:
            return None
    base = path.rpartition("/")[2]
    stem, dot, _ = base.rpartition(".")
    if dot and not base.endswith(_SCRIPT_ENDS):
        return None
    if not dot and ("/" not in path or _INTERPRETERS.fullmatch(name) is not None):
        return None
    if compiled(_FILE, re.IGNORECASE).fullmatch(stem if dot else base) is None:
        return None
    return FoundCheck(base, "lint" if "lint" in base else "test")


_IDLE: Final = frozenset({
    "--version", "--help", "-h", "--collect-only", "--collectonly", "--co", "--list", "--listTests", "--showConfig",
    "--fixtures", "--markers", "--setup-plan", "--init", "--no-run", "--print-config", "--watch",
    "--watchAll", "--install-types", "--ui", "--list-tests", "--install-hooks",
})  # fmt: skip
"""With one of these a command shows something about a check, or never ends, and checks nothing."""

_MAKES: Final = frozenset({"make", "gmake"})
_IDLE_HERE: Final = {
    **dict.fromkeys(_MAKES, frozenset({"--dry-run", "--just-print", "--recon", "--touch", "--question"})),
    "just": frozenset({"-n", "--dry-run"}),
    "task": frozenset({"-n", "--dry", "-l", "-a", "--list-all", "--status", "--summary"}),
    "rake": frozenset({"-n", "--dry-run", "-T", "--tasks", "-P", "--prereqs", "-D", "--describe"}),
    **dict.fromkeys(("tsc", "vitest", "jest", "mocha", "rollup", "webpack"), frozenset({"-w"})),
    **dict.fromkeys(("pytest", "tox", "mypy", "ruff"), frozenset({"-V"})),
    "tox": frozenset({"-V", "-l", "--listenvs", "-a", "--listenvs-all", "--notest", "--showconfig"}),
    "nox": frozenset({"-l", "--list-sessions"}),
    "ctest": frozenset({"-N", "--show-only"}),
    "go": frozenset({"-list", "-n"}),
    "dotnet": frozenset({"-t"}),
    "bats": frozenset({"-c", "--count"}),
    "prove": frozenset({"-D", "--dry"}),
    **dict.fromkeys(("gradle", "gradlew"), frozenset({"-m"})),
}
DRY: Final = frozenset({"--dry-run", "--dryrun", "--setup-only", "--no-execute"})
"""With one of these no test is run, though other checks may do their work."""

_SKIPPED: Final = r"-D(?:skipTests|skipITs|maven\.test\.skip)(?:=true)?"
_EXCLUDES: Final = frozenset({"-x", "--exclude-task"})

_SPARES: Final = frozenset(
    {"--exit-zero", "--if-present", "--ignore-errors", "--soft-fail", "--no-fail", "--fail-never"}
)
_SPARES_HERE: Final = {
    "ruff": r"-e",
    "checkov": r"-s",
    **dict.fromkeys(("mvn", "mvnw", "mvnd"), r"-fn|-D(?:maven\.test\.failure\.ignore|testFailureIgnore)(?:=true)?"),
    "golangci-lint": r"--issues-exit-code=0",
    "rspec": r"--failure-exit-code=0",
    **dict.fromkeys(_MAKES, r"-[bBdekrRsSwL]*i[a-zA-Z]*"),
}
"""With one of these a check ends with 0 whatever it finds, or without having run."""

_TELLS_WITH: Final = {"semgrep": "--error", "cppcheck": "--error-exitcode", "trivy": "--exit-code"}
"""These end with 0 whatever they find, unless they are told otherwise."""

_SILENT_MAKE: Final = r"-[bBdeikrRsSwL]*[ntq][a-zA-Z]*"


def is_idle(words: Sequence[str]) -> bool:
    """True if a command only shows something about its checks, or goes on for ever."""
    if not _IDLE.isdisjoint(words):
        return True
    name = program_name(words)
    options = _IDLE_HERE.get(name)
    if options is None:
        return False
    if name in _MAKES and any(compiled(_SILENT_MAKE).fullmatch(word) for word in words[1:]):
        return True
    return any(word.partition("=")[0] in options for word in words[1:])


def is_without_tests(words: Sequence[str]) -> bool:
    """True if tests were switched off, so that only a build is left."""
    name = program_name(words)
    if name in ("gradle", "gradlew"):
        return any(
            option in _EXCLUDES and "test" in task.rpartition(":")[2].lower() for option, task in pairwise(words)
        )
    return (name == "go" and "-c" in words) or any(compiled(_SKIPPED).fullmatch(word) for word in words)


def is_always_zero(words: Sequence[str]) -> bool:
    """True if a check ends with 0 also where it found something, or did not run at all."""
    name = program_name(words)
    tells = _TELLS_WITH.get(name)
    if tells is not None and not any(word.partition("=")[0] == tells for word in words):
        return True
    spares = _SPARES_HERE.get(name)
    if spares is None:
        return not _SPARES.isdisjoint(words)
    joined = (f"{option}={value}" for option, value in pairwise(words))
    return not _SPARES.isdisjoint(words) or any(compiled(spares).fullmatch(word) for word in (*words[1:], *joined))
