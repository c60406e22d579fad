"""Signing in with the one-time link, and out again."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from app_server.config import Config
from app_server.database import Session
from app_server.middleware import session_cookie
from app_server.sign_in import service
from app_server.users.models import User
from app_server.users.schemas import UserInfo

router = APIRouter(prefix="/api/v1/sign-in", tags=["Sign-in"])

# As long as browsers allow: when a session ends is the server's decision, and it is prolonged by use.
_COOKIE_SECONDS = 400 * 24 * 3600


class SignInWithLink(BaseModel):
    token: Annotated[str, Field(min_length=1, max_length=200)]


@router.post("/link", response_model=UserInfo)
async def sign_in_with_link(
    body: SignInWithLink, session: Session, request: Request, response: Response
) -> User:
    config: Config = request.state.config
    lifetime = timedelta(days=config.session_days)
    user, cookie = await service.sign_in_with_link(session, body.token, lifetime=lifetime)
    response.set_cookie(
        session_cookie(config),
        cookie,
        max_age=_COOKIE_SECONDS,
        httponly=True,
        samesite="strict",
        secure=config.base_url.startswith("https:"),
    )
    return user


@router.delete("/session", status_code=204)
async def sign_out(session: Session, request: Request, response: Response) -> None:
    config: Config = request.state.config
    name = session_cookie(config)
    if cookie := request.cookies.get(name):
        await service.sign_out(session, cookie)
    response.delete_cookie(
        name, httponly=True, samesite="strict", secure=config.base_url.startswith("https:")
    )
