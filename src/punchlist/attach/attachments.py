"""Attach agents and detach them: plan the changes to their files, and say how things stand."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import PurePath
from typing import Any, cast

import msgspec
from msgspec import Struct

from punchlist import __version__
from punchlist.attach import codex_config
from punchlist.attach.file_changes import (
    FileChange,
    apply_changes,
    check_own,
    find_leftovers,
    list_missing_folders,
    read_file,
    remove_empty_folders,
    resolve_file,
)
from punchlist.attach.plugin import Launch, claude_files, find_launch, gemini_files, opencode_file
from punchlist.core.programs import ATTACHABLE, AgentProgram
from punchlist.errors import AttachRefused
from punchlist.logs.programs import find_root, find_settings
from punchlist.store.files import default_path

MARKER = ".punchlist.json"
"""The file that makes a folder ours."""

_MADE_BY = "punchlist attach"


class Marker(Struct, frozen=True, omit_defaults=True):
    """A record of all that an attachment wrote, by which `detach` undoes it without a trace."""

    made_by: str
    version: str
    board: str
    files: list[str] = []
    """Our files in the folder, by relative path; of a marker within a file, the hash of what follows it."""
    folders: int = 0
    """How many folders were made for it, from the innermost outwards."""
    status_line: StatusLineRecord | None = None
    needed: list[str] = []
    """The interpreter and the file without which it is dead."""


class ChangePlan(Struct, frozen=True):
    """The changes that attach or detach an agent, in order, and the folders to remove afterwards if they are empty."""

    changes: list[FileChange]
    folders: list[str] = []

    def apply(self) -> None:
        apply_changes(self.changes)
        remove_empty_folders(self.folders)


def find_place(host: AgentProgram) -> str:
    """Return the folder or file of ours that attaches an agent; for Codex the file that has our tables."""
    return os.path.join(find_settings(host), host.place)


def find_attachment(host: AgentProgram) -> Marker | None:
    """Return how an agent is attached: by which version of ours, and to which board; None if it is not."""
    place = find_place(host)
    if host.name == "codex":
        text = _read_text(resolve_file(place, find_root(host)))
        board = codex_config.find_board(text) if text else None
        if text is None or board is None:
            return None
        needed = codex_config.find_needed(text)
        return Marker(_MADE_BY, codex_config.find_written_version(text), board, needed=needed)
    return _read_file_marker(place) if host.name == "opencode" else _read_marker(place)


def explain_dead(host: AgentProgram, attachment: Marker) -> str | None:
    """Return why nothing of an attachment runs any more, and how to renew it; None if all that it needs is there."""
    gone = [path for path in attachment.needed if not os.path.exists(path)]
    if not gone:
        return None
    return f"{host.title}'s attachment is dead: `{gone[0]}` is gone; `punchlist attach {host.name}` renews it."


def list_dead() -> list[str]:
    """Return a sentence for each attachment that is dead."""
    return [dead for host, attachment in _list_attachments() if (dead := explain_dead(host, attachment)) is not None]


def list_attached() -> list[AgentProgram]:
    """Return the programs that are attached; not those whose settings cannot be read."""
    return [host for host, _ in _list_attachments()]


def _list_attachments() -> list[tuple[AgentProgram, Marker]]:
    found: list[tuple[AgentProgram, Marker]] = []
    for host in ATTACHABLE.values():
        with suppress(AttachRefused, OSError):
            attachment = find_attachment(host)
            if attachment is not None:
                found.append((host, attachment))
    return found


def plan_attach(host: AgentProgram, board: str, *, status_line: bool | None = None) -> ChangePlan:
    """Plan what attaches an agent to a board; no change if it is attached and up to date.

    `status_line`: put our rows under Claude Code's prompt, or take them out; None leaves that as it is.
    """
    launch, place = find_launch(board), find_place(host)
    if host.name == "codex":
        path = resolve_file(place, find_root(host))
        before, missing = _read_text(path), list_missing_folders(path)
        after = codex_config.insert_tables(before, launch, place, folders=len(missing))
        return ChangePlan(_list_change(path, before, after))
    check_own(place, find_root(host))
    if host.name == "opencode":
        return ChangePlan(_plan_file(place, launch))
    if host.name == "gemini":
        return ChangePlan(_plan_folder(place, gemini_files(launch), launch, None))
    marker = _read_marker(place)
    settings, record = _plan_status_line(host, launch, marker, wanted=status_line)
    folder = _plan_folder(place, claude_files(launch), launch, record)
    # The marker says how to undo our status line: it is there before that, and forgets it only afterwards.
    return ChangePlan([*settings, *folder] if record is None else [*folder, *settings])


def plan_detach(host: AgentProgram) -> ChangePlan:
    """Plan what detaches an agent: only what is ours goes. No change if it is not attached.

    What an attach was making when it was killed goes too.
    """
    place, root = find_place(host), find_root(host)
    if host.name == "codex":
        path = resolve_file(place, root)
        before = _read_text(path)
        changes = _list_change(path, before, codex_config.remove_tables(before, place))
        return _add_leftovers(changes, _list_parents(path, codex_config.count_made_folders(before)), [path], root)
    check_own(place, root)
    if host.name == "opencode":
        marker = _read_file_marker(place)
        changes = [] if marker is None else _list_deletions([place])
        return _add_leftovers(changes, _list_parents(place, marker.folders if marker else 0), [place], root)
    own = os.path.join(place, MARKER)
    marker = _read_marker(place)
    if marker is None:
        return _add_leftovers([], [], [own], root)
    settings: list[FileChange] = []
    files = [_join_own(place, name) for name in marker.files]
    written = [*files, own]
    if marker.status_line is not None:
        settings, _ = _plan_status_line(host, find_launch(marker.board), marker, wanted=False)
        written.append(resolve_file(_settings_path(host), root))
    inner = {folder for file in files for folder in PurePath(file).parents if PurePath(place) in folder.parents}
    # The marker goes last: a detach that was cut short can be done again.
    changes = [*settings, *_list_deletions([*files, own])]
    folders = [*map(str, inner), *_list_parents(own, marker.folders)]
    return _add_leftovers(changes, folders, written, root)


def _add_leftovers(changes: list[FileChange], folders: list[str], paths: Iterable[str], root: str) -> ChangePlan:
    """Return a plan that also deletes what a killed attach was making on the way to these paths."""
    found: dict[str, FileChange] = {}
    unfinished: set[str] = set()
    for path in paths:
        files, around = find_leftovers(path, root)
        found.update({change.path: change for change in files})
        unfinished.update(around)
    return ChangePlan([*found.values(), *changes], [*folders, *sorted(unfinished)])


def make_board_folder(board: str) -> None:
    """Make the folder of a board that is not there yet: without it, hooks have nowhere to leave what they saw."""
    os.makedirs(os.path.dirname(board), mode=0o700, exist_ok=True)


def remove_board_folder() -> None:
    """Remove the folder of the user's own board if it is empty and no agent is attached any more."""
    if not list_attached():
        remove_empty_folders([os.path.dirname(default_path())])


def _plan_folder(
    folder: str, files: dict[str, bytes], launch: Launch, record: StatusLineRecord | None
) -> list[FileChange]:
    """Plan the folder of ours: first what an older version left, then the marker that lists the files, then these."""
    old = _read_marker(folder)
    is_empty = os.path.isdir(folder) and not os.listdir(folder)
    if old is None and os.path.lexists(folder) and not is_empty:
        problem = f"`{folder}` is not of Punchlist's making; move it away first. Nothing was changed."
        raise AttachRefused(problem=problem)
    made = old.folders if old else len(list_missing_folders(os.path.join(folder, MARKER)))
    marker = Marker(_MADE_BY, __version__, launch.board, sorted(files), made, record, launch.needed)
    obsolete = [_join_own(folder, name) for name in (old.files if old else []) if name not in files]
    wanted = {MARKER: msgspec.json.format(msgspec.json.encode(marker), indent=2) + b"\n", **files}
    changes = _list_deletions(obsolete)
    for name, content in wanted.items():
        path = os.path.join(folder, name)
        check_own(path, folder)
        before = read_file(path)
        if before != content:
            changes.append(FileChange(path, before, content))
    return changes


def _plan_file(path: str, launch: Launch) -> list[FileChange]:
    """Plan a plugin that is one file; its first line is its marker."""
    old, before = _read_file_marker(path), read_file(path)
    if old is None and before is not None:
        raise AttachRefused(problem=f"`{path}` is not of Punchlist's making; move it away first. Nothing was changed.")
    made = old.folders if old else len(list_missing_folders(path))
    body = opencode_file(launch)
    marker = Marker(_MADE_BY, __version__, launch.board, [_hash(body)], made, needed=launch.needed)
    after = b"// " + msgspec.json.encode(marker) + b"\n" + body
    return [] if before == after else [FileChange(path, before, after)]


def _plan_status_line(
    host: AgentProgram, launch: Launch, marker: Marker | None, *, wanted: bool | None
) -> tuple[list[FileChange], StatusLineRecord | None]:
    record = marker.status_line if marker else None
    if wanted is None:  # a person who took our rows out by hand does not get them back
        wanted = record is not None and find_status_line(host) == "ours"
    if not wanted and record is None:
        return [], None
    path = resolve_file(_settings_path(host), find_root(host))
    before = _read_text(path)
    try:
        clean = before
        current = read_status_line("{}" if before is None else before)
        if before is not None and is_ours(current):
            theirs = None if record is None or record.before is None else json.loads(record.before)
            if wanted and record is not None and current["command"] == _compose_value(launch, theirs)["command"]:
                return [], record  # the host may have written the file anew, and the person changed other options
            clean = remove_status_line(before, record or StatusLineRecord())
        if not wanted:
            return _list_change(path, before, clean), None
        theirs = None if clean is None else read_status_line(clean)
        after, made = insert_status_line(clean, _compose_value(launch, theirs))
    except (ValueError, RecursionError) as error:
        problem = f"`{path}` is no plain JSON ({error}); mend it, or attach with --no-statusline. Nothing was changed."
        raise AttachRefused(problem=problem) from None
    return _list_change(path, before, after), made


def _compose_value(launch: Launch, theirs: Any) -> dict[str, Any]:
    """Return the value of our status line. It runs the person's own command first, and keeps their other options."""
    options = cast("dict[str, Any]", theirs) if isinstance(theirs, dict) else {}
    command = options.get("command")
    if options.get("type") != "command" or not isinstance(command, str):
        options, command = {}, None
    every: Any = options.get("refreshInterval")
    own = launch.status_line(command, every if isinstance(every, int | float) else None)
    # The rows have a clock: without an interval they would stand still while the agent works.
    return {**options, "type": "command", "command": own, "refreshInterval": 1}


def find_status_line(host: AgentProgram) -> str:
    """Return whose status line Claude Code shows: `ours`, `theirs`, `none`, or `unreadable` settings."""
    try:
        text = _read_text(resolve_file(_settings_path(host), find_root(host)))
        value = None if text is None else read_status_line(text)
    except (AttachRefused, ValueError, RecursionError, OSError):
        return "unreadable"
    if value is None:
        return "none"
    return "ours" if is_ours(value) else "theirs"


def _settings_path(host: AgentProgram) -> str:
    return os.path.join(find_settings(host), "settings.json")


def _read_text(path: str) -> str | None:
    content = read_file(path)
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        raise AttachRefused(problem=f"`{path}` is not written in UTF-8; nothing was changed.") from None


def _read_marker(folder: str) -> Marker | None:
    path = os.path.join(folder, MARKER)
    if os.path.islink(path) or not os.path.isdir(folder):
        return None
    return _decode_marker(read_file(path))


def _read_file_marker(path: str) -> Marker | None:
    """Return the marker in the first line of a file; raise `AttachRefused` if somebody edited what follows it."""
    first, _, body = (read_file(path) or b"").partition(b"\n")
    marker = _decode_marker(first.removeprefix(b"// "))
    if marker is not None and marker.files != [_hash(body)]:
        problem = f"`{path}` was edited; take out what is yours and delete the file. Nothing was changed."
        raise AttachRefused(problem=problem)
    return marker


def _decode_marker(content: bytes | None) -> Marker | None:
    try:
        marker = None if content is None else msgspec.json.decode(content, type=Marker)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return marker if marker and marker.made_by == _MADE_BY else None


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _join_own(folder: str, name: str) -> str:
    """Return the path of a file that a marker lists; raise `AttachRefused` if it is not inside the folder."""
    path = os.path.normpath(os.path.join(folder, name))
    check_own(path, folder)
    return path


def _list_change(path: str, before: str | None, after: str | None) -> list[FileChange]:
    if before == after:
        return []
    return [
        FileChange(path, before.encode() if before is not None else None, after.encode() if after is not None else None)
    ]


def _list_deletions(paths: Iterable[str]) -> list[FileChange]:
    found = ((path, read_file(path)) for path in paths)
    return [FileChange(path, before, None) for path, before in found if before is not None]


def _list_parents(path: str, count: int) -> list[str]:
    """Return so many of the folders above a path, innermost first: those that were made for it."""
    return [str(folder) for folder in PurePath(path).parents[:count]]


# The status line in Claude Code's settings. Their text is edited, never parsed and written back: comments are refused,
# but spaces, order and line ends stay.


KEY = "statusLine"
OURS = "punchlist_statusline.py"
"""A status line that runs this file is ours."""

_OURS_TO_SET = ("type", "command", "refreshInterval")
"""The options that are ours while our status line is there; all others are the person's."""

_SPACE = " \t\n\r"


class StatusLineRecord(Struct, frozen=True, omit_defaults=True):
    """A record by which `detach` restores the setting: the text of the person's own value, or our inserted text."""

    before: str | None = None
    inserted: str | None = None
    made_file: bool = False


class _Member(Struct, frozen=True):
    key: str
    start: int
    """Where the key begins."""
    value: int
    """Where the value begins."""
    end: int


def read_status_line(text: str) -> Any:
    """Return the value of the status line, None if there is none; raise `ValueError` for what is no JSON object."""
    member = _find_member(text)
    return None if member is None else json.loads(text[member.value : member.end])


def is_ours(value: Any) -> bool:
    command = cast("dict[str, Any]", value).get("command") if isinstance(value, dict) else None
    return isinstance(command, str) and OURS in command


def insert_status_line(text: str | None, value: dict[str, Any]) -> tuple[str, StatusLineRecord]:
    """Return the settings with our status line, and the record that takes it out; None means that no file exists."""
    own = json.dumps(value, ensure_ascii=False)
    if text is None:
        return f'{{\n  "{KEY}": {own}\n}}\n', StatusLineRecord(made_file=True)
    members = _list_members(text)
    found = _find_member(text)
    if found is not None:
        before = text[found.value : found.end]
        return text[: found.value] + own + text[found.end :], StatusLineRecord(before=before)
    if not members:
        place = text.index("{") + 1
        inserted = f'\n  "{KEY}": {own}\n'
    else:
        place = members[-1].end
        # The space before the first key is how this file separates its members.
        space = text[text.index("{") + 1 : members[0].start]
        inserted = f',{space or " "}"{KEY}": {own}'
    return text[:place] + inserted + text[place:], StatusLineRecord(inserted=inserted)


def remove_status_line(text: str, record: StatusLineRecord) -> str | None:
    """Return the settings without our status line; None if the file was ours alone. Another's value stays."""
    found = _find_member(text)
    current: Any = None if found is None else json.loads(text[found.value : found.end])
    if found is None or not is_ours(current):
        return text
    if record.before is not None:
        return text[: found.value] + _restore_value(record.before, current) + text[found.end :]
    if record.inserted is not None and text.count(record.inserted) == 1:
        return text.replace(record.inserted, "")
    members = _list_members(text)
    if len(members) == 1:
        return None if record.made_file else text[: text.index("{") + 1] + text[text.rindex("}") :]
    place = members.index(found)
    if place == 0:
        return text[: found.start] + text[members[1].start :]
    return text[: members[place - 1].end] + text[found.end :]


def _restore_value(before: str, current: dict[str, Any]) -> str:
    """Return the text of the person's own value, with the options that they changed on ours since."""
    value: Any = json.loads(before)
    theirs = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if theirs.get("type") != "command" or not isinstance(theirs.get("command"), str):
        return before  # nothing of it was on ours
    own = {key: value for key, value in theirs.items() if key in _OURS_TO_SET}
    restored = {**own, **{key: value for key, value in current.items() if key not in _OURS_TO_SET}}
    return before if restored == theirs else json.dumps(restored, ensure_ascii=False)


def _find_member(text: str) -> _Member | None:
    found = [member for member in _list_members(text) if member.key == KEY]
    if len(found) > 1:
        raise ValueError(f"it has the key `{KEY}` twice")
    return found[0] if found else None


def _list_members(text: str) -> list[_Member]:
    """Return where the members of a JSON object stand in its text; raise `ValueError` for anything else."""
    if not isinstance(json.loads(text), dict):
        raise ValueError("it is no JSON object")
    # The text is valid from here on, so that every character looked for is there.
    decoder = json.JSONDecoder()
    members: list[_Member] = []
    at = _skip_space(text, text.index("{") + 1)
    while text[at] != "}":
        start = at
        key, at = decoder.raw_decode(text, start)
        value = _skip_space(text, text.index(":", at) + 1)
        end = decoder.raw_decode(text, value)[1]
        members.append(_Member(key, start, value, end))
        at = _skip_space(text, end)
        if text[at] == ",":
            at = _skip_space(text, at + 1)
    return members


def _skip_space(text: str, at: int) -> int:
    while text[at] in _SPACE:
        at += 1
    return at
