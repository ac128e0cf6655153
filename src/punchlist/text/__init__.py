"""Clean text from models where it comes in, and render it where it goes out.

`clean` runs once, on the way in. `for_terminal`, `for_prompt` and `fence` run on the way out and do not rely on it.
`cut` and `fit` shorten without splitting a grapheme cluster.
"""

from punchlist.text.cleaning import Cleaned, clean, repair
from punchlist.text.rendering import cut, fence, fit, for_prompt, for_terminal, graphemes, width

__all__ = ["Cleaned", "clean", "cut", "fence", "fit", "for_prompt", "for_terminal", "graphemes", "repair", "width"]
