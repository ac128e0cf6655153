"""Packages that only some commands may load."""

WEB_PACKAGES = {
    "starlette", "uvicorn", "anyio", "h11", "click", "jinja2", "markupsafe", "markdown_it", "mcp", "pydantic",
}  # fmt: skip
"""Those of the server, with what they import: only `serve` loads them, and `report --html` Jinja2."""
