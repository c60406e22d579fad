"""Signs users in by login name and password, and by a code if the user has an authenticator app."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.authentication import account_disabled
from app_server.audit.actions import ActorMeans
from app_server.core.database import Database
from app_server.core.encryption import Cipher
from app_server.sign_in.passwords import policy, refusals, throttle, totp
from app_server.sign_in.passwords.hashing import PasswordHashing
from app_server.sign_in.passwords.models import PasswordLogin
from app_server.sign_in.service import Browser, NewBrowserSession, open_session
from app_server.users.models import User


@dataclass(frozen=True)
class PasswordSignIns:
    """The service that signs users in by password. No database transaction is open while a password is
    checked, because the check takes time and other requests would have to wait for the database.
    """

    database: Database
    hashing: PasswordHashing
    cipher: Cipher

    async def sign_in(
        self,
        *,
        login_name: str,
        password: str,
        code: str | None,
        browser: Browser,
        expires_at: datetime,
    ) -> NewBrowserSession:
        """Checks the password and the code of a user, opens a new browser session and returns the session.
        `code`: a code of the authenticator app or a recovery code. `browser`: the data of the browser that
        are stored with the session. `expires_at`: when the session ends.

        Raises NotAuthenticated `login_refused` if the login name is unknown, the account has no password or
        the password is wrong. These three cases take the same time, so that an attacker cannot distinguish
        them. Raises NotAuthenticated `totp_code_needed` if the code is missing. Raises NotAuthenticated
        `totp_code_wrong` if the code is wrong. Raises NotAuthenticated `account_disabled` if the account is
        disabled. Raises TooManyRequests `sign_in_throttled` after too many failed attempts. Raises
        TooManyRequests `sign_in_busy` if too many passwords are being checked.
        """
        key = policy.login_key(login_name)
        account = throttle.of_login(key)
        others = [throttle.of_address(browser.address)] if browser.address else []
        await throttle.begin_attempt(self.database, [account, *others])
        text = policy.normalised(password)
        async with self.database.read() as session:
            known = await session.scalar(select(PasswordLogin).where(PasswordLogin.login_name == key))
        is_right = await self.hashing.is_right(known.password_hash if known else None, text)
        if known is None or not is_right:
            raise refusals.login_refused()
        renewed = await self.hashing.hash(text) if self.hashing.is_outdated(known.password_hash) else None
        async with self.database.session() as session:
            user = await self._user(session, known)
            secret = await totp.find(session, user.id)
            is_code_missing = secret is not None and not code
            if user.disabled_at is not None or is_code_missing:
                # Neither a failure nor a success: the password was right.
                await throttle.take_back(session, [account, *others])
            else:
                if secret is not None and not await totp.accept(session, self.cipher, secret, code or ""):
                    raise refusals.totp_code_wrong()
                if renewed is not None:
                    await self._renew(session, known, renewed)
                await throttle.forgive(session, account, others)
                return await open_session(
                    session, user, means=ActorMeans.PASSWORD, browser=browser, expires_at=expires_at
                )
        raise refusals.totp_code_needed() if user.disabled_at is None else account_disabled()

    async def _user(self, session: AsyncSession, known: PasswordLogin) -> User:
        """Returns the user whose password was checked. `known`: the stored password with which it was
        compared. Raises NotAuthenticated `login_refused` if the stored password was changed during the check.
        """
        row = await session.get(PasswordLogin, known.user_id, with_for_update=True)
        if row is None or row.password_hash != known.password_hash:
            raise refusals.login_refused()
        return await session.get_one(User, known.user_id)

    async def _renew(self, session: AsyncSession, known: PasswordLogin, password_hash: str) -> None:
        row = await session.get_one(PasswordLogin, known.user_id)
        row.password_hash = password_hash
