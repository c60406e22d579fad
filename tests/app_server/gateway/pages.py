"""A helper for tests that run scripts in a page of the app server."""

from playwright.async_api import Page, expect

from tests.support.patience import PATIENCE_SECONDS


async def open_sign_in(page: Page, ours: str) -> None:
    """Opens the sign-in page, and waits until it is complete: an incomplete page reloads itself, and changes
    by a test are lost.

    ours: the origin of the app server.
    """
    await page.goto(f"{ours}/sign-in")
    await expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=PATIENCE_SECONDS * 1000)
