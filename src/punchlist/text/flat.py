"""Small arguments as JSON: written once, for a preview and for the one text that several hashes can be taken of."""

from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any, Final, NamedTuple, cast

from punchlist.text.redaction import secrecy

_LARGEST: Final = 2**53
_LONGEST: Final = 32_768
_LONGEST_NAME: Final = 64
_MOST: Final = 256
_LONGEST_KEYS: Final = 1_024
"""Characters of all keys together: what is known of them is kept for the next object with the same keys."""

_CONSTANTS: Final = {None: "null", True: "true", False: "false"}


class Shape(NamedTuple):
    """What the keys of an object say: how it looks as JSON once its values are put in, see `str.format`.

    `compact` has the keys sorted and no blanks. `spaced` is how it is shown: "" where a key is long, or a name under
    which some hide secrets, so that the value has to be looked at.
    """

    names: tuple[str, ...]
    compact: str
    spaced: str


class Flat(NamedTuple):
    """An object of texts, small whole numbers, truths and nulls. `written` has the JSON of each value, in their order.

    `text` is the object with its keys sorted and without blanks, "" if that is long, or not all plain ASCII; `json` is
    the same as bytes. Of such a value every encoder that sorts keys and leaves out blanks makes this very text.
    """

    shape: Shape
    written: list[str]
    text: str
    json: bytes | None


def flat(value: object) -> Flat | None:
    """The value if it is such an object, of at most a few hundred fields and without very long keys or texts."""
    if type(value) is not dict or len(fields := cast("dict[Any, Any]", value)) > _MOST:
        return None
    written: list[str] = []
    for entry in fields.values():
        if type(entry) is str and len(entry) <= _LONGEST:
            written.append(encode_basestring(entry))
        elif type(entry) is int and -_LARGEST <= entry <= _LARGEST:
            written.append(str(entry))
        elif entry is None or type(entry) is bool:
            written.append(_CONSTANTS[entry])
        else:
            return None
    try:
        shape = _shape(*fields) if len("".join(fields)) <= _LONGEST_KEYS else None
    except TypeError:  # a key that is no text
        return None
    if shape is None:
        return None
    text = shape.compact.format(*written)
    if len(text) <= _LONGEST and text.isascii() and "\x7f" not in text:
        return Flat(shape, written, text, text.encode())
    return Flat(shape, written, "", None)


def flat_json(value: object) -> bytes | None:
    """The `json` of the value if it is `flat`, else None."""
    found = flat(value)
    return None if found is None else found.json


@lru_cache(maxsize=512, typed=True)
def _shape(*names: str) -> Shape | None:
    """The shape of these keys; None for a kind of texts of one's own, that may show itself in its own way."""
    if any(type(name) is not str for name in names):
        return None
    heads = [encode_basestring(name).replace("{", "{{").replace("}", "}}") for name in names]
    spaced = [f"{head}: {{{place}}}" for place, head in enumerate(heads)]
    compact = [f"{heads[place]}:{{{place}}}" for place in sorted(range(len(names)), key=names.__getitem__)]
    is_shown = all(len(name) <= _LONGEST_NAME and name.lower() != "value" and secrecy(name) == "none" for name in names)
    return Shape(names, _braced(",".join(compact)), _braced(", ".join(spaced)) if is_shown else "")


def _braced(fields: str) -> str:
    return f"{{{{{fields}}}}}"
