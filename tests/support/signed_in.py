"""Browsers that are signed in: a cookie, and the proof that pages send with it."""

from typing import Any

import httpx

SIGN_IN = "/api/v1/sign-in/link"
PROOF_HEADER = "X-Slipway-Proof"


def sign_in(browser: httpx.Client, token: str) -> dict[str, Any]:
    """Trades the token of a link as our page does. `browser` acts for its user afterwards."""
    return keep(browser, browser.post(SIGN_IN, json={"token": token}))


async def sign_in_async(browser: httpx.AsyncClient, token: str) -> dict[str, Any]:
    """As `sign_in`."""
    return keep(browser, await browser.post(SIGN_IN, json={"token": token}))


def keep(browser: httpx.Client | httpx.AsyncClient, reply: httpx.Response) -> dict[str, Any]:
    """What our page keeps of the answer to its sign-in."""
    signed_in: dict[str, Any] = reply.raise_for_status().json()
    browser.headers[PROOF_HEADER] = signed_in["page_proof"]
    return signed_in
