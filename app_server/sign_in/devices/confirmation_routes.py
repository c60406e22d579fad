"""The HTTP routes by which a signed-in user looks up the code that a device shows, and allows or refuses the
device's sign-in.
"""

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentPrincipal
from app_server.access.permissions import Permission
from app_server.access.principal import Principal
from app_server.core.database import ServerDatabase, Timestamp
from app_server.core.errors import Conflict, Forbidden
from app_server.sign_in.devices import service
from app_server.sign_in.devices.models import DeviceSignIn
from app_server.sign_in.passwords.refusals import browser_session_needed
from app_server.users.service import MAX_API_KEYS, list_api_keys

router = APIRouter(prefix="/api/v1/device-sign-ins", tags=["Sign-in"])


class FindDevice(BaseModel):
    """The request body with the code that a device shows to its user. `user_code`: the code, with or without
    its dash, in upper or lower case.
    """

    model_config = ConfigDict(extra="forbid")

    user_code: Annotated[str, Field(min_length=1, max_length=50)]


class AnswerDevice(FindDevice):
    is_allowed: bool


class DeviceInfo(BaseModel):
    """A device, such as a terminal, that waits until the user allows or refuses its sign-in. `name`: the name
    that the device has sent about itself. `address`: the IP address of the device's request; null if that is
    unknown. `scopes` and `expires_in_days`: the permissions and the lifetime of the API key that the device
    asks for. `missing_scopes`: the permissions that the user does not have and so cannot give to the device.
    """

    model_config = ConfigDict(from_attributes=True)

    name: str
    address: str | None
    scopes: list[Permission]
    missing_scopes: list[Permission]
    expires_in_days: int
    created_at: Timestamp
    expires_at: Timestamp


async def _in_browser(principal: CurrentPrincipal) -> Principal:
    """Checks that a signed-in browser has sent the request, and not a program with an API key. Returns the
    principal of the request, which contains the user, the permissions and the credential. Raises Forbidden
    `browser_session_needed` if the request does not come from a signed-in browser.
    """
    if principal.credential.kind != "session":
        raise browser_session_needed()
    return principal


InBrowser = Annotated[Principal, Depends(_in_browser)]


@router.post("/find")
async def find_device(principal: InBrowser, database: ServerDatabase, body: FindDevice) -> DeviceInfo:
    """Returns the device that shows this code, so that the user can check the device's name and permissions.
    This request alone does not allow the device's sign-in. Errors: 403 `browser_session_needed` if the
    request does not come from a signed-in browser; 404 `device_code_not_found` if no device waits with this
    code; 429 `sign_in_throttled` after too many wrong codes.
    """
    found = await service.find(database, principal.user, body.user_code)
    return DeviceInfo.model_validate({**vars(found), "missing_scopes": _missing(principal, found)})


@router.post("/answer", status_code=204)
async def answer_device(
    principal: InBrowser, trail: CurrentTrail, database: ServerDatabase, body: AnswerDevice
) -> None:
    """Allows or refuses the sign-in of the device that shows this code. The code cannot be used a second
    time.

    Errors: 403 `browser_session_needed` if the request does not come from a signed-in browser; 403
    `stronger_key` if the device asks for permissions that the user does not have; 404 `device_code_not_found`
    if no device waits with this code; 409 `too_many_api_keys` if the user has the maximum number of API keys;
    429 `sign_in_throttled` after too many wrong codes.
    """
    found = await service.find(database, principal.user, body.user_code)
    async with database.session() as session:
        if body.is_allowed:
            if missing := _missing(principal, found):
                raise Forbidden(
                    f"You may not give the scopes {', '.join(missing)}, since you do not have them.",
                    code="stronger_key",
                    fix="Start the sign-in again with fewer scopes.",
                )
            if len(await list_api_keys(session, principal.user)) >= MAX_API_KEYS:
                raise Conflict(
                    f"You have {MAX_API_KEYS} API keys, which is the limit.",
                    code="too_many_api_keys",
                    fix="Delete one that is no longer used.",
                )
        await service.answer(session, trail, principal.user, found, is_allowed=body.is_allowed)


def _missing(principal: Principal, found: DeviceSignIn) -> list[Permission]:
    return [one for one in map(Permission, found.scopes) if not principal.may(one)]
