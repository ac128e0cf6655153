"""What is a check, through all that people put around it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.core.checks.commands import FAMILIES, add_own_patterns, looks_at
from punchlist.core.checks.outcome import analyse_command, find_checks, judge_line
from punchlist.core.shell.exit_status import find_ways, read_states
from punchlist.errors import ConfigInvalid

CHECKS = [
    # the runner, and what is before it
    ("pytest", "pytest", "test"),
    ("py.test -x", "py.test", "test"),
    (".venv/bin/pytest -q tests/core", "pytest", "test"),
    ("python -m pytest", "pytest", "test"),
    ("python3.12 -W error -m pytest tests", "pytest", "test"),
    ("uv run pytest", "pytest", "test"),
    ("uv run --with hypothesis --extra dev pytest -q", "pytest", "test"),
    ("uv run -m pytest", "pytest", "test"),
    ("uvx ruff@latest check .", "ruff check", "lint"),
    ("poetry run mypy src", "mypy", "build"),
    ("pdm run pytest", "pytest", "test"),
    ("hatch run pytest", "pytest", "test"),
    ("pipenv run pytest", "pytest", "test"),
    ("conda run -n dev pytest", "pytest", "test"),
    ("coverage run -m pytest tests", "pytest", "test"),
    ("timeout 60 pytest", "pytest", "test"),
    ("timeout -k 5 10m go test ./...", "go test", "test"),
    ("env A=b C=d pytest", "pytest", "test"),
    ("A=b C='d e' pytest", "pytest", "test"),
    ("nice -n 10 nohup time pytest", "pytest", "test"),
    ("sudo -u ci pytest", "pytest", "test"),
    ('bash -c "pytest -q"', "pytest", "test"),
    ("bash -lc 'cd x && pytest'", "pytest", "test"),
    ("sh -c \"bash -c 'ruff check .'\"", "ruff check", "lint"),
    ("docker compose exec -T web pytest", "pytest", "test"),
    ("docker compose run --rm -e CI=1 web pytest -x", "pytest", "test"),
    ('docker exec -it box sh -c "npm test"', "npm test", "test"),
    ("kubectl exec pod -- pytest", "pytest", "test"),
    ("nix develop -c cargo test", "cargo test", "test"),
    ("ssh -i key host 'cd app && make test'", "make test", "test"),
    ("npx -y vitest run", "vitest", "test"),
    ("npx tsc --noEmit", "tsc", "build"),
    ("pnpm exec eslint .", "eslint", "lint"),
    ("yarn jest --ci", "jest", "test"),
    ("bunx biome check", "biome check", "lint"),
    ("bundle exec rspec spec/models", "rspec", "test"),
    ("eval 'pytest -q'", "pytest", "test"),
    ("git ls-files | xargs -n 1 pytest", "pytest", "test"),
    ("script -qc pytest /dev/null", "pytest", "test"),
    ("py -3 -m pytest", "pytest", "test"),
    ("pytest-3", "pytest-3", "test"),
    ("pdm run test", "pdm run test", "test"),
    ("hatch run dev:lint", "hatch run dev:lint", "lint"),
    ("powershell -Command pytest", "pytest", "test"),
    # tests that are switched off leave a build
    ("mvn -q verify -DskipTests", "mvn verify", "build"),
    ("gradle check -x test", "gradle check", "build"),
    ("go test -c ./x", "go test", "build"),
    # what is around it
    ("cd sub && pytest", "pytest", "test"),
    ("(cd sub; pytest)", "pytest", "test"),
    ("pytest 2>&1 | tail -20", "pytest", "test"),
    ("pytest | tee log.txt", "pytest", "test"),
    ("pytest || true", "pytest", "test"),
    ("pytest > out.txt 2>&1", "pytest", "test"),
    ("set -e\nmake build\nmake test", "make build + make test", "test"),
    ("ruff check . && mypy src && pytest", "ruff check + mypy + pytest", "test"),
    ("echo start; pytest; echo end", "pytest", "test"),
    ("if pytest; then echo ok; fi", "pytest", "test"),
    ("for d in a b; do pytest $d; done", "pytest", "test"),
    ("cat > t.py <<'EOF'\nassert True\nEOF\npython -m pytest t.py", "pytest", "test"),
    ("pytest \\\n  -q \\\n  tests", "pytest", "test"),
    ("echo $(pytest)", "pytest", "test"),
    ('OUT=$(pytest -q 2>&1); echo "$OUT"', "pytest", "test"),
    ('echo "$(make test)"', "make test", "test"),
    ("echo `pytest`", "pytest", "test"),
    ("test -z $(gofmt -l .)", "gofmt", "lint"),
    # one of each
    ("python -m unittest discover", "unittest", "test"),
    ("tox -e py311", "tox", "test"),
    ("nox -s tests", "nox", "test"),
    ("hatch test", "hatch test", "test"),
    ("python manage.py test", "manage.py test", "test"),
    ("python setup.py test", "setup.py test", "test"),
    ("python tests/test_thing.py", "test_thing.py", "test"),
    ("./scripts/run_tests.sh", "run_tests.sh", "test"),
    ("go vet ./...", "go vet", "build"),
    ("go build ./...", "go build", "build"),
    ("golangci-lint run", "golangci-lint run", "lint"),
    ("gofmt -l .", "gofmt", "lint"),
    ("cargo test --all", "cargo test", "test"),
    ("cargo +nightly clippy -- -D warnings", "cargo clippy", "lint"),
    ("cargo check", "cargo check", "build"),
    ("cargo fmt --check", "cargo fmt", "lint"),
    ("cargo nextest run", "cargo nextest", "test"),
    ("npm test", "npm test", "test"),
    ("npm test -- --watchAll=false", "npm test", "test"),
    ("npm run test:unit", "npm run test:unit", "test"),
    ("npm run typecheck", "npm run typecheck", "build"),
    ("npm run build", "npm run build", "build"),
    ("npm --prefix web test", "npm test", "test"),
    ("pnpm --filter web test", "pnpm test", "test"),
    ("pnpm -r lint", "pnpm run lint", "lint"),
    ("yarn test", "yarn test", "test"),
    ("yarn workspace web build", "yarn run build", "build"),
    ("bun test", "bun test", "test"),
    ("bun run lint", "bun run lint", "lint"),
    ("deno test -A", "deno test", "test"),
    ("node --test", "node", "test"),
    ("jest", "jest", "test"),
    ("mocha", "mocha", "test"),
    ("playwright test", "playwright test", "test"),
    ("cypress run", "cypress run", "test"),
    ("eslint src", "eslint", "lint"),
    ("prettier --check .", "prettier", "lint"),
    ("mvn -q -pl core test", "mvn test", "test"),
    ("./mvnw clean verify", "mvnw verify", "test"),
    ("./gradlew clean :app:test", "gradlew :app:test", "test"),
    ("gradle build", "gradle build", "build"),
    ("sbt test", "sbt test", "test"),
    ("make test", "make test", "test"),
    ("make -C lib -j4 check", "make check", "test"),
    ("make", "make", "build"),
    ("just ci", "just ci", "test"),
    ("ruff check", "ruff check", "lint"),
    ("ruff format --check .", "ruff format", "lint"),
    ("mypy --strict src", "mypy", "build"),
    ("pyright", "pyright", "build"),
    ("basedpyright src", "basedpyright", "build"),
    ("flake8", "flake8", "lint"),
    ("pylint src", "pylint", "lint"),
    ("black --check .", "black", "lint"),
    ("isort -c .", "isort", "lint"),
    ("pre-commit run --all-files", "pre-commit run", "lint"),
    ("docker build -t x .", "docker build", "build"),
    ("docker buildx build .", "docker buildx build", "build"),
    ("curl --fail http://localhost/health", "curl", "probe"),
    ("curl -fsSL http://localhost/health", "curl", "probe"),
    ("rake spec", "rake spec", "test"),
    ("bin/rails test", "rails test", "test"),
    ("rubocop", "rubocop", "lint"),
    ("vendor/bin/phpunit", "phpunit", "test"),
    ("php artisan test", "artisan test", "test"),
    ("dotnet test", "dotnet test", "test"),
    ("swift test", "swift test", "test"),
    ("ctest --output-on-failure", "ctest", "test"),
    ("ctest -V", "ctest", "test"),
    ("docker compose -p x -f y.yml build", "docker compose build", "build"),
    ("kubectl apply -f x --dry-run", "kubectl", "build"),
    ("make -w test", "make test", "test"),
    ("make test --directory sub", "make test", "test"),
    ("cmake --build build", "cmake", "build"),
    ("bazel test //...", "bazel test", "test"),
    ("mix test", "mix test", "test"),
    ("flutter analyze", "flutter analyze", "build"),
    ("terraform -chdir=infra validate", "terraform validate", "build"),
    ("terraform plan -out x", "terraform plan", "build"),
    ("helm lint chart", "helm lint", "lint"),
    ("shellcheck *.sh", "shellcheck", "lint"),
    ("bash -n script.sh", "bash", "lint"),
    ("kubectl rollout status deploy/web", "kubectl rollout status", "probe"),
]

PROBES = [
    ("curl http://localhost:8000/health", "curl"),
    ("curl -s -o /dev/null -w '%{http_code}' 127.0.0.1:8000", "curl"),
    ("go run .", "go run"),
    ("python app.py", "python app.py"),
    ('python -c "from calc import add; assert add(1, 2) == 3"', "python -c"),
    ("python - <<'EOF'\nprint('OK' if 1 else 'FAIL')\nEOF", "python -"),
    ("dotnet run", "dotnet run"),
    ("node app.js", "node app.js"),
    ("node -e 'console.log(1)'", "node -e"),
    ("./target/debug/app --check-config", "app"),
]

NO_CHECKS = [
    "", "   ", "#pytest", "echo pytest", "echo 'pytest && ruff check .'", "printf pytest", "grep pytest setup.cfg",
    "rg 'cargo test'", "pip install pytest", "uv add --dev pytest", "npm install jest", "npm ci", "cargo add clippy",
    "cat test.log", "tail -f pytest.log", "ls tests", "vim test_x.py", "touch tests/test_x.py", "rm -rf tests",
    "which pytest", "pytest --version", "pytest --help", "pytest --collect-only", "pytest --co -q", "jest --listTests",
    "ctest -N", "go test -list . ./...", "pytest --collectonly", "gradle test --dry-run", "rspec --dry-run", "tox -l",
    "make -n test", "make -t test", "make -q test", "make -sn test", "make --touch test",
    "make deploy", "make install", "npm start", "npm run dev", "npm run test:watch", "jest --watch",
    "tsc -w", "tsc --init", "git commit -m 'run pytest'", "git log --grep pytest", "cargo fmt", "black .",
    "prettier --write .", "ruff format .", "docker run x", "docker ps",
    "go mod tidy",
    "echo $(pytest --version)", "x=$(which pytest)", "echo `ls`",
    "cat <<EOF\npytest\nEOF", "git diff -- tests", "man pytest", "pytest.ini", "sed -i s/pytest/x/ a", "alias t=pytest",
    "terraform apply", "helm install x", "kubectl get pods", "mvn clean", "gradle tasks",
    "ssh host", "bash", "bash -c", "sudo", "env", "timeout 5", "uv run", "npx", "docker exec", '"', "'", "$(", "((((",
    "&&",
]  # fmt: skip


@pytest.mark.parametrize(("command", "name", "family"), CHECKS)
def test_a_check_is_known_whatever_is_around_it(command: str, name: str, family: str) -> None:
    check = find_checks(command)
    assert check is not None
    assert (check.name, check.family) == (name, family)


@pytest.mark.parametrize(("command", "name"), PROBES)
def test_running_the_program_itself_is_a_probe_and_no_change(command: str, name: str) -> None:
    seen = analyse_command(command)
    assert seen.check is not None
    assert (seen.check.name, seen.check.family, seen.changes) == (name, "probe", False)


@pytest.mark.parametrize(
    "command",
    [
        "python generate_models.py",
        "python rewrite_imports.py",
        "./scripts/bump.sh",
        "python - <<'EOF'\nfrom pathlib import Path\nPath('a.py').write_text('x')\nEOF",
        "python -c \"open('a.py', 'w').write(x)\"",
        "perl -pi -e s/a/b/ a.py",
        'node -e \'require("fs").writeFileSync("a", "b")\'',
    ],
)
def test_code_that_writes_files_is_a_change_and_no_probe(command: str) -> None:
    seen = analyse_command(command)
    assert (seen.check, seen.changes) == (None, True)


@pytest.mark.parametrize("command", NO_CHECKS)
def test_a_command_that_only_talks_of_a_check_is_none(command: str) -> None:
    assert find_checks(command) is None


@pytest.mark.parametrize(
    ("command", "zero", "failure"),
    [
        ("pytest", True, True),
        ("cd x && pytest", True, True),
        ("pytest && echo ok", True, True),
        ("pytest && git commit -m x", True, False),
        ("pytest || true", False, False),
        ("pytest || exit 1", True, True),
        ("pytest || exit 0", False, False),
        ("pytest | tail -5", False, False),
        ("set -o pipefail; pytest | tail -5", True, True),
        ("bash -eo pipefail -c 'pytest | tee log'", True, True),
        ("pytest; echo done", False, False),
        ("set -e; pytest; echo done", True, True),
        ("ruff check .; pytest", False, True),
        ("ruff check . && pytest", True, True),
        ("if pytest; then echo; fi", False, False),
        ("! pytest", False, False),
        ("pytest &", False, False),
        ("(pytest; true) | cat", False, False),
        ("bash -c 'pytest' || true", False, False),
        ("pytest; " + "x" * 20_000, False, False),
        ("pytest && git log | head", True, True),
        ("set -e; set +e; pytest; echo done", False, False),
        ("set -e; pytest && echo ok; echo done", False, False),
        ("set -e; pytest || false; echo done", True, True),
        ("set +o pipefail; pytest | tail", False, False),
        ("set -o pipefail; set +o pipefail; pytest | tail", False, False),
        ("(set -o pipefail; ls | wc); pytest | tail", False, False),
        ("(set -e; ls); pytest; echo done", False, False),
        ("set -e; (pytest; echo done)", True, True),
        ("(set -e; pytest; echo done) && echo ok", False, False),
        ("{ set -e; ls; }; pytest; echo done", True, False),
        ("set -e; { pytest; echo; } | cat", False, False),
        ("set -euo pipefail; { pytest; echo; } | cat", True, True),
        ("bash -ec ls; pytest; echo done", False, False),
        ("set -e; bash -c 'pytest; echo done'", False, False),
        ("bash -ec 'pytest; echo done'; echo end", False, False),
        ("pytest || { echo bad; exit 1; }; echo end", True, True),
        ("pytest || (exit 1); echo end", False, False),
        ("script -qc pytest log", False, False),
        ("script -qec pytest log", True, True),
        ("echo $(pytest)", False, False),
        ("OUT=$(pytest)", True, True),
        # what may not have run at all
        ("git diff --quiet || make test", False, True),
        ("test -d x || pytest", False, True),
        ("false || pytest", True, True),
        ("test -d x || (cd y; pytest)", False, True),
        ("test -d x || cat list | xargs pytest", False, True),
        ("[ -f x ] && pytest", True, False),
        ("[ -f x ] && pytest; true", False, False),
        ("set -e; [ -f x ] && pytest; true", False, True),
        ("mkdir x || true && pytest", True, True),
        ("cd x || exit 1; pytest", True, True),
        ("cd x || exit; pytest", True, True),
        ("[ -d x ] || exit 0; pytest", False, True),
        ("(exit 0); pytest", True, True),
        ("trap 'exit 0' EXIT; pytest", False, False),
        ("npm test --if-present", False, True),
        ("git diff --name-only | xargs -r ruff check", False, True),
        ("git diff --name-only | xargs ruff check", True, True),
        ("docker run -d img pytest", False, False),
        ("docker compose exec -T web pytest", True, True),
        ("ssh -f host pytest", False, False),
        # what ends with 0 whatever it finds
        ("make -i test", False, True),
        ("make -ki test", False, True),
        ("make -k test", True, True),
        ("flake8 --exit-zero", False, True),
        ("golangci-lint run --issues-exit-code 0", False, True),
        ("mvn test -Dmaven.test.failure.ignore=true", False, True),
        ("mvn -fae test", True, True),
        ("semgrep --config auto .", False, True),
        ("semgrep --error --config auto .", True, True),
    ],
)
def test_it_is_known_whether_the_exit_code_says_anything(command: str, zero: bool, failure: bool) -> None:
    line = find_checks(command)
    assert line is not None
    states = read_states(find_ways(line.table, len(line.checks), exit_code=0, output=""), len(line.checks))
    assert (set(states) == {"passed"}, judge_line(line, "", exit_code=1) == "failed") == (zero, failure)


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ("pytest", False),
        ("pytest | tee log", False),
        ("pytest > log", False),
        ("git add . && git commit -m x && git push", False),
        ("git status; git diff | head", False),
        ("grep -r x src | sort | uniq -c", False),
        ("sed -n 1,5p a.py", False),
        ("sed -i s/a/b/ a.py", True),
        ("sed -i s/a/b/ a.py && pytest", False),
        ("pytest && sed -i s/a/b/ a.py", True),
        ("pytest; echo x > a.py", True),
        ("ruff check --fix .", True),
        ("npm run lint:fix", True),
        ("ruff format . && pytest", False),
        ("git checkout -- .", True),
        ("git stash", True),
        ("python make.py", True),
        ("mv a b", True),
        ("find . -name x", False),
        ("find . -delete", True),
        ("sed -Ei s/a/b/ a.py", True),
        ("sed -ni s/a/b/p a.py", True),
        ("sed -e s/i/x/ a.py", False),
        ("sed 's/a/b/w out' a.py", True),
        ("awk '$1 > 5 {print $2}' f", False),
        ("awk '{print > \"a.py\"}' f", True),
        ("perl -ne 'print if /x/' f", False),
        ("perl -pi -e s/a/b/ f", True),
        ("perl generate.pl", True),
        ("source generate.sh", True),
        ("source .venv/bin/activate && pytest", False),
        (". venv/bin/activate", False),
        ("echo $(rm a.py)", True),
        ("ls `rm a.py`", True),
        ('echo "x $(rm a.py)"', True),
        ("x=$(rm a.py)", True),
        ("cd $(git rev-parse --show-toplevel); echo $((1 + 2))", False),
        ("rm $(ls) && pytest", False),
        ("diff <(sort a) <(sort b)", False),
        ("npm audit", False),
        ("npm audit fix", True),
        ("gh pr view 3", False),
        ("gh pr checkout 3", True),
        ("git config --get core.x", False),
        ("git config core.x y", False),
        ("git -C sub status", False),
        ("curl -sSL http://x", False),
        ("curl -sSLo f http://x", True),
        ("sort -k2 f", False),
        ("sort -uo f f", True),
        ("ls | xargs rm", True),
        ("ls | xargs grep x", False),
        ("echo hi", False),
        ("echo hi > f", True),
        ("echo hi > /dev/null", False),
        ("ls 2>&1", False),
        ("", False),
    ],
)
def test_a_change_counts_unless_a_check_comes_behind_it(command: str, changes: bool) -> None:
    found = analyse_command(command)
    is_checked = found.check is not None and found.check.checks_changes
    assert (found.changes and not is_checked) is changes


NO_CHANGES = [
    "git checkout -b feature/x", "git switch -c feature/x", "git config user.email a@b.c", "git restore --staged a.py",
    "git reset HEAD a.py", "node -v", "npm -v", "java -version", "php -v", "npm run dev", "npm start &", "yarn",
    "uvicorn app.main:app --port 8000 &", "flask run &", "bundle install", "npm uninstall left-pad", "npm update",
    "python -m venv .venv", "python -m http.server 8000", "npx playwright install", "psql -c 'select 1'",
    "redis-cli ping", "aws s3 ls", "gcloud auth list", "make help", "docker compose exec db psql -U x -c 'select 1'",
    r"find src -name '*.py' -exec grep -l 'a b' {} \;", "find . -exec cat {} +", "curl -s -o /dev/null https://x",
    "wget -q -O - https://x", "curl", "wget -qO- https://x", "wget -P /tmp -O /tmp/a https://x", "echo x > LICENSE-MIT",
    "echo x > docs/README", "python manage.py runserver", "python manage.py migrate",
    "python manage.py makemigrations --check",
]  # fmt: skip

CHANGES = [
    "git checkout a.py", "git checkout main", "git checkout -b x origin/main", "git switch main", "git restore a.py",
    "git restore --staged --worktree a.py", "git stash", "git stash pop", "git merge x", "git reset --hard", "git pull",
    "python manage.py makemigrations", "python manage.py startapp billing", "rails generate model A",
    "python -c 'import fileinput\nfor line in fileinput.input(inplace=True): print(line)'", "wget https://x/a.py",
    "wget http://localhost:8000/a.py", "curl -O https://x/a.py", "curl --output=a.py https://x",
    "protoc --python_out=. a.proto", r"find . -exec sed -i s/a/b/ {} \;", "find . -exec sh -c 'rm a' +",
    "aws s3 cp s3://b/a .", "echo x > src/license_checker.py", "echo x > src/readme_parser.py",
    "echo x > src/changelog.py", "echo x > lib/License.java",
]  # fmt: skip


@pytest.mark.parametrize("command", NO_CHANGES)
def test_what_leaves_the_files_of_the_project_alone_is_no_change(command: str) -> None:
    assert analyse_command(command).changes is False


@pytest.mark.parametrize("command", CHANGES)
def test_what_writes_files_of_the_project_is_a_change(command: str) -> None:
    assert analyse_command(command).changes is True


SCOPES = [
    # operands that are paths, also bare ones
    ("ruff check src", "src"), ("ruff check --fix src tests", "src tests"), ("ruff check --select E501 src", "src"),
    ("pytest integration", "integration"), ("pytest -q --tb short -n 4 unit", "unit"), ("pytest -x --cov src", ""),
    ("mypy --strict backend", "backend"), ("mypy -p pkg", "pkg"), ("npx eslint src", "src"), ("isort -c src", "src"),
    ("npx eslint --max-warnings 0 .", "."), ("python manage.py test billing", "billing"), ("pytest $d", "!$d"),
    ("python manage.py test billing.tests.test_a.TestB.test_c", "billing/tests/test_a.py::TestB::test_c"),
    ("python -m unittest tests.test_a", "tests/test_a.py"), ("python -m unittest discover -s tests", "tests"),
    ("go test -tags integration -count 1 ./...", "./..."), ("cargo clippy --all-targets -- -D warnings", ""),
    # goals are none
    ("make test lint", ""), ("mvn clean verify", ""), ("gradle clean test", ""), ("npx nx test web", ""),
    ("npm run lint", ""), ("npm test -- src/a.test.ts", "src/a.test.ts"), ("pre-commit run --all-files", ""),
    # selections, in every form of an option
    ("pytest -k foo", "-k foo"), ("pytest -kfoo", "-k foo"), ("pytest -qk foo", "-k foo"),
    ("pytest -m smoke", "-m smoke"), ("npx jest -c jest.config.js --ci", ""),
    ("pytest -m 'not slow'", "!-m not slow"), ("pytest tests -k foo", "tests::-k foo"),
    ("go test -run=TestY ./...", "-run TestY"),
    ("go test -run TestY ./pkg/...", "./pkg::-run TestY"), ("cargo test parser", "-k parser"),
    ("cargo test -p core", "core"), ("cargo test -p core parser", "core::-k parser"), ("npx jest parser", "-k parser"),
    ("npx vitest run parser", "-k parser"), ("npx vitest run src", "src"), ("npx vitest run --coverage", ""),
    ("npx vitest run -t 'a b' src/a.test.ts", "src/a.test.ts::-t a b"), ("mvn test -Dtest=X", "-Dtest X"),
    ("mvn -pl core test", "core"), ("gradle test --tests X", "--tests X"), ("npm test -w web", "web"),
    ("npm test --workspace=web", "web"), ("pnpm --filter web test", "web"), ("yarn workspace web test", "web"),
    ("dotnet test --filter Name=X", "--filter Name=X"),
    # lines of files
    ("rspec spec/f_spec.rb:12", "spec/f_spec.rb::12"), ("mix test test/f_test.exs:12", "test/f_test.exs::12"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "scope"), SCOPES)
def test_what_a_check_is_narrowed_to_is_its_scope(command: str, scope: str) -> None:
    found = find_checks(command)
    assert found is not None
    assert " ".join(found.checks[0].scope) == scope


@pytest.mark.parametrize(
    ("command", "folders"),
    [
        ("cd backend && ls; cd ../frontend && vitest run", ["frontend"]),
        ("cd backend && pytest -q && cd ../frontend && npm test", ["backend", "frontend"]),
        ("(cd frontend && eslint .) && pytest", ["frontend", ""]),
        ("bash -c 'cd a; eslint .'; pytest", ["a", ""]),
        ("cd a && npm start & pytest", [""]),
        ("cd a | cat; pytest", [""]),
        ("{ cd a; }; cd ./b/; pytest; cd /x && mypy", ["a/b", "/x"]),
        ("cd a && pushd b && pytest; popd; ruff check", ["a/b", ""]),
        ("cd backend; cd -; pytest", [""]),
        ('cd "$(git rev-parse --show-toplevel)" && pytest', [""]),
        ("cd a && make -C b test", ["a/b"]),
        ("npm --prefix=frontend test", ["frontend"]),
        ("npm --prefix frontend test && pytest", ["frontend", ""]),
        ("uv run --directory backend pytest; mypy", ["backend", ""]),
        ("cd a && uv run --directory=b pytest", ["a/b"]),
        ("env -C sub pytest", ["sub"]),
    ],
)
def test_each_check_knows_the_folder_in_which_it_runs(command: str, folders: list[str]) -> None:
    found = find_checks(command)
    assert found is not None
    assert [check.folder for check in found.checks] == folders


def test_words_of_one_command_are_taken_as_they_are() -> None:
    assert find_checks(["bash", "-lc", "cd x && pytest"]) == find_checks("cd x && pytest")
    assert find_checks(["echo", "pytest"]) is None


def test_own_patterns_come_before_the_known_ones() -> None:
    own = add_own_patterns({"./prove-it --all|-a": "test", "verifier run": "lint"})
    assert [find_checks(line, own) is None for line in ("./prove-it -a", "x/prove-it --all", "prove-it")] == [
        False,
        False,
        True,
    ]
    assert find_checks("verifier run x", own) is not None
    assert find_checks("pytest", own) is not None


@pytest.mark.parametrize(("text", "family"), [("", "test"), ("pytest", "proof")])
def test_a_pattern_that_means_nothing_is_refused(text: str, family: str) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        add_own_patterns({text: family})  # pyright: ignore[reportArgumentType]
    assert refused.value.code == "config_invalid"


@pytest.mark.parametrize("compiler", ["gcc", "g++", "c++", "clang++"])
def test_a_compiler_is_known_by_a_name_with_signs_in_it(compiler: str) -> None:
    line = find_checks(f"{compiler} -o app a.cc")
    assert line is not None
    assert line.scope == ("a.cc",)  # `app` is the value of `-o`
    assert not looks_at(compiler, "build", "a.py")


@given(st.text(st.sampled_from(list("pytest &|;()$`'\"\\\n<>{}!#=-cbashuvrn")), max_size=80) | st.text(max_size=60))
def test_any_line_can_be_looked_at(line: str) -> None:
    seen = analyse_command(line)
    assert seen.check is None or seen.check.family in FAMILIES


@given(st.lists(st.text(max_size=12), max_size=6))
def test_any_words_can_be_looked_at(words: list[str]) -> None:
    analyse_command(words)


@given(st.text(max_size=200), st.none() | st.integers(-1, 300), st.none() | st.booleans())
def test_any_output_can_be_judged(output: str, code: int | None, is_error: bool | None) -> None:
    check = find_checks("pytest")
    assert check is not None
    assert judge_line(check, output, exit_code=code, is_error=is_error) in ("passed", "failed", "empty", "unknown")
