"""Creates the secrets of authenticator apps, and checks the codes of these apps (RFC 6238: six digits, 30
seconds). Also creates and checks the recovery codes that can be entered in place of these codes.
"""

import base64
import hmac
import io
import secrets
import time
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.database import now
from app_server.core.encryption import Cipher
from app_server.sign_in.passwords.models import RecoveryCode, TotpSecret
from app_server.sign_in.passwords.refusals import totp_code_refused, totp_is_off, totp_is_on
from app_server.users.tokens import token_hash

ISSUER: Final = "Slipway"
RECOVERY_CODES: Final = 10
STEP_SECONDS: Final = 30
_DIGITS: Final = 6
_NEIGHBOURS: Final = (0, -1, 1)
"""The 30-second time steps whose codes are accepted, relative to the current step. The clocks of the app and
the server may differ by one step.
"""


@dataclass(frozen=True)
class Enrolment:
    """A new secret for an authenticator app. `secret`: the secret in base32, which the user can type. `uri`:
    the secret as a URI `otpauth://…`. `qr_svg`: the URI as a QR code in SVG.
    """

    secret: str
    uri: str
    qr_svg: str


async def find(session: AsyncSession, user_id: UUID) -> TotpSecret | None:
    """Returns the confirmed secret of the user's authenticator app. Returns None if the user has no confirmed
    secret; the user then signs in with the password alone. A secret is confirmed when the user has entered a
    code of the app (see `confirm`).
    """
    query = select(TotpSecret).where(TotpSecret.user_id == user_id, TotpSecret.confirmed_at.is_not(None))
    return (await session.scalars(query)).one_or_none()


async def users_with_it(session: AsyncSession) -> frozenset[UUID]:
    """Returns the ids of all users who have an authenticator app and have confirmed its secret with a
    code.
    """
    query = select(TotpSecret.user_id).where(TotpSecret.confirmed_at.is_not(None))
    return frozenset(await session.scalars(query))


async def begin(session: AsyncSession, cipher: Cipher, user_id: UUID, login_name: str) -> Enrolment:
    """Creates and stores a secret for the user's authenticator app, and returns the secret. The secret has an
    effect only after the user has confirmed it with a code of the app (see `confirm`). An earlier secret that
    was never confirmed is replaced.

    `cipher`: encrypts the stored secret. `login_name`: the name of the account that the app shows. Raises
    Conflict `totp_is_on` if the user already has a confirmed secret.
    """
    import pyotp
    import segno

    known = await session.get(TotpSecret, user_id, with_for_update=True)
    if known is not None and known.confirmed_at is not None:
        raise totp_is_on()
    secret = pyotp.random_base32()
    if known is None:
        known = TotpSecret(user_id=user_id)
        session.add(known)
    known.secret_encrypted = cipher.encrypt(secret)
    known.created_at = now()
    known.last_step = None
    await session.flush()
    uri = pyotp.TOTP(secret).provisioning_uri(name=login_name, issuer_name=ISSUER)
    picture = io.BytesIO()
    code = segno.make(uri, error="m", micro=False)
    code.save(picture, kind="svg", xmldecl=False, nl=False, scale=5, dark="#000", light="#fff")
    return Enrolment(secret, uri, picture.getvalue().decode())


async def confirm(session: AsyncSession, cipher: Cipher, user_id: UUID, code: str) -> list[str]:
    """Confirms the authenticator app's secret by a code of the app. From now on, a sign-in needs a code.
    Returns the recovery codes, which cannot be read later.

    Raises Conflict `totp_is_off` if the user has no secret to confirm. Raises Conflict `totp_is_on` if the
    secret is confirmed already. Raises Forbidden `totp_code_wrong` if the code is wrong.
    """
    known = await session.get(TotpSecret, user_id, with_for_update=True)
    if known is None:
        raise totp_is_off()
    if known.confirmed_at is not None:
        raise totp_is_on()
    if not await _accept_digits(session, cipher, known, _bare(code)):
        raise totp_code_refused()
    known.confirmed_at = now()
    return await new_recovery_codes(session, user_id)


async def accept(session: AsyncSession, cipher: Cipher, secret: TotpSecret, code: str) -> bool:
    """Checks the code of a user. Returns whether it is a valid code of the authenticator app or a recovery
    code. Each code is accepted only once.
    """
    bare = _bare(code)
    if len(bare) == _DIGITS:
        return await _accept_digits(session, cipher, secret, bare)
    statement = delete(RecoveryCode).where(
        RecoveryCode.user_id == secret.user_id, RecoveryCode.code_hash == token_hash(bare)
    )
    return await session.scalar(statement.returning(RecoveryCode.code_hash)) is not None


async def new_recovery_codes(session: AsyncSession, user_id: UUID) -> list[str]:
    """Creates ten recovery codes of 80 random bits each and returns them. They replace all earlier recovery
    codes of the user.
    """
    await session.execute(delete(RecoveryCode).where(RecoveryCode.user_id == user_id))
    codes = [_new_code() for _ in range(RECOVERY_CODES)]
    session.add_all(RecoveryCode(code_hash=token_hash(_bare(code)), user_id=user_id) for code in codes)
    await session.flush()
    return codes


async def count_recovery_codes(session: AsyncSession, user_id: UUID) -> int:
    query = select(func.count()).select_from(RecoveryCode).where(RecoveryCode.user_id == user_id)
    return await session.scalar(query) or 0


async def remove(session: AsyncSession, user_id: UUID) -> bool:
    """Removes the secret of the user's authenticator app and the recovery codes, so that a sign-in needs no
    code. Returns whether the user had a confirmed secret.
    """
    await session.execute(delete(RecoveryCode).where(RecoveryCode.user_id == user_id))
    statement = delete(TotpSecret).where(TotpSecret.user_id == user_id)
    rows = await session.execute(statement.returning(TotpSecret.confirmed_at))
    return any(confirmed_at is not None for (confirmed_at,) in rows)


async def _accept_digits(session: AsyncSession, cipher: Cipher, secret: TotpSecret, digits: str) -> bool:
    import pyotp

    totp = pyotp.TOTP(cipher.decrypt(secret.secret_encrypted))
    current = int(time.time()) // STEP_SECONDS
    steps = [current + offset for offset in _NEIGHBOURS]
    matching = [step for step in steps if hmac.compare_digest(totp.generate_otp(step), digits)]
    if not matching:
        return False
    unused = or_(TotpSecret.last_step.is_(None), TotpSecret.last_step < matching[0])
    # One statement, so that only one of two simultaneous attempts succeeds.
    statement = update(TotpSecret).where(TotpSecret.user_id == secret.user_id, unused)
    return (
        await session.scalar(statement.values(last_step=matching[0]).returning(TotpSecret.user_id))
        is not None
    )


def _bare(code: str) -> str:
    return "".join(letter for letter in code.lower() if letter.isascii() and letter.isalnum())


def _new_code() -> str:
    text = base64.b32encode(secrets.token_bytes(10)).decode().lower()
    return "-".join(text[start : start + 4] for start in range(0, len(text), 4))
