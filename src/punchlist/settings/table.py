"""Every setting: what it may be, its variable, its key in the file `config.toml`; and reading that file.

A field of a Struct below is one key of the file. Its `Meta` says, once for the errors, the docs and `punchlist config`:
`description`, what it means; `title`, what it may be; `extra["variable"]`, the variable above it, if it has one;
`extra["is_secret"]`, that its value is not shown in lists and errors.
To add a key, add a field and run `make docs`.
"""

# Without `from __future__ import annotations`: commands read these types, and to evaluate texts would take them 1 ms.

import os
import re
import stat
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, Literal, cast, get_args, get_origin

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import fields

from punchlist.core.inputs import split_message
from punchlist.core.programs import ProgramName
from punchlist.errors import ConfigInvalid, SettingsFileInvalid, SettingUnknown, suggest
from punchlist.settings import settings_path
from punchlist.settings.servers import hide_password
from punchlist.text import for_terminal

HIDDEN = "…"
"""Stands for a value that is secret."""

ADDRESSES = ("db", "server")
"""Keys whose value may hold a password."""

MOST_PREVIEW = 10_000
"""Characters."""


def _about(meaning: str, variable: str = "") -> Meta:
    return Meta(description=meaning, extra={"variable": variable} if variable else None)


# What a value may be.

Durability = Literal["full", "normal"]
"""`full`: a durable write survives power loss. `normal`: it survives a crash of the program."""

Profile = Literal["quiet", "classic", "off"]
ConversationForm = Literal["line", "list", "off"]
Wake = Literal["answers", "edits", "never"]
FactName = Literal["waits", "finished", "stalled", "red"]
TerminalWay = Literal["auto", "bell", "osc9", "osc777"]
WebhookFormat = Literal["json", "slack", "discord"]
Share = Literal["lines", "grades"]
Steer = Literal["owner", "team"]

Switch = Annotated[bool, Meta(title="`on` or `off`, in the file `true` or `false`")]
Tries = Annotated[int, Meta(ge=0, le=999)]
# Four months: a longer time is a mistake of typing.
Silence = Annotated[float, Meta(ge=0, le=10_000_000, title="a number of seconds")]
Lease = Annotated[float, Meta(gt=0, le=86_400, title="a number of seconds, up to a day")]
_AGES = {"h": "hours", "d": "days", "w": "weeks"}
Age = Annotated[str, Meta(pattern=r"^0*[1-9][0-9]{0,4} ?[hdw]$", title="a time such as `12h` or `30d`")]
_HOURS = r"^$|^([01][0-9]|2[0-3]):[0-5][0-9] ?- ?([01][0-9]|2[0-3]):[0-5][0-9]$"
Hours = Annotated[str, Meta(pattern=_HOURS, title="two times of the day, such as `22:00-07:00`")]
Preview = Annotated[int, Meta(ge=0, le=MOST_PREVIEW, title="a whole number from 0 to 10000")]
FolderPath = Annotated[str, Meta(pattern=r"^~?/")]
ShellCommand = Annotated[str, Meta(title="a shell command")]
_SECRET = {"is_secret": True}
Token = Annotated[str, Meta(title="a text", extra=_SECRET)]
NtfyUrl = Annotated[str, Meta(title="an address such as `https://ntfy.sh/TOPIC`", extra=_SECRET)]
ServerUrl = Annotated[str, Meta(pattern=r"^$|^https?://[^/?#@\s]+/?$", title="an address such as `https://HOST`")]
WebhookUrl = Annotated[str, Meta(title="an address with `https://` or `http://`", extra=_SECRET)]


# The tables of the file.


class StallSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[stall]`: when an agent counts as stalled."""

    after: Annotated[
        Silence,
        _about("seconds of silence after which an agent counts as stalled, 0 for never", "PUNCHLIST_STALL_AFTER"),
    ] = 300.0


class GateSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[gates]`: commands that stand before a change of a task."""

    create: Annotated[
        ShellCommand,
        _about("a command that may refuse new tasks, of any program and on any list", "PUNCHLIST_GATE_CREATE"),
    ] = ""
    complete: Annotated[
        ShellCommand, _about("a command that may refuse the completion of a task", "PUNCHLIST_GATE_COMPLETE")
    ] = ""


class NtfySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[notify.ntfy]`: a topic of ntfy."""

    url: Annotated[
        NtfyUrl, _about("the ntfy topic to which notifications are published; who knows it can read them")
    ] = ""
    token: Annotated[Token, _about("the access token of a protected topic")] = ""


class WebhookSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[notify.webhook]`: an address that takes messages, of a chat or of your own."""

    url: Annotated[WebhookUrl, _about("the address to which notifications are posted")] = ""
    format: Annotated[
        WebhookFormat,
        Meta(title="`json`, `slack` or `discord`"),
        _about(
            "`json` (all fields), or the words alone as Slack, Mattermost and Google Chat (`slack`) or "
            "Discord take them"
        ),
    ] = "json"
    token: Annotated[Token, _about("sent as `Authorization: Bearer …`")] = ""


class NotifySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[notify]`: what you are told about, and how."""

    facts: Annotated[
        tuple[FactName, ...],
        Meta(title="any of `waits`, `finished`, `stalled`, `red`"),
        _about("what `punchlist notify` tells you: an agent waits on you, finishes, falls silent, turns red"),
    ] = get_args(FactName)
    terminal: Annotated[
        tuple[TerminalWay, ...],
        Meta(title="any of `auto`, `bell`, `osc9`, `osc777`, or nothing"),
        _about(
            "how the terminal in which it runs notifies you; `auto` is the bell, and the escape that the "
            "terminal is likely to know"
        ),
    ] = ("auto",)
    command: Annotated[
        tuple[str, ...],
        Meta(title="a program and its arguments"),
        _about("a program that is run for each notification, with JSON on its standard input"),
    ] = ()
    ntfy: NtfySettings = NtfySettings()
    webhook: WebhookSettings = WebhookSettings()
    quiet: Annotated[
        Hours, _about("quiet hours, in local time; what happens in them is told in one message at their end")
    ] = ""
    progress: Annotated[Switch, _about("also send the progress of agents to the command, ntfy and the webhook")] = False


class WatchSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[watch]`: which agents' logs are read, by `punchlist watch`, `top` and the server."""

    agents: Annotated[
        tuple[ProgramName, ...],
        Meta(title=f"names among {', '.join(get_args(ProgramName))}"),
        _about("agents whose logs are read; by default all that are found here"),
    ] = get_args(ProgramName)
    folders: Annotated[
        tuple[FolderPath, ...],
        Meta(title="absolute paths, or ones that begin with `~/`"),
        _about("only sessions that work in one of these folders are watched; by default all"),
    ] = ()
    since: Annotated[
        Age, _about("logs that were last written before are read once they grow; `--since` is above it")
    ] = "7d"


class PanelSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[panel]`: how `punchlist top` looks. Its keys write this table."""

    lists: Annotated[Switch, _about("`punchlist top` shows what is done in lists item by item; its key ctrl+t")] = False
    notify: Annotated[Switch, _about("`punchlist top` notifies you, as `punchlist notify` does; its key n")] = False


class TeamSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[team]`: the server to which the agents of some projects report. `attach --server` writes it."""

    server: Annotated[
        ServerUrl, _about("the team's server, to which agents of the projects below report; empty for none")
    ] = ""
    projects: Annotated[
        tuple[str, ...],
        Meta(title="addresses of repositories, such as `git.example.org/shop`"),
        _about("the projects whose sessions go to the team's server, by the address that they were cloned from"),
    ] = ()
    share: Annotated[
        Share,
        Meta(title="`lines` or `grades`"),
        _about("`lines` sends a line of each tool call with its secrets masked, `grades` sends none"),
    ] = "lines"
    steer: Annotated[
        Steer,
        Meta(title="`owner` or `team`"),
        _about(
            "whose words begin a turn of an idle agent by way of the server: of the `owner` of its token, or of all"
        ),
    ] = "owner"


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys at the top of the file, and its tables."""

    db: Annotated[
        str,
        Meta(title="an absolute path, one that begins with `~/`, `sqlite:////…` or `postgresql://…`"),
        _about(
            "the board to use; by default the user's own. The variable may also be a relative path or `memory:`",
            "PUNCHLIST_DB",
        ),
    ] = ""
    server: Annotated[
        str,
        Meta(title="`https://HOST`, or `http://` on this machine"),
        _about(
            "the server whose board `now`, `todos`, `answer`, `tasks` and others show and change, as with `--server`; "
            "empty for the board of this machine",
            "PUNCHLIST_SERVER",
        ),
    ] = ""
    durability: Annotated[
        Durability,
        Meta(title="`full` or `normal`"),
        _about("`full` (a write survives power loss) or `normal` (it survives a crash)", "PUNCHLIST_DURABILITY"),
    ] = "full"
    profile: Annotated[
        Profile,
        Meta(title="`quiet`, `classic` or `off`"),
        _about("how much attached agents are told about their lists", "PUNCHLIST_PROFILE"),
    ] = "quiet"
    stop_tries: Annotated[
        Tries | None,
        Meta(title="a number from 0 to 999"),
        _about(
            "how often an attached agent is asked to go on per prompt, 0 for never; by default as the profile says",
            "PUNCHLIST_STOP_TRIES",
        ),
    ] = None
    conversation: Annotated[
        ConversationForm,
        Meta(title="`line`, `list` or `off`"),
        _about("what an attached agent shows you under a call that changed its list", "PUNCHLIST_CONVERSATION"),
    ] = "line"
    wake: Annotated[
        Wake,
        Meta(title="`answers`, `edits` or `never`"),
        _about(
            "what begins a turn of an idle agent, which costs you one: `answers` to it and decisions on its plans, "
            "`edits` of its list too, or nothing; the rest comes with its next turn",
            "PUNCHLIST_WAKE",
        ),
    ] = "answers"
    todos: Annotated[
        Switch, _about("`off` offers no agent a todo tool, and no model is told about one", "PUNCHLIST_TODOS")
    ] = True
    leftovers: Annotated[
        Switch,
        _about("`off` tells no new conversation of the open items that an ended one left", "PUNCHLIST_LEFTOVERS"),
    ] = True
    dialect: Annotated[
        tuple[str, ...],
        Meta(title="names that `punchlist dialects` lists"),
        _about("the todo tools that `punchlist mcp` offers to agents that you attach; `--dialect` is above it"),
    ] = ("punchlist", "punchlist-tasks")
    previews: Annotated[
        Preview,
        _about(
            "the most characters that are kept of a tool's arguments and of its result, 0 for none",
            "PUNCHLIST_PREVIEWS",
        ),
    ] = 160
    redact: Annotated[
        tuple[str, ...],
        Meta(title="regular expressions"),
        _about(
            "text that is masked before a tool call is recorded or told of; the patterns of the file, "
            "the one of the variable and those of a program add up",
            "PUNCHLIST_REDACT",
        ),
    ] = ()
    checks: Annotated[
        tuple[str, ...],
        Meta(title="commands, each as it is run, such as `npm run build`"),
        _about(
            "commands that count as checks in every project: exit code 0 after the last change verifies. A project "
            "names its own in `.punchlist.toml`, which `punchlist trust` makes count"
        ),
    ] = ()
    decide_without_terminal: Annotated[
        Switch,
        _about(
            "`punchlist answer` and `plan` also decide where stdin is no terminal, as in a script of yours; where an "
            "agent runs them they never do. Only a person sets it"
        ),
    ] = False
    retain: Annotated[
        Age | Literal[""],
        Meta(title="a time such as `90 d`, or nothing"),
        _about(
            "sessions without a change for so long are deleted, with their lists, tool calls and events, while `top`, "
            "`serve`, `watch` or `notify` runs; by default all are kept",
            "PUNCHLIST_RETAIN",
        ),
    ] = ""
    lease: Annotated[Lease, _about("seconds that a claim on a task lasts without a heartbeat", "PUNCHLIST_LEASE")] = (
        900.0
    )
    timer_horizon: Annotated[
        Age, _about("the longest timer that a model may set for a flow", "PUNCHLIST_TIMER_HORIZON")
    ] = "30d"
    stall: StallSettings = StallSettings()
    gates: GateSettings = GateSettings()
    notify: NotifySettings = NotifySettings()
    watch: WatchSettings = WatchSettings()
    panel: PanelSettings = PanelSettings()
    team: TeamSettings = TeamSettings()


class SettingEntry(Struct, frozen=True):
    """A key of the file, as `punchlist config` and the docs describe it."""

    key: str
    type: Any
    default: Any
    meaning: str
    allowed: str
    variable: str = ""
    """The variable above it; empty if it has none."""
    is_secret: bool = False
    """Its value is not shown unless it is asked for by its key."""


@cache
def list_entries() -> dict[str, SettingEntry]:
    """Return every setting by its key, which has a dot for those of tables, as in `stall.after`."""
    return {entry.key: entry for entry in _describe_fields(Settings, "")}


def _describe_fields(kind: type[Struct], prefix: str) -> Iterator[SettingEntry]:
    for field in fields(kind):
        name = f"{prefix}{field.encode_name}"
        hint: Any = field.type
        if _is_table(hint):
            yield from _describe_fields(hint, f"{name}.")
            continue
        found: dict[str, Any] = {}
        for meta in hint.__metadata__:
            said: dict[str, Any] = {"meaning": meta.description, "allowed": meta.title, **(meta.extra or {})}
            found |= {about: text for about, text in said.items() if text}
        yield SettingEntry(name, hint, field.default, **found)


def read_age(text: str) -> timedelta:
    """Return the length of a time such as `12h`, `30d` or `8w`."""
    return timedelta(**{_AGES[text[-1]]: int(text[:-1])})


def _is_table(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Struct)


def find_entry(key: str) -> SettingEntry:
    """Return the entry of a key; raise `SettingUnknown` with a near name if there is none."""
    entries = list_entries()
    if key in entries:
        return entries[key]
    raise SettingUnknown(key=for_terminal(key[:200]), near=suggest(key, entries))


def show_value(value: Any) -> str:
    """Return a value as a person types it; empty for one that is not set."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple | list):
        return " ".join(map(show_value, cast("Sequence[Any]", value)))
    return "" if value is None else str(value)


# Reading.

_DEFAULTS = Settings()
_loaded: tuple[object, Settings] | None = None
"""The file as it was read last, with what `stat` said of it then: a change of the file empties it."""


def load_settings() -> Settings:
    """Return the settings of the file, with their defaults; raise `SettingsFileInvalid` if it cannot be used."""
    global _loaded  # noqa: PLW0603 - one file, read once
    path = settings_path()
    try:
        found = os.stat(path)
    except OSError:  # most people have no such file
        return _DEFAULTS
    seen = (path, found.st_ino, found.st_size, found.st_mtime_ns)
    if _loaded is None or _loaded[0] != seen:
        _loaded = seen, parse_settings_file(path, read_settings_file(path))
    return _loaded[1]


def read_setting(key: str, given: object = None) -> Any:
    """Return the value in force: `given` by the caller, else the variable's, else that of the file or the default."""
    entry = find_entry(key)
    if given not in (None, ""):
        return parse_words(entry, [str(given)])
    text = os.environ.get(entry.variable)
    if text:
        return parse_words(entry, [text], name=entry.variable)
    return attrgetter(key)(load_settings())


def parse_words(entry: SettingEntry, words: Sequence[str], *, name: str = "") -> Any:
    """Return the value that a person typed for a key; raise `ConfigInvalid` if it may not be that."""
    given: Any = " ".join(words)
    if get_origin(_plain_type(entry)) in (tuple, list):
        given = [word for word in words if word]
    elif _plain_type(entry) is bool:
        given = {"on": True, "off": False}.get(given, given)
    value: Any = None
    try:
        value = convert(given, entry.type, strict=False)
        problem = _find_problem(entry, value)
    except ValidationError:
        problem = f"use {entry.allowed}"
    if problem:
        raise ConfigInvalid(name=name or entry.key, value=_show_refused(entry, " ".join(words)), problem=problem)
    return value


def _show_refused(entry: SettingEntry, value: Any) -> str:
    """Return a value that a setting cannot have, as an error names it."""
    if entry.is_secret:
        return HIDDEN
    text = show_value(value)
    return for_terminal((hide_password(text) if entry.key in ADDRESSES else text)[:80])


def read_settings_file(path: str) -> str:
    """Return the text of the file; raise `SettingsFileInvalid` if it cannot be read, or others may write it."""
    try:
        with open(path, encoding="utf-8", newline="", opener=_open_at_once) as file:
            mode = os.fstat(file.fileno()).st_mode
            text = "" if stat.S_ISFIFO(mode) else file.read()
    except (OSError, UnicodeDecodeError) as error:
        problem = error.strerror if isinstance(error, OSError) else "it is not written in UTF-8"
        raise SettingsFileInvalid(file=path, problem=f"{problem}; mend it or move it away") from None
    if stat.S_ISFIFO(mode):
        raise SettingsFileInvalid(file=path, problem="it is a pipe; use a file")
    # The file may name commands. Windows has no such modes; a group is often the user's own.
    if os.name == "posix" and stat.S_ISREG(mode) and mode & stat.S_IWOTH:
        problem = "every user of this machine may write it; run `chmod 600` on it after you have checked what is in it"
        raise SettingsFileInvalid(file=path, problem=problem)
    return text


def _open_at_once(path: str, flags: int) -> int:
    """Open a file for reading; a pipe, too, without waiting for its writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def parse_settings_file(path: str, text: str) -> Settings:
    """Return the settings in a text; raise `SettingsFileInvalid`, which names the file, the key and what is allowed."""
    import tomllib  # only for people who have the file

    try:
        given = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        problem = f"it is no TOML: {error}; mend it or move it away"
        raise SettingsFileInvalid(file=path, problem=problem) from None
    try:
        settings = convert(given, Settings)
    except ValidationError as error:
        raise SettingsFileInvalid(file=path, problem=_explain(str(error), given)) from None
    for key, value in (("db", settings.db), ("redact", settings.redact), ("checks", settings.checks)):
        problem = _find_problem(find_entry(key), value)
        if problem:
            shown = _show_refused(find_entry(key), value)
            raise SettingsFileInvalid(file=path, problem=f"`{key}` cannot be `{shown}`: {problem}")
    return settings


def _find_problem(entry: SettingEntry, value: Any) -> str:
    """Return what a type cannot say about a value; empty if there is nothing wrong with it."""
    if entry.key == "db" and value and not value.startswith(("/", "~/", "sqlite:////", "postgresql://", "postgres://")):
        return f"use {entry.allowed}"
    for pattern in value if entry.key == "redact" else ():
        if problem := find_pattern_problem(pattern):
            return problem
    problems = (find_check_problem(command) for command in (value if entry.key == "checks" else ()))
    return next((problem for problem in problems if problem), "")


def find_check_problem(command: str) -> str:
    """Return why a text is no command that can be recognised when it is run; empty if it is."""
    from punchlist.core.checks.outcome import find_bare_command  # few people name checks

    if find_bare_command(command):
        return ""
    return f"`{for_terminal(command[:80])}` is not one command: a check has no `||`, `;` or pipe"


def find_pattern_problem(pattern: str) -> str:
    """Return why a text is no regular expression that can be one of several; empty if it is."""
    try:
        re.compile(f"(?:{pattern})")
    except re.error as error:
        return f"it is no regular expression: {error}"
    return ""


def load_settings_table() -> dict[str, Any]:
    """Return the values that stand in the file, by key; empty if there is no file."""
    import tomllib

    path = settings_path()
    table: Any = tomllib.loads(read_settings_file(path)) if os.path.exists(path) else {}
    return {key: value for key in list_entries() if (value := _find_in(table, key)) is not None}


def _find_in(table: Any, key: str) -> Any:
    for part in key.split("."):
        if not isinstance(table, dict) or part not in table:
            return None
        table = cast("dict[str, Any]", table)[part]
    return table


def _explain(said: str, given: dict[str, Any]) -> str:
    """Turn msgspec's message into one for a person."""
    problem, key, unknown = split_message(said)
    entries = list_entries()
    if unknown is not None:
        key = for_terminal(f"{key}.{unknown}".lstrip(".")[:200])
        tables = [field.encode_name for field in fields(Settings) if _is_table(field.type)]
        return f"there is no key `{key}`{suggest(key, [*entries, *tables])}; correct or remove it"
    entry = entries.get(key.partition("[")[0])
    if entry is None:
        return f"`{key}`: {problem.replace('`object`', 'a table')}"
    return f"`{key}` cannot be `{_show_refused(entry, str(_find_in(given, entry.key)))}`: use {entry.allowed}"


def _plain_type(entry: SettingEntry) -> Any:
    return get_args(entry.type)[0] if get_origin(entry.type) is Annotated else entry.type


# Writing.


def set_setting(path: str, key: str, value: Any) -> None:
    """Write one key into the file and keep everything else in it, comments too; refuse what would make it invalid.

    The file is replaced as a whole, for its owner alone: it may hold addresses that are secret.
    """
    import tomlkit
    from tomlkit.exceptions import ParseError

    text = read_settings_file(path) if os.path.lexists(path) else ""
    try:
        document = tomlkit.parse(text)
    except ParseError as error:
        raise SettingsFileInvalid(file=path, problem=f"it is no TOML: {error}; mend it or move it away") from None
    *tables, name = key.split(".")
    place: Any = document
    for table in tables:
        if table not in place:
            place[table] = tomlkit.table()
        place = place[table]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    below = _take_comments_below(place) if name not in place else []
    place[name] = list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value
    if below:
        place.value.body.extend(below)
    changed = tomlkit.dumps(document)
    parse_settings_file(path, changed)
    write_private_file(os.path.realpath(path), changed)  # a link stays one: people keep such files in a repository


def _take_comments_below(table: Any) -> list[Any]:
    """Take the comments and blank lines at the end of a table out of it: they belong to the table that follows."""
    from tomlkit.items import Comment, Table, Whitespace

    below: list[Any] = []
    if isinstance(table, Table):
        body = table.value.body
        while body and isinstance(body[-1][1], Comment | Whitespace):
            below.insert(0, body.pop())
    return below


def write_private_file(path: str, text: str) -> None:
    """Replace a file of settings as a whole, for its owner alone; make its folder if there is none."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    replace_file(path, text, private=True)


def replace_file(path: str, text: str, *, private: bool = False) -> None:
    """Put a new file in place of the old one, whole or not at all; a `private` one is readable by its owner alone.

    An `OSError` names the file that was asked for. A link that appears meanwhile is replaced, never followed.
    """
    folder, name = os.path.split(os.path.abspath(path))
    temporary = os.path.join(folder, f".{name}.{os.urandom(4).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        handle = os.open(temporary, flags, 0o600 if private else 0o666)
        with open(handle, "w", encoding="utf-8", errors="replace", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path) and not private:
            os.chmod(temporary, os.stat(path).st_mode & 0o777)
        os.replace(temporary, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
    finally:
        if os.path.lexists(temporary):
            os.unlink(temporary)
