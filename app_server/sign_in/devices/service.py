"""Signs a device in: the device asks for a code, a signed-in user allows the code, and the device gets an API
key.

A code is valid for ten minutes, and the device gets only one key for it. The device asks for permissions and
a lifetime of the key. Both are stored with the code, so the key gets exactly what the user has seen and
allowed.
"""

import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail
from app_server.access.permissions import Permission
from app_server.audit.actions import ActorMeans, AuditAction, AuditTarget
from app_server.audit.chain import Actor
from app_server.core.database import Database, now
from app_server.core.errors import BadRequest
from app_server.sign_in.devices import refusals
from app_server.sign_in.devices.models import DeviceSignIn, DeviceState
from app_server.sign_in.passwords import throttle
from app_server.sign_in.passwords.throttle import Counted
from app_server.users import service as users
from app_server.users.models import User
from app_server.users.tokens import new_token, token_hash

LIFETIME: Final = timedelta(minutes=10)
INTERVAL_SECONDS: Final = 5
DEFAULT_SCOPES: Final = (Permission.READ, Permission.WORK)
DEFAULT_DAYS: Final = 90
MAX_DAYS: Final = 365

# Consonants only, as RFC 8628 proposes: no words, and no letters that look like digits.
_LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"
_CODE_LENGTH: Final = 8
_SLOWER_BY_SECONDS: Final = 5
# A device measures the pause between two answers, the server the one between two questions.
_EARLY: Final = timedelta(seconds=1)
_KEPT_FOR_EXPLANATION: Final = timedelta(hours=1)


@dataclass(frozen=True)
class DeviceRequest:
    """The data of a device's request for a code: the name of the device, its IP address (None if unknown),
    and the permissions and the lifetime of the API key that the device asks for.
    """

    name: str
    address: str | None
    scopes: tuple[Permission, ...]
    expires_in_days: int


@dataclass(frozen=True)
class DeviceCodes:
    """The two codes of a device's new sign-in: a secret code that the device keeps, and a short code that its
    user types.
    """

    device_code: str
    user_code: str
    expires_in_seconds: int


@dataclass(frozen=True)
class DeviceKey:
    """The API key that a device receives after the user has allowed its sign-in."""

    id: UUID
    key: str
    scopes: tuple[str, ...]
    expires_in_seconds: int


async def begin(database: Database, wanted: DeviceRequest) -> DeviceCodes:
    """Creates and stores the codes for a device's sign-in, and returns the codes. Raises TooManyRequests
    `sign_in_throttled` if too many codes were requested from the device's IP address.
    """
    await throttle.begin_attempt(database, _of_devices_at(wanted.address))
    device_code, user_code = new_token(), "".join(secrets.choice(_LETTERS) for _ in range(_CODE_LENGTH))
    async with database.session() as session:
        over = DeviceSignIn.expires_at < now() - _KEPT_FOR_EXPLANATION
        await session.execute(delete(DeviceSignIn).where(over))
        session.add(
            DeviceSignIn(
                device_code_hash=token_hash(device_code),
                user_code_hash=token_hash(user_code),
                name=wanted.name,
                address=wanted.address,
                scopes=[str(one) for one in wanted.scopes],
                expires_in_days=wanted.expires_in_days,
                expires_at=now() + LIFETIME,
                interval_seconds=INTERVAL_SECONDS,
            )
        )
    half = _CODE_LENGTH // 2
    shown = f"{user_code[:half]}-{user_code[half:]}"
    return DeviceCodes(device_code, shown, int(LIFETIME.total_seconds()))


async def find(database: Database, user: User, user_code: str) -> DeviceSignIn:
    """Returns the device's sign-in that has this user code and waits for the user's answer. `user`: the user
    who has typed the code. A wrong code counts as a failed attempt of this user.

    Raises NotFound `device_code_not_found` if no sign-in with this code waits. Raises TooManyRequests
    `sign_in_throttled` after too many failed attempts of the user.
    """
    guesses = [Counted(f"device-code:{user.id.hex}", free=10, forgotten_after=timedelta(hours=1))]
    await throttle.begin_attempt(database, guesses)
    code = re.sub(r"[\s-]", "", user_code).upper()
    waiting = select(DeviceSignIn).where(
        DeviceSignIn.user_code_hash == token_hash(code),
        DeviceSignIn.state == DeviceState.PENDING,
        DeviceSignIn.expires_at > now(),
    )
    async with database.session() as session:
        found = await session.scalar(waiting)
        if found is not None:
            await throttle.take_back(session, guesses)
    if found is None:
        raise refusals.code_not_found()
    return found


async def answer(
    session: AsyncSession, trail: AuditTrail, user: User, found: DeviceSignIn, *, is_allowed: bool
) -> None:
    """Stores whether the user allows or refuses the sign-in `found` of a device. Only the first answer
    counts. Raises NotFound `device_code_not_found` if the sign-in was already answered or has expired.
    """
    waiting = update(DeviceSignIn).where(
        DeviceSignIn.id == found.id,
        DeviceSignIn.state == DeviceState.PENDING,
        DeviceSignIn.expires_at > now(),
    )
    state = DeviceState.ALLOWED if is_allowed else DeviceState.REFUSED
    changed = waiting.values(state=state, user_id=user.id).returning(DeviceSignIn.id)
    if await session.scalar(changed) is None:
        raise refusals.code_not_found()
    trail.record(
        session,
        AuditAction.DEVICE_ALLOWED if is_allowed else AuditAction.DEVICE_REFUSED,
        (AuditTarget.DEVICE, found.id),
        name=found.name,
        device_address=found.address,
        scopes=found.scopes if is_allowed else None,
        expires_in_days=found.expires_in_days if is_allowed else None,
    )


async def redeem(database: Database, device_code: str, address: str | None) -> DeviceKey:
    """Exchanges the device code for an API key and returns the key. This succeeds only once for each code.
    `address`: the IP address of the device, for the audit log; None if unknown.

    Raises BadRequest with one of these codes: `authorization_pending` if the user has not decided yet;
    `slow_down` if the device asks too often; `expired_token` if the code has expired; `access_denied` if the
    user has refused the sign-in; `invalid_grant` if the code is not known or was used. Raises Conflict
    `too_many_api_keys` if the user has the maximum number of API keys.
    """
    refusal: BadRequest | None = None
    async with database.session() as session:
        query = select(DeviceSignIn).where(DeviceSignIn.device_code_hash == token_hash(device_code))
        row = await session.scalar(query.with_for_update())
        if row is None:
            raise refusals.unknown_device_code()
        refusal = _why_not_yet(row, now())
        if refusal is None:
            # Only one of two devices that ask at once with the same code removes the row.
            taken = delete(DeviceSignIn).where(DeviceSignIn.id == row.id).returning(DeviceSignIn.id)
            if await session.scalar(taken) is None:
                raise refusals.unknown_device_code()
            user = await session.get(User, row.user_id) if row.user_id else None
            if row.state is DeviceState.ALLOWED and user is not None and user.disabled_at is None:
                return await _new_key(session, user, row, address)
            refusal = refusals.oauth_refusal("access_denied", "This sign-in was refused.")
    # Raised here, so that what was stored about this question stays.
    raise refusal


async def _new_key(session: AsyncSession, user: User, row: DeviceSignIn, address: str | None) -> DeviceKey:
    await throttle.take_back(session, _of_devices_at(row.address))
    lifetime = timedelta(days=row.expires_in_days)
    expires_at = now() + lifetime
    made, key = await users.create_api_key(
        session, user, name=row.name, scopes=row.scopes, expires_at=expires_at
    )
    trail = AuditTrail(Actor(ActorMeans.DEVICE, user_id=user.id, name=user.name, address=address))
    trail.record(
        session,
        AuditAction.KEY_CREATED,
        (AuditTarget.KEY, made.id),
        name=made.name,
        scopes=made.scopes,
        expires_at=expires_at,
    )
    return DeviceKey(made.id, key, tuple(row.scopes), int(lifetime.total_seconds()))


def _why_not_yet(row: DeviceSignIn, moment: datetime) -> BadRequest | None:
    """Returns the error for a device that asks for its API key, if the user's answer cannot be used: the code
    has expired, the user has not decided yet, or the device asks too often. Returns None if the user has
    decided (allowed or refused the sign-in) and the code has not expired.

    `row`: the sign-in of the device. `moment`: the present time. If the user has not decided, stores this
    time in `row`. If the device asks too often, also increases the time that it must wait between two
    requests.
    """
    if row.expires_at <= moment:
        return refusals.oauth_refusal(
            "expired_token", "The code has expired before it was allowed.", fix="Start a new sign-in."
        )
    if row.state is not DeviceState.PENDING:
        return None
    pause = timedelta(seconds=row.interval_seconds)
    is_early = row.asked_at is not None and moment - row.asked_at < pause - _EARLY
    row.asked_at = moment
    if is_early:
        row.interval_seconds += _SLOWER_BY_SECONDS
        return refusals.oauth_refusal("slow_down", f"Ask every {row.interval_seconds} seconds.")
    return refusals.oauth_refusal("authorization_pending", "The user has not answered yet.")


def _of_devices_at(address: str | None) -> list[Counted]:
    """Returns a list with one counter, which limits how many codes devices at this IP address can request.
    Codes that lead to a successful sign-in do not count. Returns an empty list if the address is unknown, so
    such requests are not limited.
    """
    if address is None:
        return []
    key = f"device:{throttle.of_address(address).key}"
    return [Counted(key, free=20, forgotten_after=timedelta(hours=1))]
