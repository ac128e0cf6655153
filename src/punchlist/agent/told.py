"""What a model is told outside its turns: the layers about its tool, and its open work after a compaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from punchlist.agent.handle import Handle

if TYPE_CHECKING:
    from punchlist.guidance.compaction import OpenWork
    from punchlist.guidance.layers import Layer


class Told(Handle):
    """Texts for the host to put before the model."""

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The pieces about the todo tool, by the option `layers`, else by the profile. They never change with the list.

        Empty where the tool is not offered and in the profile `off`.
        """
        from punchlist.guidance.layers import PROFILES, layers

        names = self._options.get("layers")
        wanted = PROFILES[self.profile] if names is None or self.profile == "off" else names
        return layers(self.tools, wanted, verbose=self._options.get("verbose", False))

    @property
    def prompt(self) -> str:
        """Those of the layers that belong in the system prompt, as one text."""
        from punchlist.guidance.layers import prompt

        return prompt(self.layers)

    def compaction_block(self) -> str | None:
        """Unfinished work only, for a conversation that was compacted; None when nothing is open.

        Fenced; in Hermes' own format under its dialect. `guidance.compaction.merge_block` puts it in its place. None in
        the profile `off` and where the tool is not offered.
        """
        from punchlist.guidance.compaction import block

        if self.profile == "off" or not self.offered:
            return None
        return block(self._open_work(), self._dialect)

    def _open_work(self) -> tuple[OpenWork, ...]:
        """All work that this agent still owes. Open work from elsewhere than its list is to be added here."""
        from punchlist.guidance.compaction import open_work

        return open_work(self.todos, self._dialect)
