"""The password and the authenticator app of a user who is signed in: set, changed and removed."""

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
from app_server.sign_in.oidc.models import ExternalIdentity
from app_server.sign_in.passwords import policy, refusals, throttle, totp
from app_server.sign_in.passwords.hashing import PasswordHashing
from app_server.sign_in.passwords.models import PasswordLogin
from app_server.sign_in.service import NewBrowserSession
from app_server.users.models import Role, User


async def find(session: AsyncSession, user_id: UUID) -> PasswordLogin | None:
    return await session.get(PasswordLogin, user_id)


async def is_password_usable(session: AsyncSession, config: Config) -> bool:
    """Whether passwords are allowed here and at least one user has one."""
    return config.password_sign_in and bool(await session.scalar(select(exists(select(PasswordLogin)))))


async def may_choose_password(session: AsyncSession, config: Config, signed_in: NewBrowserSession) -> bool:
    """Whether this is an invited person who has no password, and passwords count here."""
    user = signed_in.user
    is_invited = user.role != Role.OWNER and signed_in.accepts_invitation
    return config.password_sign_in and is_invited and await find(session, user.id) is None


@dataclass(frozen=True)
class PasswordAccounts:
    """Hashing takes time, so that each step is a short transaction: passwords are checked between them."""

    database: Database
    hashing: PasswordHashing
    cipher: Cipher
    trail: AuditTrail

    async def set_password(
        self, user: User, *, login_name: str, password: str, current: str | None, session_id: UUID | None
    ) -> None:
        """Ends all sessions of the user but this one when it takes the place of another password.

        Raises BadRequest (see `policy`), Forbidden `current_password_wrong`, Conflict `login_name_taken`,
        TooManyRequests `sign_in_throttled`, `sign_in_busy`.
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
        """For an administrator of the machine: asks for no current password, and ends all sessions.

        Raises BadRequest (see `policy`), Conflict `login_name_taken`.
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
        """Raises Conflict `password_missing`, Forbidden `current_password_wrong`, TooManyRequests."""
        known = await self._required(user.id)
        await self._require_current(known, current)
        async with self.database.session() as session:
            row = await session.get(PasswordLogin, user.id, with_for_update=True)
            if row is not None:
                await session.delete(row)
                self._record(session, AuditAction.PASSWORD_DELETED, user)

    async def begin_totp(self, user: User, current: str) -> totp.Enrolment:
        """Raises Conflict `password_missing`, `totp_is_on`, Forbidden `current_password_wrong`,
        TooManyRequests.
        """
        known = await self._required(user.id)
        await self._require_current(known, current)
        async with self.database.session() as session:
            return await totp.begin(session, self.cipher, user.id, known.login_name)

    async def confirm_totp(self, user: User, code: str) -> list[str]:
        """The recovery codes. Raises Conflict `totp_is_off`, `totp_is_on`, Forbidden `totp_code_wrong`,
        TooManyRequests.
        """
        counted = throttle.of_settings(user.id)
        await throttle.begin_attempt(self.database, [counted])
        async with self.database.session() as session:
            codes = await totp.confirm(session, self.cipher, user.id, code)
            self._record(session, AuditAction.TWO_FACTOR_ENABLED, user)
            await throttle.forgive(session, counted)
        return codes

    async def remove_totp(self, user: User, code: str) -> None:
        """Raises Conflict `totp_is_off`, Forbidden `totp_code_wrong`, TooManyRequests."""
        async with self.database.session() as session:
            await self._require_totp(session, user.id)
        await self._count(user.id)
        async with self.database.session() as session:
            await self._require_code(session, user.id, code)
            await totp.remove(session, user.id)
            self._record(session, AuditAction.TWO_FACTOR_DISABLED, user)

    async def renew_recovery_codes(self, user: User, code: str) -> list[str]:
        """The new ones. Raises as `remove_totp`."""
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
        """Raises Forbidden `current_password_wrong` if another change came first, Conflict
        `login_name_taken`.
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
