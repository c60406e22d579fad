"""Sets, changes and removes the password and the authenticator app of a signed-in user."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import exists, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail
from app_server.access.web_sessions import end_other_sessions
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.config import Config
from app_server.core.database import Database, now
from app_server.core.encryption import Cipher
from app_server.sign_in.identities.models import ExternalIdentity
from app_server.sign_in.passwords import policy, refusals, throttle, totp
from app_server.sign_in.passwords.hashing import PasswordHashing
from app_server.sign_in.passwords.models import PasswordLogin
from app_server.sign_in.service import NewBrowserSession
from app_server.users.models import Role, User


async def find(session: AsyncSession, user_id: UUID) -> PasswordLogin | None:
    return await session.get(PasswordLogin, user_id)


async def is_password_usable(session: AsyncSession, config: Config) -> bool:
    """Returns whether this server allows passwords and at least one user has a password."""
    return config.password_sign_in and bool(await session.scalar(select(exists(select(PasswordLogin)))))


async def may_choose_password(session: AsyncSession, config: Config, signed_in: NewBrowserSession) -> bool:
    """Returns whether a user who has just signed in may choose a password. All these conditions must be met:
    the server allows passwords, the user has no password, and the user was invited and signs in for the first
    time.
    """
    user = signed_in.user
    # The first start makes the owner of the installation. Owners of other organisations are invited.
    is_made = user.role is Role.OWNER and user.is_of_default_organisation
    is_invited = not is_made and signed_in.accepts_invitation
    return config.password_sign_in and is_invited and await find(session, user.id) is None


@dataclass(frozen=True)
class PasswordAccounts:
    """The service that changes the passwords and authenticator apps of users.

    Hashing a password takes time. Therefore no database transaction is open while a password is hashed or
    checked, so that other requests need not wait for the database.
    """

    database: Database
    hashing: PasswordHashing
    cipher: Cipher
    trail: AuditTrail

    async def set_password(
        self, user: User, *, login_name: str, password: str, current: str | None, session_id: UUID | None
    ) -> None:
        """Sets the user's password and login name. If the user had a password, all of the user's sessions
        end, except the session `session_id`.

        `current`: the user's present password; None is allowed only if the user has no password.
        `session_id`: None means that all sessions end. Raises BadRequest if the login name or the password is
        not allowed. Raises Forbidden `current_password_wrong` if `current` is wrong. Raises Conflict
        `login_name_taken` if another user has the login name. Raises TooManyRequests `sign_in_throttled`
        after too many wrong passwords. Raises TooManyRequests `sign_in_busy` if too many passwords are being
        checked.
        """
        async with self.database.read() as session:
            text = policy.accepted_password(password, await self._own_words(session, user, login_name))
        key = policy.accepted_login_name(login_name)
        known = await self._known(user.id)
        if known is not None:
            await self._require_current(known, current)
        password_hash = await self.hashing.hash(text)
        async with self.database.session() as session:
            if known is not None:
                await end_other_sessions(session, user.id, session_id)
            await self._store(session, user.id, key, password_hash, replaces=known)
            self._record(session, AuditAction.PASSWORD_CHANGED, user)

    async def replace_password(self, user: User, *, login_name: str, password: str) -> None:
        """Sets the user's password and login name without checking the current password, and ends all
        sessions of the user. An administrator calls this with a command on the server's machine.

        Raises BadRequest if the login name or the password is not allowed. Raises Conflict `login_name_taken`
        if another user has the login name.
        """
        async with self.database.read() as session:
            text = policy.accepted_password(password, await self._own_words(session, user, login_name))
        key = policy.accepted_login_name(login_name)
        password_hash = await self.hashing.hash(text)
        async with self.database.session() as session:
            await end_other_sessions(session, user.id, None)
            known = await session.get(PasswordLogin, user.id)
            await self._store(session, user.id, key, password_hash, replaces=known)
            self._record(session, AuditAction.PASSWORD_CHANGED, user)

    async def remove_password(self, user: User, current: str) -> None:
        """Removes the user's password. `current`: the user's present password.

        Raises Conflict `password_missing` if the user has no password. Raises Forbidden
        `current_password_wrong` if `current` is wrong. Raises TooManyRequests `sign_in_throttled` after too
        many wrong passwords. Raises TooManyRequests `sign_in_busy` if too many passwords are being checked.
        """
        known = await self._required(user.id)
        await self._require_current(known, current)
        async with self.database.session() as session:
            row = await session.get(PasswordLogin, user.id, with_for_update=True)
            if row is not None:
                await session.delete(row)
                self._record(session, AuditAction.PASSWORD_DELETED, user)

    async def begin_totp(self, user: User, current: str) -> totp.Enrolment:
        """Creates and returns a secret for the user's authenticator app. The secret has no effect until a
        code of the app confirms it. `current`: the user's present password.

        Raises Conflict `password_missing` if the user has no password. Raises Conflict `totp_is_on` if the
        user already has an authenticator app. Raises Forbidden `current_password_wrong` if `current` is
        wrong. Raises TooManyRequests `sign_in_throttled` after too many wrong passwords. Raises
        TooManyRequests `sign_in_busy` if too many passwords are being checked.
        """
        known = await self._required(user.id)
        await self._require_current(known, current)
        async with self.database.session() as session:
            return await totp.begin(session, self.cipher, user.id, known.login_name)

    async def confirm_totp(self, user: User, code: str) -> list[str]:
        """Confirms the authenticator app by one of its codes, and returns the recovery codes. From now on, a
        sign-in with the password needs a code of the app.

        Raises Conflict `totp_is_off` if the user has no secret to confirm. Raises Conflict `totp_is_on` if
        the secret is already confirmed. Raises Forbidden `totp_code_wrong` if the code is wrong. Raises
        TooManyRequests `sign_in_throttled` after too many wrong codes.
        """
        counted = throttle.of_settings(user.id)
        await throttle.begin_attempt(self.database, [counted])
        async with self.database.session() as session:
            codes = await totp.confirm(session, self.cipher, user.id, code)
            self._record(session, AuditAction.TWO_FACTOR_ENABLED, user)
            await throttle.forgive(session, counted)
        return codes

    async def remove_totp(self, user: User, code: str) -> None:
        """Removes the user's authenticator app. From now on, a sign-in needs only the password. `code`: a
        code of the app or a recovery code.

        Raises Conflict `totp_is_off` if the user has no authenticator app. Raises Forbidden `totp_code_wrong`
        if the code is wrong. Raises TooManyRequests `sign_in_throttled` after too many wrong codes.
        """
        async with self.database.session() as session:
            await self._require_totp(session, user.id)
        await self._count(user.id)
        async with self.database.session() as session:
            await self._require_code(session, user.id, code)
            await totp.remove(session, user.id)
            self._record(session, AuditAction.TWO_FACTOR_DISABLED, user)

    async def renew_recovery_codes(self, user: User, code: str) -> list[str]:
        """Replaces all recovery codes of the user and returns the new ones. `code`: a code of the
        authenticator app or a recovery code.

        Raises Conflict `totp_is_off` if the user has no authenticator app. Raises Forbidden `totp_code_wrong`
        if the code is wrong. Raises TooManyRequests `sign_in_throttled` after too many wrong codes.
        """
        async with self.database.session() as session:
            await self._require_totp(session, user.id)
        await self._count(user.id)
        async with self.database.session() as session:
            await self._require_code(session, user.id, code)
            self._record(session, AuditAction.RECOVERY_CODES_RENEWED, user)
            return await totp.new_recovery_codes(session, user.id)

    def _record(self, session: AsyncSession, action: AuditAction, user: User) -> None:
        self.trail.record(session, action, (AuditTarget.USER, user.id), name=user.name)

    async def _known(self, user_id: UUID) -> PasswordLogin | None:
        async with self.database.read() as session:
            return await find(session, user_id)

    async def _required(self, user_id: UUID) -> PasswordLogin:
        known = await self._known(user_id)
        if known is None:
            raise refusals.password_missing()
        return known

    async def _require_current(self, known: PasswordLogin, current: str | None) -> None:
        if current is None:
            raise refusals.current_password_wrong()
        counted = await self._count(known.user_id)
        if not await self.hashing.is_right(known.password_hash, policy.normalised(current)):
            raise refusals.current_password_wrong()
        async with self.database.session() as session:
            await throttle.forgive(session, counted)

    async def _count(self, user_id: UUID) -> throttle.Counted:
        counted = throttle.of_settings(user_id)
        await throttle.begin_attempt(self.database, [counted])
        return counted

    async def _require_totp(self, session: AsyncSession, user_id: UUID) -> None:
        if await totp.find(session, user_id) is None:
            raise refusals.totp_is_off()

    async def _require_code(self, session: AsyncSession, user_id: UUID, code: str) -> None:
        secret = await totp.find(session, user_id)
        if secret is None:
            raise refusals.totp_is_off()
        if not await totp.accept(session, self.cipher, secret, code):
            raise refusals.totp_code_refused()
        await throttle.forgive(session, throttle.of_settings(user_id))

    async def _own_words(self, session: AsyncSession, user: User, login_name: str) -> list[str]:
        emails = await session.scalars(
            select(ExternalIdentity.email).where(ExternalIdentity.user_id == user.id)
        )
        return [user.name, login_name, *(email for email in emails if email)]

    async def _store(
        self,
        session: AsyncSession,
        user_id: UUID,
        login_key: str,
        password_hash: str,
        *,
        replaces: PasswordLogin | None,
    ) -> None:
        """Stores the hash of a user's new password, and the login name.

        `login_key`: the login name in the form that is stored. `replaces`: the user's stored password, as the
        caller has read and checked it; None if the user has no password yet.

        Raises Forbidden `current_password_wrong` if another request has changed the password since the caller
        read `replaces`. Raises Conflict `login_name_taken` if another user has the login name.
        """
        row = await session.get(PasswordLogin, user_id, with_for_update=True, populate_existing=True)
        if (row and row.password_hash) != (replaces and replaces.password_hash):
            raise refusals.current_password_wrong()
        if row is None:
            row = PasswordLogin(user_id=user_id)
            session.add(row)
        row.login_name = login_key
        row.password_hash = password_hash
        row.changed_at = now()
        try:
            await session.flush()
        except IntegrityError:
            raise refusals.login_name_taken() from None
