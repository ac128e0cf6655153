"""Files that a person names: read whole, replaced whole or not at all, never written through a link."""

from __future__ import annotations

import os
import sys

from punchlist.errors import InvalidInput

_MOST = 16 * 1024 * 1024
"""Characters that are read of a file: far more than any list has, and less than would fill the memory."""


def read(path: str) -> str:
    """Return the text of a file, or of standard input for `-`."""
    if path == "-":
        return sys.stdin.read(_MOST)
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(_MOST)


def write_new(path: str, text: str, mode: int = 0o600) -> None:
    """Write a file that is not there yet, and is not reached through a link."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(path, flags, mode), "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def check_place(path: str) -> None:
    """Raise if a file of that name cannot be put there."""
    if os.path.islink(path):
        raise InvalidInput(problem=f"`{path}` is a symbolic link and is not written through; name its target instead.")
    if os.path.isdir(path):
        raise InvalidInput(problem=f"`{path}` is a folder; name a file in it.")


def replace_file(path: str, text: str, *, private: bool = False) -> None:
    """Put a new file in place of the old one, whole or not at all; a `private` one is readable by its owner alone.

    An `OSError` names the file that was asked for. A link that appears meanwhile is replaced, never followed.
    """
    folder, name = os.path.split(os.path.abspath(path))
    temporary = os.path.join(folder, f".{name}.{os.urandom(4).hex()}")
    try:
        write_new(temporary, text, 0o600 if private else 0o666)
        if os.path.exists(path) and not private:
            os.chmod(temporary, os.stat(path).st_mode & 0o777)
        os.replace(temporary, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
    finally:
        if os.path.lexists(temporary):
            os.unlink(temporary)
