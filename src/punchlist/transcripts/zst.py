"""Read a compressed transcript forwards, once, and keep the lines that can matter.

A few kilobytes of zstd can unpack to gigabytes, so text is unpacked piece by piece, and there is a ceiling on what is
unpacked and on what is kept. A plain file has neither: it is read from its end.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, BinaryIO

from punchlist.errors import ExtraMissing, TranscriptError
from punchlist.transcripts.decoding import LARGEST, record
from punchlist.transcripts.lines import LineFormat, LineTranscript, hold_records
from punchlist.transcripts.reverse import Log, holds
from punchlist.transcripts.values import CallOutcome, TranscriptCall

if TYPE_CHECKING:
    import zstandard

SUFFIX = ".zst"
_PIECE = 256
"""Compressed bytes unpacked at once. A block takes 4 bytes at least and holds 128 kB at most, so 8 MB can come out."""
_SLICE = 1 << 18
"""Unpacked bytes that are split into lines at once: in a slice of newlines each byte becomes an object."""
_MOST_TEXT = 1 << 30
_MOST_KEPT = 1 << 25
"""Decoded, a hostile line takes twenty times its length."""
_LINE_COST = 1024
_FRAME_COST = 1 << 14
"""Counted as bytes of text, so that neither millions of empty lines nor of broken frames go on for minutes."""
_FIRST = 20
_FRAME = b"\x28\xb5\x2f\xfd"


class _Allowance:
    """Bytes that may still be unpacked, or kept."""

    def __init__(self, path: str, size: int) -> None:
        self._path = path
        self._left = size

    def spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            problem = "it is too large to be read while it is compressed; unpack it with `zstd -d` and name that file"
            raise TranscriptError(path=self._path, problem=problem)


def open_compressed(path: str, form: LineFormat) -> LineTranscript:
    """Return the transcript without the lines that say nothing of a list."""
    return hold_records(_select_lines(path, form), form, path)


def read_first(path: str, count: int = _FIRST) -> list[dict[str, Any]]:
    """Return the first records of the file."""
    found: list[dict[str, Any]] = []
    for place, line in enumerate(read_lines(path)):
        if place >= count:
            break
        if line is not None and (entry := record(line)) is not None:
            found.append(entry)
    return found


def read_records(path: str) -> Iterator[dict[str, Any]]:
    """Yield the records of a file, compressed or not."""
    with ExitStack() as stack:
        if path.endswith(SUFFIX):
            lines = read_lines(path)
        else:
            lines = (line.body for line in stack.enter_context(Log(path)).forwards((b"{",)))
        for line in lines:
            if line and (found := record(line)) is not None:
                yield found


def _select_lines(path: str, form: LineFormat) -> Iterator[bytes | None]:
    """Yield the first lines, and all that may say something of a list. None stands for damage."""
    allowance = _Allowance(path, _MOST_KEPT)
    waiting = set[str]()
    for count, line in enumerate(read_lines(path)):
        if line is None:
            yield None
            continue
        is_kept = count < _FIRST or form.linking is not None or holds(line, (*form.needles, *form.callers))
        if not is_kept and not (waiting and holds(line, form.answers)):
            continue
        items = form.read_items(record(line) or {})
        answered = {item.call_id for item in items if isinstance(item, CallOutcome)}
        if is_kept or not waiting.isdisjoint(answered):
            allowance.spend(len(line) + _LINE_COST)
            yield line
        waiting -= answered
        for item in items:
            if isinstance(item, TranscriptCall) and item.call_id is not None and item.name == form.tool:
                waiting.add(item.call_id)


def read_lines(path: str) -> Iterator[bytes | None]:
    """Yield the lines of a compressed file. None stands for damage; a line that is too long comes as nothing."""
    allowance = _Allowance(path, _MOST_TEXT)
    line, any_text = bytearray(), False
    for text in _unpack(path, allowance):
        if text is None:
            if line:
                yield _take_line(line)
            yield None
            line.clear()
            continue
        any_text = True
        *ends, last = text.split(b"\n")
        allowance.spend(_LINE_COST * len(ends))
        for end in ends:
            line += end
            yield _take_line(line)
            line.clear()
        line += last
        del line[LARGEST + 1 :]  # still too long, and no longer
    if line:
        yield _take_line(line)
    if not any_text:
        with open(path, "rb") as file:
            if file.read(1):
                raise TranscriptError(path=path, problem="it is no zstd file, or all of it is damaged")


def _take_line(line: bytearray) -> bytes:
    return bytes(line) if len(line) <= LARGEST else b""


def _unpack(path: str, allowance: _Allowance) -> Iterator[bytes | None]:
    """Yield slices of the text of all frames that can be read, up to where each breaks off, and None for damage."""
    try:
        import zstandard
    except ImportError:
        raise ExtraMissing(what=f"A compressed transcript (`{path}`)", extra="zst") from None
    unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 27)
    with open(path, "rb") as file:
        start: int | None = 0
        while start is not None and file.seek(start) == start and file.read(1):
            allowance.spend(_FRAME_COST)
            end = yield from _unpack_frame(file, start, unpacker, allowance)
            if end is None:
                yield None
                start = _find_next_frame(file, start + 1)
            else:
                start = end


def _unpack_frame(
    file: BinaryIO, start: int, unpacker: zstandard.ZstdDecompressor, allowance: _Allowance
) -> Generator[bytes, None, int | None]:
    """Yield the text of the frame at a place; return where it ends, None if it is damaged or has no end."""
    import zstandard

    file.seek(start)
    frame, done = unpacker.decompressobj(), start
    try:
        while not frame.eof and (body := file.read(_PIECE)):
            text = frame.decompress(body)
            allowance.spend(len(text))
            done += len(body)
            yield from (text[at : at + _SLICE] for at in range(0, len(text), _SLICE))
    except zstandard.ZstdError:
        # Of the piece with the damage nothing came out. Read the frame again up to there, then byte by byte.
        file.seek(start)
        frame = unpacker.decompressobj()
        with suppress(zstandard.ZstdError):
            while body := file.read(max(1, min(_PIECE, done - file.tell()))):
                text = frame.decompress(body)
                allowance.spend(len(text))
                if text and file.tell() > done:
                    yield text
        return None
    return done - len(frame.unused_data) if frame.eof else None


def _find_next_frame(file: BinaryIO, start: int) -> int | None:
    """Return where the next frame begins, as far as its first bytes tell."""
    file.seek(start)
    before = b""
    while body := file.read(_FRAME_COST):
        if (found := (before + body).find(_FRAME)) >= 0:
            return start - len(before) + found
        start += len(body)
        before = (before + body)[-3:]
    return None
