"""HTTP routes to sign in with a one-time link, and to sign out."""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from app_server.access.audit_trail import address_of
from app_server.access.web_sessions import end_of_session
from app_server.audit.actions import ActorMeans
from app_server.core.database import Session, now
from app_server.core.encryption import ServerCipher
from app_server.core.server_objects import ServerConfig
from app_server.http.middleware import page_proof_of, session_cookie
from app_server.http.strict_body import StrictBody
from app_server.sign_in import service
from app_server.sign_in.browser_session import SignedInUser, browser_of, keep_in_browser
from app_server.sign_in.passwords.accounts import may_choose_password
from app_server.sign_in.refused_sign_ins import RefusedSignIns, ServerRefusedSignIns
from app_server.sign_in.saml import provider_sessions
from app_server.sign_in.saml.logout import address_to_end_session, find_way_out
from app_server.sign_in.saml.providers import ServerSamlProviders

router = APIRouter(prefix="/api/v1/sign-in", tags=["Sign-in"])


class SignInWithLink(StrictBody):
    token: Annotated[str, Field(min_length=1, max_length=200)]


class SignedInByLink(SignedInUser):
    """The reply of a sign-in by a one-time link: the signed-in user. `may_choose_password`: true if the user
    was invited and has no password yet; the page then suggests to set a password.
    """

    may_choose_password: bool


@router.post("/link")
async def sign_in_with_link(
    body: SignInWithLink,
    session: Session,
    config: ServerConfig,
    refused_sign_ins: ServerRefusedSignIns,
    request: Request,
    response: Response,
) -> SignedInByLink:
    refused: RefusedSignIns = refused_sign_ins
    with refused.watched(request, ActorMeans.LINK):
        signed_in = await service.sign_in_with_link(
            session, body.token, browser=browser_of(request), expires_at=end_of_session(config, now())
        )
    details = keep_in_browser(signed_in, config, response)
    offer = await may_choose_password(session, config, signed_in)
    return SignedInByLink(**details.model_dump(), may_choose_password=offer)


class SignOutGoesOn(BaseModel):
    """The reply to a sign-out that also ends the user's session at a SAML provider. `url`: the page at the
    provider that the browser opens next, so that the provider ends that session.
    """

    url: str


@router.delete("/session", status_code=204, responses={200: {"model": SignOutGoesOn}})
async def sign_out(
    session: Session,
    config: ServerConfig,
    request: Request,
    saml_providers: ServerSamlProviders,
    cipher: ServerCipher,
) -> Response:
    """Ends the browser session. If the browser has signed in by a SAML provider with single logout, replies
    with 200 and the URL at the provider that the browser opens next, so that the provider ends its session
    too. Otherwise, replies without a body.
    """
    way = await find_way_out(saml_providers, cipher, provider_sessions.COOKIE.read(request, config))
    name = session_cookie(config)
    ended: service.SignedOut | None = None
    if (cookie := request.cookies.get(name)) and (proof := page_proof_of(request)):
        ended = await service.sign_out(session, cookie, proof, address=address_of(request))
    url = await address_to_end_session(way, ended)
    response = JSONResponse({"url": url}) if url else Response(status_code=204)
    provider_sessions.COOKIE.forget(response, config)
    response.delete_cookie(
        name, httponly=True, samesite="strict", secure=config.base_url.startswith("https:")
    )
    return response
