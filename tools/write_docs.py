"""Write the pages of docs/ that say what the program itself knows: commands, settings, dialects and routes.

`python tools/write_docs.py` writes them; with `--check` it only says which are out of date, and fails if any is.
"""

import argparse
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, cast

from punchlist.cli import COMMANDS, COMPATIBILITY, GROUPS, load_parser
from punchlist.cli.dialects import describe_dialect
from punchlist.dialects import REGISTRY, dialect, repair
from punchlist.server.api.table import ROUTES
from punchlist.settings.environment import list_variables
from punchlist.settings.table import list_entries, show_value

_EACH = (
    "Each takes `--db URL` (default `$PUNCHLIST_DB`, else your own board) and `--help`. Exit codes: 0 done, 1 the "
    "thing asked for failed, 2 wrong usage or an unusable board. Into a pipe, or with `NO_COLOR`, output is plain."
)
DOCS = Path(__file__).resolve().parent.parent / "docs"


def commands_page() -> str:
    """Return every command with its verbs and options, from the parsers themselves."""
    parts = ["# Commands", "", _EACH]
    for title, commands in GROUPS.items():
        rows = [f"| [`{name}`](#punchlist-{name}) | {_cell(entry.help)} |" for name, entry in commands.items()]
        parts += ["", f"**{title}**", "", "| command | does |", "|---|---|", *rows]
    for name in COMMANDS:
        if name == COMPATIBILITY[0]:
            parts += ["", "# Compatibility", "", "Commands for what other programs brought."]
        parts += ["", f"## `punchlist {name}`", "", *_parser(load_parser(name))]
    return "\n".join(parts) + "\n"


def _parser(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield (parser.description or "").strip()
    yield from _options(parser)
    for action in parser._actions:
        choices: Any = action.choices
        if not action.option_strings and isinstance(choices, dict):  # the verbs, each with a parser of its own
            verbs = cast("dict[str, argparse.ArgumentParser]", choices)
            listed = cast("list[argparse.Action]", cast("Any", action)._get_subactions())
            helps = {choice.dest: choice.help for choice in listed}
            yield from ("", "| verb | what it does | options |", "|---|---|---|")
            for verb, sub in verbs.items():
                takes = " ".join(f"`{option}`" for option, _ in _rows(sub) if option.startswith("-"))
                yield f"| `{_cell(verb + _places(sub))}` | {_cell(helps.get(verb))} | {takes} |"
    if parser.epilog:
        yield from ("", "```", *parser.epilog.strip().splitlines(), "```")


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    places = [action for action in parser._get_positional_actions() if action.nargs != argparse.PARSER]
    rows = [*((_place(action), action.help) for action in places), *_rows(parser)]
    if rows:
        yield from ("", "| option | meaning |", "|---|---|")
        yield from (f"| `{_cell(option)}` | {_cell(text)} |" for option, text in rows)


def _rows(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str | None]]:
    for action in parser._actions:
        if action.option_strings and action.dest not in ("help", "db"):
            names = action.metavar if isinstance(action.metavar, tuple) else (action.metavar or action.dest.upper(),)
            value = "" if action.nargs == 0 else f" {' '.join(names)}"
            yield ", ".join(action.option_strings) + value, action.help


def _places(parser: argparse.ArgumentParser) -> str:
    return "".join(f" {_place(action)}" for action in parser._get_positional_actions())


def _place(action: argparse.Action) -> str:
    """Return a positional argument as the usage shows it: `NAME`, `[NAME]`, `NAME …` or `[NAME …]`."""
    forms = {"?": "[{}]", "*": "[{} …]", "+": "{} …"}
    return forms.get(str(action.nargs), "{}").format(action.metavar or action.dest)


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|")


_SETTINGS = """\
# Settings

A setting comes from an option of the command, else from its variable, else from the file `config.toml`, else it has its
default. No file is needed. `punchlist config path` says where it is looked for: `$PUNCHLIST_CONFIG`, else
`~/.config/punchlist/config.toml` (with `$XDG_CONFIG_HOME` in place of `~/.config`; on macOS
`~/Library/Application Support/punchlist/config.toml`).

```
punchlist config set stall.after 600      write one key; comments and the rest of the file stay
punchlist config get                      every setting, with its value and where that comes from
```

```toml
# ~/.config/punchlist/config.toml
profile = "quiet"
redact = ["ACME-[0-9]+"]

[stall]
after = 600
```

A file with an unknown key or a value that is not allowed is refused as a whole: each command says which key it is and
what is allowed, and ends with 2. So is a file that every user of the machine may write: it can name commands.
Hooks and status lines stay silent, so that no agent fails by it.

`db` decides about commands, and about agents that are attached from then on: `attach` writes the board into the agent's
own files. After a change of `db` run `punchlist attach AGENT` again; `punchlist doctor` says for which agents.

`profile`, `stop_tries` and `todos` decide about attached agents from their next session on, `dialect` about what
`punchlist mcp` offers to them; a program that calls `board.agent(…)` names its own. To take a setting back, delete its
line.

`checks` names commands that verify work in every project; only a person sets it, at a terminal. What a project names
itself stands in its `.punchlist.toml`, and counts once you ran `punchlist trust`; which content you trusted is kept in
`trusted.json` beside this file. See [Grounded progress](grounding.md).

## Keys of the file

| key | may be | default | variable | meaning |
|---|---|---|---|---|
"""


def settings_page() -> str:
    """Return every key of the settings file, then the other variables: our own, and those of and for other programs."""
    rows = "".join(
        f"| `{entry.key}` | {_cell(entry.allowed)} | {_cell(show_value(entry.default))} "
        f"| {f'`{entry.variable}`' if entry.variable else ''} | {_cell(entry.meaning)} |\n"
        for entry in list_entries().values()
    )
    others = list_variables().keys() - {entry.variable for entry in list_entries().values()}
    ours = {name for name in others if name.startswith("PUNCHLIST_") and "CLAUDE" not in name}
    parts = ["## Other variables", "", *_settings(ours), "", "## Compatibility", "", *_settings(others - ours), ""]
    return f"{_SETTINGS}{rows}\n" + "\n".join(parts)


def _settings(names: Collection[str]) -> Iterator[str]:
    yield from ("| variable | meaning |", "|---|---|")
    yield from (f"| `{name}` | {meaning} |" for name, meaning in list_variables().items() if name in names)


_DIALECTS = (
    "An agent keeps the todo tool that it was trained on; all of them write one list. `board.agent(…, dialect=NAME)` "
    "gives an agent that tool, name, schema, replies and errors to the letter, with a short "
    "description of ours. `punchlist dialects` prints what follows.\n\n"
    "What a dialect cannot say is neither shown to its model nor touched by it, and is there again when the list "
    "comes back to one that can. An item keeps its id through all of them.\n\n"
    "`claude-tasks` writes durable [tasks](tasks.md) instead of the list."
)


def dialects_page() -> str:
    """Return every dialect with its tools, limits, statuses, repairs and losses, as the dialects themselves say."""
    known = {name: describe_dialect(dialect(name)) for name in REGISTRY}
    tools = {name: ", ".join(f"`{tool.name}`" for tool in dialect(name).tools) for name in REGISTRY}
    parts = ["# Dialects", "", _DIALECTS, "", "| dialect | tool | statuses | limits |", "|---|---|---|---|"]
    for name, said in known.items():
        parts.append(f"| [`{name}`](#{name}) | {tools[name]} | {_cell(said['statuses'])} | {_cell(said['limits'])} |")
    parts += ["", "Repairs are what a dialect mends in its input before it reads it:", ""]
    parts += [f"- `{mends}`: {meaning}" for mends, meaning in _repairs()]
    for name, said in known.items():
        rows = [f"| {key} | {_cell(text)} |" for key, text in {"tool": tools[name], **said}.items()]
        about = (sys.modules[REGISTRY[name]].__doc__ or "").strip()
        parts += ["", f"## {name}", "", *about.splitlines(), "", "| | |", "|---|---|", *rows]
    return "\n".join(parts) + "\n"


def _repairs() -> Iterator[tuple[str, str]]:
    for line in (repair.__doc__ or "").splitlines():
        if line.startswith("- `"):
            name, _, meaning = line.removeprefix("- `").partition("`: ")
            yield name, meaning


_BEGIN, _END = "<!-- routes: written by tools/write_docs.py -->\n", "<!-- end -->"


def http_page() -> str:
    """Return the page on the HTTP API with its table of routes; the rest of it is written by hand."""
    before, _, rest = (DOCS / "http-api.md").read_text(encoding="utf-8").partition(_BEGIN)
    rows = [f"| `{route.method}` | `{route.path}` | {route.scope} | {_cell(route.summary)} |" for route in ROUTES]
    table = "\n".join(["| method | path | scope | what it does |", "|---|---|---|---|", *rows])
    return f"{before}{_BEGIN}\n{table}\n\n{_END}{rest.partition(_END)[2]}"


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands_page,
    "settings.md": settings_page,
    "dialects.md": dialects_page,
    "http-api.md": http_page,
}


def stale() -> list[str]:
    """Return the pages that do not say what the program says."""
    return [
        name
        for name, page in PAGES.items()
        if not (DOCS / name).exists() or (DOCS / name).read_text(encoding="utf-8") != page()
    ]


def main() -> int:
    if "--check" in sys.argv[1:]:
        for name in stale():
            print(f"docs/{name} is out of date; run `make docs`", file=sys.stderr)
        return 1 if stale() else 0
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
    print(f"wrote {', '.join(PAGES)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
