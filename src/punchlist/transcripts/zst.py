"""A compressed transcript, read forwards once: of its lines, those that can matter."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from punchlist.errors import ExtraMissing, TranscriptError
from punchlist.transcripts.decoding import LARGEST, record
from punchlist.transcripts.lines import LineFormat, word
from punchlist.transcripts.records import RecordTranscript
from punchlist.transcripts.values import CallOutcome, TranscriptCall

if TYPE_CHECKING:
    import zstandard

_CHUNK = 1 << 18
_MOST_WAITING = 1000
_FIRST = 20
_FRAME = b"\x28\xb5\x2f\xfd"


def read(path: str, form: LineFormat) -> RecordTranscript:
    """The transcript, without the lines that say nothing of a list."""
    return RecordTranscript(_relevant(path, form), form, source=path)


def first(path: str, count: int = _FIRST) -> list[dict[str, Any]]:
    """The first records of the file."""
    found: list[dict[str, Any]] = []
    for place, line in enumerate(lines(path)):
        if place >= count:
            break
        if line is not None and (entry := record(line)) is not None:
            found.append(entry)
    return found


def _relevant(path: str, form: LineFormat) -> Iterator[Any]:
    """Records of the head, lines with a needle, and lines that answer a call; a broken one stays a line."""
    words = (b"{",) if form.linking is not None else (*form.needles, *form.callers)
    waiting: dict[str, None] = {}
    answers: re.Pattern[bytes] | None = None
    for place, line in enumerate(lines(path)):
        if line is None:
            yield None
            continue
        named = any(needle in line for needle in words)
        if not named and place >= _FIRST and (answers is None or answers.search(line) is None):
            continue
        found = record(line)
        yield line if found is None else found
        before = len(waiting), next(reversed(waiting), None)
        for said in () if found is None else form.said(found):
            if isinstance(said, TranscriptCall) and said.call_id is not None and form.tool in (None, said.name):
                waiting[said.call_id] = None
            elif isinstance(said, CallOutcome):
                waiting.pop(said.call_id, None)
        if len(waiting) > _MOST_WAITING:
            del waiting[next(iter(waiting))]
        if before != (len(waiting), next(reversed(waiting), None)):
            answers = re.compile(b"|".join(re.escape(word(name)) for name in waiting)) if waiting else None


def lines(path: str) -> Iterator[bytes | None]:
    """The lines of a compressed file. None stands for damage; a line that is too long comes as nothing."""
    rest, too_long, any_text = b"", False, False
    for chunk in _chunks(path):
        if chunk is None:
            if rest:
                yield rest
            yield None
            rest, too_long = b"", False
            continue
        any_text = True
        *whole, rest = (rest + chunk).split(b"\n")
        if whole and too_long:
            whole[0], too_long = b"", False
        yield from whole
        if len(rest) > LARGEST:
            rest, too_long = b"", True
    if rest:
        yield rest
    if not any_text:
        with open(path, "rb") as file:
            if file.read(1):
                raise TranscriptError(path=path, problem="it is no zstd file, or all of it is damaged")


def _chunks(path: str) -> Iterator[bytes | None]:
    """The text of all frames that can be read, up to where each breaks off; None in place of what cannot."""
    try:
        import zstandard
    except ImportError:
        raise ExtraMissing(what=f"A compressed transcript (`{path}`)", extra="watch") from None
    unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 27)
    with open(path, "rb") as file:
        start: int | None = 0
        while start is not None and file.seek(start) == start and file.read(1):
            end = yield from _frame(file, start, unpacker)
            if end is None:
                yield None
                start = _next_frame(file, start + 1)
            else:
                start = end


def _frame(file: BinaryIO, start: int, unpacker: zstandard.ZstdDecompressor) -> Generator[bytes, None, int | None]:
    """The text of the frame at a place; returns where it ends, None if it is damaged or has no end."""
    import zstandard

    file.seek(start)
    frame, done = unpacker.decompressobj(), start
    while not frame.eof and (body := file.read(_CHUNK)):
        try:
            text = frame.decompress(body)
        except zstandard.ZstdError:
            yield from _up_to_damage(file, start, done, unpacker)
            return None
        done += len(body)
        if text:
            yield text
    return done - len(frame.unused_data) if frame.eof else None


def _up_to_damage(file: BinaryIO, start: int, done: int, unpacker: zstandard.ZstdDecompressor) -> Iterator[bytes]:
    """What comes between `done` and the damage behind it: the frame is read again up to there, then byte by byte."""
    import zstandard

    file.seek(start)
    frame = unpacker.decompressobj()
    while file.tell() < done:
        frame.decompress(file.read(min(_CHUNK, done - file.tell())))
    try:
        while body := file.read(1):
            if text := frame.decompress(body):
                yield text
    except zstandard.ZstdError:
        return


def _next_frame(file: BinaryIO, start: int) -> int | None:
    """Where the next frame begins, as far as can be told from its first bytes."""
    file.seek(start)
    before = b""
    while body := file.read(_CHUNK):
        if (found := (before + body).find(_FRAME)) >= 0:
            return start - len(before) + found
        start += len(body)
        before = (before + body)[-3:]
    return None
