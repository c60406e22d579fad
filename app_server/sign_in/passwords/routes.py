"""The HTTP route to sign in with a password."""

from fastapi import APIRouter, Request, Response

from app_server.access.web_sessions import end_of_session
from app_server.audit.actions import ActorMeans
from app_server.core.database import now
from app_server.core.server_objects import ServerConfig
from app_server.sign_in.browser_session import SignedInUser, browser_of, keep_in_browser
from app_server.sign_in.passwords.refusals import password_sign_in_off
from app_server.sign_in.passwords.schemas import SignInWithPassword
from app_server.sign_in.passwords.sign_in import PasswordSignIns
from app_server.sign_in.refused_sign_ins import RefusedSignIns

router = APIRouter(prefix="/api/v1/sign-in", tags=["Sign-in"])


@router.post("/password")
async def sign_in_with_password(
    body: SignInWithPassword, config: ServerConfig, request: Request, response: Response
) -> SignedInUser:
    """Signs a user in with a login name and a password, and with a code if the user has an authenticator app.
    Sets the session cookie and returns the user. Errors: 401 `login_refused` if the name or the password is
    wrong; 401 `totp_code_needed` if the code is missing; 401 `totp_code_wrong` if the code is wrong; 401
    `account_disabled` if the account is disabled; 403 `password_sign_in_off` if this server does not allow
    passwords; 429 `sign_in_throttled` after too many failed attempts; 429 `sign_in_busy` if too many
    passwords are being checked. Replies with 429 have the header `Retry-After`.
    """
    if not config.password_sign_in:
        raise password_sign_in_off()
    state = request.state
    sign_ins = PasswordSignIns(state.database, state.password_hashing, state.cipher)
    refused: RefusedSignIns = state.refused_sign_ins
    # Every refusal of a sign-in with a password passes here; every success passes `open_session`.
    with refused.watched(request, ActorMeans.PASSWORD):
        signed_in = await sign_ins.sign_in(
            login_name=body.login_name,
            password=body.password.get_secret_value(),
            code=body.code,
            browser=browser_of(request),
            expires_at=end_of_session(config, now()),
        )
    return keep_in_browser(signed_in, config, response)
