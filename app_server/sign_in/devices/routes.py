"""The HTTP routes that a device calls to get a code, to get its API key, and to revoke this key. OAuth 2.0:
RFC 8628 (device authorization grant) and RFC 7009 (revocation). The request bodies are forms.
"""

import re
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from pydantic import BaseModel
from sqlalchemy import select

from app_server.access.audit_trail import AuditTrail, address_of
from app_server.access.permissions import Permission
from app_server.audit.actions import ActorMeans, AuditAction, AuditTarget
from app_server.audit.chain import Actor
from app_server.core.database import ServerDatabase, Session
from app_server.core.server_objects import ServerConfig
from app_server.sign_in.devices import refusals, service
from app_server.users.models import ApiKey, User
from app_server.users.tokens import token_hash

router = APIRouter(prefix="/oauth", tags=["Sign-in"])

PAGE = "device"
"""The page where a user enters the code that a device shows: a path below the base URL."""

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"
_MAX_NAME = 100

_Text = Annotated[str, Form(max_length=500)]


class DeviceAuthorization(BaseModel):
    """The reply to a device that begins its sign-in. `device_code`: the secret code with which the device
    asks for its API key. `user_code`: the short code that the user types. `verification_uri`: the page where
    the user enters `user_code`. `verification_uri_complete`: the same page with the code in its URL.
    `expires_in`: for how many seconds the codes are valid. `interval`: how many seconds the device must wait
    between two requests for its key.
    """

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str
    expires_in: int
    interval: int


class DeviceToken(BaseModel):
    """The reply with the API key of a device, in the form of an OAuth access token. `expires_in`: the
    lifetime of the key in seconds. `scope`: the permissions of the key, separated by spaces.
    """

    access_token: str
    token_type: str = "Bearer"  # noqa: S105 (a type)
    expires_in: int
    scope: str


@router.post("/device/authorize")
async def begin_device_sign_in(
    database: ServerDatabase,
    config: ServerConfig,
    request: Request,
    response: Response,
    client_id: _Text = "",
    scope: _Text = "",
    device_name: _Text = "",
    expires_in_days: _Text = "",
) -> DeviceAuthorization:
    """Begins the sign-in of a device. A signed-in user then allows the sign-in on the page `/device`. Returns
    the codes of the sign-in.

    `scope`: permissions of the API key, separated by spaces; `read work` if left out. `device_name`: the name
    of the key; if left out, `client_id` becomes the name. `expires_in_days`: the lifetime of the key, 1 to
    365 days; 90 if left out. Errors: 400 `invalid_request`; 400 `invalid_scope` if there is no such
    permission; 429 `sign_in_throttled` if too many codes were requested from this IP address.
    """
    address = address_of(request)
    wanted = service.DeviceRequest(
        _name(device_name or client_id, address), address, _scopes(scope), _days(expires_in_days)
    )
    codes = await service.begin(database, wanted)
    _keep_out_of_caches(response)
    page = f"{config.base_url}/{PAGE}"
    return DeviceAuthorization(
        device_code=codes.device_code,
        user_code=codes.user_code,
        verification_uri=page,
        verification_uri_complete=f"{page}?user_code={codes.user_code}",
        expires_in=codes.expires_in_seconds,
        interval=service.INTERVAL_SECONDS,
    )


@router.post("/device/token")
async def get_device_token(
    database: ServerDatabase,
    request: Request,
    response: Response,
    device_code: _Text = "",
    grant_type: _Text = GRANT_TYPE,
    client_id: _Text = "",
) -> DeviceToken:
    """Returns the API key of the device once, after the user has allowed the sign-in. Until the user has
    decided, replies with 400 `authorization_pending`. If the device asks too often, replies with 400
    `slow_down`; from then on the device must wait five seconds longer between two requests.

    Other errors: 400 `invalid_request`; 400 `unsupported_grant_type`; 400 `invalid_grant` if the device code
    is not known; 400 `expired_token` if the code has expired; 400 `access_denied` if the user has refused the
    sign-in; 409 `too_many_api_keys` if the user has the maximum number of API keys.
    """
    del client_id  # Clients are not registered, so the parameter changes nothing.
    if grant_type != GRANT_TYPE:
        raise refusals.oauth_refusal("unsupported_grant_type", f"The grant type here is {GRANT_TYPE}.")
    if not device_code:
        raise refusals.invalid_request("The parameter `device_code` is missing.")
    made = await service.redeem(database, device_code, address_of(request))
    _keep_out_of_caches(response)
    return DeviceToken(access_token=made.key, expires_in=made.expires_in_seconds, scope=" ".join(made.scopes))


@router.post("/revoke")
async def revoke_token(session: Session, request: Request, token: _Text = "") -> Response:
    """Deletes the API key `token`. The reply is the same if there is no such key. Errors: 400
    `invalid_request` if `token` is missing.
    """
    if not token:
        raise refusals.invalid_request("The parameter `token` is missing.")
    key = await session.scalar(select(ApiKey).where(ApiKey.key_hash == token_hash(token)))
    if key is not None:
        user = await session.get_one(User, key.user_id)
        actor = Actor(ActorMeans.KEY, user.id, user.name, credential_id=key.id, address=address_of(request))
        target = (AuditTarget.KEY, key.id)
        AuditTrail(actor).record(session, AuditAction.KEY_DELETED, target, name=key.name)
        await session.delete(key)
    return Response(headers={"Cache-Control": "no-store"})


def _name(given: str, address: str | None) -> str:
    name = re.sub(r"\s+", " ", given).strip()
    if not name.isprintable():
        raise refusals.invalid_request("A device's name has no control characters.")
    if len(name) > _MAX_NAME:
        raise refusals.invalid_request(f"A device's name has at most {_MAX_NAME} characters.")
    return name or f"Device at {address or 'an unknown address'}"


def _scopes(given: str) -> tuple[Permission, ...]:
    names = set(given.split()) or {str(one) for one in service.DEFAULT_SCOPES}
    if unknown := sorted(names - {str(one) for one in Permission}):
        raise refusals.oauth_refusal(
            "invalid_scope",
            f"There is no scope {', '.join(unknown)}.",
            fix=f"Choose from {', '.join(Permission)}.",
        )
    return tuple(one for one in Permission if one in names or one is Permission.READ)


def _days(given: str) -> int:
    if not given:
        return service.DEFAULT_DAYS
    if not (given.isascii() and given.isdecimal() and 1 <= int(given) <= service.MAX_DAYS):
        raise refusals.invalid_request(f"`expires_in_days` is a number from 1 to {service.MAX_DAYS}.")
    return int(given)


def _keep_out_of_caches(response: Response) -> None:
    response.headers["Cache-Control"] = "no-store"
