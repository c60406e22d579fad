"""Fixtures for the tests of passwords: people with passwords, and signed-in browsers. Passwords are hashed
with cheap parameters, to save time.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pyotp
import pytest
from argon2 import PasswordHasher

from app_server.main import WithState, create_app
from app_server.sign_in.passwords import totp
from app_server.sign_in.passwords.hashing import PasswordHashing
from app_server.sign_in.service import create_link
from app_server.users.models import Role, User
from app_server.users.service import create_user
from tests.app_server.conftest import App, http_client
from tests.support.signed_in import keep, sign_in_async

ORIGIN = {"Origin": "http://localhost:3000"}
PASSWORD = "purple walrus on a train"
OTHER = "green teapot under a bridge"


def cheap(**parameters: int) -> PasswordHashing:
    return PasswordHashing(
        PasswordHasher(**{"time_cost": 1, "memory_cost": 8, "parallelism": 1, **parameters})
    )


class Site:
    """An app server with cheap password hashing, and helpers with which people sign in.

    state: shared objects that replace those of the app server, by name.
    """

    def __init__(self, app: App, **state: Any) -> None:
        self.app = app
        self.state: dict[str, Any] = {**app.state, "password_hashing": cheap(), **state}
        self.public = WithState(create_app(self.state["config"]), self.state)

    async def person(self, name: str = "Ada Lovelace", role: Role = Role.MEMBER) -> User:
        async with self.app.database.session() as session:
            return await create_user(session, name=name, role=role)

    @asynccontextmanager
    async def browser(self, user: User | None = None) -> AsyncIterator[httpx.AsyncClient]:
        """Yields the HTTP client of a browser that has signed in as the user by a link. None: the browser is
        not signed in.
        """
        async with http_client(self.public, headers=ORIGIN) as client:
            if user is not None:
                async with self.app.database.session() as session:
                    token = await create_link(session, user.id)
                await sign_in_async(client, token)
            yield client

    @asynccontextmanager
    async def ada(self, login_name: str = "ada") -> AsyncIterator[httpx.AsyncClient]:
        """Yields the signed-in browser of a new member, Ada, who has set a password."""
        async with self.browser(await self.person()) as browser:
            (await set_password(browser, login_name=login_name)).raise_for_status()
            yield browser

    async def sign_in(self, address: str = "192.0.2.1", **wanted: Any) -> httpx.Response:
        """Signs in with a login name and a password, from this client address and without a cookie. Returns
        the reply.

        wanted: further or other fields of the request body.
        """
        transport = httpx.ASGITransport(self.public, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:3000") as client:
            body = {"login_name": "ada", "password": PASSWORD, **wanted}
            return await client.post("/api/v1/sign-in/password", json=body)


@pytest.fixture
def site(app: App) -> Site:
    return Site(app)


async def set_password(browser: httpx.AsyncClient, **wanted: Any) -> httpx.Response:
    body = {"login_name": "ada", "password": PASSWORD, **wanted}
    return await browser.put("/api/v1/password", json=body)


async def enrol(browser: httpx.AsyncClient) -> tuple[pyotp.TOTP, list[str]]:
    """Adds an authenticator app to the user's account. Returns the authenticator and the recovery codes."""
    begun = await browser.post("/api/v1/totp", json={"current_password": PASSWORD})
    authenticator = pyotp.TOTP(begun.raise_for_status().json()["secret"])
    # Confirms with the code before the current one, so that the test can still use the current code.
    code = authenticator.at(time.time() - totp.STEP_SECONDS)
    confirmed = await browser.post("/api/v1/totp/confirmation", json={"code": code})
    return authenticator, confirmed.raise_for_status().json()["codes"]


def acts_as(browser: httpx.AsyncClient, reply: httpx.Response) -> None:
    """Stores the cookies of a sign-in's reply in the browser, and the page proof, a value that the page
    sends together with the cookie.
    """
    browser.cookies.update(reply.cookies)
    keep(browser, reply)
