"""The commands that are checks, and the options that decide what a run of them is worth."""

from typing import Final

KNOWN: Final = {
    "test": """
        pytest, py.test, pytest-3, unittest, doctest, nosetests, nose2, trial, behave, robot, tox, nox, hatch test,
        stestr, go test, gotestsum, ginkgo, cargo test|t|nextest|llvm-cov|tarpaulin|miri, jest, vitest, mocha, ava, tap,
        tape, jasmine, karma start, uvu, qunit, c8, nyc, node --test, deno test, bun test, playwright test, cypress run,
        wdio, testcafe, newman run, ng test|e2e, vue-cli-service test:unit|test:e2e, react-scripts test, storybook test,
        lerna run test, nx *test|e2e, turbo *test, mvn *test|verify|integration-test,
        mvnw *test|verify|integration-test, mvnd *test|verify, gradle *test|check|integrationTest|connectedAndroidTest,
        gradlew *test|check|integrationTest, ant *test, sbt *test, lein test, kaocha, bb test, clojure -M:test|-X:test,
        clj -M:test|-X:test, mill *test, rspec, minitest, rake *test|spec, rails test|test:all|spec, cucumber, phpunit,
        pest, paratest, codecept run, artisan test, composer *test, dotnet test, vstest.console, nunit3-console,
        xunit.console, swift test, xcodebuild *test|test-without-building, xctest, fastlane *test|scan, flutter test,
        dart test, ctest, meson test, bazel test|coverage, bazelisk test, buck2 test, buck test, pants test,
        please test, plz test, mix test, rebar3 eunit|ct|proper, stack test, cabal test, dune test|runtest, zig test,
        nimble test, crystal spec, elm-test, busted, prove, bats, shellspec, shunit2, sqitch verify, pg_prove,
        rye test, dbt test|build, act,
        molecule test|verify, kitchen test|verify, conftest test|verify, opa test, hardhat test, forge test,
        anchor test, truffle test, k6 run
    """,
    "build": """
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
        mypy, dmypy run|check, pyright, basedpyright, pytype, pyre check, ty check, pyrefly check, svelte-check,
        deno check, sorbet tc, srb tc, steep check, dart analyze, flutter analyze, mix dialyzer, go vet, nx *typecheck,
        turbo *typecheck|check-types, pyproject-build, maturin build|develop, poetry build, uv build, hatch build,
        flit build, sphinx-build, mkdocs build, jekyll build, wasm-pack build, trunk build, protoc,
        pdflatex, latexmk, tectonic, typst compile, terraform plan|validate, tofu plan|validate,
        terragrunt plan|validate, pulumi preview, cdk synth, sam build|validate, serverless package, helm template,
        kustomize build, forge build, kubectl --dry-run, ansible-playbook --syntax-check|--check, nginx -t,
        apachectl configtest, sqlc compile|vet, go build|install, buf build, mvn *compile|package|install|test-compile,
        mvnw *compile|package|install|test-compile
    """,
    "lint": """
        ruff check, ruff format --check|--diff, compileall, py_compile, poetry check, twine check,
        flake8, pylint, pycodestyle, pydocstyle, pyflakes, black --check|--diff,
        isort --check|--check-only|-c, autoflake --check, yapf --diff, bandit, vulture, lint-imports, deptry,
        interrogate, pip-audit, djlint, eslint, eslint_d, biome check|lint|ci, oxlint,
        prettier --check|-c|--list-different|-l, stylelint, xo, tslint, knip, next lint, ng lint, publint,
        attw, dprint check, rome check|ci, deno lint, deno fmt --check,
        cargo clippy|deny|audit|machete|udeps|semver-checks, cargo fmt --check, rustfmt --check, gofmt -l|-d,
        goimports -l|-d, golangci-lint run, staticcheck, revive, govulncheck, errcheck, gosec, rubocop, standardrb,
        reek, brakeman, erb_lint, phpstan, psalm, phpcs, phan, pint --test, php -l,
        checkstyle, spotbugs, pmd, ktlint, detekt, scalafmt --check|--test, scalafix --check, swiftlint,
        swift-format lint, swiftformat --lint, dart format --set-exit-if-changed,
        clang-tidy, cppcheck, cpplint, clang-format --dry-run|-n, cmake-lint, gersemi --check, mix credo,
        mix format --check-formatted, hlint, ormolu --mode, fourmolu --mode, luacheck, shellcheck, shfmt -d|-l, bash -n,
        sh -n, checkbashisms, hadolint, yamllint, markdownlint, markdownlint-cli2, mdl, vale, codespell, cspell, typos,
        actionlint, zizmor, commitlint, ansible-lint, tflint, tfsec, checkov, trivy, terraform fmt -check,
        tofu fmt -check, helm lint, kubeconform, kubeval, kube-linter lint, conftest verify, sqlfluff lint, squawk,
        buf lint|breaking, spectral lint, redocly lint, vacuum lint, taplo check|lint, pre-commit run, prek run,
        lefthook run, lint-staged, semgrep, gitleaks, statix check, reuse lint, nx *lint,
        turbo *lint, pants lint|check, xmllint --noout, json.tool, check-toml, check-json, check-yaml,
        dotnet format --verify-no-changes, php-cs-fixer --dry-run
    """,
    "probe": """
        curl -f|--fail|--fail-with-body, wget --spider, hurl --test, pg_isready, kubectl wait, kubectl rollout status,
        wait-for-it.sh, http --check-status, https --check-status, xh --check-status,
        manage.py check, manage.py makemigrations --check|--dry-run, go run, cargo run, dotnet run, nginx -t
    """,
}
VALUED: Final = (
    "-C -f --file --prefix --filter -F --manifest-path --config -pl --project-dir -p --directory --cwd --dir "
    "-w --workspace -m --context -n --namespace -c --rcfile --toolchain --workdir -k --maxfail --rootdir "
    "--durations --project --reporter -j --cov --cov-config --junitxml --ignore --deselect --config-file --ignore-path "
    "--outputFile --output-file --exclude --cache-location --basetemp"
)
"""Options whose value could be taken for a verb or a path."""

NARROWS: Final = """
    pytest py.test pytest-3: -k -m !--deselect !--ignore !--ignore-glob !--lf !--last-failed !--sw !--stepwise
    pytest py.test pytest-3: !--stepwise-skip
    unittest: -k --tag @-s @--start-directory
    manage.py: -k --tag !--exclude-tag
    go: -run --run !-skip
    gotestsum: -run --run
    cargo: --test --bin --example -E !--skip !--exclude @-p @--package
    jest vitest: -t --testNamePattern --testPathPattern !--exclude !--testPathIgnorePatterns !--onlyChanged
    jest vitest: !--onlyFailures !--changedSince !--changed @--project
    react-scripts: -t --testNamePattern --testPathPattern !--exclude !--testPathIgnorePatterns !--onlyChanged
    react-scripts: !--onlyFailures !--changedSince !--changed
    npm pnpm yarn bun: -t --testNamePattern --grep !--exclude !--testPathIgnorePatterns !--onlyChanged !--onlyFailures
    npm pnpm yarn bun: !--changedSince !--changed @-w @--workspace @--filter @-F @workspace
    mocha: -g --grep -f --fgrep !--invert !--grep-invert !--last-failed !--only-changed !--exclude
    playwright: -g --grep -f --fgrep !--invert !--grep-invert !--last-failed !--only-changed !--exclude @--project
    wdio: -g --grep -f --fgrep
    node: --test-name-pattern
    rspec: -e --example -t --tag !--only-failures !--next-failure !--exclude-pattern
    mix: --only !--exclude !--failed !--stale
    mvn mvnw mvnd: -Dtest -Dit.test @-pl @--projects
    gradle gradlew: --tests
    dotnet swift deno artisan: --filter
    phpunit pest paratest: --filter !--exclude-group !--exclude-testsuite
    ctest: -R -L !-E !-LE !--rerun-failed
    bazel bazelisk: --test_filter
    behave: -n -t --tags
    nox: -k -t !--skip @-s @--session @-e
    ruff black flake8 pylint bandit pyright: !--exclude !--extend-exclude !--ignore !--extend-ignore
    mypy: !--exclude !--extend-exclude !--ignore !--extend-ignore @-p @--package @-m @--module
    eslint: !--ignore-pattern
    tox: !--skip @-e
    turbo: @--filter @-F
    lerna: @--scope
    """
"""Options that narrow a run, by program: they select tests, leave some out (`!`), or name a part of a project (`@`)."""

SHORT_VALUED: Final = """
    pytest py.test pytest-3: -n -p -o -W -c -r -k -m
    mypy: -p -m -c
    eslint: -c -f -o
    go: -o -p -C -tags -run -count -timeout -coverprofile -covermode -coverpkg -bench -cpu -parallel -ldflags -mod
    gcc g++ cc c++ clang clang++ rustc: -o
    dotnet: -c -f -v -p -o -r
    cargo: -p -j -F -D -W -A -E
    jest vitest: -t -c -w -r
    mocha: -g -f -r -t -R
    rspec: -e -t -f -o -r -I
    playwright: -g -c -j
    unittest: -k -s -p -t
    pylint: -d -e -j
    black: -l -t
    shellcheck: -s -e -f
    tox: -e -c -p
    nox: -s -k -t -e
    docker: -t -f -p
    ctest: -R -L -E -j
    isort prettier gofmt goimports ruff mix manage.py rubocop:
    """
"""Short options with a value, by program; of other programs those in `_VALUED`."""

GOALS: Final = (
    "make gmake just task rake invoke inv doit poe mage npm pnpm yarn bun mvn mvnw mvnd gradle gradlew ant sbt mill "
    "nx turbo lerna tox nox xcodebuild fastlane composer docker docker-compose terraform tofu kubectl pre-commit prek "
    "lefthook helm cmake ninja"
)
"""Programs whose operands are goals and not what is checked, unless they are paths."""

LANGUAGES: Final = """
    pytest py.test pytest-3 unittest doctest tox nox nose2 nosetests trial manage.py behave stestr: py pyi pyx ipynb
    ruff black isort mypy dmypy pyright basedpyright flake8 pylint pycodestyle pydocstyle pyflakes: py pyi pyx ipynb
    bandit ty pyrefly pytype pyre py_compile compileall vulture: py pyi pyx ipynb
    jest vitest mocha ava react-scripts jasmine karma: js jsx mjs cjs ts tsx mts cts vue svelte
    tsc vue-tsc tsgo svelte-check xo tslint: js jsx mjs cjs ts tsx mts cts vue svelte
    eslint eslint_d biome oxlint: js jsx mjs cjs ts tsx mts cts vue svelte css json
    prettier: js jsx mjs cjs ts tsx mts cts vue svelte css scss less html json yaml yml
    stylelint: css scss less
    go gotestsum ginkgo gofmt goimports golangci-lint staticcheck: go
    cargo rustc rustfmt: rs
    rspec minitest rubocop standardrb: rb erb
    phpunit pest paratest phpstan psalm phpcs: php
    mvn mvnw mvnd gradle gradlew javac: java kt kts scala groovy
    dotnet: cs fs vb
    swift xcodebuild swiftlint: swift m mm
    dart flutter: dart
    mix: ex exs
    gcc g++ cc c++ clang clang++ clang-tidy cppcheck: c h cc cpp cxx hpp
    shellcheck bash sh shfmt: sh bash
    yamllint actionlint: yml yaml
    terraform tofu tflint: tf
    hadolint: dockerfile
    """
"""The endings of the source files that programs look at."""

IDLE: Final = (
    "--version --help -h --collect-only --collectonly --co --list --listTests --showConfig --fixtures "
    "--markers --setup-plan --setup-only --init --no-run --print-config --watch --watchAll --install-types "
    "--ui --list-tests --install-hooks --dry-run --dryrun --no-execute --just-print --recon --question "
    "--touch"
)
IDLE_OF: Final = """
    make gmake: -[bBdekrRsSwL]*[nqt][a-zA-Z]*
    just: -n -l
    task: -n --dry -l -a --list-all --status --summary
    rake: -n -T --tasks -P --prereqs -D --describe
    tsc vitest jest mocha rollup webpack: -w watch
    pytest mypy ruff: -V
    tox: -V -l --listenvs -a --listenvs-all --notest --showconfig
    nox: -l --list-sessions
    ctest: -N --show-only
    go: -list -n
    dotnet: -t
    bats: -c --count
    prove: -D --dry
    gradle gradlew: -m
    """
HIDES_OF: Final = r"""
    ruff: -e
    checkov: -s
    mvn mvnw mvnd: -fn -D(?:maven\.test\.failure\.ignore|testFailureIgnore)(?:=true)?
    golangci-lint: --issues-exit-code=0
    rspec: --failure-exit-code=0
    make gmake: -[bBdekrRsSwL]*i[a-zA-Z]*
    """
BUILDS_ONLY: Final = r"""
    gradle gradlew: (?:-x|--exclude-task)=.*[tT]est.*
    go: -c
    mvn mvnw mvnd: -D(?:skipTests|skipITs|maven\.test\.skip)(?:=true)?
    """
"""Options with which a command for tests runs none."""

NO_CHECK_WORDS: Final = (
    "watch dev serve start deploy clean update install setup debug ui open deps seed data fixtures report env "
    "db publish release storybook fix"
)
"""A script with such a part in its name does something else: `test:watch`, `build-deps`."""
