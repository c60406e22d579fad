"""Starts a real headless Chromium, the one of the system, with a new browser profile for each test."""

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

    def photograph(self, name: str) -> None:
        """Takes screenshots of the page in the light and dark themes and in two widths.

        Fails if the page is wider than the window in one of them.
        """
        SCREENSHOTS.mkdir(exist_ok=True)
        for theme in ("light", "dark"):
            # Turns animations off: otherwise a picture is taken in the middle of a change of colours.
            self.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            for size in (PHONE, DESKTOP):
                self.page.set_viewport_size(size)
                self.page.screenshot(path=SCREENSHOTS / f"{name}-{theme}-{size['width']}.png")
                overflow = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
                assert overflow <= 0, f"{name} is {overflow} px too wide at {size['width']} px"


@contextmanager
def visitor(viewport: ViewportSize = DESKTOP) -> Iterator[Visitor]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=STEADY_CHROMIUM, args=_ARGUMENTS)
        try:
            yield Visitor(browser.new_context(viewport=viewport))
        finally:
            browser.close()
