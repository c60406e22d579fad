"""Pages of ours that a test tries something on."""

from playwright.async_api import Page, expect

from tests.support.patience import PATIENCE_SECONDS


async def open_sign_in(page: Page, ours: str) -> None:
    """Until it is complete: a page that lacks a part reloads itself, and what is done on it is gone."""
    await page.goto(f"{ours}/sign-in")
    await expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=PATIENCE_SECONDS * 1000)
