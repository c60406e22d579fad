"""The HTTP route by which administrators see the identity providers of the installation."""

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from app_server.core.config import Config
from app_server.core.errors import BadGateway
from app_server.core.identity_providers import IdentityProvider, Protocol
from app_server.core.server_objects import ServerConfig
from app_server.core.sign_in.saml_providers import SamlProvider
from app_server.sign_in.oidc.discovery import Providers, ServerProviders
from app_server.sign_in.oidc.exchange import logout_uri, redirect_uri
from app_server.sign_in.saml.providers import SamlProviders, ServerSamlProviders

router = APIRouter(prefix="/api/v1/administration/sign-in-providers", tags=["Administration"])


class RegisteredAddress(BaseModel):
    """One URL of this server, which an administrator must register at an identity provider, with its purpose.

    `purpose`: one of five values. For OpenID Connect: `redirect_uri` or `logout_uri`. For SAML: `metadata`,
    whose URL is also the entity ID of this server; `acs`, the assertion consumer service; or `slo`, the
    single logout service. There is a URL for `slo` only if this server has a key to sign messages.
    """

    purpose: Literal["redirect_uri", "logout_uri", "metadata", "acs", "slo"]
    url: str


class ProviderProblem(BaseModel):
    """The problem that at present makes sign-ins by a provider fail, in an administrator's overview. `fix`:
    what the administrator can do; null if there is no advice.
    """

    code: str
    detail: str
    fix: str | None


class ProviderOverview(BaseModel):
    """An identity provider as administrators see it. `issuer`: the name or URL by which the provider
    identifies itself. `problem`: why sign-ins by this provider fail; null if the check has found no problem.
    """

    name: str
    title: str
    protocol: Protocol
    issuer: str
    addresses: list[RegisteredAddress]
    problem: ProviderProblem | None


@router.get("")
async def list_sign_in_providers(
    config: ServerConfig, identity_providers: ServerProviders, saml_providers: ServerSamlProviders
) -> list[ProviderOverview]:
    """Lists the identity providers. Each entry contains the URLs to register at the provider, and the problem
    that makes sign-ins fail, if there is one.

    To find such problems, the server reads the metadata of each provider from its cache, or else fetches
    them, one provider after the other. A provider that cannot be reached delays the reply by up to ten
    seconds.
    """
    oidc: Providers = identity_providers
    saml: SamlProviders = saml_providers
    return [
        *[await _of_oidc(config, oidc, one) for one in oidc.all()],
        *[await _of_saml(saml, one) for one in saml.all()],
    ]


async def _of_oidc(config: Config, providers: Providers, provider: IdentityProvider) -> ProviderOverview:
    problem = None
    try:
        await providers.metadata(provider)
    except BadGateway as refusal:
        problem = _problem(refusal)
    return ProviderOverview(
        name=provider.name,
        title=provider.title,
        protocol=provider.protocol,
        issuer=provider.issuer,
        addresses=[
            RegisteredAddress(purpose="redirect_uri", url=redirect_uri(config, provider)),
            RegisteredAddress(purpose="logout_uri", url=logout_uri(config, provider)),
        ],
        problem=problem,
    )


async def _of_saml(providers: SamlProviders, provider: SamlProvider) -> ProviderOverview:
    problem = None
    try:
        await providers.require_usable(provider)
    except BadGateway as refusal:
        problem = _problem(refusal)
    ours = providers.addresses(provider)
    return ProviderOverview(
        name=provider.name,
        title=provider.title,
        protocol=provider.protocol,
        issuer=provider.entity_id,
        addresses=[
            RegisteredAddress(purpose="metadata", url=ours.entity_id),
            RegisteredAddress(purpose="acs", url=ours.acs),
            *([RegisteredAddress(purpose="slo", url=ours.slo)] if provider.signing_key_file else []),
        ],
        problem=problem,
    )


def _problem(refusal: BadGateway) -> ProviderProblem:
    return ProviderProblem(code=refusal.code, detail=refusal.detail, fix=refusal.fix)
