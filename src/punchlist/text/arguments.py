"""Read the arguments of a tool call, whichever way a host hands them on."""

import json
from typing import Any, Final, cast

_LONGEST: Final = 1_000_000
"""Characters of the longest JSON text that is decoded; a longer one stays as it is."""


def as_object(arguments: Any) -> Any:
    """Return the object in a JSON text, as OpenAI's function calls have their arguments; anything else as it was.

    A text that is no JSON object stays one: it may be a command line.
    """
    if not isinstance(arguments, str) or len(arguments) > _LONGEST or arguments.lstrip()[:1] != "{":
        return arguments
    try:
        read = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return cast("Any", read) if type(read) is dict else arguments
