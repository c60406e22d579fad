"""Routes with which users sign in to git hosts: by a redirect of the browser, or by a code that the user
types at the host.
"""

from fastapi import APIRouter, Request, Response

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentPrincipal
from app_server.access.principal import Principal
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import Database, ReadSession
from app_server.core.encryption import ServerCipher
from app_server.core.server_objects import ServerConfig
from app_server.git.schemas import GitCredentialInfo
from app_server.git_hosts.authorization import attempts, sign_in
from app_server.git_hosts.authorization.app_routes import all_apps, app_with_secrets, callback_url
from app_server.git_hosts.authorization.attempts import DeviceAttempt, RedirectAttempt
from app_server.git_hosts.authorization.endpoints import OAuthApp
from app_server.git_hosts.authorization.schemas import (
    AskAboutDevice,
    DeviceStatus,
    FinishGitSignIn,
    GitDeviceCode,
    GitDeviceState,
    GitSignInStarted,
    SignInHost,
    StartGitSignIn,
)
from app_server.git_hosts.authorization.token_calls import GrantedTokens
from app_server.users.outgoing import http_of

router = APIRouter(prefix="/api/v1/settings/git-sign-ins", tags=["Settings"])


@router.get("")
async def list_sign_in_hosts(session: ReadSession) -> list[SignInHost]:
    """Returns the git hosts that users can sign in to, sorted by name."""
    return [SignInHost.of(row) for row in await all_apps(session)]


@router.post("")
async def start_git_sign_in(
    principal: CurrentPrincipal,
    body: StartGitSignIn,
    config: ServerConfig,
    cipher: ServerCipher,
    request: Request,
    response: Response,
) -> GitSignInStarted:
    """Starts a sign-in to a git host by a redirect. Returns the address that the user's browser must open.
    Sets a cookie that is needed to finish the sign-in. The sign-in must be finished within ten minutes.

    404 `git_app_not_found` if there is no OAuth application with the id in the request.
    """
    app = await app_with_secrets(request, body.app_id)
    attempt = RedirectAttempt.begin(app.id, principal.user.id, principal.credential.id, callback_url(request))
    attempts.COOKIE.keep(attempts.encrypt(attempt, cipher), response, config)
    return GitSignInStarted(authorization_url=sign_in.authorization_url(app, attempt))


@router.post("/finish")
async def finish_git_sign_in(
    principal: CurrentPrincipal,
    trail: CurrentTrail,
    body: FinishGitSignIn,
    config: ServerConfig,
    cipher: ServerCipher,
    request: Request,
    response: Response,
) -> GitCredentialInfo:
    """Finishes a sign-in with the data that the browser brings back from the git host. Stores the granted
    token in place of the token that was stored for the host, if there was one. Only the session that started
    the sign-in can finish it. Returns the stored credential without its token.

    400 `git_sign_in_expired` if the sign-in has expired, or if another session or browser started it. 400
    `git_sign_in_denied` if the user refused the sign-in at the host. 502 `git_sign_in_refused` if the host
    refuses the code. 502 `git_host_failed` if the host does not reply.
    """
    encrypted = attempts.COOKIE.read(request, config)
    attempt = attempts.decrypt(RedirectAttempt, encrypted, cipher, principal.user.id, principal.credential.id)
    attempt.require_state(body.state)
    attempts.COOKIE.forget(response, config)
    app = await app_with_secrets(request, attempt.app_id)
    if body.error or not body.code:
        raise sign_in.denied(app, body.error or "no code came back")
    granted = await sign_in.tokens_for_code(http_of(request, principal.user), app, attempt, body.code)
    return await _connect(principal, trail, request, app, granted)


@router.post("/device")
async def start_device_sign_in(
    principal: CurrentPrincipal, body: StartGitSignIn, cipher: ServerCipher, request: Request
) -> GitDeviceCode:
    """Starts a sign-in by a code that the user types at the git host, and returns the code. The client then
    polls `/device/poll` until the sign-in is complete.

    400 `git_host_cannot` if the host does not support sign-ins by a code. 404 `git_app_not_found` if there is
    no OAuth application with the id in the request. 502 `git_sign_in_refused` if the host refuses the
    request. 502 `git_host_failed` if the host does not reply.
    """
    app = await app_with_secrets(request, body.app_id)
    http = http_of(request, principal.user)
    code = await sign_in.begin_device(http, app, principal.user.id, principal.credential.id)
    return GitDeviceCode(
        attempt=attempts.encrypt(code, cipher),
        user_code=code.user_code,
        verification_uri=code.verification_uri,
        interval=code.interval,
        expires_at=code.expires_at,
    )


@router.post("/device/poll")
async def ask_about_device_sign_in(
    principal: CurrentPrincipal,
    trail: CurrentTrail,
    body: AskAboutDevice,
    cipher: ServerCipher,
    request: Request,
) -> GitDeviceState:
    """Asks the git host whether the user has typed the sign-in code at the host. If so, stores the granted
    token and replies with `status` `connected`. Otherwise replies with `status` `pending` and the data for
    the next request.

    A client must wait `interval` seconds before the next request. If it does not wait, the reply is
    `pending`, and Slipway does not ask the host. If the host demands fewer requests, the reply contains a
    longer `interval`.

    400 `git_sign_in_expired` if the sign-in has expired or another session started it. 400
    `git_sign_in_denied` if the user refused the sign-in at the host or the code expired. 502
    `git_sign_in_refused` if the host refuses the request. 502 `git_host_failed` if the host does not reply.
    """
    attempt = attempts.decrypt(
        DeviceAttempt, body.attempt, cipher, principal.user.id, principal.credential.id
    )
    app = await app_with_secrets(request, attempt.app_id)
    outcome = await sign_in.ask_about_device(http_of(request, principal.user), app, attempt)
    if isinstance(outcome, DeviceAttempt):
        encrypted = attempts.encrypt(outcome, cipher)
        return GitDeviceState(status=DeviceStatus.PENDING, attempt=encrypted, interval=outcome.interval)
    credential = await _connect(principal, trail, request, app, outcome)
    return GitDeviceState(status=DeviceStatus.CONNECTED, credential=credential)


async def _connect(
    principal: Principal, trail: CurrentTrail, request: Request, app: OAuthApp, granted: GrantedTokens
) -> GitCredentialInfo:
    database: Database = request.state.database
    async with database.session() as session:
        row, grant = await sign_in.connect(session, request.state.cipher, principal.user.id, app, granted)
        target = (AuditTarget.GIT_HOST, app.origin)
        trail.record(session, AuditAction.GIT_HOST_CONNECTED, target, scopes=grant.scopes)
        return GitCredentialInfo.of(row, grant)
