"""Open every page of build/site in Chromium, in both themes, wide and at 390 px; keep pictures and tell what is wrong.

Wrong is: an error on the console, a request to another host, text that is wider than the window.
"""

import argparse
import shutil
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, sync_playwright

SITE = Path(__file__).resolve().parent.parent / "build" / "site"


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        return


def look(browser: Browser, origin: str, theme: Literal["light", "dark"], width: int, pictures: Path) -> list[str]:
    """Open each page once in this theme and width; return what is wrong."""
    found: list[str] = []
    context = browser.new_context(color_scheme=theme, viewport={"width": width, "height": 900})
    page = context.new_page()
    where = ""
    page.on("console", lambda told: found.append(f"{where}: {told.text}") if told.type == "error" else None)
    page.on(
        "request", lambda sent: None if sent.url.startswith((origin, "data:")) else found.append(f"{where}: {sent.url}")
    )
    for file in sorted(SITE.rglob("index.html")):
        name = file.parent.relative_to(SITE).as_posix()
        where = f"{name} {theme} {width}"
        page.goto(f"{origin}/{'' if name == '.' else f'{name}/'}", wait_until="networkidle")
        extra = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        if extra > 0:
            found.append(f"{where}: {extra} px too wide")
        page.screenshot(path=pictures / f"{name.replace('/', '-').replace('.', 'start')}-{theme}-{width}.png")
    context.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pictures", type=Path, help="the folder for the pictures")
    pictures: Path = parser.parse_args().pictures
    pictures.mkdir(parents=True, exist_ok=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_port}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        found = [
            problem
            for theme in ("light", "dark")
            for width in (1280, 390)
            for problem in look(browser, origin, theme, width, pictures)
        ]
        browser.close()
    server.shutdown()
    print("\n".join(found) or "nothing is wrong")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
