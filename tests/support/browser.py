"""Starts a real headless Chromium, the one of the system, with a new browser profile for each test."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, ViewportSize, expect, sync_playwright

from tests.support.patience import PATIENCE_SECONDS
from tests.support.server import AppServerProcess
from tests.support.steady_chromium import STEADY_CHROMIUM

Theme = Literal["light", "dark"]

DESKTOP = ViewportSize(width=1440, height=900)
PHONE = ViewportSize(width=390, height=844)
SCREENSHOTS = Path(__file__).parents[2] / "test-results"
WANTS_SCREENSHOTS = os.environ.get("SLIPWAY_TEST_SCREENSHOTS") == "1"
"""Whether the tests save screenshots. These are for people who want to look at the pages."""

# A page that follows the window's width draws its new state in the next frame.
_OVERFLOW_AFTER_NEXT_FRAME = """async () => {
    for (const _ of [1, 2]) await new Promise(requestAnimationFrame)
    return document.documentElement.scrollWidth - window.innerWidth
}"""

# The default of Playwright, five seconds, is too short.
expect.set_options(timeout=PATIENCE_SECONDS * 1000)

# Without these arguments Chromium tries to reach its vendor at every start.
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Visitor:
    """A browser page. It collects the script errors and console errors of the page in `complaints`."""

    def __init__(self, context: BrowserContext) -> None:
        context.set_default_timeout(PATIENCE_SECONDS * 1000)
        self.page: Page = context.new_page()
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._note)

    def _note(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(f"{message.text} ({message.location['url']})")

    def sign_in(self, server: AppServerProcess) -> None:
        self.page.goto(server.new_sign_in_link())
        expect(self.page).to_have_url(re.compile(r"://[^/]+/$"))

    def check_layout(self, name: str) -> None:
        """Fails if the page is wider than the browser window. Checks this with a window of the size of a
        phone, and with a window of the size of a desktop screen.

        If screenshots are wanted, saves screenshots in both sizes, each in the light and in the dark theme.
        `name`: the first part of the file names of the screenshots.
        """
        # Turns animations off: otherwise a picture is taken in the middle of a change of colours.
        self.page.emulate_media(reduced_motion="reduce")
        for size in (PHONE, DESKTOP):
            self.page.set_viewport_size(size)
            overflow = self.page.evaluate(_OVERFLOW_AFTER_NEXT_FRAME)
            assert overflow <= 0, f"{name} is {overflow} px too wide at {size['width']} px"
            if WANTS_SCREENSHOTS:
                for theme in ("light", "dark"):
                    self.page.emulate_media(color_scheme=theme)
                    save_screenshot(self.page, f"{name}-{theme}-{size['width']}")


def save_screenshot(page: Page, name: str) -> None:
    """Saves a screenshot of the page, if screenshots are wanted."""
    if WANTS_SCREENSHOTS:
        SCREENSHOTS.mkdir(exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{name}.png")


@contextmanager
def visitor(viewport: ViewportSize = DESKTOP) -> Iterator[Visitor]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=STEADY_CHROMIUM, args=_ARGUMENTS)
        try:
            yield Visitor(browser.new_context(viewport=viewport))
        finally:
            browser.close()
