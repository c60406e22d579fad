"""Signing in with the one-time link, and out again."""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from app_server.access.audit_trail import address_of
from app_server.access.web_sessions import end_of_session
from app_server.audit.actions import ActorMeans
from app_server.core.config import Config
from app_server.core.database import Session, now
from app_server.http.middleware import page_proof_of, session_cookie
from app_server.sign_in import service
from app_server.sign_in.refused import RefusedSignIns
from app_server.users.schemas import UserInfo

router = APIRouter(prefix="/api/v1/sign-in", tags=["Sign-in"])

# As long as browsers allow: when a session ends is the server's decision, and it is prolonged by use.
_COOKIE_SECONDS = 400 * 24 * 3600


class SignInWithLink(BaseModel):
    token: Annotated[str, Field(min_length=1, max_length=200)]


class SignedInUser(UserInfo):
    """`page_proof` goes into the header `X-Slipway-Proof` of every call that is authorised by the cookie.
    Pages keep it where only their own origin can read it.
    """

    page_proof: str


@router.post("/link")
async def sign_in_with_link(
    body: SignInWithLink, session: Session, request: Request, response: Response
) -> SignedInUser:
    config: Config = request.state.config
    refused: RefusedSignIns = request.state.refused_sign_ins
    browser = service.Browser(user_agent=request.headers.get("user-agent"), address=address_of(request))
    with refused.watched(request, ActorMeans.LINK):
        signed_in = await service.sign_in_with_link(
            session, body.token, browser=browser, expires_at=end_of_session(config, now())
        )
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


@router.delete("/session", status_code=204)
async def sign_out(session: Session, request: Request, response: Response) -> None:
    config: Config = request.state.config
    name = session_cookie(config)
    if (cookie := request.cookies.get(name)) and (proof := page_proof_of(request)):
        await service.sign_out(session, cookie, proof, address=address_of(request))
    response.delete_cookie(
        name, httponly=True, samesite="strict", secure=config.base_url.startswith("https:")
    )
