"""Stores the result of a sign-in in the browser, so that the browser stays signed in. The browser gets two
secrets: a session cookie and a page proof. Browsers send the cookie even if a page from another port of the
same host causes the request. The page proof shows that a page of this server causes it.
"""

from typing import Final

from fastapi import Request, Response

from app_server.core.config import Config
from app_server.http.middleware import session_cookie
from app_server.sign_in.service import Browser, NewBrowserSession
from app_server.users.schemas import UserInfo

# The longest time that browsers allow. The server decides when a session ends; use extends it.
_COOKIE_SECONDS: Final = 400 * 24 * 3600


class SignedInUser(UserInfo):
    """The reply to a sign-in: the signed-in user. `page_proof`: a secret that a page of the front end sends
    in the header `X-Slipway-Proof` with every request that uses the session cookie. Only pages of this server
    can read the secret. So it proves that the request does not come from a page of another origin.
    """

    page_proof: str


def browser_of(request: Request) -> Browser:
    return Browser(
        user_agent=request.headers.get("user-agent"),
        address=request.client.host if request.client else None,
    )


def keep_in_browser(signed_in: NewBrowserSession, config: Config, response: Response) -> SignedInUser:
    """Adds the session cookie of a new browser session (`signed_in`) to the HTTP response. Returns the body
    of the response, which contains the user and the page proof (a secret that pages send with their
    requests).
    """
    response.set_cookie(
        session_cookie(config),
        signed_in.cookie,
        max_age=_COOKIE_SECONDS,
        httponly=True,
        samesite="strict",
        secure=config.base_url.startswith("https:"),
    )
    info = UserInfo.model_validate(signed_in.user)
    return SignedInUser(**info.model_dump(), page_proof=signed_in.page_proof)
