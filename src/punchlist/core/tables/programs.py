"""The programs that only read, that write nothing which a check would look at, run others, or print secrets."""

from typing import Final

READS: Final = """
    : [ [[ b2sum base32 basename bzcat cal cat cd cksum cmp column comm cut df diff dir dirname
    dirs du echo egrep exa expand expr eza false fgrep fmt fold free getconf getent grep groups head hexdump id join
    jq last locale ls lsblk lscpu md5sum netstat nl nproc od paste pgrep popd printenv ps pushd pwd
    readlink realpath rev seq set sha1sum sha224sum sha256sum sha384sum sha512sum sleep stat strings sum tac tail
    test tr true tty type uname unexpand uptime users w wc whatis whereis which who whoami xzcat xzgrep zcat zgrep
    """
"""Nothing that these can be given writes a file, runs a command or asks the network to change something."""

RECORDS: Final = """
    exit return export unset alias shift trap ulimit umask local read wait top lsof ping dig nslookup host bc man help
    history jobs locate more less cloc tokei scc mkdir kill pkill killall pip3 pip apt apt-get brew yum dnf apk conda
    nvm pyenv rbenv corepack env declare typeset readonly hash shopt less clear time disown history venv virtualenv
    uvicorn gunicorn hypercorn daphne http.server redis-server http-server live-server nodemon ngrok
    psql mysql sqlite3 redis-cli mongosh
    """
"""These write nothing that a check looks at, or only packages, processes and databases."""

READ_VERBS: Final = """
    docker: ps images logs inspect version info top stats port diff history search container+ls image+ls volume+ls
    docker: network+ls compose+ps compose+logs
    kubectl: get describe logs version explain top api-resources api-versions cluster-info
    gh: pr+view issue+view run+view repo+view release+view workflow+view search+code search+issues search+prs
    gh: pr+list issue+list run+list repo+list release+list workflow+list pr+diff pr+status pr+checks
    gh: issue+status auth+status
    npm: ls list view outdated root prefix
    pip pip3: list show freeze check
    uv: pip+list pip+show pip+freeze pip+tree pip+check version python+list
    cargo: tree search
    go: version doc
    systemctl: status list-units list-unit-files is-active is-enabled is-failed show cat
    brew: list info search
    apt: list show search
    dpkg: -l -L -s -S --list --status
    """
"""Programs with the verbs that read, one word or two, which have to come first."""

RECORD_VERBS: Final = """
    git: add commit push fetch tag branch remote grep ls-remote reflog worktree notes format-patch archive bundle var
    git: help fsck gc init config
    jj: status st log diff show commit describe git
    docker: push tag pull start stop restart kill rm rmi login exec compose
    docker-compose: up down start stop restart ps logs pull exec
    kubectl: port-forward
    npm: install i ci add uninstall remove rm un update why explain whoami pack audit cache config start
    pnpm: install i add remove rm update up ls list why outdated start dev
    yarn: install add remove list why info start dev
    bun: install i add remove
    bundle gem: install update list show info check outdated
    composer: install update require remove show
    npm pnpm yarn bun: run+dev run+start run+serve run+preview
    yarn vite: -
    vite next nuxt astro: dev start serve preview
    flask: run routes
    rails: s server c console routes
    playwright: install install-deps
    make gmake just task: help
    uv: sync tree export lock add remove pip venv python tool
    poetry: install lock add show env
    cargo: metadata version locate-project fetch install add
    go: list env mod get
    terraform: show output providers version graph init
    helm: list status history get version
    gh: pr issue run api search auth browse status release repo
    glab: mr issue ci api auth
    systemctl: start stop restart reload
    """
"""Programs with the verbs that record, one word or two; `-` is a program without any."""

VERSIONED: Final = """
    bun cargo clang cmake deno docker gcc gh git go gradle java javac kubectl make mvn node npm npx perl php pip pip3
    pnpm poetry psql pytest python python3 ruby ruff rustc rustup sqlite3 terraform tsc uv yarn
    """
"""Programs that may be asked for their version or help, and for nothing else."""

GIT_READS: Final = (
    "status log diff show rev-parse ls-files ls-tree blame annotate describe shortlog cat-file rev-list name-rev "
    "merge-base show-ref for-each-ref count-objects diff-tree diff-index diff-files whatchanged cherry version "
    "check-ignore check-attr range-diff show-branch"
)
GIT_LISTS: Final = """
    stash notes: list show
    remote: get-url
    worktree: list
    submodule: status
    reflog: show
    bisect: log
    config: --get --get-all --get-regexp --list -l get list
    """

WRITING_OPTIONS: Final = """
    fd fdfind: --exec --exec-batch -x -X
    rg: --pre --hostname-bin
    sort: --output --compress-program --temporary-directory -o -T
    base64: --output -o
    ss: --kill -K
    lsof: -D
    bat ag: --pager
    ack: --pager --output
    xxd: -r
    tree: --output -o -R
    file: --compile -C
    date: --set -s
    hostname: --file -F -b
    yq: --inplace --in-place --split-exp -i -s
    journalctl: --vacuum --rotate --flush --sync --update-catalog --setup-keys --cursor-file
    git: --output --open-files-in-pager --exec
    """
"""Programs that read, but for these options, with which they write or run something."""

_ENGINES: Final = "docker podman docker+compose docker-compose"
_CONTAINER_RUNS: Final = " ".join(f"{engine}+{verb}" for engine in _ENGINES.split() for verb in ("exec", "run"))
CONTAINERS: Final = f"kubectl+exec {_CONTAINER_RUNS}"
WRAPPERS: Final = f"""
    nohup setsid command builtin unbuffer chronic rye+run pipenv+run hatch+run pnpx yarn+exec bun+x bundle+exec:
    mise+exec mise+x asdf+exec taskset direnv+exec:
    timeout gtimeout: -k --kill-after -s --signal
    time: -f -o
    nice: -n
    ionice: -c -n
    stdbuf: -i -o -e
    sudo: -u -g -C -D -h -p --user --group
    doas: -u
    exec: -a
    caffeinate: -t -w
    xvfb-run: -s -n -e -f --server-args --server-num
    flock: -w --timeout -E
    env: -u --unset -C --chdir
    uv+run uvx uv+tool+run: --with --with-requirements --with-editable --extra --no-extra --group --no-group --index-url
    uv+run uvx uv+tool+run: --only-group -p --python --directory --project --env-file --package --index --from
    uv+run uvx uv+tool+run: --extra-index-url --config-file --cache-dir
    pipx+run: --spec --python
    poetry+run: -C -P --directory --project
    pdm+run: -p --project
    conda+run mamba+run micromamba+run: -n -p --name --prefix --cwd
    pixi+run: -e --environment --manifest-path
    npx bunx yarn+dlx: -p --package
    npm+exec: -p --package -w --workspace --prefix
    pnpm+exec: -F --filter -C --dir
    pnpm+dlx: --package
    coverage+run: --source --rcfile --data-file --include --omit --context --concurrency
    devbox+run: -c --config
    doppler+run: -p --project -c --config
    xargs: -n -P -I -d -L -s -a -E --max-args --max-procs --delimiter --arg-file
    dotenv+run dotenvx+run: -f
    op+run: --env-file
    {CONTAINERS}: -e --env -w --workdir -u --user --index -f --file -p --project-name --name -v --volume --entrypoint
    {CONTAINERS}: -n --namespace -c --container --env-file --network --mount --platform --context --profile
    """
"""Commands that run another, by the words that begin them, each with its options that have a value."""

MOVES: Final = """
    uv+run uvx: --directory
    poetry+run: -C --directory
    pnpm+exec: -C --dir
    npm+exec: --prefix
    conda+run mamba+run micromamba+run: --cwd
    env: -C --chdir
    """
"""Wrappers that run the command in a folder, with the options that name it."""

PRINTS_SECRET: Final = r"""
    vault read -field
    vault kv get -field
    op read
    op item get --reveal|--fields
    pass show
    gopass show -\w*o|--password
    aws secretsmanager get-secret-value
    aws ssm get-parameter --with-decryption
    gcloud secrets versions access
    kubectl|oc get (?:.*,)?secrets?(?:[.,/].*)?
    security find-generic-password|find-internet-password -\w*w\w*
    az keyvault secret show
    bw get password|totp|notes
    heroku config:get
    terraform|tofu output -raw
    openssl rand
    doppler secrets get --plain
    chamber read -\w*q|--quiet
    secret-tool lookup
    """
"""Patterns of words that stand in a command in this order; an option may have its value behind `=`."""
