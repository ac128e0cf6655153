"""The commands that run another command."""

from __future__ import annotations

from typing import Final

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
