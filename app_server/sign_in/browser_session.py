"""How a browser is signed in, whatever it has shown: a cookie, and the proof for its pages."""

from typing import Final

from fastapi import Request, Response

from app_server.core.config import Config
from app_server.http.middleware import session_cookie
from app_server.sign_in.service import Browser, NewBrowserSession
from app_server.users.schemas import UserInfo

# As long as browsers allow: when a session ends is the server's decision, and it is prolonged by use.
_COOKIE_SECONDS: Final = 400 * 24 * 3600


class SignedInUser(UserInfo):
    """`page_proof` goes into the header `X-Slipway-Proof` of every call that is authorised by the cookie.
    Pages keep it where only their own origin can read it.
    """

    page_proof: str


def browser_of(request: Request) -> Browser:
    return Browser(
        user_agent=request.headers.get("user-agent"),
        address=request.client.host if request.client else None,
    )


def keep_in_browser(signed_in: NewBrowserSession, config: Config, response: Response) -> SignedInUser:
    """Sets the cookie. The body that tells the proof."""
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
