"""Text from a model is data: one cleaner, and one renderer for each way out.

`clean` runs once, where text comes in. `for_terminal`, `for_prompt` and `fence` run where it goes out, and trust
nobody to have cleaned before. `cut` and `fit` shorten without splitting what a reader sees as one character.
"""

from punchlist.text.cells import fit, width
from punchlist.text.cleaning import Cleaned, clean, repair
from punchlist.text.exits import fence, for_prompt, for_terminal
from punchlist.text.segments import cut, graphemes

__all__ = ["Cleaned", "clean", "cut", "fence", "fit", "for_prompt", "for_terminal", "graphemes", "repair", "width"]
