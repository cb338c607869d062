"""A page in a real browser: Chromium of the system, or Firefox where it is asked for, driven by Playwright.

`SPHEREVEC_BROWSER=firefox` runs the same tests in Firefox. They need a screen for its software rendering (`xvfb-run`),
and a Playwright that speaks with the installed release: Playwright 1.58 does with Firefox ESR 153.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--use-gl=angle", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
)  # fmt: skip
PREFERENCES = {"ui.prefersReducedMotion": 1, "webgl.force-enabled": True}
ROOT = Path(__file__).parents[1]
AXE = Path(os.environ.get("SPHEREVEC_AXE", ROOT / ".venv" / "npm" / "node_modules" / "axe-core" / "axe.min.js"))
FIREFOX = os.environ.get("SPHEREVEC_BROWSER") == "firefox"
PATIENCE = 600_000  # milliseconds; machines that run tests are busy
# What WebDriver BiDi, the way to Firefox, cannot do.
_CHROMIUM_ONLY = ("color_scheme", "has_touch", "offline", "reduced_motion")


def missing(what: str) -> NoReturn:
    """Skip, or fail where nothing may be skipped."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what}; CI must have it")
    pytest.skip(what)


@contextmanager
def started_browser() -> Iterator[Any]:
    """A browser for many pages."""
    names = ("firefox-esr", "firefox") if FIREFOX else ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if not found:
        missing(f"no {names[0]} on this machine: apt-get install {names[0]}")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("no Playwright: pip install playwright")
    with sync_playwright() as playwright:
        if FIREFOX:
            browser = playwright.firefox.launch(
                executable_path=found, channel="moz-firefox", headless=False, firefox_user_prefs=PREFERENCES
            )
        else:
            browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS), timeout=PATIENCE)
        yield browser
        browser.close()


class Visit:
    """A page in a window, and what the browser complained about."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.faults: list[str] = []
        page.on("console", lambda message: self.faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", lambda request: self._requested(request.url))

    def _requested(self, address: str) -> None:
        if not address.startswith(("file:", "data:", "blob:", "about:")):
            self.faults.append(f"asked for {address}")

    def open(self, path: Path, link: str = "") -> None:
        self.page.goto(f"file://{path}{link}")
        self.page.wait_for_selector("html[data-ready]", state="attached")

    def wait(self, expression: str) -> None:
        """Until the expression holds; the page's policy forbids Playwright's own way of waiting."""
        for _ in range(PATIENCE // 50):
            if self.page.evaluate(expression):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never true: {expression}")

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).inner_text())


def new_context(browser: Any, **options: Any) -> Any:
    """A fresh profile; Firefox gets what it understands."""
    context = browser.new_context(**{k: v for k, v in options.items() if not (FIREFOX and k in _CHROMIUM_ONLY)})
    context.set_default_timeout(PATIENCE)
    return context


@contextmanager
def visit(
    browser: Any, path: Path, link: str = "", width: int = 1100, height: int = 800, **options: Any
) -> Iterator[Visit]:
    options = {"offline": True, "reduced_motion": "reduce", **options}
    context = new_context(browser, viewport={"width": width, "height": height}, **options)
    try:
        one = Visit(context.new_page())
        one.open(path, link)
        yield one
        assert one.faults == []
    finally:
        context.close()


def shown(one: Visit) -> int:
    """How many documents the graphics card is told to draw."""
    return int(one.page.evaluate("spherevec.filters.mask.reduce((sum, value) => sum + value, 0)"))
