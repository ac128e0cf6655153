"""A record of core as the bytes of one row, and back; what is not what was written is damage."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from punchlist.store import codec
from punchlist.store.faults import RowDamaged

T = TypeVar("T")


class Record(Generic[T]):
    """Writes and reads records of one type. `head` is what else the row says, so that no row passes for another."""

    def __init__(self, kind: type[T]) -> None:
        self._decode = msgspec.json.Decoder(kind).decode

    def written(self, head: str, value: T) -> tuple[int, bytes]:
        """The checksum and the body of a row."""
        body = codec.encode(value)
        return codec.checksum(head, body), body

    def read(self, head: str, total: int, body: bytes) -> T:
        if codec.checksum(head, body) != total:
            raise RowDamaged("a row is not what was written")
        try:
            return self._decode(body)
        except msgspec.MsgspecError as error:
            raise RowDamaged(f"a row is not readable: {type(error).__name__}") from error
