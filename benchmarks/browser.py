"""Chromium in a process of its own, for `benchmarks.serve`: the first paint of a page, and when a text is painted.

    python -m benchmarks.browser LINK PAINTS

Opens the page so many times with an empty cache and prints a JSON line, `{"paint": [ms, …], "bytes": [n, …]}`. Then
it stays on the page, prints `ready`, and for each line of standard input, a text, the time at which that text was
painted, in milliseconds since the epoch.
"""

from __future__ import annotations

import json
import sys

from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
_PAINT = """() => new Promise((resolve) => {
  const [found] = performance.getEntriesByName("first-contentful-paint");
  if (found) return resolve(found.startTime);
  new PerformanceObserver((list) => {
    for (const entry of list.getEntriesByName("first-contentful-paint")) resolve(entry.startTime);
  }).observe({ type: "paint", buffered: true });
})"""
_BYTES = """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .reduce((sum, entry) => sum + entry.transferSize, 0)"""
# The frame after the one in which the text came has it on the screen.
_SEEN = """(text) => new Promise((resolve, reject) => {
  setTimeout(() => reject(`${text} was not painted within a minute`), 60_000);
  const look = () => document.body.textContent.includes(text)
    && (requestAnimationFrame(() => requestAnimationFrame(() => resolve(Date.now()))), true);
  if (look()) return;
  const observer = new MutationObserver(() => look() && observer.disconnect());
  observer.observe(document.body, { subtree: true, childList: true, characterData: true });
})"""


def _open(browser: Browser, link: str) -> Page:
    """Return a page in a browser without a cache, signed in but not yet at the address."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    # Not by the link itself: it answers with a redirect to the page, which would fill the cache.
    context.request.get(link, max_redirects=0)
    return context.new_page()


def main(link: str, paints: int) -> None:
    origin = link.partition("/?")[0]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        taken: dict[str, list[float]] = {"paint": [], "bytes": []}
        for _ in range(paints):
            page = _open(browser, link)
            page.goto(f"{origin}/")
            taken["paint"].append(page.evaluate(_PAINT))
            page.locator("#link", has_text="live").wait_for()
            taken["bytes"].append(page.evaluate(_BYTES))
            page.context.close()
        print(json.dumps(taken), flush=True)
        page = _open(browser, link)
        page.goto(f"{origin}/")
        page.locator("#link", has_text="live").wait_for()
        print("ready", flush=True)
        for line in sys.stdin:
            print(page.evaluate(_SEEN, line.strip()), flush=True)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
