"""HTTP routes of the sign-in by a SAML provider: the browser goes to the provider, comes back with the
provider's signed response, and gets a one-time link.
"""

import logging
from dataclasses import replace
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from app_server.audit.actions import ActorMeans
from app_server.core.database import ReadSession, Session, now
from app_server.core.encryption import ServerCipher
from app_server.core.errors import AppError, BadGateway
from app_server.core.server_objects import ServerConfig
from app_server.sign_in.identities.completion import back_to, complete, page_for
from app_server.sign_in.identities.identity import ProviderIdentity
from app_server.sign_in.refused_sign_ins import RefusedSignIns, ServerRefusedSignIns
from app_server.sign_in.saml import attempts, provider_sessions, statements, used_assertions
from app_server.sign_in.saml.document import MAX_BYTES, Unacceptable
from app_server.sign_in.saml.providers import SamlProviders, ServerSamlProviders
from app_server.sign_in.saml.refusals import response_invalid
from app_server.sign_in.saml.service_provider import PATH
from app_server.sign_in.saml.statements import Statement, SubjectAtProvider

logger = logging.getLogger(__name__)

router = APIRouter(prefix=PATH, tags=["Sign-in"])

_MAX_FIELD = MAX_BYTES * 4 // 3 + 4
_METADATA = "application/samlmetadata+xml"


@router.get("/{name}", status_code=303, response_class=RedirectResponse)
async def begin_saml_sign_in(
    name: str, config: ServerConfig, saml_providers: ServerSamlProviders, cipher: ServerCipher
) -> Response:
    """Redirects the browser to the provider with a request (HTTP-Redirect binding), or to Slipway's sign-in
    page if the provider cannot be used.

    Errors: 404 `saml_provider_not_found` if there is no SAML provider with this name.
    """
    providers: SamlProviders = saml_providers
    provider = providers.find(name)
    try:
        request_id, url = await providers.request(provider)
    except BadGateway as refusal:
        return back_to(config, page_for(None), f"refused={refusal.code}")
    reply = RedirectResponse(url, status_code=303)
    attempts.COOKIE.keep(
        attempts.encrypt(attempts.SamlAttempt.begin(name, request_id), cipher), reply, config
    )
    return reply


@router.get(
    "/{name}/metadata",
    response_class=Response,
    responses={200: {"content": {_METADATA: {"schema": {"type": "string"}}}}},
)
async def read_saml_metadata(name: str, saml_providers: ServerSamlProviders) -> Response:
    """Returns the SAML metadata of this server, which the provider reads (SAML 2.0 Metadata). Errors: 404
    `saml_provider_not_found` if there is no SAML provider with this name.
    """
    providers: SamlProviders = saml_providers
    return Response(await providers.own_metadata(providers.find(name)), media_type=_METADATA)


@router.post("/{name}/acs", status_code=303, response_class=RedirectResponse)
async def receive_saml_response(
    name: str,
    saml_providers: ServerSamlProviders,
    cipher: ServerCipher,
    refused_sign_ins: ServerRefusedSignIns,
    request: Request,
    session: ReadSession,
    saml_response: Annotated[str, Form(alias="SAMLResponse", max_length=_MAX_FIELD)],
) -> Response:
    """Receives the provider's signed response from the browser (HTTP-POST binding), and verifies it. The form
    comes from a page of the provider, so the browser does not send Slipway's cookie with it. Therefore this
    route redirects the browser, with the encrypted result, to the route that completes the sign-in. With this
    second request, the browser sends the cookie. `RelayState` is ignored, because the sign-in page in the
    browser stores which page the person wanted to open.

    Errors: 404 `saml_provider_not_found` if there is no SAML provider with this name.
    """
    providers: SamlProviders = saml_providers
    provider = providers.find(name)
    try:
        statement = await providers.verified(provider, saml_response)
        await used_assertions.require_unused(session, provider, statement.assertion_id)
        try:
            identity = statements.identity_of(provider, statement)
            if statement.subject is not None:
                identity = replace(identity, session=provider_sessions.key_of(statement.subject))
        except Unacceptable as reason:
            logger.warning("a response of %s is refused: %s", name, reason)
            raise response_invalid(provider.title) from None
        outcome = f"answer={quote(attempts.encrypt(_answer(name, statement, identity), cipher))}"
    except AppError as refusal:
        refused: RefusedSignIns = refused_sign_ins
        refused.tell(request, ActorMeans.PROVIDER, refusal.code, provider=name)
        outcome = f"refused={refusal.code}"
    return RedirectResponse(f"{PATH}/{name}/complete?{outcome}", status_code=303)


@router.get("/{name}/complete", status_code=303, response_class=RedirectResponse)
async def complete_saml_sign_in(
    name: str,
    config: ServerConfig,
    saml_providers: ServerSamlProviders,
    cipher: ServerCipher,
    refused_sign_ins: ServerRefusedSignIns,
    request: Request,
    session: Session,
    answer: Annotated[str, Query(max_length=32_768)] = "",
    refused: Annotated[str, Query(pattern="^saml_[a-z_]{1,40}$")] | None = None,
) -> Response:
    """Completes the SAML sign-in in the browser that began it, and redirects the browser to Slipway's sign-in
    page. The fragment of the page's URL contains a one-time token (`#token=…`), or says why the sign-in is
    refused (`#refused=CODE`). If the user connects an account with the provider, the browser is redirected to
    the settings page, with `#connected=NAME`. Errors: 404 `saml_provider_not_found` if there is no SAML
    provider with this name.
    """
    providers: SamlProviders = saml_providers
    provider = providers.find(name)
    page = page_for(None)
    subject: SubjectAtProvider | None = None
    try:
        attempt = attempts.decrypt_attempt(attempts.COOKIE.read(request, config), cipher, provider=name)
        page = page_for(attempt.connects)
        outcome = f"refused={refused}"
        if refused is None:
            found = attempts.decrypt_answer(answer, cipher, attempt=attempt)
            await used_assertions.use(session, provider, found.assertion_id, found.valid_until)
            outcome = await complete(session, request, provider, found.identity, attempt.connects)
            subject = found.subject if attempt.connects is None else None
    except AppError as refusal:
        log: RefusedSignIns = refused_sign_ins
        log.tell(request, ActorMeans.PROVIDER, refusal.code, provider=name)
        outcome = f"refused={refusal.code}"
    reply = back_to(config, page, outcome)
    attempts.COOKIE.forget(reply, config)
    if subject is not None:
        provider_sessions.COOKIE.keep(provider_sessions.encrypt(provider, subject, cipher), reply, config)
    return reply


def _answer(name: str, statement: Statement, identity: ProviderIdentity) -> attempts.SamlAnswer:
    return attempts.SamlAnswer(
        provider=name,
        in_response_to=statement.in_response_to,
        assertion_id=statement.assertion_id,
        valid_until=statement.valid_until,
        identity=identity,
        subject=statement.subject,
        expires_at=now() + attempts.ANSWER_LIFETIME,
    )
