"""Find the files that a command makes, edits, removes or puts aside."""

import re
from typing import Final, Literal, NamedTuple

from punchlist.core.shell.programs import NOWHERE, effect_of_words, skip_options
from punchlist.core.shell.wrappers import program, read_options, word_set
from punchlist.text.patterns import compile_later
from punchlist.text.shell import SimpleCommand

How = Literal["made", "tool", "edited", "removed", "ran", "away", "back", "undone", "committed", "unhooked", "missing"]
"""`made`: written whole; `tool`: so, with code that writes files. `ran`: as a script, or as an operand of a check.

`away`: put aside by Git, `back`: brought back; the path `*` is the whole change. `undone`: commits were taken back.
`committed` has no path, and `unhooked` is a commit without its hooks. `missing`: it was to be removed or run, and was
not there.
"""


class Touch(NamedTuple):
    """One file that a command touches."""

    how: How
    path: str


_WRITES_FILES: Final = compile_later(
    r"write_text|write_bytes|writelines|writeFile|appendFile|open\([^)\n]*['\"][wax]b?\+?['\"]|\binplace\b|\brmtree"
    r"|os\.(?:remove|unlink|rename|replace)|\.unlink|shutil\.(?:copy|move)|\bsed -i|\bgit (?:checkout|apply|restore)"
    r"|>\s*[\w./-]+\.\w"
)
_TEMPORARY_ONLY: Final = compile_later(r"tempfile|mkdtemp|mktemp|tmp_path|/tmp/")

_OPENED: Final = compile_later(
    r"open\(\s*['\"]([^'\"\n]+)['\"]\s*,\s*['\"][wax]|Path\(\s*['\"]([^'\"\n]+)['\"]\s*\)\.write_"
)
"""Files that code on the line writes."""

_OUTPUT_OPTIONS: Final[dict[str, tuple[str, ...]]] = {"curl": ("-o", "--output"), "wget": ("-O", "--output-document")}
_SKIPS_HOOKS: Final = compile_later(r"HUSKY=0|SKIP=|core\.hooksPath=")
_IN_PLACE: Final = compile_later(r"-[a-zA-Z]*i.*|--in-place.*")
SNAPSHOT_OPTIONS: Final = word_set(
    "-u --update --updateSnapshot --update-snapshots --snapshot-update --force-regen --accept"
)
"""Options with which a test run writes what it should compare with."""

_OPERANDS: Final[dict[str, How]] = {
    **dict.fromkeys(("rm", "unlink", "rmdir", "git rm"), "removed"),
    **dict.fromkeys(("touch", "tee"), "made"),
    **dict.fromkeys(("chmod", "truncate"), "edited"),
    **dict.fromkeys(("git checkout", "git restore"), "away"),
}


def writes_files(code: str) -> bool:
    """True if code writes files, so that running it may change the project, and not into a temporary folder."""
    return _WRITES_FILES.search(code) is not None and _TEMPORARY_ONLY.search(code) is None


def find_touches(command: SimpleCommand) -> tuple[list[Touch], bool]:
    """Return the files that a command is seen to touch, and True if these are all that it may change."""
    found = [
        Touch("edited" if ">>" in one.operator else _made(command), one.target)
        for one in command.redirects
        if ">" in one.operator and one.target not in NOWHERE and not one.target.isdecimal()
    ]
    named = _find_named(command)
    is_whole = named is not None or effect_of_words(command) != "changes"
    code = _read_code(command) if program(command.words).startswith("python") else ""
    in_code = [Touch("edited", one[1] or one[2]) for one in _OPENED.finditer(code)]
    return [*found, *(named or ()), *in_code], is_whole


def _made(command: SimpleCommand) -> How:
    return "tool" if writes_files(_read_code(command)) else "made"


def _read_code(command: SimpleCommand) -> str:
    """Return the words of a command and its here-documents: some are code."""
    return "\n".join((*command.words, *(one.target for one in command.redirects if one.operator.startswith("<<"))))


def _find_named(command: SimpleCommand) -> list[Touch] | None:
    """Return what the words of a command say; None if they do not say which files it changes."""
    words, name = command.words, program(command.words)
    if name == "git":
        words = tuple(skip_options(words[1:])) or words
        name = f"git {words[0]}"
    operands = [word for word in words[1:] if not word.startswith("-") and not word.isdecimal()]
    if name in ("git checkout", "git restore") and not any("/" in word or "." in word for word in operands):
        return None  # another branch
    if name in _OPERANDS:
        return [Touch(_OPERANDS[name], path) for path in operands if path != "HEAD"]
    if name in _OUTPUT_OPTIONS and (targets := [path for _, path in read_options(words[1:], _OUTPUT_OPTIONS[name])]):
        return [Touch("made", path) for path in targets if path not in NOWHERE]
    if name == "dd":
        return [Touch("made", word[3:]) for word in operands if word.startswith("of=")]
    if name in ("mv", "cp", "git mv", "ln", "install") and len(operands) > 1:
        *sources, target = operands
        is_folder = len(sources) > 1 or target.endswith("/")
        made = [f"{target.rstrip('/')}/{program((source,))}" for source in sources] if is_folder else [target]
        moved = [Touch("removed", path) for path in sources if name.endswith("mv")]
        return [*moved, *(Touch("made", path) for path in made)]
    if name in ("sed", "perl") and any(_IN_PLACE.fullmatch(word) for word in words[1:]):
        has_script = any(re.fullmatch(r"-\w*e|--expression.*", word) for word in words[1:])
        return [Touch("edited", path) for path in operands[0 if has_script and name == "sed" else 1 :]]
    if name == "git stash" and operands[:1] in ([], ["push"], ["save"], ["pop"], ["apply"]):
        return [Touch("back" if operands[:1] in (["pop"], ["apply"]) else "away", "*")]
    if name == "git revert" or (name == "git reset" and "--hard" in words):
        return [Touch("undone" if name == "git revert" or {*operands} - {"HEAD"} else "away", ".")]
    if name == "git commit":
        is_unhooked = any(re.fullmatch(r"--no-verify|-[a-z]*n[a-z]*", word) for word in words[1:])
        is_unhooked = is_unhooked or any(map(_SKIPS_HOOKS.match, (*command.assignments, *command.words[1:])))
        return [Touch("unhooked" if is_unhooked else "committed", "")]
    return None


SNAPSHOTS: Final = "snapshots"
"""The path of what a test run writes itself: the names of these files are not known."""
