"""Give the package README.md with absolute links: hatch runs this when it builds."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?\[[^]]*\]\()(?![a-z]+:|#)([^)\s]+)\)")


def make_absolute(text: str, repository: str, tag: str) -> str:
    """Return the text with each relative link pointing into the repository, as it was at this tag."""
    raw = repository.replace("//github.com/", "//raw.githubusercontent.com/")

    def expand(link: re.Match[str]) -> str:
        base = f"{raw}/{tag}" if link[1].startswith("!") else f"{repository}/blob/{tag}"
        return f"{link[1]}{base}/{link[2]})"

    return _LINK.sub(expand, text)


class CustomMetadataHook(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = make_absolute(text, metadata["urls"]["Repository"], f"v{metadata['version']}")
        owner = metadata["urls"]["Repository"].split("/")[-2]
        text += f"\n<!-- mcp-name: io.github.{owner}/{metadata['name']} -->\n"  # by this the registry knows the owner
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
