"""Our tables in Codex' `config.toml`: the tool server and the hooks, added at the end and cut out again.

Codex itself edits that file, drops comments and puts its own tables between ours. So ours are recognised by what they
run, and every result is parsed and compared before it is written.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
import shlex
import tomllib
from typing import Any, cast

from punchlist import __version__
from punchlist.attach.plugin import CODEX_EVENTS, NAME, Launch, hook_groups
from punchlist.errors import AttachRefused
from punchlist.settings.environment import list_variables

_BEGIN = "# >>> punchlist attach"
_END = "# <<< punchlist attach <<<"
_HOOK = "punchlist_hook.py"
_OUR_HOOK = re.compile(rf"\[ ! -[ex] .* \|\| exec .* -I -S .*{re.escape(_HOOK)}'? codex ", re.DOTALL)
_BLOCK = re.compile(rf"\n?{re.escape(_BEGIN)}.*?^{re.escape(_END)}\n", re.DOTALL | re.MULTILINE)
_WRITTEN_BY = re.compile(rf"^{re.escape(_BEGIN)} (\S+)", re.MULTILINE)
_FOLDERS = re.compile(rf"^{re.escape(_BEGIN)} .* and the folders made for them \((\d)\)$", re.MULTILINE)

Tables = dict[str, Any]
Section = tuple[tuple[str, ...], str]
"""A table: the keys of its header, and its text up to the next header."""


def insert_tables(text: str | None, launch: Launch, path: str, *, folders: int = 0) -> str:
    """Return the configuration with our tables at its end; raise `AttachRefused` where they do not fit.

    `folders` of those above the file are made for it. What it has already stays where it is, however Codex arranged it;
    and so does the person's trust in our hooks, which Codex compares with them itself.
    """
    if text and _find_own(_parse(text, path)) == _find_own(tomllib.loads(_write_block(launch))):
        return text
    clean = remove_tables(text, path, keep_trust=True) if text else text
    before = _parse(clean or "", path)
    if NAME in _tables(before, "mcp_servers"):
        problem = f"`{path}` has a server `{NAME}` of its own; `codex mcp remove {NAME}` removes it."
        raise AttachRefused(problem=f"{problem} Nothing was changed.")
    block = _write_block(launch, folders or count_made_folders(text))
    # A file that we make has no line before the block, so that `remove_tables` knows that nothing else was there.
    after = block if clean is None else f"{clean}\n{block}"
    try:
        tomllib.loads(after)
    except tomllib.TOMLDecodeError:
        problem = f"`{path}` has `mcp_servers` or `hooks` on one line; write them as tables (`[[hooks.Stop]]`)."
        raise AttachRefused(problem=f"{problem} Nothing was changed.") from None
    return after


def remove_tables(text: str | None, path: str, *, keep_trust: bool = False) -> str | None:
    """Return the configuration without our tables; None if the file had nothing else and was made by us."""
    if text is None:
        return None
    found = _parse(text, path)
    keys: set[str] = set()
    if not keep_trust:
        keys.update(key for event, place, _ in _list_own_groups(found) for key in _state_keys(path, event, place))
    wanted = _strip(found, keys)
    if wanted == found and _BEGIN not in text:
        return text
    cut = _BLOCK.sub("", text, count=1)
    if _strip_is_complete(cut, wanted):
        return None if text.startswith(_BEGIN) and not cut else cut
    cut = _drop_sections(text, keys, has_trust="state" in _tables(wanted, "hooks"))
    if _strip_is_complete(cut, wanted):
        return cut
    problem = f"`{path}` was rewritten; remove `[mcp_servers.{NAME}]` and the hooks that run {_HOOK} by hand."
    raise AttachRefused(problem=f"{problem} Nothing was changed.")


def find_board(text: str) -> str | None:
    """Return the board that our server in the configuration is started with; None if it has no server of ours."""
    try:
        server = _tables(tomllib.loads(text), "mcp_servers").get(NAME)
    except tomllib.TOMLDecodeError:
        return None
    if not _is_our_server(server):
        return None
    return str(_tables(cast("Tables", server), "env").get("PUNCHLIST_DB", ""))


def find_needed(text: str) -> list[str]:
    """Return the interpreter and the file that our server and hooks in the configuration run."""
    found = tomllib.loads(text)
    hooks = [group["hooks"][0]["command"] for _, _, group in _list_own_groups(found)]
    scripts = [shlex.split(command.partition(" -S ")[2])[0] for command in hooks[:1]]
    return [_tables(found, "mcp_servers")[NAME]["command"], *scripts]


def find_written_version(text: str) -> str:
    """Return the version that wrote our tables, empty if Codex dropped the line that says so."""
    found = _WRITTEN_BY.search(text)
    return found[1] if found else ""


def count_made_folders(text: str | None) -> int:
    """Return how many of the folders above the file were made for it."""
    found = _FOLDERS.search(text or "")
    return int(found[1]) if found else 0


def list_untrusted(text: str, path: str) -> list[str]:
    """Return the events of our hooks that Codex will not run: the person did not trust them, or not in this form."""
    found = tomllib.loads(text)
    states = _tables(found, "hooks").get("state", {})
    untrusted: list[str] = []
    for event, place, group in _list_own_groups(found):
        trusted = [states[key].get("trusted_hash") for key in _state_keys(path, event, place) if key in states]
        if _hash_group(event, group) not in trusted:
            untrusted.append(event)
    return untrusted


def are_hooks_off(text: str) -> bool:
    """True if the person switched Codex' hooks off."""
    return _tables(tomllib.loads(text), "features").get("hooks") is False


def _write_block(launch: Launch, folders: int = 0) -> str:
    command, *arguments = launch.server("codex")
    made = f" and the folders made for them ({folders})" if folders else ""
    lines = [
        f"{_BEGIN} {__version__} >>> `punchlist detach codex` removes these tables{made}",
        f"[mcp_servers.{NAME}]",
        f"command = {_quote(command)}",
        f"args = [{', '.join(map(_quote, arguments))}]",
        f"env = {{ {', '.join(f'{name} = {_quote(value)}' for name, value in launch.environment.items())} }}",
        f"env_vars = [{', '.join(map(_quote, _list_variables(launch)))}]",
        'default_tools_approval_mode = "approve"',
    ]
    for event, groups in hook_groups(launch, "codex", CODEX_EVENTS).items():
        handler = groups[0]["hooks"][0]
        lines += [
            "",
            f"[[hooks.{event}]]",
            f"[[hooks.{event}.hooks]]",
            'type = "command"',
            f"command = {_quote(handler['command'])}",
            f"timeout = {handler['timeout']}",
        ]
    return "\n".join([*lines, _END, ""])


def _list_variables(launch: Launch) -> list[str]:
    """Return the settings of the person that Codex hands on to the server, whose environment it clears otherwise."""
    names = [name for name in list_variables() if name.startswith("PUNCHLIST_") and name not in launch.environment]
    return [*names, "XDG_CONFIG_HOME"]  # it says where the settings file is


def _quote(text: str) -> str:
    """Return a TOML string: JSON's escapes are TOML's too, but for the delete character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _parse(text: str, path: str) -> Tables:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise AttachRefused(problem=f"`{path}` is no valid TOML ({error}); mend it. Nothing was changed.") from None


def _tables(found: Tables, key: str) -> Tables:
    value = found.get(key)
    return cast("Tables", value) if isinstance(value, dict) else {}


def _is_our_server(server: Any) -> bool:
    arguments = cast("Tables", server).get("args") if isinstance(server, dict) else None
    return isinstance(arguments, list) and cast("list[Any]", arguments)[1:4] == ["-m", NAME, "mcp"]


def _is_our_group(group: Any) -> bool:
    """True if the first hook of a group is the command that `attach` writes; a person's own may run our file too."""
    handlers = cast("Tables", group).get("hooks") if isinstance(group, dict) else None
    first = cast("list[Any]", handlers)[0] if isinstance(handlers, list) and handlers else None
    command = cast("Tables", first).get("command") if isinstance(first, dict) else None
    return isinstance(command, str) and _OUR_HOOK.match(command) is not None


def _list_own_groups(found: Tables) -> list[tuple[str, int, Tables]]:
    groups: list[tuple[str, int, Tables]] = []
    for event, value in _tables(found, "hooks").items():
        for place, group in enumerate(cast("list[Any]", value) if isinstance(value, list) else []):
            if _is_our_group(group):
                groups.append((event, place, cast("Tables", group)))
    return groups


def _state_keys(path: str, event: str, place: int) -> tuple[str, str]:
    """Return the keys under which Codex may keep the person's trust in the first hook of a group."""
    end = f":{_snake(event)}:{place}:0"
    return f"{path}{end}", f"{os.path.realpath(path)}{end}"


def _snake(event: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower()


def _hash_group(event: str, group: Tables) -> str:
    """Return the hash that Codex 0.166 keeps for a trusted hook: over its event and handler, as sorted JSON."""
    handler = {"async": False, **group["hooks"][0]}
    identity = {"event_name": _snake(event), "hooks": [handler]}
    body = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(body.encode()).hexdigest()}"


def _find_own(found: Tables) -> tuple[Any, dict[str, list[Tables]]]:
    groups: dict[str, list[Tables]] = {}
    for event, _, group in _list_own_groups(found):
        groups.setdefault(event, []).append(group)
    return _tables(found, "mcp_servers").get(NAME), groups


def _strip(found: Tables, keys: set[str]) -> Tables:
    """Return parsed configuration without what is ours, these keys of trust, and tables that are empty then."""
    left = copy.deepcopy(found)
    servers, hooks = _tables(left, "mcp_servers"), _tables(left, "hooks")
    if _is_our_server(servers.get(NAME)):
        del servers[NAME]
    states = _tables(hooks, "state")
    for key in keys:
        states.pop(key, None)
    for event, place, _ in reversed(_list_own_groups(found)):
        del hooks[event][place]
        if not hooks[event]:
            del hooks[event]
    for parent, key in ((hooks, "state"), (left, "hooks"), (left, "mcp_servers")):
        if parent.get(key) == {}:
            del parent[key]
    return left


def _strip_is_complete(text: str, wanted: Tables) -> bool:
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return _drop_empty(found) == _drop_empty(wanted)


def _drop_empty(found: Tables) -> Tables:
    """Return a configuration without empty tables of servers and hooks: a header alone means nothing."""
    hooks = {key: value for key, value in _tables(found, "hooks").items() if value != {}}
    return {
        key: value
        for key, value in {**found, "hooks": hooks}.items()
        if not (key in ("hooks", "mcp_servers") and value == {})
    }


def _drop_sections(text: str, keys: set[str], *, has_trust: bool) -> str:
    """Return the text without the sections that are ours, where Codex moved tables of its own among them."""
    kept: list[str] = []
    for name, body in _join_groups(_split_sections(text)):
        is_server = name[:2] == ("mcp_servers", NAME)
        is_state = name[:2] == ("hooks", "state") and (name[2] in keys if name[2:] else not has_trust)
        is_hook = name[:1] == ("hooks",) and name[1:2] != ("state",) and _has_our_group(body)
        if is_server or is_state or is_hook:
            # A comment after our table is about the next one.
            kept += [line for line in body.splitlines(keepends=True) if line.startswith("#")]
        else:
            kept.append(body)
    lines = "".join(kept).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith((_BEGIN, _END)))


def _has_our_group(body: str) -> bool:
    try:
        return bool(_list_own_groups(tomllib.loads(body)))
    except tomllib.TOMLDecodeError:
        return False


def _join_groups(sections: list[Section]) -> list[Section]:
    """Return the sections with each `[[hooks.EVENT]]` and the handlers below it as one."""
    joined: list[Section] = []
    for name, body in sections:
        if name[:1] == ("hooks",) and len(name) > 2 and name[1] != "state" and joined and joined[-1][0] == name[:2]:
            joined[-1] = (name[:2], joined[-1][1] + body)
        else:
            joined.append((name, body))
    return joined


def _split_sections(text: str) -> list[Section]:
    sections: list[tuple[tuple[str, ...], list[str]]] = [((), [])]
    for line in text.splitlines(keepends=True):
        name = _read_header(line)
        if name is not None:
            sections.append((name, []))
        sections[-1][1].append(line)
    return [(name, "".join(lines)) for name, lines in sections]


def _read_header(line: str) -> tuple[str, ...] | None:
    if not line.lstrip().startswith("["):
        return None
    try:
        at: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    name: list[str] = []
    while isinstance(at, dict | list) and at:
        if isinstance(at, list):
            at = cast("list[Any]", at)[0]
            continue
        key, at = next(iter(cast("Tables", at).items()))
        name.append(key)
    return tuple(name)
