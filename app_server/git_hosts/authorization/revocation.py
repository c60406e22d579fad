"""The background job that revokes a token at its git host after the user has disconnected from the host."""

from uuid import UUID

import httpx

from app_server.access.audit_trail import AuditTrail
from app_server.audit.actions import ActorMeans, AuditAction, AuditTarget
from app_server.audit.chain import Actor
from app_server.core.database import Database
from app_server.core.encryption import Cipher
from app_server.core.errors import AppError
from app_server.core.jobs.policy import JobAttempt, RetryPolicy, TryAgain
from app_server.git.models import GitOAuthApp
from app_server.git.providers import GitProvider
from app_server.git_hosts.authorization.endpoints import OAuthApp
from app_server.git_hosts.authorization.token_calls import send
from app_server.users.models import User

POLICY = RetryPolicy(attempts=6)
_ALREADY_GONE = frozenset((401, 404, 422))


class Revocations:
    """The handler of the background jobs that revoke tokens at git hosts. The module
    `app_server/git/grants.py` adds these jobs to the queue.
    """

    def __init__(
        self, database: Database, cipher: Cipher, http: httpx.AsyncClient, guarded_http: httpx.AsyncClient
    ) -> None:
        self._database = database
        self._cipher = cipher
        self._http = http
        self._guarded_http = guarded_http

    async def revoke(self, attempt: JobAttempt) -> dict[str, bool]:
        """Revokes a token at its git host. The payload of the job contains the encrypted token, and the ids
        of its user and of its OAuth application.

        Returns a dict with the key `is_revoked`. True: the token is revoked, or the host no longer knows it.
        False: the OAuth application or the user was deleted. Then the job cannot call the host, because the
        call needs the data of both. Raises TryAgain, so that the job is repeated, if the host does not reply
        or reports another failure.
        """
        payload = attempt.payload
        async with self._database.read() as session:
            row = await session.get(GitOAuthApp, UUID(payload["app_id"]))
            user = await session.get(User, UUID(payload["user_id"]))
        if row is None or user is None:
            return {"is_revoked": False}
        app = OAuthApp.of(row, self._cipher)
        http = self._http if user.administers_installation else self._guarded_http
        token = self._cipher.decrypt(payload["token_encrypted"])
        try:
            status = await _revoke(http, app, token, is_installation=payload["is_installation"])
        except AppError as error:
            raise TryAgain(error.detail) from error
        if not httpx.codes.is_success(status) and status not in _ALREADY_GONE:
            raise TryAgain(f"{app.host} answered {status}.")
        async with self._database.session() as session:
            trail = AuditTrail(Actor(ActorMeans.SERVER, user_id=user.id, name=user.name))
            trail.record(session, AuditAction.GIT_TOKEN_REVOKED, (AuditTarget.GIT_HOST, app.origin))
        return {"is_revoked": True}


async def _revoke(http: httpx.AsyncClient, app: OAuthApp, token: str, *, is_installation: bool) -> int:
    if app.provider is GitProvider.GITHUB:
        if is_installation:
            return (await send(http, app, "DELETE", f"{app.api}/installation/token", bearer=token))[0]
        url = f"{app.api}/applications/{app.client_id}/token"
        named = (app.client_id, app.client_secret or "")
        return (await send(http, app, "DELETE", url, json={"access_token": token}, basic=named))[0]
    form = {"token": token, "client_id": app.client_id}
    if app.client_secret is not None:
        form["client_secret"] = app.client_secret
    url = app.token_url.removesuffix("/token") + "/revoke"
    return (await send(http, app, "POST", url, data=form))[0]
