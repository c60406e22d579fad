"""HTTP routes for the password and authenticator app of the current user. Changes need a browser session."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentPrincipal, CurrentUser
from app_server.core.database import ReadSession
from app_server.core.server_objects import ServerConfig
from app_server.sign_in.passwords import accounts, policy, totp
from app_server.sign_in.passwords.accounts import PasswordAccounts
from app_server.sign_in.passwords.refusals import browser_session_needed, password_sign_in_off
from app_server.sign_in.passwords.schemas import (
    CurrentPassword,
    PasswordSettings,
    RecoveryCodes,
    SetPassword,
    TotpCode,
    TotpEnrolment,
)

router = APIRouter(prefix="/api/v1", tags=["Users"])


async def _in_browser(principal: CurrentPrincipal) -> UUID:
    """Returns the id of the browser session. Raises Forbidden `browser_session_needed` for other credentials,
    such as an API key.
    """
    if principal.credential.kind != "session":
        raise browser_session_needed()
    return principal.credential.id


async def _accounts(request: Request, trail: CurrentTrail) -> PasswordAccounts:
    state = request.state
    return PasswordAccounts(state.database, state.password_hashing, state.cipher, trail)


SessionId = Annotated[UUID, Depends(_in_browser)]
Accounts = Annotated[PasswordAccounts, Depends(_accounts)]


@router.get("/password")
async def get_password_settings(
    user: CurrentUser, session: ReadSession, config: ServerConfig
) -> PasswordSettings:
    known = await accounts.find(session, user.id)
    secret = await totp.find(session, user.id)
    return PasswordSettings(
        is_offered=config.password_sign_in,
        login_name=known and known.login_name,
        suggested_login_name=policy.suggested_login_name(user.name),
        changed_at=known and known.changed_at,
        totp_since=secret and secret.confirmed_at,
        recovery_codes_left=await totp.count_recovery_codes(session, user.id),
    )


@router.put("/password", status_code=204)
async def set_password(
    user: CurrentUser, session_id: SessionId, of_users: Accounts, body: SetPassword, config: ServerConfig
) -> None:
    """Sets or changes the user's password. A change signs out all other browsers of the user.

    Errors: 400 `password_too_short`, `password_too_long`, `password_too_common`, `password_is_own_name`,
    `login_name_invalid`; 403 `current_password_wrong` if the current password is wrong; 403
    `password_sign_in_off` if this server does not allow passwords; 403 `browser_session_needed` if the
    request does not come from a signed-in browser; 409 `login_name_taken` if another user has the login name;
    429 `sign_in_throttled` after too many wrong passwords.
    """
    if not config.password_sign_in:
        raise password_sign_in_off()
    current = body.current_password
    await of_users.set_password(
        user,
        login_name=body.login_name,
        password=body.password.get_secret_value(),
        current=current.get_secret_value() if current else None,
        session_id=session_id,
    )


@router.post("/password/removal", status_code=204)
async def remove_password(
    user: CurrentUser, _session_id: SessionId, of_users: Accounts, body: CurrentPassword
) -> None:
    """Removes the user's password.

    Errors: 403 `current_password_wrong` if the current password is wrong; 403 `browser_session_needed` if the
    request does not come from a signed-in browser; 409 `password_missing` if the user has no password; 429
    `sign_in_throttled` after too many wrong passwords; 429 `sign_in_busy` if too many passwords are being
    checked.
    """
    await of_users.remove_password(user, body.current_password.get_secret_value())


@router.post("/totp", status_code=201)
async def begin_totp(
    user: CurrentUser, _session_id: SessionId, of_users: Accounts, body: CurrentPassword
) -> TotpEnrolment:
    """Creates a secret for an authenticator app and returns it. Sign-ins need codes of the app only after the
    user has entered one code, which confirms the secret.

    Errors: 403 `current_password_wrong` if the current password is wrong; 403 `browser_session_needed` if the
    request does not come from a signed-in browser; 409 `password_missing` if the user has no password; 409
    `totp_is_on` if the user already has an authenticator app; 429 `sign_in_throttled` after too many wrong
    passwords; 429 `sign_in_busy` if too many passwords are being checked.
    """
    enrolment = await of_users.begin_totp(user, body.current_password.get_secret_value())
    return TotpEnrolment.model_validate(enrolment)


@router.post("/totp/confirmation")
async def confirm_totp(
    user: CurrentUser, _session_id: SessionId, of_users: Accounts, body: TotpCode
) -> RecoveryCodes:
    """Confirms the authenticator app by one of its codes. From now on, a sign-in with the password also needs
    a code. Returns the recovery codes. Each recovery code can be entered once in place of a code of the app.
    Errors: 403 `totp_code_wrong` if the code is wrong; 403 `browser_session_needed` if the request does not
    come from a signed-in browser; 409 `totp_is_off` if no secret was created for an app before; 409
    `totp_is_on` if the app is already confirmed; 429 `sign_in_throttled` after too many wrong codes.
    """
    return RecoveryCodes(codes=await of_users.confirm_totp(user, body.code))


@router.post("/totp/recovery-codes")
async def renew_recovery_codes(
    user: CurrentUser, _session_id: SessionId, of_users: Accounts, body: TotpCode
) -> RecoveryCodes:
    """Creates ten new recovery codes, which replace all earlier ones. Returns the new codes. Each can be
    entered once in place of a code of the authenticator app.

    Errors: 403 `totp_code_wrong` if the code is wrong; 403 `browser_session_needed` if the request does not
    come from a signed-in browser; 409 `totp_is_off` if the user has no authenticator app; 429
    `sign_in_throttled` after too many wrong codes.
    """
    return RecoveryCodes(codes=await of_users.renew_recovery_codes(user, body.code))


@router.post("/totp/removal", status_code=204)
async def remove_totp(user: CurrentUser, _session_id: SessionId, of_users: Accounts, body: TotpCode) -> None:
    """Removes the authenticator app of the user. From now on, a sign-in needs only the password. Errors: 403
    `totp_code_wrong` if the code is wrong; 403 `browser_session_needed` if the request does not come from a
    signed-in browser; 409 `totp_is_off` if the user has no authenticator app; 429 `sign_in_throttled` after
    too many wrong codes.
    """
    await of_users.remove_totp(user, body.code)
