"""Signs HTTP clients in as browsers: with a session cookie, and the proof header that our pages
send with it.
"""

from typing import Any

import httpx

SIGN_IN = "/api/v1/sign-in/link"
PROOF_HEADER = "X-Slipway-Proof"


def sign_in(browser: httpx.Client, token: str) -> dict[str, Any]:
    """Signs the client in with the token of a sign-in link, as our page does. Returns the answer.

    From then on `browser` acts for the user of the link.
    """
    return keep(browser, browser.post(SIGN_IN, json={"token": token}))


async def sign_in_async(browser: httpx.AsyncClient, token: str) -> dict[str, Any]:
    """Does the same as `sign_in` for an asynchronous client."""
    return keep(browser, await browser.post(SIGN_IN, json={"token": token}))


def keep(browser: httpx.Client | httpx.AsyncClient, reply: httpx.Response) -> dict[str, Any]:
    """Stores the page proof from the answer to a sign-in, as our page does, and returns the answer.

    The proof is a token that our pages send in a header with each request.
    """
    signed_in: dict[str, Any] = reply.raise_for_status().json()
    browser.headers[PROOF_HEADER] = signed_in["page_proof"]
    return signed_in
