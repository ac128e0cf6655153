"""The error tree. Each class has a stable `code`; its docstring is the message, filled in with its data."""

from __future__ import annotations

from typing import ClassVar


class PunchlistError(Exception):
    """Something went wrong in Punchlist."""

    code: ClassVar[str] = "error"

    def __init__(self, **data: object) -> None:
        self.data = data
        super().__init__(type(self).message(data))

    @classmethod
    def message(cls, data: dict[str, object]) -> str:
        """The sentence a person reads: the docstring on one line, with `{names}` replaced."""
        template = " ".join((cls.__doc__ or "").split())
        return template.format_map({key: str(value) for key, value in data.items()})

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.data)


def _rebuild(kind: type[PunchlistError], data: dict[str, object]) -> PunchlistError:
    return kind(**data)


class InvalidInput(PunchlistError):
    """{problem}"""

    code = "invalid_input"


class UnknownName(PunchlistError):
    """There is no {what} `{name}`; known are: {known}."""

    code = "unknown_name"


class ConfigInvalid(PunchlistError):
    """The setting `{name}` cannot be `{value}`: {problem}."""

    code = "config_invalid"


class EditRefused(PunchlistError):
    """{problem}"""

    code = "edit_refused"


class RevisionConflict(PunchlistError):
    """The list is at revision {actual}, not {expected}: read it again, then repeat the change."""

    code = "revision_conflict"


class NothingToUndo(PunchlistError):
    """`{by}` has made no change to this list that could be taken back."""

    code = "nothing_to_undo"


class UndoRefused(PunchlistError):
    """The last change by `{by}` cannot be taken back: `{touched}` was changed again since; change it by hand."""

    code = "undo_refused"


class SessionExists(PunchlistError):
    """The session `{session}` already exists on this board; choose another name, or remove that session first."""

    code = "session_exists"


class SessionUnknown(PunchlistError):
    """There is no session `{session}` on this board; `punchlist sessions` lists them."""

    code = "session_unknown"


class TranscriptError(PunchlistError):
    """`{path}` cannot be read as a transcript: {problem}."""

    code = "transcript_unreadable"


class TranscriptUnknown(TranscriptError):
    """`{path}` is no transcript that is known here ({problem}); name its format: {known}."""

    code = "transcript_unknown"


class ExtraMissing(PunchlistError):
    """{what} needs more packages: install them with `pip install "punchlist[{extra}]"`."""

    code = "extra_missing"


class StoreError(PunchlistError):
    """The board at `{path}` cannot be used: {problem}."""

    code = "store_error"


class StoreUrlInvalid(StoreError):
    """`{url}` names no board; use `memory:`, a path, `sqlite:///work.db` or `sqlite:////absolute/path.db`."""

    code = "store_url_invalid"


class StoreUnavailable(StoreError):
    """The board at `{path}` cannot be opened ({problem}); check that the folder exists and is yours."""

    code = "store_unavailable"


class StoreTooNew(StoreError):
    """The board at `{path}` has format {found}, newer than this program knows ({known}); upgrade Punchlist."""

    code = "store_too_new"


class StoreDamaged(StoreError):
    """The board at `{path}` is damaged ({problem}); move it aside with its -wal file, then restore a copy of it."""

    code = "store_damaged"


class StoreFull(StoreError):
    """There is no room left to write the board at `{path}`; free some space, then repeat the call."""

    code = "store_full"


class StoreBusy(StoreError):
    """Another program holds the board at `{path}` for longer than {seconds} s; see `punchlist doctor`."""

    code = "store_busy"


class StoreFailed(StoreError):
    """The disk refused to write the board at `{path}` ({problem}); nothing was changed, repeat the call."""

    code = "store_failed"


class ListFileRefused(StoreError):
    """The list file `{path}` cannot be used: {problem}."""

    code = "list_file_refused"


class StoreClosed(StoreError):
    """The board at `{path}` is closed; open it again."""

    code = "store_closed"
