"""The table of agent programs: what each is called, where it keeps its files, and how it is seen and attached.

A new program is one entry here and, if its logs are to be read, a reader in `transcripts`. Variables that agents set
for their commands tell them from a person.
"""

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from typing import Final, Literal

from msgspec import Struct

from punchlist.text import cut
from punchlist.text.patterns import compile_later

ProgramName = Literal["claude-code", "codex", "gemini", "qwen", "oh-my-pi", "openclaw", "opencode", "hermes"]


class HomeFolder(Struct, frozen=True):
    """A folder of a program: `inner`, in the folder that a variable names, or else in one of the user's home."""

    variable: str
    default: str
    inner: str = ""


class AgentProgram(Struct, frozen=True, kw_only=True):
    """One program that runs agents. Paths are relative to its home."""

    name: ProgramName
    title: str
    short: str = ""
    """Its name where there is little room, if it is not `name`."""
    home: HomeFolder
    logs: str = ""
    """The folder of its logs of lines."""
    file: str = ""
    """The file that has the list of one session."""
    store: str = ""
    """The file that has the lists of all sessions."""
    is_project_told: bool = True
    """Its files tell which project a session belongs to."""
    is_seen: bool = False
    """Every process of it is found: a conversation that is not found has ended."""

    # Of a program that can be attached.
    place: str = ""
    """The folder or file of ours in its settings; of Codex the file that has our tables."""
    settings: HomeFolder | None = None
    """The folder of its settings, if that is not its home."""
    command: str = ""
    package: str = ""
    """The npm package that installs it."""
    resume: str = ""
    """The words before the id of a conversation that it opens again."""
    restart: str = ""
    """A reason to restart it, for the person."""
    is_version_printed: bool = True
    """It prints its version without writing to its home."""
    no_todos_since: tuple[int, ...] = ()
    """The version from which its own todo tool is off by default."""


PROGRAMS: Final[dict[str, AgentProgram]] = {
    program.name: program
    for program in (
        AgentProgram(
            name="claude-code",
            title="Claude Code",
            short="claude",
            home=HomeFolder("CLAUDE_CONFIG_DIR", ".claude"),
            logs="projects",
            file="projects/*/{session}.jsonl",
            is_seen=True,
            place="skills/punchlist",
            command="claude",
            resume="claude --resume",
            package="@anthropic-ai/claude-code",
            restart="sessions that run already do not see it",
            no_todos_since=(2, 1, 233),
        ),
        AgentProgram(
            name="codex",
            title="Codex",
            home=HomeFolder("CODEX_HOME", ".codex"),
            logs="sessions",
            file="sessions/*/*/*/rollout-*{session}.jsonl*",
            is_seen=True,
            place="config.toml",
            command="codex",
            resume="codex resume",
            package="@openai/codex",
            restart="it asks you to trust the new hooks, and runs none of them before",
            no_todos_since=(0, 152),
        ),
        AgentProgram(
            name="gemini",
            title="Gemini CLI",
            home=HomeFolder("GEMINI_CLI_HOME", "", ".gemini"),
            logs="tmp",
            place="extensions/punchlist",
            command="gemini",
            package="@google/gemini-cli",
            is_version_printed=False,
        ),
        AgentProgram(
            name="qwen",
            title="Qwen Code",
            home=HomeFolder("QWEN_RUNTIME_DIR", ".qwen"),
            logs="projects",
            file="todos/{session}.json",
            is_project_told=False,
        ),
        AgentProgram(
            name="oh-my-pi",
            title="oh-my-pi",
            home=HomeFolder("PI_CODING_AGENT_DIR", ".omp/agent"),
            logs="sessions",
            file="sessions/*/*{session}.jsonl",
        ),
        AgentProgram(
            name="openclaw",
            title="OpenClaw",
            home=HomeFolder("OPENCLAW_STATE_DIR", ".openclaw"),
            logs="agents",
            store="acp/event-ledger.json",
        ),
        AgentProgram(
            name="opencode",
            title="opencode",
            home=HomeFolder("XDG_DATA_HOME", ".local/share", "opencode"),
            file="storage/todo/{session}.json",
            store="opencode.db",
            place="config.json",
            settings=HomeFolder("XDG_CONFIG_HOME", ".config", "opencode"),
            command="opencode",
            package="opencode-ai",
            is_version_printed=False,
        ),
        AgentProgram(
            name="hermes",
            title="Hermes",
            home=HomeFolder("HERMES_HOME", ".hermes"),
            store="state.db",
            is_project_told=False,
        ),
    )
}

ATTACHABLE: Final = {name: program for name, program in PROGRAMS.items() if program.place}


def describe_home(program: AgentProgram) -> str:
    """Return the meaning of the variable that moves a program's home."""
    home = program.home
    what = f"the folder of its home `{home.inner}`" if home.inner else "its home"
    default = f"~/{home.default}".rstrip("/")
    return f"{program.title}'s own: {what}, `{default}` by default"


def find_short_name(name: str) -> str | None:
    """Return a program's name for places with little room; None for a program that is not known."""
    program = PROGRAMS.get(name)
    return None if program is None else program.short or program.name


def name_agent(agent: str, host: str) -> str:
    """Return what people call an agent: the first one of a program, which is `main` to us, by the program's name."""
    return find_short_name(host) or agent if agent == "main" else agent


# The name of a session.

_SHORT_ID: Final = 6
_MADE: Final = compile_later(r"[0-9a-f-]{20,}|.*?(?=[A-Za-z]*[0-9])[0-9A-Za-z]{12,}")
"""An id that a program made: long and hexadecimal, or with a long run of letters and digits at its end."""

_MADE_BY_CLOCK: Final = compile_later(r"([0-9a-f]{8})-[0-9a-f]{4}-1[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
"""A UUID of version 1: its end is that of the machine, the same in all its ids."""

_LONGEST_NAME: Final = 24


def short_id(session: str, alike: Container[str] = ()) -> str:
    """Return the part of a session's id that people read and type: of one that a program made, the random end.

    Those that are `alike` share that part, and are told apart by the whole id.
    """
    if session in alike or not _MADE.fullmatch(session):
        return session
    by_clock = _MADE_BY_CLOCK.fullmatch(session)
    return by_clock[1] if by_clock else session[-_SHORT_ID:].lstrip("-")


def find_alike(sessions: Iterable[str]) -> frozenset[str]:
    """Return the sessions that share their short id with another one."""
    known = frozenset(sessions)
    counts = Counter(map(short_id, known))
    return frozenset(one for one in known if counts[short_id(one)] > 1)


def name_session(
    project: str, session: str, agent: str = "main", host: str = "", worktree: str = "", alike: Container[str] = ()
) -> str:
    """Return the name of an agent on every surface: `api · claude bede30`, with its worktree; a subagent follows."""
    program = find_short_name(host) or host
    who = f"{cut(program or agent, _LONGEST_NAME)} {short_id(session, alike)}".strip()
    part = cut(agent, _LONGEST_NAME) if program and agent != "main" else ""
    folder = cut(project.rstrip("/").rpartition("/")[2], _LONGEST_NAME)
    if worktree:
        folder = f"{folder} ({cut(worktree, _LONGEST_NAME)})"
    # The sign between the parts is in none of them: pages show each in its own way.
    return " · ".join(one.replace(" · ", "·") for one in (folder, who, part) if one)


# Tell a person at the command line from an agent in a shell. This prevents accidents, not forgery.

AGENT_VARIABLES: Final[Mapping[str, str]] = {
    "CLAUDECODE": "Claude Code",
    "CODEX_THREAD_ID": "Codex",
    "CODEX_CI": "Codex",
    "CODEX_SANDBOX": "Codex",
    "CODEX_SANDBOX_NETWORK_DISABLED": "Codex",
    "GEMINI_CLI": "Gemini CLI",
    "QWEN_CODE": "Qwen Code",
    "OPENCODE": "OpenCode",
    "CURSOR_AGENT": "Cursor",
    "COPILOT_CLI": "Copilot CLI",
    "GOOSE_TERMINAL": "goose",
    "CRUSH": "Crush",
    "AMP_CURRENT_THREAD_ID": "Amp",
    "AUGMENT_AGENT": "Auggie",
    "CLINE_ACTIVE": "Cline",
    "ROO_ACTIVE": "Roo Code",
    "OPENCLAW_SHELL": "OpenClaw",
    "PI_CODING_AGENT": "pi",
    "AI_AGENT": "an agent",
}
"""Variables that agents set for the commands they run, each with its agent.

Exact names: a person sets others themselves, such as `CODEX_HOME` or `GOOSE_PROVIDER`.
"""


def doubt_person(environment: Mapping[str, str], *, is_terminal: bool, author: str | None = None) -> str | None:
    """Return why a command is not counted as a person's word; None if it is.

    `is_terminal`: stdin is one. `author` is the name that was given in place of the person's own.
    """
    agent = next((name for name in AGENT_VARIABLES if environment.get(name)), None)
    if agent is not None:
        return f"{agent} is set, so {AGENT_VARIABLES[agent]} runs this command"
    if not is_terminal:
        return "stdin is no terminal"
    if author is not None:
        return "--by gives another author"
    return None
