"""Signs the commits and tags that a user's agents create, if the user has turned signing on. Creates and
replaces the users' signing keys.
"""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.commit_signing import signature
from app_server.commit_signing.hourly_limit import count_signature
from app_server.commit_signing.models import CommitSigningKey
from app_server.commit_signing.payload import UnsignablePayloadError, read
from app_server.core.database import now
from app_server.core.encryption import Cipher
from app_server.core.errors import BadRequest, Conflict, Forbidden
from app_server.settings.models import UserSettings


@dataclass(frozen=True)
class Signed:
    """The result of signing a commit or a tag.

    `text`: the SSH signature. `kind`: `commit` or `tag`. `fingerprint`: the fingerprint of the signing key,
    such as `SHA256:…`.
    """

    text: str
    kind: str
    fingerprint: str


async def turn(
    session: AsyncSession, cipher: Cipher, user_id: UUID, *, is_on: bool
) -> CommitSigningKey | None:
    """Turns the signing of commits on or off for a user, and returns the user's signing key. If signing is
    turned on for the first time, creates the key.

    Returns None if signing is turned off and the user has no key. Raises Conflict `commit_identity_missing`
    if signing is turned on and the user has set no e-mail address for commits.
    """
    if is_on:
        await require_address(session, user_id)
    key = await session.get(CommitSigningKey, user_id, with_for_update=True)
    if key is None:
        return await _add_key(session, cipher, user_id) if is_on else None
    key.is_on = is_on
    return key


async def replace_key(session: AsyncSession, cipher: Cipher, user_id: UUID) -> CommitSigningKey:
    """Creates a new signing key for the user, which replaces the present key, and returns the new key. The
    old private key is deleted. Raises Conflict `commit_signing_off` if the user has no signing key, because
    signing was never turned on.
    """
    key = await session.get(CommitSigningKey, user_id, with_for_update=True)
    if key is None:
        raise Conflict("There is no signing key.", code="commit_signing_off", fix="Turn signing on first.")
    private = signature.new_private_key()
    key.private_key_encrypted, key.public_key = cipher.encrypt(private), signature.public_line(private)
    key.created_at = now()
    return key


async def key_for_git(session: AsyncSession, user_id: UUID) -> str | None:
    """Returns the user's public signing key, which is written into the git configuration of the user's
    sandboxes. Returns None if git must not sign there, because the user has not turned signing on or has set
    no e-mail address for commits.
    """
    key = await session.get(CommitSigningKey, user_id)
    own = await session.get(UserSettings, user_id)
    return key.public_key if key and key.is_on and own and own.git_user_email else None


async def sign(
    session: AsyncSession, cipher: Cipher, user_id: UUID, sandbox_id: UUID, payload: bytes
) -> Signed:
    """Signs a commit or a tag with the user's key and returns the signature. `payload`: the bytes for which
    git requests a signature. `sandbox_id`: the sandbox in which git runs.

    Raises Forbidden `not_the_committer` if the author or committer of the commit, or the tagger of the tag,
    does not have the name and e-mail address in the user's settings. Raises Forbidden `commit_signing_off` if
    the user has not turned signing on. Raises Conflict `commit_identity_missing` if the user has set no
    e-mail address for commits. Raises BadRequest `not_signable` if `payload` is neither a commit nor a tag or
    is already signed. Raises TooManyRequests `too_many_signatures` after 1000 signatures for the sandbox in
    one hour.
    """
    key = await session.get(CommitSigningKey, user_id)
    if key is None or not key.is_on:
        raise Forbidden(
            "Signing of commits is turned off.",
            code="commit_signing_off",
            fix="Commit with --no-gpg-sign.",
        )
    own = await require_address(session, user_id)
    try:
        asked = read(payload)
    except UnsignablePayloadError as error:
        raise BadRequest(str(error), code="not_signable") from error
    name, email = own.git_user_name or None, own.git_user_email or ""
    for person in asked.people:
        if not person.is_like(name, email):
            raise Forbidden(
                f"Only commits and tags of {name or 'the user'} <{email}> are signed, and this one names "
                f"{person.name} <{person.email}>.",
                code="not_the_committer",
                fix="Set user.name and user.email. For a commit of another author, use --no-gpg-sign.",
            )
    await count_signature(session, sandbox_id)
    text = signature.sign(cipher.decrypt(key.private_key_encrypted), payload)
    return Signed(text, asked.kind, signature.fingerprint(key.public_key))


async def require_address(session: AsyncSession, user_id: UUID) -> UserSettings:
    """Checks that the user has set an e-mail address for commits, and returns the user's settings. Raises
    Conflict `commit_identity_missing` if there is no address.
    """
    own = await session.get(UserSettings, user_id)
    if own is None or not own.git_user_email:
        raise Conflict(
            "There is no e-mail address for commits. Git hosts verify signatures by it.",
            code="commit_identity_missing",
            fix="Set name and address under Settings, Git hosts, Commits.",
        )
    return own


async def _add_key(session: AsyncSession, cipher: Cipher, user_id: UUID) -> CommitSigningKey:
    private = signature.new_private_key()
    key = CommitSigningKey(
        user_id=user_id,
        is_on=True,
        public_key=signature.public_line(private),
        private_key_encrypted=cipher.encrypt(private),
    )
    session.add(key)
    await session.flush()
    return key
