"""The SAML providers of this installation, and the metadata that they publish."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import httpx

from app_server.core.config import Config
from app_server.core.errors import Forbidden
from app_server.core.server_objects import from_server
from app_server.core.sign_in.saml_providers import SamlProvider
from app_server.http.bounded_body import IDENTITY, read_body
from app_server.http.guarded_client import bound_to
from app_server.sign_in.identities.refusals import provider_not_found, refused_by_provider
from app_server.sign_in.saml import document, service_provider, statements
from app_server.sign_in.saml.logout_messages import Kind, LogoutMessage
from app_server.sign_in.saml.refusals import program_missing, provider_unreachable, response_invalid
from app_server.sign_in.saml.service_provider import Addresses, MetadataUnusable
from app_server.sign_in.saml.statements import SignatureWrong, Statement

if TYPE_CHECKING:
    from saml2.config import SPConfig

logger = logging.getLogger(__name__)

TIMEOUT_SECONDS = 10.0
MAX_METADATA_BYTES = 5 * 1024**2
_MAX_AGE_SECONDS = 3600.0
MIN_AGE_SECONDS = 10.0
"""The minimum time, in seconds, between two readings of a provider's metadata that are caused by messages
with unknown keys. Anyone can send responses that are signed with unknown keys. So this limit prevents many
readings.
"""

_CHECKS_AT_ONCE = 2
"""The maximum number of signature checks that run at the same time. Each check starts a process, and anyone
can send responses.
"""


@dataclass(frozen=True)
class _Known:
    settings: "SPConfig"
    since: float

    @property
    def age(self) -> float:
        return time.monotonic() - self.since


class SamlProviders:
    """The SAML providers of this installation, with a cache of their metadata. The metadata of a provider
    contain its URLs and the keys that verify its signatures. They are read again after an hour. They are also
    read again if no cached key fits the signature of a message, but at most every ten seconds.

    `client`: the HTTP client that fetches the metadata. It may call private networks, because the operator of
    the server, not a user, has configured the URLs. `find_program`: a function that returns the path of
    xmlsec1, or None if xmlsec1 is not installed.
    """

    def __init__(
        self,
        config: Config,
        client: httpx.AsyncClient,
        find_program: Callable[[], str | None] = service_provider.find_program,
    ) -> None:
        self._providers = {provider.name: provider for provider in config.saml_providers}
        self._config = config
        self._client = client
        self._find_program = find_program
        self._known: dict[str, _Known] = {}
        self._checks = asyncio.Semaphore(_CHECKS_AT_ONCE)

    def all(self) -> Sequence[SamlProvider]:
        return tuple(self._providers.values())

    def find(self, name: str) -> SamlProvider:
        """Returns the provider with this name. Raises NotFound `saml_provider_not_found` if there is none."""
        if provider := self._providers.get(name):
            return provider
        raise provider_not_found("saml")

    def addresses(self, provider: SamlProvider) -> Addresses:
        """Returns the URLs of this server that are registered at the provider."""
        return Addresses.of(self._config, provider)

    async def own_metadata(self, provider: SamlProvider) -> str:
        """Returns Slipway's metadata as XML. The identity provider `provider` reads the metadata to learn the
        URLs of Slipway.
        """
        return await asyncio.to_thread(service_provider.own_metadata, self.addresses(provider), provider)

    async def require_usable(self, provider: SamlProvider) -> None:
        """Checks that people can sign in by this provider now. Raises BadGateway `saml_provider_unreachable`
        if the provider's metadata cannot be read. Raises BadGateway `saml_xmlsec1_missing` if the program
        xmlsec1 is not installed.
        """
        await self._look_up(provider)

    async def request(self, provider: SamlProvider) -> tuple[str, str]:
        """Creates a request to sign a person in. Returns the id of the request, and the URL at the provider
        that the browser opens.

        Raises BadGateway `saml_provider_unreachable` if the provider's metadata cannot be read. Raises
        BadGateway `saml_xmlsec1_missing` if the program xmlsec1 is not installed.
        """
        known = await self._look_up(provider)
        return await asyncio.to_thread(service_provider.request, known.settings, provider)

    async def verified(self, provider: SamlProvider, response: str) -> Statement:
        """Verifies the form field `SAMLResponse`, and returns the provider's statement about the person.

        Raises BadGateway `saml_response_invalid` if the response is not valid. Raises BadGateway
        `saml_provider_unreachable` if the provider's metadata cannot be read. Raises BadGateway
        `saml_xmlsec1_missing` if the program xmlsec1 is not installed. Raises Forbidden
        `saml_refused_by_provider` if the provider has not signed the person in.
        """
        known = await self._look_up(provider)
        try:
            try:
                return await self._check(known, provider, response)
            except SignatureWrong:
                if known.age < MIN_AGE_SECONDS:
                    raise
                # It may have been signed with a key that is newer than those we know.
                return await self._check(await self._read(provider), provider, response)
        except document.NotSuccessful as status:
            logger.info("%s refuses a sign-in: %s", provider.name, status)
            raise refused_by_provider("saml", provider.title) from None
        except document.Unacceptable as reason:
            logger.warning("a response of %s is refused: %s", provider.name, reason)
            raise response_invalid(provider.title) from None

    async def settings(self, provider: SamlProvider) -> "SPConfig":
        """Returns the configuration with which the library pysaml2 communicates with this provider. It
        contains the provider's metadata, which are read again if they are older than an hour.

        Raises BadGateway `saml_provider_unreachable` if the metadata cannot be read. Raises BadGateway
        `saml_xmlsec1_missing` if the program xmlsec1 is not installed.
        """
        return (await self._look_up(provider)).settings

    async def verified_logout(
        self, provider: SamlProvider, read: Callable[..., LogoutMessage], kind: Kind, text: str
    ) -> LogoutMessage:
        """Verifies a single logout message of the provider and returns it. If no known key of the provider
        fits the signature, and the provider's metadata are older than MIN_AGE_SECONDS, fetches the metadata
        again and verifies the message once more.

        `read`: the function that verifies `text`: `from_address` for the query of a URL, `from_form` for a
        field of a form. `kind`: whether the message is a request or a response. Raises Unacceptable if
        Slipway refuses the message. Raises BadGateway `saml_provider_unreachable` if the metadata cannot be
        read. Raises BadGateway `saml_xmlsec1_missing` if the program xmlsec1 is not installed.
        """
        known = await self._look_up(provider)
        addresses = self.addresses(provider)
        async with self._checks:
            try:
                return await asyncio.to_thread(read, known.settings, addresses, provider, kind, text)
            except SignatureWrong:
                if known.age < MIN_AGE_SECONDS:
                    raise
                newer = await self._read(provider)
                return await asyncio.to_thread(read, newer.settings, addresses, provider, kind, text)

    async def _check(self, known: _Known, provider: SamlProvider, response: str) -> Statement:
        async with self._checks:
            return await asyncio.to_thread(
                statements.verified, known.settings, self.addresses(provider), provider, response
            )

    async def _look_up(self, provider: SamlProvider) -> _Known:
        known = self._known.get(provider.name)
        return known if known and known.age < _MAX_AGE_SECONDS else await self._read(provider)

    async def _read(self, provider: SamlProvider) -> _Known:
        program = self._find_program()
        if program is None:
            logger.error("%s cannot be used: xmlsec1 is not installed", provider.name)
            raise program_missing()
        try:
            metadata = await self._metadata(provider)
            settings = await asyncio.to_thread(
                service_provider.settings_for, self.addresses(provider), provider, metadata, program
            )
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, Forbidden, MetadataUnusable) as error:
            logger.warning("the metadata of %s cannot be read: %r", provider.name, error)
            raise provider_unreachable(provider.title) from None
        known = self._known[provider.name] = _Known(settings, time.monotonic())
        return known

    async def _metadata(self, provider: SamlProvider) -> str:
        if provider.metadata_file:
            return await asyncio.to_thread(provider.metadata_file.read_text)
        assert provider.metadata_url is not None, "one of both is configured"
        url = provider.metadata_url
        async with self._client.stream(
            "GET", url, headers=IDENTITY, timeout=TIMEOUT_SECONDS, extensions=bound_to(url)
        ) as reply:
            reply.raise_for_status()
            return (await read_body(reply, MAX_METADATA_BYTES, TIMEOUT_SECONDS)).decode()


ServerSamlProviders = Annotated[SamlProviders, from_server("saml_providers")]
