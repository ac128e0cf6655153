"""`punchlist completion`: print a script by which a shell completes commands, verbs, options and their values.

The script asks the program at each Tab: `punchlist completion --complete WORD…` prints what may be the last word.
"""

import argparse
from argparse import Action, ArgumentParser, Namespace
from typing import Any, Literal, cast, get_args, get_origin

from punchlist.cli import COMMANDS, load_parser
from punchlist.cli.arguments import Parser, command_parser, find_verb
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


_LEADING = {"--db": "the board", "--version": "print the version", "-h": "print help", "--help": "print help"}

# The first line that the program prints says whether files may follow, each other line is a word, a tab and its help.

_BASH = """\
# Completes `punchlist` in bash. Written by `punchlist completion bash`.

_punchlist() {
    local offered current=${COMP_WORDS[COMP_CWORD]}
    [[ $current == = ]] && current="" # `--format=json` is three words to bash
    offered=$(punchlist completion --complete "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$current" 2>/dev/null | cut -f 1)
    COMPREPLY=($(compgen -W "$(tail -n +2 <<< "$offered")" -- "$current"))
    [[ $offered == files* ]] && compopt -o default 2>/dev/null
}

complete -F _punchlist punchlist
"""

_ZSH = """\
#compdef punchlist
# Completes `punchlist` in zsh. Written by `punchlist completion zsh`.

_punchlist() {
    local -a offered values
    offered=("${(@f)$(punchlist completion --complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    values=("${(@)offered[2,-1]/$'\\t'/:}")
    compset -P '--*='
    (( ${#values} )) && _describe value values
    [[ $offered[1] == files ]] && _files
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

function __punchlist_offer
    set -l current (commandline -ct)
    set -l before (commandline -opc)
    set -l offered (punchlist completion --complete $before[2..-1] "$current" 2>/dev/null)
    set -l option (string match -r -- '^--[^=]*=' "$current")
    if test "$offered[1]" = files
        set -a offered (__fish_complete_path (string replace -r -- '^--[^=]*=' '' "$current"))
    end
    printf "$option%s\\n" $offered[2..-1]
end

complete -c punchlist -f -a '(__punchlist_offer)'
"""

_SHELLS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def parse(arguments: list[str]) -> Namespace:
    """Parse the arguments of the command; after `--complete` they are words that a person types, whatever they are."""
    if arguments[:1] == ["--complete"]:
        return Namespace(run=_offer, words=arguments[1:])
    return parser().parse_args(arguments)


def parser() -> Parser:
    about = (
        "Prints a script that completes commands, verbs, options and their values: it asks `punchlist` at each Tab. "
        "The lines below install it. It is also in the form of bash-completion and of a function of zsh's fpath."
    )
    made = command_parser("completion", about, run=_print, examples=_EXAMPLES)
    made.add_argument("shell", metavar="SHELL", choices=list(_SHELLS), help=", ".join(_SHELLS))
    return made


def _print(options: Namespace) -> None:
    print(_SHELLS[options.shell], end="")


def _offer(options: Namespace) -> None:
    offered, has_files = find_offers(options.words)
    print("files" if has_files else "words")
    for word, meaning in offered.items():
        print(f"{word}\t{' '.join(meaning.split())[:100]}" if meaning else word)


def find_offers(words: list[str]) -> tuple[dict[str, str], bool]:
    """Return the words that may stand for the last of these, each with its help, and whether a file may."""
    before, current = [word for word in words[:-1] if word != "="], words[-1]  # bash makes a word of each =
    start = find_verb(before)
    if "--" in before or start > len(before):
        return {}, True  # what follows belongs to another command, or to `--db`
    if start == len(before):
        return _LEADING if current.startswith("-") else {name: entry.help for name, entry in COMMANDS.items()}, False
    name, *rest = before[start:]
    if name not in COMMANDS:
        return {}, False
    parser, place = load_parser(name), [name]
    asked: Action | None = None
    for word in rest:
        if asked is not None:
            asked = None
        elif word.startswith("-"):
            asked = _find_option(parser, word)
        else:
            place.append(word)
            parser = _list_verbs(parser).get(word, parser)
    option, equals, _ = current.partition("=")
    if equals:
        asked = _find_option(parser, option)
    if asked is not None:
        return dict.fromkeys(map(str, asked.choices or ()), ""), asked.metavar in _FILES
    if current.startswith("-"):
        return {name: action.help or "" for name, action in _list_options(parser).items()}, False
    return _list_next(parser, place)


def _find_option(parser: ArgumentParser, name: str) -> Action | None:
    found = _list_options(parser).get(name)
    return None if found is None or found.nargs == 0 else found


def _list_options(parser: ArgumentParser) -> dict[str, Action]:
    """Return the options by their names, with those of the first verb, which may stand without it."""
    first = _list_verbs(parser).get(getattr(parser, "first_verb", ""))
    parsers = [first, parser] if first else [parser]
    found = [action for one in parsers for action in one._actions]  # pyright: ignore[reportPrivateUsage]
    return {name: action for action in found for name in action.option_strings}


def _list_verbs(parser: ArgumentParser) -> dict[str, ArgumentParser]:
    positional = parser._get_positional_actions()  # pyright: ignore[reportPrivateUsage]
    found = [action.choices for action in positional if action.nargs == argparse.PARSER]
    return cast("dict[str, ArgumentParser]", found[0]) if found else {}


def _list_next(parser: ArgumentParser, place: list[str]) -> tuple[dict[str, str], bool]:
    if place[:2] == ["config", "set"] and len(place) > 2:
        entry = list_entries().get(place[2])
        return dict.fromkeys(_list_setting_values(entry) if entry else (), ""), False
    following: dict[str, str] = {}
    has_files = False
    for action in parser._get_positional_actions():  # pyright: ignore[reportPrivateUsage]
        if action.nargs == argparse.PARSER:
            listed = cast("Any", action)._get_subactions()
            following |= {choice.dest: choice.help or "" for choice in listed}
        else:
            following |= _list_values(parser.prog.removeprefix("punchlist "), action)
            has_files = has_files or (action.metavar or action.dest) in _FILES
    return following, has_files


def _list_values(place: str, action: Action) -> dict[str, str]:
    if action.choices is not None:
        return dict.fromkeys(map(str, action.choices), "")
    if action.metavar == "AGENT":
        others = {"mcp": "any other program"} if place == "attach" else {}
        return {name: host.title for name, host in ATTACHABLE.items()} | others
    if action.metavar == "KEY" and place in ("config get", "config set"):
        return {key: entry.meaning for key, entry in list_entries().items()}
    return {}


def _list_setting_values(entry: SettingEntry) -> tuple[str, ...]:
    kind = get_args(entry.type)[0] if get_args(entry.type) else entry.type
    if entry.key == "dialect":
        return tuple(REGISTRY)
    if get_origin(kind) is tuple:
        kind = get_args(kind)[0]
    if kind is bool:
        return ("on", "off")
    return get_args(kind) if get_origin(kind) is Literal else ()
