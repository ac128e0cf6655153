"""`punchlist config`: show the settings and where they come from, and write one into the settings file."""

import os
from argparse import Namespace
from typing import Any

from punchlist.cli.arguments import Parser, check_person, command_parser
from punchlist.cli.terminal import show, show_json
from punchlist.errors import ConfigInvalid, PunchlistError
from punchlist.mcp.server import ToolSet
from punchlist.settings import default_path, settings_path, table
from punchlist.settings.servers import hide_password
from punchlist.terminal.spans import Line, Span, Style, safe_line

_EXAMPLES = """\
  punchlist config get                    every setting, its value and where that comes from
  punchlist config set stall.after 600    an agent counts as stalled after ten minutes
  punchlist config set redact 'ACME-[0-9]+' 'corp_.*'
  $EDITOR "$(punchlist config path)"
"""


def parser() -> Parser:
    about = (
        "Shows the settings and writes them into the file `config.toml`. A variable of the environment is above the "
        "file, an option of a command is above both. docs/settings.md explains every key."
    )
    made = command_parser("config", about, examples=_EXAMPLES)
    add_verb = made.add_verbs(first="get")
    verb = add_verb("get", "show one setting, or all: value and where it comes from", _get)
    verb.add_argument("key", metavar="KEY", nargs="?", help="a key such as `lease` or `stall.after`")
    verb.add_json()
    verb = add_verb("set", "write one setting into the file; comments and all else stay", _set)
    verb.add_argument("key", metavar="KEY", help="a key such as `lease` or `stall.after`")
    verb.add_argument("words", metavar="VALUE", nargs="+", help="its value; several for a list, '' for an empty one")
    add_verb("path", "print the path of the file, which may not be there yet", lambda _: print(settings_path()))
    return made


def _get(options: Namespace) -> None:
    entries = [table.find_entry(options.key)] if options.key else list(table.list_entries().values())
    table.load_settings()  # a file that cannot be used is refused here
    in_file = table.load_settings_table()
    found = [_find_value(entry, in_file) for entry in entries]
    if not options.key:  # a list is looked at by others, too
        for entry, one in zip(entries, found, strict=True):
            if entry.is_secret and one["value"]:
                one["value"] = table.HIDDEN
    if options.json:
        show_json(found[0] if options.key else found)
    elif options.key:
        print(f"{_show_value(found[0])}  {found[0]['source']}")
    else:
        key_column = max(len(one["key"]) for one in found)
        source_column = max(len(one["source"]) for one in found)
        show(_line(one, key_column, source_column) for one in found)


def _line(one: dict[str, Any], key_column: int, source_column: int) -> Line:
    style: Style = "dim" if one["source"] == "default" else "plain"
    source = Span(f"  {one['source']:<{source_column}}  ", style)
    return (Span(f"{one['key']:<{key_column}}", "bold"), source, Span(_show_value(one), style))


def _show_value(one: dict[str, Any]) -> str:
    return safe_line(table.show_value(one["value"])) or "-"


def _find_value(entry: table.SettingEntry, in_file: dict[str, Any]) -> dict[str, Any]:
    """Return a setting as it is in force. Patterns of secrets add up, all other settings replace each other."""
    value, source = default_path() if entry.key == "db" else entry.default, "default"
    if entry.key in in_file:
        value, source = in_file[entry.key], "file"
    text = os.environ.get(entry.variable) if entry.variable else None
    if text and entry.key == "redact":
        value, source = [*value, text], "environment" if source == "default" else "environment and file"
    elif text:
        value, source = (
            text if entry.key == "db" else table.parse_words(entry, [text], name=entry.variable),
            "environment",
        )
    described = {"allowed": entry.allowed, "meaning": entry.meaning, "variable": entry.variable}
    value = hide_password(str(value)) if entry.key in table.ADDRESSES else value
    return {"key": entry.key, "value": value, "source": source, **described}


def _set(options: Namespace) -> None:
    entry = table.find_entry(options.key)
    value = table.parse_words(entry, options.words)
    if entry.key in ("checks", "decide_without_terminal") or entry.key.startswith("team."):
        check_person(f"`{entry.key}` was not set")
    if entry.key == "dialect":
        try:
            ToolSet(value)
        except PunchlistError as error:  # an unknown dialect, or two with the same tool
            problem, shown = str(error).rstrip("."), safe_line(table.show_value(value))[:80]
            raise ConfigInvalid(name="dialect", value=shown, problem=problem) from None
    path = settings_path()
    table.set_setting(path, entry.key, value)
    said = hide_password(value) if entry.key in table.ADDRESSES else value
    shown = table.HIDDEN if entry.is_secret and value else safe_line(table.show_value(said)) or "nothing"
    print(f"Set {entry.key} to {shown} in {safe_line(path)}.")
    if entry.variable and os.environ.get(entry.variable):
        print(f"${entry.variable} is set, too, and is above the file.")
    if entry.key == "db":
        print("Agents that are attached stay on their board; `punchlist attach AGENT` moves one to the new board.")
