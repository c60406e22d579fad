"""HTTP routes of single logout. They receive the provider's requests to sign a person out, and the provider's
responses to Slipway's requests. The browser carries all these messages.
"""

import logging
from typing import Annotated, Final

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from app_server.core.database import Session
from app_server.core.errors import BadRequest
from app_server.core.server_objects import ServerConfig
from app_server.sign_in.identities.completion import SIGN_IN_PAGE
from app_server.sign_in.saml import logout, logout_messages
from app_server.sign_in.saml.document import MAX_BYTES
from app_server.sign_in.saml.logout_messages import Kind
from app_server.sign_in.saml.providers import SamlProviders, ServerSamlProviders
from app_server.sign_in.saml.service_provider import PATH

logger = logging.getLogger(__name__)

router = APIRouter(prefix=PATH, tags=["Sign-in"])

_MAX_FIELD: Final = MAX_BYTES * 4 // 3 + 4
_MAX_RELAY_STATE: Final = 1024


@router.get("/{name}/slo", status_code=303, response_class=RedirectResponse)
async def receive_saml_logout(
    name: str,
    saml_providers: ServerSamlProviders,
    config: ServerConfig,
    session: Session,
    request: Request,
    saml_request: Annotated[str | None, Query(alias="SAMLRequest", max_length=32_768)] = None,
    saml_response: Annotated[str | None, Query(alias="SAMLResponse", max_length=32_768)] = None,
    relay_state: Annotated[str, Query(alias="RelayState", max_length=_MAX_RELAY_STATE)] = "",
) -> Response:
    """Receives a single logout message in the URL that the browser opens (HTTP-Redirect binding). If the
    message is a request of the provider, ends the browser sessions that the request names, and redirects the
    browser to the provider with Slipway's signed response. If the message is a response of the provider,
    redirects the browser to Slipway's sign-in page.

    Errors: 400 `saml_logout_invalid` if Slipway refuses the message; 403 `saml_response_used` if the message
    was used before; 404 `saml_provider_not_found` if there is no SAML provider with this name; 404
    `saml_logout_not_configured` if Slipway has no signing key for this provider.
    """
    kind = _kind(saml_request, saml_response)
    text, read = request.url.query, logout_messages.from_address
    return await _answer(saml_providers, config, session, request, name, (read, kind, text), relay_state)


@router.post("/{name}/slo", status_code=303, response_class=RedirectResponse)
async def receive_saml_logout_form(
    name: str,
    saml_providers: ServerSamlProviders,
    config: ServerConfig,
    session: Session,
    request: Request,
    saml_request: Annotated[str | None, Form(alias="SAMLRequest", max_length=_MAX_FIELD)] = None,
    saml_response: Annotated[str | None, Form(alias="SAMLResponse", max_length=_MAX_FIELD)] = None,
    relay_state: Annotated[str, Form(alias="RelayState", max_length=_MAX_RELAY_STATE)] = "",
) -> Response:
    """Receives a single logout message in a form (HTTP-POST binding). If the message is a request of the
    provider, ends the browser sessions that the request names, and redirects the browser to the provider with
    Slipway's signed response. If the message is a response of the provider, redirects the browser to
    Slipway's sign-in page. Errors: 400 `saml_logout_invalid` if Slipway refuses the message; 403
    `saml_response_used` if the message was used before; 404 `saml_provider_not_found` if there is no SAML
    provider with this name; 404 `saml_logout_not_configured` if Slipway has no signing key for this provider.
    """
    kind = _kind(saml_request, saml_response)
    text, read = saml_request or saml_response or "", logout_messages.from_form
    return await _answer(saml_providers, config, session, request, name, (read, kind, text), relay_state)


def _kind(saml_request: str | None, saml_response: str | None) -> Kind:
    if (saml_request is None) == (saml_response is None):
        raise BadRequest(
            "A message of single logout has either SAMLRequest or SAMLResponse.", code="saml_logout_invalid"
        )
    return "SAMLResponse" if saml_request is None else "SAMLRequest"


async def _answer(
    providers: SamlProviders,
    config: ServerConfig,
    session: Session,
    request: Request,
    name: str,
    sent: tuple[logout.Reader, Kind, str],
    relay_state: str,
) -> Response:
    provider = providers.find(name)
    message = await logout.received(providers, provider, *sent)
    address: str | None = None
    if sent[1] == "SAMLRequest":
        address = await logout.sign_out(providers, provider, session, request, message, relay_state)
    elif not message.is_success:
        logger.warning("%s has not ended its session: its answer is no success", name)
    return RedirectResponse(address or f"{config.base_url}/{SIGN_IN_PAGE}", status_code=303)
