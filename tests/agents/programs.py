"""The real agents, each in a fresh home with a stand-in for its model API; `make agents` installs them.

A program sees nothing of the machine's environment (`env -i`) and no network but loopback: every proxy variable names
a closed port.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Self

from tests.agents.model_api import AnthropicApi, ChatApi, GeminiApi, ModelApi, ResponsesApi, Script

# Port 9 is "discard": nobody listens there, so that a connection fails at once.
_NO_NETWORK = "http://127.0.0.1:9"
_KEY = "stand-in-key-of-a-scripted-model-api"


def find_agents_folder() -> Path:
    """Return where `make agents` puts the programs: `$PUNCHLIST_AGENTS_DIR`, else `.agents` in the project."""
    named = os.environ.get("PUNCHLIST_AGENTS_DIR")
    return Path(named) if named else Path(__file__).parents[2] / ".agents"


@cache
def find_programs() -> Path:
    """Return the folder of the programs' commands; raise FileNotFoundError if they are not installed."""
    programs = find_agents_folder() / "node_modules" / ".bin"
    if not (programs / "claude").exists():
        raise FileNotFoundError(f"no agents in {programs}: run `make agents`")
    return programs


@dataclass(frozen=True)
class Sandbox:
    """A home and a project folder of one test, and the environment that its programs see."""

    home: Path
    project: Path
    variables: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def env(self) -> dict[str, str]:
        # The commands of this checkout come first: `punchlist` and its hook are found by name.
        path = [os.path.dirname(sys.executable), str(find_programs()), "/usr/local/bin", "/usr/bin", "/bin"]
        return {
            "HOME": str(self.home),
            "PATH": os.pathsep.join(path),
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
            "TERM": "xterm-256color",
            "TMPDIR": str(self.temporary),
            "HTTP_PROXY": _NO_NETWORK,
            "HTTPS_PROXY": _NO_NETWORK,
            "NO_PROXY": "127.0.0.1,localhost",
            **self.variables,
        }

    @property
    def temporary(self) -> Path:
        return self.home.parent / "tmp"

    def run(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, text: str = "", timeout: float = 90
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the project folder to its end; its exit status is the caller's to judge."""
        return subprocess.run(
            argv,
            cwd=self.project,
            env=self.env | dict(env or {}),
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )

    def end_processes(self) -> None:
        """Kill every process that still runs in this home: Codex leaves a daemon, a killed agent its children."""
        home = f"HOME={self.home}".encode()
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if home in (folder / "environ").read_bytes().split(b"\0"):
                    os.kill(int(folder.name), signal.SIGKILL)
            except OSError:
                continue  # it ended meanwhile, or is not ours


def make_sandbox(folder: Path, variables: Mapping[str, str] | None = None) -> Sandbox:
    """Make a home, a git project and a folder for temporary files under a folder."""
    sandbox = Sandbox(folder / "home", folder / "project", dict(variables or {}))
    for made in (sandbox.home, sandbox.project, sandbox.temporary):
        made.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(sandbox.project)], check=True)
    return sandbox


class Program:
    """A real agent: its settings in the sandbox, its environment and its commands. Open it as a context manager."""

    name: str
    api_class: type[ModelApi]

    def __init__(self, sandbox: Sandbox, script: Script = ()) -> None:
        self.sandbox = sandbox
        self.api = self.api_class(script)

    def __enter__(self) -> Self:
        self.api.__enter__()
        self.configure()
        return self

    def __exit__(self, *reason: object) -> None:
        self.sandbox.end_processes()
        self.api.__exit__(None, None, None)

    @property
    def env(self) -> dict[str, str]:
        """The whole environment of the program."""
        return self.sandbox.env | self.variables

    @property
    def variables(self) -> dict[str, str]:
        """The variables by which the program finds its stand-in and stays quiet."""
        return {}

    def configure(self) -> None:
        """Write the settings that a person would have after the first start."""

    def headless(self, prompt: str, *options: str) -> list[str]:
        """Return the command that runs one prompt without a terminal."""
        raise NotImplementedError

    def run(self, prompt: str, *options: str, timeout: float = 90) -> subprocess.CompletedProcess[str]:
        """Run one prompt without a terminal; a failure shows both outputs and the requests that were made."""
        done = self.sandbox.run(self.headless(prompt, *options), env=self.variables, timeout=timeout)
        if done.returncode != 0:
            requests = [f"{request.method} {request.path}" for request in self.api.requests]
            raise AssertionError(
                f"{self.name} exited with {done.returncode}\n{done.stdout}\n{done.stderr}\nrequests: {requests}"
            )
        return done

    def version(self) -> str:
        return self.sandbox.run([self.name, "--version"], env=self.variables).stdout.strip()


class ClaudeCode(Program):
    name = "claude"
    api_class = AnthropicApi

    @property
    def variables(self) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": self.api.url,
            "ANTHROPIC_API_KEY": _KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
        }

    def configure(self) -> None:
        settings = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [_KEY[-20:]], "rejected": []},
            "projects": {
                str(self.sandbox.project): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
            },
        }
        (self.sandbox.home / ".claude.json").write_text(json.dumps(settings), encoding="utf-8")

    def headless(self, prompt: str, *options: str) -> list[str]:
        return ["claude", "-p", *options, "--", prompt]


class Codex(Program):
    name = "codex"
    api_class = ResponsesApi

    @property
    def variables(self) -> dict[str, str]:
        return {"STAND_IN_KEY": _KEY}

    @property
    def config(self) -> Path:
        return self.sandbox.home / ".codex" / "config.toml"

    def configure(self) -> None:
        self.config.parent.mkdir(exist_ok=True)
        self.config.write_text(
            f"""model = "stand-in"
model_provider = "stand_in"
check_for_update_on_startup = false

[model_providers.stand_in]
name = "stand-in"
base_url = "{self.api.url}/v1"
wire_api = "responses"
env_key = "STAND_IN_KEY"

[projects."{self.sandbox.project}"]
trust_level = "trusted"
""",
            encoding="utf-8",
        )

    def start_daemon(self) -> None:
        """Start the daemon before a terminal: one that has to wait long for it goes on without."""
        done = self.sandbox.run(["codex", "app-server", "daemon", "start"], env=self.variables)
        assert done.returncode == 0, done.stdout + done.stderr

    def __exit__(self, *reason: object) -> None:
        super().__exit__(*reason)
        # The daemon of the interactive program brings a copy of itself, of 436 MB.
        shutil.rmtree(self.config.parent / "packages", ignore_errors=True)

    def headless(self, prompt: str, *options: str) -> list[str]:
        return ["codex", "exec", "--sandbox", "danger-full-access", *options, prompt]


class Opencode(Program):
    name = "opencode"
    api_class = ChatApi

    @property
    def variables(self) -> dict[str, str]:
        return {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            # Beside a plugin file it installs a package of types, and would try for 70 s to reach the registry.
            "npm_config_fetch_retries": "0",
        }

    def configure(self) -> None:
        options = {"baseURL": f"{self.api.url}/v1", "apiKey": _KEY}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "stand-in", "options": options}
        settings = {
            "$schema": "https://opencode.ai/config.json",
            "model": "stand-in/model",
            "autoupdate": False,
            "share": "disabled",
            "provider": {"stand-in": provider | {"models": {"model": {"name": "model"}}}},
        }
        folder = self.sandbox.home / ".config" / "opencode"
        folder.mkdir(parents=True)
        (folder / "opencode.json").write_text(json.dumps(settings), encoding="utf-8")

    def headless(self, prompt: str, *options: str) -> list[str]:
        return ["opencode", "run", *options, prompt]


class Gemini(Program):
    name = "gemini"
    api_class = GeminiApi

    @property
    def variables(self) -> dict[str, str]:
        return {
            "GOOGLE_GEMINI_BASE_URL": self.api.url,
            "GEMINI_API_KEY": _KEY,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_CLI_NO_RELAUNCH": "true",  # else it starts a second Node with more memory
        }

    def configure(self) -> None:
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
        }
        folder = self.sandbox.home / ".gemini"
        folder.mkdir()
        (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")

    def headless(self, prompt: str, *options: str) -> list[str]:
        return ["gemini", *options, "-p", prompt]


PROGRAMS: dict[str, type[Program]] = {one.name: one for one in (ClaudeCode, Codex, Opencode, Gemini)}
