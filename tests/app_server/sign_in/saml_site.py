"""Helpers for tests of SAML: an app server with a SAML provider, and browsers that sign in without a
network.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx

from app_server.core.sign_in.saml_providers import SamlProvider
from app_server.main import WithState
from app_server.sign_in.saml.providers import SamlProviders
from app_server.sign_in.saml.service_provider import Addresses, find_program
from tests.app_server.conftest import App
from tests.support.apps import public_app
from tests.support.saml_provider import Person, SamlIdentityProvider, encoded
from tests.support.simplesamlphp import SimpleSamlPhp

BEGIN = "/api/v1/sign-in/saml/acme"
ACS = f"{BEGIN}/acs"


class SamlSite:
    """The public app of an app server with this SAML provider. `settings`: fields of SamlProvider.
    `find_program`: see SamlProviders.
    """

    def __init__(
        self,
        app: App,
        provider: SamlIdentityProvider | SimpleSamlPhp,
        find_program: Callable[[], str | None] = find_program,
        **settings: Any,
    ) -> None:
        self.provider = provider
        told = SamlProvider.model_validate(provider.settings(**settings))
        self.config = app.config.model_copy(update={"saml_providers": [told]})
        self.addresses = Addresses.of(self.config, told)
        providers = SamlProviders(self.config, app.state["http"], find_program)
        state = {**app.state, "config": self.config, "saml_providers": providers}
        self.public = WithState(public_app(self.config), state)

    @asynccontextmanager
    async def browser(self) -> AsyncIterator["Browser"]:
        transport = httpx.ASGITransport(self.public)
        async with httpx.AsyncClient(transport=transport, base_url=self.config.base_url) as client:
            yield Browser(client, self.provider)


class Browser:
    def __init__(self, client: httpx.AsyncClient, provider: SamlIdentityProvider | SimpleSamlPhp) -> None:
        self.client = client
        self._provider = provider

    async def begin(self) -> str:
        """Begins a sign-in. Returns the URL at the provider to which the app server redirects, with the app
        server's request.
        """
        reply = await self.client.get(BEGIN)
        assert reply.status_code == 303, reply.text
        return reply.headers["location"]

    async def at_provider(self, url: str) -> str:
        """Returns the page of a provider that runs on a port. `url`: the provider's URL with the app
        server's request.
        """
        async with httpx.AsyncClient(trust_env=False, follow_redirects=True) as client:
            return (await client.get(url)).raise_for_status().text

    async def answered(self, person: Person | None = None, **answer: Any) -> str:
        """Begins a sign-in, and returns the provider's response as XML.

        person: None means the provider's usual person.
        answer: see SamlIdentityProvider.answer.
        """
        url = await self.begin()
        metadata = await self.client.get(f"{BEGIN}/metadata")
        assert isinstance(self._provider, SamlIdentityProvider)
        return self._provider.answer(url, metadata.text, person, **answer)

    async def send(self, xml: str) -> str:
        """Sends a SAML response (XML) as the form of the provider's page does, and follows the redirects.
        Returns the fragment of the last URL, a page of the app server.
        """
        return await self.send_field(encoded(xml))

    async def send_field(self, field: str) -> str:
        """Sends the value of the form field SAMLResponse, and follows the redirects. Returns the fragment of
        the last URL, a page of the app server.
        """
        reply = await self.client.post(
            ACS, data={"SAMLResponse": field}, headers={"Origin": "https://id.example.org"}
        )
        assert reply.status_code == 303, reply.text
        end = (await self.client.get(reply.headers["location"])).headers["location"]
        return urlsplit(end).fragment

    async def end_of(self, person: Person | None = None, **answer: Any) -> str:
        """Begins a sign-in and sends the provider's response. Returns the fragment of the last URL, a page
        of the app server.
        """
        return await self.send(await self.answered(person, **answer))

    async def sign_in(self, person: Person | None = None, **answer: Any) -> dict[str, Any]:
        """Signs in, and returns the signed-in user."""
        return await self.finish(await self.end_of(person, **answer))

    async def finish(self, fragment: str) -> dict[str, Any]:
        """Signs in with the token in the URL fragment, as the app server's page does. Returns the signed-in
        user.
        """
        kind, _, token = fragment.partition("=")
        assert kind == "token", token
        ours = {"Origin": str(self.client.base_url).rstrip("/")}
        reply = await self.client.post("/api/v1/sign-in/link", json={"token": token}, headers=ours)
        found: dict[str, Any] = reply.raise_for_status().json()
        return found
