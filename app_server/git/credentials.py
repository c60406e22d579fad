"""Finds the credentials with which git fetches and pushes a user's repositories. These are the credentials in
the URL of the repository, or else the user's stored token for the git host.

Every query is limited to the rows of one user.
"""

from collections.abc import Sequence
from urllib.parse import unquote, urlsplit
from uuid import UUID

from pydantic import SecretStr
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.encryption import Cipher
from app_server.core.errors import Conflict, NotFound
from app_server.git.address import Address, parse_address
from app_server.git.command import Credentials
from app_server.git.grants import forget_grant
from app_server.git.models import GitCredential, PushScope
from app_server.git.providers import GitProvider, provider_of
from app_server.git.schemas import ChangeGitCredential, SaveGitCredential
from app_server.http.additional_trust import AdditionalTrust

MAX_CREDENTIALS = 50
# Most hosts accept any user name with a token. Bitbucket does not:
# https://support.atlassian.com/bitbucket-cloud/docs
_ANY_NAME = "x-access-token"
_BITBUCKET_NAME = "x-token-auth"
_BITBUCKET_OWNERS_NAME = "x-bitbucket-api-token-auth"


def credentials_in(address: Address) -> Credentials | None:
    """Returns the credentials that the URL of a repository contains. Returns None if the URL contains no
    credentials, or if its scheme is not http or https, because ssh cannot use a password.
    """
    if not address.has_credentials or not address.public_url.startswith(("http://", "https://")):
        return None
    given, public = urlsplit(address.url), urlsplit(address.public_url)
    return Credentials(
        origin=f"{public.scheme}://{public.netloc}",
        username=unquote(given.username or ""),
        password=unquote(given.password or ""),
    )


def credentials_of(row: GitCredential, token: str) -> Credentials:
    """Returns the user name and password that git sends to a git host. `row`: the user's stored token for the
    host. `token`: the same token, decrypted; it is the password.

    The user name is the one that the user has stored. If there is none, it is a name that the host accepts
    together with a token. For bitbucket.org, a stored e-mail address is replaced by the name that git needs
    there.
    """
    return Credentials(
        row.origin, _name_for(row.origin, row.username), token, authorities=row.certificate_authorities
    )


def trust_in(row: GitCredential) -> AdditionalTrust | None:
    """Returns the additional certificate authorities that the user has stored for a git host, or None if
    there are none. They are trusted for the host, and for the host's API if the user has stored its address.

    `row`: the user's stored token for the host.
    """
    if row.certificate_authorities is None:
        return None
    origins = (row.origin, row.api_url) if row.api_url else (row.origin,)
    return AdditionalTrust(row.certificate_authorities, origins)


async def credential_of_origin(session: AsyncSession, user_id: UUID, origin: str) -> GitCredential | None:
    """Returns the user's stored token for a git host. `origin`: the host as `https://host`. Returns None if
    the user has no token for this host.
    """
    return await _of_origin(session, user_id, origin)


async def provider_with_token(
    session: AsyncSession, user_id: UUID, repository: str | None, provider: str | None
) -> GitProvider | None:
    """Returns the provider (the kind of git host, such as GitHub) of a repository if the user has a token for
    the repository's host. Returns None if the user has no such token.

    `repository`: the name or URL of the repository. For None and for a path on the app server's machine,
    returns None. `provider`: the kind of git host if `repository` names no host, as in `owner/name`.
    """
    origin = parse_address(repository, provider).origin if repository else None
    row = await _of_origin(session, user_id, origin) if origin else None
    return provider_of(row.origin, row.provider)[0] if row else None


async def push_scope_of(session: AsyncSession, user_id: UUID, address: Address) -> PushScope:
    """Returns which branches of the repository the user lets agents push to. The result is PushScope.OWN
    (only branches that the conversation has created) if the user has no token for the repository's host.
    """
    row = await _of_origin(session, user_id, address.origin)
    return row.push_scope if row else PushScope.OWN


async def list_credentials(session: AsyncSession, user_id: UUID) -> Sequence[GitCredential]:
    """Returns all tokens of the user for git hosts, sorted by host."""
    owned = select(GitCredential).where(GitCredential.user_id == user_id)
    return (await session.scalars(owned.order_by(GitCredential.origin))).all()


async def save_credential(
    session: AsyncSession, cipher: Cipher, user_id: UUID, given: SaveGitCredential
) -> GitCredential:
    """Stores a token for a git host and returns its row. If the user already has a token for the host,
    replaces it.

    Raises Conflict `too_many_git_credentials` if the user already has MAX_CREDENTIALS tokens. Raises Conflict
    `git_credential_exists` if another request stores a token for the same host at the same time.
    """
    row = await _of_origin(session, user_id, given.host)
    if row is None:
        if len(await list_credentials(session, user_id)) >= MAX_CREDENTIALS:
            raise Conflict(
                f"There can be tokens for at most {MAX_CREDENTIALS} git hosts.",
                code="too_many_git_credentials",
            )
        row = GitCredential(user_id=user_id, origin=given.host)
        session.add(row)
    else:
        await forget_grant(session, row)
    row.username, row.push_scope = given.username or None, given.push_scope
    row.provider, row.api_url = given.provider, given.api_url
    row.certificate_authorities = given.certificate_authorities or None
    row.token_encrypted = cipher.encrypt(given.token.get_secret_value())
    try:
        await session.flush()
    except IntegrityError as error:
        raise Conflict(
            "There is a token for this host already.",
            code="git_credential_exists",
            fix="Try again: that replaces it.",
        ) from error
    return row


async def save_token(
    session: AsyncSession,
    cipher: Cipher,
    user_id: UUID,
    origin: str,
    token: SecretStr,
    provider: GitProvider | None = None,
) -> None:
    """Stores a token for a git host. If the user already has a token for the host, replaces this token, and
    also its provider (the kind of git host) if `provider` is not None. A new provider also removes the stored
    API address. The other fields of the stored row do not change.

    `origin`: the git host as `https://host`. Raises Conflict `too_many_git_credentials` if the user already
    has MAX_CREDENTIALS tokens. Raises Conflict `git_credential_exists` if another request stores a token for
    the same host at the same time.
    """
    if row := await _of_origin(session, user_id, origin):
        changes = ChangeGitCredential(token=token, provider=provider)
        await change_credential(session, cipher, user_id, row.id, changes)
    else:
        given = SaveGitCredential(host=origin, token=token, provider=provider)
        await save_credential(session, cipher, user_id, given)


async def change_credential(
    session: AsyncSession, cipher: Cipher, user_id: UUID, credential_id: UUID, changes: ChangeGitCredential
) -> GitCredential:
    """Changes the given fields of a user's stored token for a git host and returns its row. Raises NotFound
    `git_credential_not_found` if the user has no token with this id.
    """
    row = await _require(session, user_id, credential_id)
    if changes.token is not None:
        await forget_grant(session, row)
        row.token_encrypted = cipher.encrypt(changes.token.get_secret_value())
    if changes.provider is not None and changes.provider is not row.provider:
        row.provider, row.api_url = changes.provider, None
    if changes.api_url is not None:
        row.api_url = changes.api_url
    if changes.certificate_authorities is not None:
        row.certificate_authorities = changes.certificate_authorities or None
    if changes.username is not None:
        row.username = changes.username or None
    if changes.push_scope is not None:
        row.push_scope = changes.push_scope
    await session.flush()
    return row


async def delete_credential(session: AsyncSession, user_id: UUID, credential_id: UUID) -> str:
    """Deletes a user's token and returns the origin of its git host. If a sign-in granted the token, stores a
    job that revokes the token at the host. Raises NotFound `git_credential_not_found` if the user has no
    token with this id.
    """
    row = await _require(session, user_id, credential_id)
    await forget_grant(session, row)
    await session.delete(row)
    return row.origin


async def _require(session: AsyncSession, user_id: UUID, credential_id: UUID) -> GitCredential:
    row: GitCredential | None = await session.scalar(
        select(GitCredential).where(GitCredential.id == credential_id, GitCredential.user_id == user_id)
    )
    if row is None:
        raise NotFound("There is no such token.", code="git_credential_not_found")
    return row


async def _of_origin(session: AsyncSession, user_id: UUID, origin: str | None) -> GitCredential | None:
    row: GitCredential | None = await session.scalar(
        select(GitCredential).where(GitCredential.user_id == user_id, GitCredential.origin == origin)
    )
    return row


def _name_for(origin: str, stated: str | None) -> str:
    if stated and "@" in stated and origin == "https://bitbucket.org":
        # Its API takes an API token with the owner's e-mail address, git takes it with this name.
        return _BITBUCKET_OWNERS_NAME
    return stated or (_BITBUCKET_NAME if "bitbucket" in origin else _ANY_NAME)
