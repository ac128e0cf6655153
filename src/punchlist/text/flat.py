"""Small arguments as JSON: one text that several hashes can be taken of."""

from json.encoder import encode_basestring
from typing import Any, Final, cast

_LARGEST: Final = 2**53
_LONGEST: Final = 32_768
_MOST: Final = 256


def flat_json(value: object) -> bytes | None:
    """An object of plain ASCII texts, small whole numbers, truths and nulls, its keys sorted; None for all else.

    Of such a value every encoder that sorts keys and leaves out blanks makes this very text.
    """
    if type(value) is not dict or len(fields := cast("dict[Any, Any]", value)) > _MOST:
        return None
    try:
        names: list[Any] = sorted(fields)
    except TypeError:  # keys of several kinds
        return None
    parts: list[str] = []
    for name in names:
        if type(name) is not str:
            return None
        entry: Any = fields[name]
        if type(entry) is str:
            if len(entry) > _LONGEST:
                return None
            written = encode_basestring(entry)
        elif entry is None:
            written = "null"
        elif entry is True or entry is False:
            written = "true" if entry else "false"
        elif type(entry) is int and -_LARGEST <= entry <= _LARGEST:
            written = str(entry)
        else:
            return None
        parts.append(f"{encode_basestring(name)}:{written}")
    text = f"{{{','.join(parts)}}}"
    return text.encode() if len(text) <= _LONGEST and text.isascii() and "\x7f" not in text else None
