"""Read and replace files of one folder by name, and touch nothing outside it.

A name is checked before it becomes a path; a file is opened without following a link out of the folder; new content
is written to a temporary file and renamed, so that a reader sees the old file or the new one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress

from punchlist.errors import InvalidInput, ListFileRefused

LARGEST = 10_000_000
"""Bytes. A larger file is taken for damaged."""

_LONGEST_NAME = 230
"""Bytes: file systems allow 255, and a file that is set aside gets a longer name."""

_RESERVED = frozenset({"con", "prn", "aux", "nul", "conin$", "conout$"}) | {
    f"{device}{digit}" for device in ("com", "lpt") for digit in "0123456789¹²³"
}
_FORBIDDEN = frozenset('/\\:*?"<>|')


def check_part(what: str, part: str) -> None:
    """Refuse an id that is no plain part of a file name on every system."""
    printable = isinstance(part, str) and part.isprintable()  # pyright: ignore[reportUnnecessaryIsInstance]
    stem = part.partition(".")[0].strip().casefold() if printable else ""
    if not stem or stem in _RESERVED or part != part.strip(" .") or _FORBIDDEN & set(part):
        problem = f"{repr(part)[:80]} cannot be part of a file name, as the {what} of a list file has to be."
        raise InvalidInput(problem=problem)


def check_length(name: str) -> None:
    if len(name.encode()) > _LONGEST_NAME:
        raise InvalidInput(problem=f"`{name[:40]}…` is too long for a file name; at most {_LONGEST_NAME} bytes fit.")


@contextmanager
def refuse_errors(path: str) -> Generator[None]:
    """Raise errors of the file system as `ListFileRefused` about this path."""
    try:
        yield
    except OSError as error:
        raise ListFileRefused(path=path, problem=error.strerror or str(error)) from error


class Folder:
    """The folder at a path. The first write makes it, for its owner alone."""

    def __init__(self, path: str) -> None:
        self.path = path

    def at(self, name: str) -> str:
        return os.path.join(self.path, name)

    def names(self) -> list[str]:
        try:
            return sorted(os.listdir(self.path))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def modified(self, name: str) -> int | None:
        """Return when a file, or a link itself, was changed, in nanoseconds; None if that cannot be seen."""
        try:
            return os.lstat(self.at(name)).st_mtime_ns
        except OSError:
            return None

    def read(self, name: str) -> bytes:
        """Return the content of a plain file; raise `OSError` or `ListFileRefused` where there is none."""
        target = self._resolve(name)
        flags = os.O_RDONLY | _flag("O_NOFOLLOW") | _flag("O_NONBLOCK") | _flag("O_CLOEXEC") | _flag("O_BINARY")
        with os.fdopen(os.open(target, flags), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise ListFileRefused(path=self.at(name), problem="it is no plain file")
            body = file.read(LARGEST + 1)
        if len(body) > LARGEST:
            raise ListFileRefused(path=self.at(name), problem=f"it is larger than {LARGEST} bytes")
        return body

    def read_or_explain(self, name: str) -> bytes | str:
        """Return the content of a plain file, or why it cannot be read."""
        try:
            return self.read(name)
        except ListFileRefused as error:
            return str(error.data["problem"])
        except OSError as error:
            return error.strerror or str(error)

    def _resolve(self, name: str) -> str:
        """Return the path that a name leads to, links resolved; refuse one that leads out of the folder."""
        path = self.at(name)
        if not os.path.islink(path):
            return path
        target = os.path.realpath(path)
        if os.path.dirname(target) != os.path.realpath(self.path):
            raise ListFileRefused(path=path, problem="it is a link that leads out of the folder; remove the link")
        return target

    def replace(self, name: str, body: bytes) -> None:
        """Replace the content of a file at once. A link is replaced itself, never written through."""
        if len(body) > LARGEST:
            raise ListFileRefused(path=self.at(name), problem=f"the list takes more than {LARGEST} bytes")
        self._resolve(name)
        temporary = self.at(f".punchlist-{os.urandom(8).hex()}.tmp")
        with refuse_errors(self.at(name)):
            os.makedirs(self.path, mode=0o700, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            flags |= _flag("O_NOFOLLOW") | _flag("O_CLOEXEC") | _flag("O_BINARY")
            handle = os.open(temporary, flags, 0o600)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(body)
                os.replace(temporary, self.at(name))
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary)
                raise

    def set_aside(self, name: str, why: str) -> str:
        """Rename a file to the first free `<name>.<why>-<n>`, and return that."""
        number = 1
        while os.path.lexists(self.at(f"{name}.{why}-{number}")):
            number += 1
        aside = f"{name}.{why}-{number}"
        with refuse_errors(self.at(name)), suppress(FileNotFoundError):
            os.rename(self.at(name), self.at(aside))
        return aside


def _flag(name: str) -> int:
    """Return a flag of `os.open`, 0 where the system has none such."""
    return getattr(os, name, 0)
