"""Small arguments as JSON: one text that several hashes can be taken of."""

import json
from typing import Any, Final, cast

_LARGEST: Final = 2**53
_LONGEST: Final = 32_768
_MOST: Final = 256
_encode: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


def flat_json(value: object) -> bytes | None:
    """An object of plain ASCII texts, small whole numbers, truths and nulls, its keys sorted; None for all else.

    Of such a value every encoder that sorts keys and leaves out blanks makes this very text.
    """
    if type(value) is not dict:
        return None
    fields = cast("dict[Any, Any]", value)
    if len(fields) > _MOST:
        return None
    for key, entry in fields.items():
        kind = cast("type[object]", type(entry))
        if type(key) is not str or not (
            kind is str or kind is bool or entry is None or (kind is int and -_LARGEST <= entry <= _LARGEST)
        ):
            return None
        if isinstance(entry, str) and len(entry) > _LONGEST:
            return None
    text = _encode(fields)
    return text.encode() if len(text) <= _LONGEST and text.isascii() and "\x7f" not in text else None
