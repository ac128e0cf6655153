"""A compressed transcript, read forwards once: of its lines, those that can matter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from punchlist.errors import ExtraMissing, TranscriptError
from punchlist.transcripts.decoding import LARGEST, record
from punchlist.transcripts.lines import Call, LineFormat, RecordTranscript

_CHUNK = 1 << 20
_MOST_WAITING = 1000


def read(path: str, form: LineFormat) -> RecordTranscript:
    """The transcript, without the lines that say nothing of a list."""
    return RecordTranscript(_relevant(path, form), form, source=path)


def first(path: str, count: int = 20) -> list[dict[str, Any]]:
    """The first records of the file."""
    found: list[dict[str, Any]] = []
    for place, line in enumerate(lines(path)):
        if place >= count:
            break
        if (entry := record(line)) is not None:
            found.append(entry)
    return found


def _relevant(path: str, form: LineFormat) -> Iterator[Any]:
    """Records of the head, lines with a needle, and lines that answer a call; a broken one stays a line."""
    words, waiting = form.needles, dict[bytes, None]()
    for place, line in enumerate(lines(path)):
        named = any(word in line for word in words)
        if not named and place >= 20 and not any(name in line for name in waiting):
            continue
        found = record(line)
        yield line if found is None else found
        for said in () if found is None else form.said(found):
            if isinstance(said, Call) and said.call_id is not None and named:
                waiting[f'"{said.call_id}"'.encode()] = None
                if len(waiting) > 16:
                    del waiting[next(iter(waiting))]


def lines(path: str) -> Iterator[bytes]:
    """The lines of a compressed file, up to where it breaks off; one that is too long comes as nothing."""
    try:
        import zstandard
    except ImportError:
        raise ExtraMissing(what=f"A compressed transcript (`{path}`)", extra="watch") from None
    rest, too_long = b"", False
    with open(path, "rb") as file:
        reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file, read_across_frames=True)
        while True:
            try:
                chunk = reader.read(_CHUNK)
            except zstandard.ZstdError as error:
                if not rest:
                    raise TranscriptError(path=path, problem=f"it is no zstd file ({error})") from None
                break
            if not chunk:
                break
            *whole, rest = (rest + chunk).split(b"\n")
            if whole and too_long:
                whole[0], too_long = b"", False
            yield from whole
            if len(rest) > LARGEST:
                rest, too_long = b"", True
    if rest:
        yield rest
