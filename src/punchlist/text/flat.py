"""Small arguments as JSON: written once, for a preview and for the one text that several hashes can be taken of."""

from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any, Final, NamedTuple, cast

from punchlist.text.redaction import secrecy

_LARGEST: Final = 2**53
_LONGEST: Final = 32_768
_LONGEST_NAME: Final = 64
_MOST: Final = 256
_USUAL: Final = 1_024
"""Characters of all keys together, up to which their shape is kept for the next object with the same keys."""

_CONSTANTS: Final = {None: "null", True: "true", False: "false"}


class Shape(NamedTuple):
    """What the keys of an object say: how it looks as JSON once its values are put in, see `str.format`.

    `compact` has the keys sorted and no blanks. `spaced` is how it is shown: "" where a key is long, or a name under
    which some hide secrets, so that the value has to be looked at.
    """

    compact: str
    spaced: str


class Flat(NamedTuple):
    """An object of texts, small whole numbers, truths and nulls. `written` has the JSON of each value, in their order.

    `json` is the object with its keys sorted and without blanks, None if that is long, or not all plain ASCII. Of such
    a value every encoder that sorts keys and leaves out blanks makes this very text.
    """

    shape: Shape
    written: list[str]
    json: bytes | None


def flat(value: object) -> Flat | None:
    """The value if it is such an object, of at most a few hundred fields and without a very long text."""
    if type(value) is not dict or len(fields := cast("dict[Any, Any]", value)) > _MOST:
        return None
    written: list[str] = []
    for entry in fields.values():
        kind = type(entry)
        if kind is str and len(entry) <= _LONGEST:
            written.append(encode_basestring(entry))
        elif kind is int and -_LARGEST <= entry <= _LARGEST:
            written.append(str(entry))
        elif entry is None or kind is bool:
            written.append(_CONSTANTS[entry])
        else:
            return None
    try:
        is_usual = len("".join(fields)) <= _USUAL
    except TypeError:  # a key that is no text
        return None
    shape = _usual_shape(*fields) if is_usual else _shape(*fields)
    if shape is None:
        return None
    text = shape.compact.format(*written)
    is_plain = len(text) <= _LONGEST and text.isascii() and "\x7f" not in text
    return Flat(shape, written, text.encode() if is_plain else None)


def flat_json(value: object) -> bytes | None:
    """The `json` of the value if it is `flat`, else None."""
    found = flat(value)
    return None if found is None else found.json


def _shape(*names: str) -> Shape | None:
    """The shape of these keys; None for a kind of texts of one's own, that may show itself in its own way."""
    if any(type(name) is not str for name in names):
        return None
    heads = [encode_basestring(name).replace("{", "{{").replace("}", "}}") for name in names]
    spaced = [f"{head}: {{{place}}}" for place, head in enumerate(heads)]
    compact = [f"{heads[place]}:{{{place}}}" for place in sorted(range(len(names)), key=names.__getitem__)]
    is_shown = all(len(name) <= _LONGEST_NAME and name.lower() != "value" and secrecy(name) == "none" for name in names)
    return Shape(_braced(",".join(compact)), _braced(", ".join(spaced)) if is_shown else "")


_usual_shape: Final = lru_cache(maxsize=512, typed=True)(_shape)


def _braced(fields: str) -> str:
    return f"{{{{{fields}}}}}"
