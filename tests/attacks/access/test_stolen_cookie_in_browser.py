"""Tests with a real browser: an agent's program on another port of the same host gets the user's cookie, but
cannot use it.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import BrowserContext, Page, async_playwright, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from app_server.sign_in.service import create_link
from app_server.users.models import User
from tests.app_server.conftest import App, listening
from tests.app_server.problems import assert_problem
from tests.support.patience import PATIENCE_SECONDS
from tests.support.steady_chromium import STEADY_CHROMIUM

pytestmark = pytest.mark.browser

STORED = "JSON.stringify([...Object.entries(localStorage), ...Object.entries(sessionStorage)])"


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """Returns the URL of a SQLite database. These tests do not depend on the kind of database."""
    return f"sqlite+aiosqlite:///{tmp_path / 'slipway.sqlite3'}"


@pytest.fixture
async def chromium() -> AsyncIterator[BrowserContext]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=STEADY_CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        context = await browser.new_context()
        context.set_default_timeout(PATIENCE_SECONDS * 1000)
        yield context
        await context.close()
        await browser.close()


async def is_signed_in(page: Page) -> None:
    link = page.get_by_role("link", name="New task")
    await expect(link).to_be_visible(timeout=PATIENCE_SECONDS * 1000)


async def test_a_page_on_another_port_gets_the_cookie_and_nothing_by_it(
    app: App, owner: User, chromium: BrowserContext
) -> None:
    cookies: list[str] = []

    async def take(request: Request) -> Response:
        cookies.append(request.headers.get("cookie", ""))
        return HTMLResponse("<h1>harmless</h1>")

    async with app.database.session() as session:
        token = await create_link(session, owner.id)
    async with (
        listening(app.public) as ours,
        listening(Starlette(routes=[Route("/", take)])) as theirs,
    ):
        page = await chromium.new_page()
        await page.goto(f"{ours}/sign-in#token={token}")
        await is_signed_in(page)
        assert "page-proof" in await page.evaluate(STORED)

        visit = await chromium.new_page()
        await visit.goto(theirs)
        assert json.loads(await visit.evaluate(STORED)) == []
        assert "slipway_session=" in cookies[0], "browsers do not look at the port"
        headers = {"Cookie": cookies[0], "Origin": ours}
        async with httpx.AsyncClient(base_url=ours, headers=headers) as thief:
            assert_problem(await thief.get("/api/v1/users/me"), 401, "page_proof_missing")
            made = await thief.post("/api/v1/api-keys", json={"name": "thief"})
            assert_problem(made, 401, "page_proof_missing")

        await page.reload()
        await is_signed_in(page)
        other_tab = await chromium.new_page()
        await other_tab.goto(ours)
        await is_signed_in(other_tab)

        await other_tab.evaluate("localStorage.clear()")
        await other_tab.reload()
        await expect(other_tab.get_by_text("You have to sign in again")).to_be_visible()
