"""The route for SCIM 2.0 (RFC 7644). SCIM is the protocol with which identity providers manage people and
teams.

The code that handles the requests is imported at the first request, because the import of the SCIM library
takes a second.
"""

import asyncio
from importlib import import_module
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentPrincipal
from app_server.core.config import Config
from app_server.core.errors import Forbidden

PREFIX = "/scim/v2"

router = APIRouter(prefix=PREFIX, tags=["SCIM"], include_in_schema=False)


@router.api_route("/{path:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
async def reply_to_identity_provider(
    path: str, principal: CurrentPrincipal, trail: CurrentTrail, request: Request
) -> Response:
    """Carries out a SCIM request of an identity provider, for example to create a person or to change a team.

    The service describes its abilities at `/ServiceProviderConfig`, `/ResourceTypes` and `/Schemas`. Errors
    have the SCIM format, except 401 and 403. Replies 403 `scim_not_allowed` if the API key does not belong to
    a user of the default organisation (whose administrators run the installation).
    """
    if not principal.user.is_of_default_organisation:
        raise Forbidden(
            "SCIM manages the people of the default organisation only.",
            code="scim_not_allowed",
            fix="Use a key of an administrator of the default organisation.",
        )
    config: Config = request.state.config
    endpoint: Any = await asyncio.to_thread(import_module, "app_server.scim.endpoint")
    reply: Response = await endpoint.reply_to(request, path, principal, trail, f"{config.base_url}{PREFIX}")
    return reply
