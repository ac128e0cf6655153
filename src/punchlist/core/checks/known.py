"""The commands that are known to be checks, in the notation of `patterns`, separated by commas."""

from typing import Final

TEST: Final = """
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
BUILD: Final = """
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
LINT: Final = """
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
PROBE: Final = """
    curl -f|--fail|--fail-with-body, wget --spider, hurl --test, pg_isready, kubectl wait, kubectl rollout status,
    wait-for-it.sh, http --check-status, https --check-status, xh --check-status
"""
