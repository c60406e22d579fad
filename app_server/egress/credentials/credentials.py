"""Stores the credentials that the egress proxy adds to requests of sandboxes to https hosts, and selects the
credentials for a request.

Each user can save and delete the credentials for the user's sandboxes. There are also credentials of the
server. They are for the sandboxes of all users of the default organisation, whose administrators manage the
installation. Only the owner of the installation can save and delete them. An API key of the owner needs the
scope `installation` for this.
"""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import assert_never
from urllib.parse import unquote
from uuid import UUID

from sqlalchemy import ColumnElement, and_, or_, select, tuple_, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.permissions import Permission
from app_server.access.principal import Principal
from app_server.access.route_access import permission_missing
from app_server.core.database import Database, now
from app_server.core.encryption import Cipher
from app_server.core.errors import Conflict, Forbidden, NotFound
from app_server.egress.egress_log import EgressTarget
from app_server.egress.models import (
    MAX_METHOD_CHARACTERS,
    MAX_PATH_CHARACTERS,
    CredentialKind,
    CredentialScope,
    EgressCredential,
    EgressCredentialUse,
)
from app_server.users.colleagues import organisation_of
from app_server.users.models import Role, User
from app_server.users.organisations import DEFAULT_ORGANISATION_ID

MAX_CREDENTIALS = 100
"""Maximum number of credentials of one user, and of the server."""

_MAX_DECODINGS = 4
_SEPARATORS = re.compile(r"[/\\]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\\]")
_NARROWEST_FIRST = (CredentialScope.REPOSITORY, CredentialScope.USER, CredentialScope.SERVER)


@dataclass(frozen=True)
class EnteredCredential:
    """The data of a credential for an https host, as a user has entered it.

    `path_prefix`: limits the credential to this path and the paths below it; empty for all paths. `scope`:
    the sandboxes whose requests get the credential. `subject`: the repository (`host/owner/name` or a path)
    if the scope is REPOSITORY, else empty. `kind`: the form in which the credential is sent: as a bearer
    token, with a user name (BASIC), or in a header with a chosen name (HEADER). `username`: the user name for
    BASIC, else empty. `header`: the name of the header for HEADER, else empty. `value`: the secret.
    """

    host: str
    port: int
    path_prefix: str
    scope: CredentialScope
    subject: str
    kind: CredentialKind
    header: str
    username: str
    value: str = field(repr=False)


@dataclass(frozen=True)
class Held:
    """A decrypted credential that the egress proxy can add to a request.

    path_prefix: limits the credential to this path and the paths below it; empty for all paths. header,
    content: the name and the value of the header to add. secrets: texts that the proxy masks in the host's
    reply.
    """

    id: UUID
    path_prefix: str
    scope: CredentialScope
    header: str
    content: str = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)

    def opens(self, target: str) -> bool:
        """Returns whether the credential may be added to a request for this target (path and query). The path
        must be `path_prefix` or a path below it. Always returns True if `path_prefix` is empty.

        Some hosts percent-decode a path several times. Therefore this function also checks the path after
        each decoding. Returns False if the path or a decoded path contains `.` or `..` as a part, or if the
        path is still encoded after several decodings.
        """
        path = target.partition("?")[0]
        if not self.path_prefix:
            return True
        for _ in range(_MAX_DECODINGS):
            if not _is_below(path, self.path_prefix):
                return False
            if (decoded := unquote(path)) == path:
                return True
            path = decoded
        return False


async def held_for(
    session: AsyncSession, cipher: Cipher, user_id: UUID, repository: str | None, *, host: str, port: int
) -> list[Held]:
    """Returns the credentials that can be added to requests of a user's sandbox to this host and port. The
    preferred credentials come first: those with the longest path prefix. If the prefixes have the same
    length, a credential for a repository comes before one of the user, and this before one of the server.

    `repository`: the identity (`host/owner/name` or a path) of the repository that the sandbox works on; None
    leaves out the credentials for repositories.
    """
    mine = EgressCredential.user_id == user_id
    of_repository = and_(
        mine,
        EgressCredential.scope == CredentialScope.REPOSITORY,
        EgressCredential.subject == (repository or ""),
    )
    query = select(EgressCredential).where(
        EgressCredential.host == host,
        EgressCredential.port == port,
        or_(
            _of_server(user_id),
            and_(mine, EgressCredential.scope == CredentialScope.USER),
            of_repository,
        ),
    )
    held = [_held(row, cipher) for row in await session.scalars(query)]
    return sorted(held, key=lambda one: (-len(one.path_prefix), _NARROWEST_FIRST.index(one.scope)))


async def have_own(session: AsyncSession, user_id: UUID, repositories: Sequence[str | None]) -> bool:
    """Returns whether the user has saved a credential for one of these repositories. None values in
    `repositories` are ignored.
    """
    query = select(EgressCredential.id).where(
        EgressCredential.user_id == user_id,
        EgressCredential.scope == CredentialScope.REPOSITORY,
        EgressCredential.subject.in_([each for each in repositories if each]),
    )
    return await session.scalar(query.limit(1)) is not None


async def note_use(database: Database, held: Held, target: EgressTarget, method: str, path: str) -> None:
    """Stores a record that the credential `held` is added to a request, and the time as the credential's last
    use. Returns after both are committed to the database. `target`: the sandbox that sends the request, and
    the host and port. `method`, `path`: the HTTP method and the path of the request; a query in the path is
    not stored.
    """
    moment = now()
    use = EgressCredentialUse(
        credential_id=held.id,
        user_id=target.user_id,
        sandbox_id=target.sandbox_id,
        host=target.host,
        port=target.port,
        method=method[:MAX_METHOD_CHARACTERS],
        path=path.partition("?")[0][:MAX_PATH_CHARACTERS],
        at=moment,
    )
    async with database.session() as session:
        session.add(use)
        used = update(EgressCredential).where(EgressCredential.id == held.id)
        await session.execute(used.values(last_used_at=moment))


async def visible(session: AsyncSession, user_id: UUID) -> Sequence[EgressCredential]:
    """Returns the credentials that the user may see, sorted by host. These are the user's credentials. For a
    user of the default organisation (whose administrators manage the installation), the credentials of the
    server are added. The values stay encrypted.
    """
    query = select(EgressCredential).where(or_(EgressCredential.user_id == user_id, _of_server(user_id)))
    order = (EgressCredential.host, EgressCredential.port, EgressCredential.path_prefix, EgressCredential.id)
    return (await session.scalars(query.order_by(*order))).all()


async def save(
    session: AsyncSession, cipher: Cipher, principal: Principal, given: EnteredCredential
) -> EgressCredential:
    """Saves a credential and returns its database row. Replaces the credential with the same owner (the user
    or the server), scope, repository, host, port and path prefix, if there is one.

    Raises Conflict `too_many_credentials` if the owner already has MAX_CREDENTIALS credentials. Raises
    Conflict `credential_exists` if another request saves the same credential at the same time. Raises
    Forbidden if a user who is not the owner of the installation saves a credential of the server. Raises
    Forbidden `permission_missing` if the owner's API key lacks the scope `installation` for this.
    """
    user, is_server = principal.user, given.scope is CredentialScope.SERVER
    if is_server:
        _require_owner(principal)
    owner = "" if is_server else user.id.hex
    key_values = {
        "owner": owner,
        "scope": given.scope,
        "subject": given.subject,
        "host": given.host,
        "port": given.port,
        "path_prefix": given.path_prefix,
    }
    row = await session.scalar(select(EgressCredential).filter_by(**key_values))
    if row is None:
        known = select(EgressCredential.id).where(EgressCredential.owner == owner)
        if len((await session.scalars(known)).all()) >= MAX_CREDENTIALS:
            raise Conflict(
                f"There can be at most {MAX_CREDENTIALS} credentials.", code="too_many_credentials"
            )
        row = EgressCredential(**key_values, user_id=None if is_server else user.id)
        session.add(row)
    row.kind, row.header, row.username = given.kind, given.header, given.username
    row.value_encrypted, row.updated_at = cipher.encrypt(given.value), now()
    try:
        await session.flush()
    except IntegrityError as error:
        raise Conflict(
            "There is a credential for this place already.",
            code="credential_exists",
            fix="Try again: that replaces it.",
        ) from error
    return row


async def remove(session: AsyncSession, principal: Principal, credential_id: UUID) -> str:
    """Deletes a credential and returns its host. Raises NotFound if the user may not see the credential.
    Raises Forbidden for a credential of the server if the user is not the owner of the installation. Raises
    Forbidden `permission_missing` if the owner's API key lacks the scope `installation` for this.
    """
    row = await require(session, principal.user, credential_id)
    if row.scope is CredentialScope.SERVER:
        _require_owner(principal)
    await session.delete(row)
    return row.host


async def require(session: AsyncSession, user: User, credential_id: UUID) -> EgressCredential:
    """Returns the credential with this id. Raises NotFound if there is no such credential or the user may not
    see it.
    """
    row = await session.get(EgressCredential, credential_id)
    owners = {user.id, None} if user.is_of_default_organisation else {user.id}
    if row is None or row.user_id not in owners:
        raise NotFound("There is no such credential.", code="credential_not_found")
    return row


async def uses(
    session: AsyncSession,
    principal: Principal,
    credential_id: UUID,
    before: tuple[datetime, UUID] | None,
    limit: int,
) -> Sequence[EgressCredentialUse]:
    """Returns the recorded requests that the credential was added to, latest first.

    The owner of the installation gets the requests from all sandboxes; an API key of the owner needs the
    scope `installation` for this. Otherwise, users get only the requests from their sandboxes. before: the
    time and the id of a record; only older records are returned. None means the latest records.
    """
    query = select(EgressCredentialUse).where(EgressCredentialUse.credential_id == credential_id)
    if not owns_installation(principal):
        query = query.where(EgressCredentialUse.user_id == principal.user.id)
    if before is not None:
        query = query.where(tuple_(EgressCredentialUse.at, EgressCredentialUse.id) < before)
    order = (EgressCredentialUse.at.desc(), EgressCredentialUse.id.desc())
    return (await session.scalars(query.order_by(*order).limit(limit))).all()


def _held(row: EgressCredential, cipher: Cipher) -> Held:
    value = cipher.decrypt(row.value_encrypted)
    match row.kind:
        case CredentialKind.BEARER:
            header, content = "authorization", f"Bearer {value}"
        case CredentialKind.BASIC:
            pair = base64.b64encode(f"{row.username}:{value}".encode()).decode()
            header, content = "authorization", f"Basic {pair}"
        case CredentialKind.HEADER:
            header, content = row.header.lower(), value
        case _:
            assert_never(row.kind)
    secrets = (value, content.rpartition(" ")[2])
    return Held(row.id, row.path_prefix, row.scope, header, content, secrets)


def _is_below(path: str, prefix: str) -> bool:
    if _CONTROL.search(path) or not (path == prefix or path.startswith(f"{prefix}/")):
        return False
    # Some hosts ignore the part after a semicolon.
    return not any(part.partition(";")[0] in {".", ".."} for part in _SEPARATORS.split(path))


def owns_installation(principal: Principal) -> bool:
    """Returns whether the user owns the installation and the request has the permission INSTALLATION, which
    the scopes of an API key can leave out.
    """
    return _is_owner(principal.user) and principal.may(Permission.INSTALLATION)


def _of_server(user_id: UUID) -> ColumnElement[bool]:
    """Returns an SQL condition that selects the credentials of the server if the user is in the default
    organisation (whose administrators manage the installation). For other users the condition selects
    nothing, because they may not use these credentials.
    """
    is_for_user = organisation_of(user_id) == DEFAULT_ORGANISATION_ID
    return and_(EgressCredential.scope == CredentialScope.SERVER, is_for_user)


def _is_owner(user: User) -> bool:
    return user.role is Role.OWNER and user.is_of_default_organisation


def _require_owner(principal: Principal) -> None:
    if not _is_owner(principal.user):
        raise Forbidden("Only the owner of this installation may set credentials for all users.")
    if not principal.may(Permission.INSTALLATION):
        raise permission_missing(Permission.INSTALLATION)
