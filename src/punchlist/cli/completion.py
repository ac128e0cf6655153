"""`punchlist completion`: print a script by which a shell completes commands, verbs, options and their values.

The script is made from the parsers of all commands, so that it runs nothing while a person types. A *place* is what was
typed so far without options: ``, `tasks`, `tasks add`, `config set profile`.
"""

from __future__ import annotations

import argparse
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Literal, cast, get_args, get_origin

from msgspec import Struct

from punchlist.cli import COMMANDS, load_parser
from punchlist.cli.arguments import Parser, command_parser
from punchlist.core.programs import ATTACHABLE
from punchlist.dialects import REGISTRY
from punchlist.settings.table import SettingEntry, list_entries

_EXAMPLES = """\
  bash:  punchlist completion bash > ~/.punchlist.bash && echo 'source ~/.punchlist.bash' >> ~/.bashrc
  zsh:   punchlist completion zsh > ~/.punchlist.zsh && echo 'source ~/.punchlist.zsh' >> ~/.zshrc
  fish:  punchlist completion fish > ~/.config/fish/completions/punchlist.fish
"""
_FILES = ("FILE", "FILES", "PATH", "PATH|SESSION", "DIR", "URL", "path")
"""Names of arguments that are completed with files."""


class CompletedOption(Struct, frozen=True):
    """An option, by its names, and what may follow it."""

    names: tuple[str, ...]
    help: str
    has_value: bool = False
    values: tuple[str, ...] = ()
    has_files: bool = False


class CompletionPlace(Struct, frozen=True):
    """The words that may come after those of a place: the next words, each with its help, options and files."""

    words: str
    next: Mapping[str, str]
    options: tuple[CompletedOption, ...] = ()
    has_files: bool = False


def parser() -> Parser:
    about = (
        "Prints a script that completes commands, verbs, options and their values. The lines below install it; write "
        "the script again after an upgrade. It is also in the form of bash-completion and of a function of zsh's fpath."
    )
    made = command_parser("completion", about, run=_print, examples=_EXAMPLES)
    made.add_argument("shell", metavar="SHELL", choices=list(_SHELLS), help=", ".join(_SHELLS))
    return made


def _print(options: Namespace) -> None:
    print(_SHELLS[options.shell](list_places()), end="")


# What there is to complete.


def list_places() -> list[CompletionPlace]:
    """Return every place, from the parsers of all commands."""
    leading = (
        CompletedOption(("--db",), "the board", has_value=True, has_files=True),
        CompletedOption(("--version",), "print the version"),
        CompletedOption(("-h", "--help"), "print help"),
    )
    found = [CompletionPlace("", {name: entry.help for name, entry in COMMANDS.items()}, leading)]
    for name in COMMANDS:
        found += _describe_parser(name, load_parser(name))
    for key, entry in list_entries().items():
        if values := _list_setting_values(entry):
            found.append(CompletionPlace(f"config set {key}", dict.fromkeys(values, "")))
    return found


def _describe_parser(words: str, parser: ArgumentParser) -> Iterator[CompletionPlace]:
    verbs: dict[str, ArgumentParser] = {}
    following: dict[str, str] = {}
    has_files = False
    for action in parser._get_positional_actions():  # pyright: ignore[reportPrivateUsage]
        if action.nargs == argparse.PARSER:
            verbs = cast("dict[str, ArgumentParser]", action.choices)
            listed = cast("Any", action)._get_subactions()
            following |= {choice.dest: choice.help or "" for choice in listed}
        else:
            following |= _list_values(words, action)
            has_files = has_files or (action.metavar or action.dest) in _FILES
    options = [*_describe_options(parser)]
    first = getattr(parser, "first_verb", "")
    if first:  # its options may stand without it
        known = {option.names for option in options}
        options += [option for option in _describe_options(verbs[first]) if option.names not in known]
    yield CompletionPlace(words, following, tuple(options), has_files)
    for verb, inner in verbs.items():
        yield from _describe_parser(f"{words} {verb}", inner)


def _list_values(words: str, action: Action) -> dict[str, str]:
    """Return the words that may stand for a positional argument, each with its help."""
    if action.choices is not None:
        return dict.fromkeys(map(str, action.choices), "")
    if action.metavar == "AGENT":
        others = {"mcp": "any other program"} if words == "attach" else {}
        return {name: host.title for name, host in ATTACHABLE.items()} | others
    if action.metavar == "KEY" and words in ("config get", "config set"):
        return {key: entry.meaning for key, entry in list_entries().items()}
    return {}


def _describe_options(parser: ArgumentParser) -> Iterator[CompletedOption]:
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        if action.option_strings:
            values = tuple(map(str, action.choices or ()))
            has_files = action.metavar in _FILES
            yield CompletedOption(tuple(action.option_strings), action.help or "", action.nargs != 0, values, has_files)


def _list_setting_values(entry: SettingEntry) -> tuple[str, ...]:
    kind = get_args(entry.type)[0] if get_args(entry.type) else entry.type
    if entry.key == "dialect":
        return tuple(REGISTRY)
    if get_origin(kind) is tuple:
        kind = get_args(kind)[0]
    if kind is bool:
        return ("on", "off")
    return get_args(kind) if get_origin(kind) is Literal else ()


# The scripts. Bash and zsh walk along the typed words in the same way; fish has a rule for each word.

_TABLES = """\
# Sets what may follow an option; fails if the option has no value.
_punchlist_value() {
    values=@none@ files=""
    case "$1 $2" in
@values@
    *) return 1 ;;
    esac
}

# Sets what may stand at a place.
_punchlist_place() {
    values=@none@ files="" options=@none@
    case "$1" in
@places@
    esac
}"""

_BASH = """\
# Completes `punchlist` in bash. Written by `punchlist completion bash`.

@tables@

_punchlist() {
    local values files options place="" word i
    local current=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    # `--format=json` is three words to bash.
    [[ $current == = ]] && current=""
    [[ $last == = ]] && last=${COMP_WORDS[COMP_CWORD - 2]}
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == -- ]]; then
            compopt -o default 2>/dev/null # what follows belongs to another command
            return
        elif _punchlist_value "$place" "$word"; then
            [[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))
            ((i++))
        else
            case "${place:+$place }$word" in
@known@) place="${place:+$place }$word" ;;
            esac
        fi
    done
    if ! _punchlist_value "$place" "$last"; then
        _punchlist_place "$place"
        [[ $current == -* ]] && values=$options files=""
    fi
    COMPREPLY=($(compgen -W "$values" -- "$current"))
    [[ $files ]] && compopt -o default 2>/dev/null
}

complete -F _punchlist punchlist
"""

_ZSH = """\
#compdef punchlist
# Completes `punchlist` in zsh. Written by `punchlist completion zsh`.

@tables@

_punchlist() {
    local place="" word files last=${words[CURRENT-1]}
    local -a values options
    local -i i
    for ((i = 2; i < CURRENT; i++)); do
        word=${words[i]}
        if [[ $word == -- ]]; then
            _default # what follows belongs to another command
            return
        elif _punchlist_value "$place" "$word"; then
            ((i++))
        else
            case "${place:+$place }$word" in
@known@) place="${place:+$place }$word" ;;
            esac
        fi
    done
    if [[ ${words[CURRENT]} == --*=* ]]; then
        last=${words[CURRENT]%%=*}
        compset -P '*='
    fi
    if ! _punchlist_value "$place" "$last"; then
        _punchlist_place "$place"
        if [[ $PREFIX == -* ]]; then
            _describe -o option options
            return
        fi
    fi
    (( ${#values} )) && _describe value values
    [[ -n $files ]] && _files
    return 0
}

if [[ $funcstack[1] == _punchlist ]]; then
    _punchlist "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
    compdef _punchlist punchlist
fi
"""

_FISH = """\
# Completes `punchlist` in fish. Written by `punchlist completion fish`.

# Succeeds if the words before the cursor, without options, lead to this place.
function __punchlist_at
    set -l place
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
        else if test "$word" = --db
            set skip 1
        else if contains -- (string join -- ' ' $place $word) \\
@known@
            set -a place $word
        end
    end
    test (string join -- ' ' '' $place) = " $argv" -o -z "$place$argv"
end

complete -c punchlist -f
@rules@
"""


def _write_bash(places: list[CompletionPlace]) -> str:
    def write_values(values: Iterable[str], has_files: bool) -> str:
        joined = " ".join(values)
        return f'values="{joined}" files={1 if has_files else ""}'

    def write_place(place: CompletionPlace) -> str:
        options = " ".join(name for option in place.options for name in option.names)
        return f'{write_values(place.next, place.has_files)} options="{options}"'

    return _fill(_BASH, '""', places, write_place, lambda option: write_values(option.values, option.has_files))


def _write_zsh(places: list[CompletionPlace]) -> str:
    def write_array(name: str, rows: Mapping[str, str]) -> str:
        joined = " ".join(_quote(f"{word}:{_shorten(text)}" if text else word) for word, text in rows.items())
        return f"{name}=({joined})"

    def write_place(place: CompletionPlace) -> str:
        options = {name: option.help for option in place.options for name in option.names}
        files = " files=1" if place.has_files else ""
        return f"{write_array('values', place.next)} {write_array('options', options)}{files}"

    def write_option(option: CompletedOption) -> str:
        files = " files=1" if option.has_files else ""
        return write_array("values", dict.fromkeys(option.values, "")) + files

    return _fill(_ZSH, "()", places, write_place, write_option)


def _fill(
    script: str,
    none: str,
    places: list[CompletionPlace],
    write_place: Callable[[CompletionPlace], str],
    write_option: Callable[[CompletedOption], str],
) -> str:
    """Return a script for bash or zsh with its three tables: places, values of options, and known words."""
    values = sorted(
        (write_option(option), f"{place.words} {name}")
        for place in places
        for option in place.options
        if option.has_value
        for name in option.names
    )
    rows: list[str] = []
    for body, group in groupby(values, key=lambda row: row[0]):
        rows.append(f"    {_alternatives(name for _, name in group)}) {body} ;;")
    known = _alternatives(place.words for place in places if place.words)
    return (
        script.replace("@tables@", _TABLES.replace("@none@", none))
        .replace("@values@", "\n".join(rows))
        .replace("@places@", "\n".join(f"    {_quote(place.words)}) {write_place(place)} ;;" for place in places))
        .replace("@known@", f"            {known}")
    )


def _write_fish(places: list[CompletionPlace]) -> str:
    rules: list[str] = []
    for place in places:
        start = f"complete -c punchlist -n {_quote_fish(f'__punchlist_at {place.words}'.rstrip())}"
        if place.has_files:
            rules.append(f"{start} -F")
        for word, text in place.next.items():
            rules.append(f"{start} -a {_quote_fish(word)} -d {_quote_fish(_shorten(text))}")
        for option in place.options:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            rule = f"{start} {names} -d {_quote_fish(_shorten(option.help))}"
            if option.has_value:
                rule += " -r -F" if option.has_files else " -x"
            if option.values:
                rule += f" -a {_quote_fish(' '.join(option.values))}"
            rules.append(rule)
    known = " \\\n".join(f"                {_quote_fish(place.words)}" for place in places if place.words)
    return _FISH.replace("@known@", known).replace("@rules@", "\n".join(rules))


def _alternatives(names: Iterable[str]) -> str:
    return " | ".join(_quote(name) for name in names)


def _shorten(help: str) -> str:
    """Return a help text on one line, without what a shell's list of matches has no room for."""
    return " ".join(help.split())[:100]


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _quote_fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_SHELLS: dict[str, Callable[[list[CompletionPlace]], str]] = {
    "bash": _write_bash,
    "zsh": _write_zsh,
    "fish": _write_fish,
}
