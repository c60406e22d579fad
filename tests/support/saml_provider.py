"""A SAML identity provider on this machine, built with pysaml2's server.

provider = SamlIdentityProvider(folder)
config = Config(saml_providers=[provider.settings(roles={"admins": "admin"})], ...)
response = provider.answer(request_url, sp_metadata, Person("ada"))

`listening()` serves its pages to real browsers.
"""

import base64
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from saml2 import BINDING_HTTP_REDIRECT, SamlBase
from saml2.config import IdPConfig
from saml2.metadata import entity_descriptor
from saml2.s_utils import decode_base64_and_inflate, sid
from saml2.saml import NAMEID_FORMAT_PERSISTENT, Issuer, NameID
from saml2.samlp import (
    LogoutResponse,
    Status,
    logout_request_from_string,
    logout_response_from_string,
)
from saml2.server import Server
from saml2.sigver import verify_redirect_signature
from saml2.time_util import instant
from saml2.xmldsig import DIGEST_SHA256, SIG_RSA_SHA256
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from app_server.sign_in.saml.service_provider import find_program
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port

_URI_NAMES = "urn:oasis:names:tc:SAML:2.0:attrname-format:uri"
MAIL = "urn:oid:0.9.2342.19200300.100.1.3"
DISPLAY_NAME = "urn:oid:2.16.840.1.113730.3.1.241"
ENTITY_ID = "https://id.example.org/saml"


def encoded(xml: str) -> str:
    """Returns the XML of a response as the value of the form field `SAMLResponse`."""
    return base64.b64encode(xml.encode()).decode()


def write_key(folder: Path) -> None:
    """Writes a new key and its certificate, valid for a day, to the folder: `idp.key` and `idp.pem`."""
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "id.example.org")])
    moment = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(moment - timedelta(days=1))
        .not_valid_after(moment + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = (serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    (folder / "idp.key").write_bytes(key.private_bytes(pem, *plain))
    (folder / "idp.pem").write_bytes(certificate.public_bytes(pem))


@dataclass(frozen=True)
class Person:
    """A user of the provider. `attributes`: values by short names.

    `mail` and `displayName` are sent under their long names, MAIL and DISPLAY_NAME.
    """

    name_id: str
    attributes: Mapping[str, list[str]] = field(default_factory=dict)
    name_id_format: str = NAMEID_FORMAT_PERSISTENT


@dataclass(frozen=True)
class LogoutAtProvider:
    """A logout request or logout response of the app server, as the provider reads it."""

    destination: str
    name_id: str | None = None
    indexes: list[str] = field(default_factory=list)
    in_response_to: str | None = None
    status: str | None = None
    relay_state: str | None = None


class SamlIdentityProvider:
    """A SAML identity provider. `port`: the port at which `listening` serves the provider's pages.

    `host`: the address of the provider. It is 127.0.0.1, and the app server uses `localhost`, so browsers
    treat the provider's pages as pages of another site.
    """

    host = "127.0.0.1"
    lifetime_minutes = 15

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.person = Person("ada")
        self.renew_key()

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def renew_key(self) -> None:
        """Makes a new key and certificate, and writes the metadata that contain this certificate."""
        write_key(self.folder)
        self.metadata = str(entity_descriptor(IdPConfig().load(self._configuration())))
        self.metadata_file.write_text(self.metadata)

    @property
    def metadata_file(self) -> Path:
        return self.folder / "idp.xml"

    def settings(self, **further: Any) -> Mapping[str, Any]:
        """Returns an entry of the setting SLIPWAY_SAML_PROVIDERS for this provider."""
        told = {
            "name": "acme",
            "title": "Acme",
            "entity_id": ENTITY_ID,
            "name_attribute": "name",
            "email_attribute": MAIL,
            "groups_attribute": "groups",
            **further,
        }
        return told if "metadata_url" in told else {"metadata_file": str(self.metadata_file), **told}

    def answer(
        self,
        request_url: str,
        sp_metadata: str,
        person: Person | None = None,
        *,
        signs: tuple[str, ...] = ("assertion",),
        **replaced: Any,
    ) -> str:
        """Returns the XML of the response to the authentication request in `request_url`.

        `person`: the user who signs in; None for the provider's `person`. `signs`: which of `response` and
        `assertion` are signed. `replaced`: arguments of pysaml2 that differ from what the request asks, such
        as `destination`, `sp_entity_id` and `in_response_to`.
        """
        person = person or self.person
        server = Server(config=IdPConfig().load(self._configuration(sp_metadata)))
        query = parse_qs(urlsplit(request_url).query)
        asked = server.parse_authn_request(query["SAMLRequest"][0], BINDING_HTTP_REDIRECT).message
        arguments = {
            "in_response_to": asked.id,
            "destination": asked.assertion_consumer_service_url,
            "sp_entity_id": asked.issuer.text,
            **replaced,
        }
        return str(
            server.create_authn_response(
                person.attributes,
                name_id=NameID(format=person.name_id_format, text=person.name_id),
                authn={"class_ref": "urn:oasis:names:tc:SAML:2.0:ac:classes:Password"},
                sign_response="response" in signs,
                sign_assertion="assertion" in signs,
                sign_alg=SIG_RSA_SHA256,
                digest_alg=DIGEST_SHA256,
                **arguments,
            )
        )

    @property
    def slo(self) -> str:
        """The URL of the provider for messages of single logout."""
        return f"{self.url}/slo"

    def logout_request(
        self, sp_metadata: str, name_id: str, *indexes: str, by_form: bool = False, **changed: str
    ) -> str:
        """Returns a signed request of the provider to end sessions of a user.

        The result is a URL, or with `by_form` the value of a form field. `indexes`: the sessions to end; none
        for all sessions. `changed`: attributes of the message to replace.
        """
        server = Server(config=IdPConfig().load(self._configuration(sp_metadata)))
        ours = server.metadata.with_descriptor("spsso")
        (sp_entity_id,) = ours
        (service,) = server.metadata.single_logout_service(sp_entity_id, BINDING_HTTP_REDIRECT, "spsso")
        destination = service["location"]
        _, message = server.create_logout_request(
            destination,
            sp_entity_id,
            name_id=NameID(format=NAMEID_FORMAT_PERSISTENT, text=name_id),
            session_indexes=list(indexes),
            sign=False,
        )
        for name, value in changed.items():
            setattr(message, name, value)
        if by_form:
            signed = server.sign(message, sign_alg=SIG_RSA_SHA256, digest_alg=DIGEST_SHA256)
            return encoded(str(signed))
        return _signed_address(server, message, destination)

    def logout_response(self, sp_metadata: str, status: Status | None) -> str:
        """Returns the URL with a signed answer to a logout request of Slipway. `status`: None for an answer
        without the element Status.
        """
        server = Server(config=IdPConfig().load(self._configuration(sp_metadata)))
        (sp_entity_id,) = server.metadata.with_descriptor("spsso")
        (service,) = server.metadata.single_logout_service(sp_entity_id, BINDING_HTTP_REDIRECT, "spsso")
        message = LogoutResponse(
            id=sid(),
            version="2.0",
            issue_instant=instant(),
            destination=service["location"],
            in_response_to=sid(),
            issuer=Issuer(text=server.config.entityid),
            status=status,
        )
        return _signed_address(server, message, service["location"])

    def read_logout(self, sp_metadata: str, address: str) -> LogoutAtProvider:
        """Checks the signature of a logout message of the app server in a URL, and returns what the message
        says.
        """
        server = Server(config=IdPConfig().load(self._configuration(sp_metadata)))
        query = {name: value for name, (value,) in parse_qs(urlsplit(address).query).items()}
        (certificate,) = {
            text for _, text in server.metadata.certs(next(iter(server.metadata.keys())), "spsso", "signing")
        }
        message = {name: query[name] for name in query}
        assert verify_redirect_signature(message, server.sec.sec_backend, certificate)
        kind = "SAMLRequest" if "SAMLRequest" in query else "SAMLResponse"
        text = decode_base64_and_inflate(query[kind])
        if kind == "SAMLRequest":
            request = logout_request_from_string(text)
            indexes = [index.text for index in request.session_index]
            return LogoutAtProvider(request.destination, request.name_id.text, indexes)
        response = logout_response_from_string(text)
        return LogoutAtProvider(
            response.destination,
            in_response_to=response.in_response_to,
            status=response.status.status_code.value,
            relay_state=query.get("RelayState"),
        )

    @contextmanager
    def listening(self, read_sp_metadata: Callable[[], str]) -> Iterator[None]:
        """Serves the provider's metadata, and a page that signs `person` in at once.

        `read_sp_metadata`: returns the metadata of the app server.
        """

        def metadata(_: Request) -> Response:
            return Response(self.metadata, media_type="application/samlmetadata+xml")

        def sign_in(request: Request) -> Response:
            sp_metadata = read_sp_metadata()
            acs = sp_metadata.partition('Location="')[2].partition('"')[0]
            field = encoded(self.answer(str(request.url), sp_metadata))
            return HTMLResponse(
                f'<form method="post" action="{acs}"><input type="hidden" name="SAMLResponse" '
                f'value="{field}"></form><script>document.forms[0].submit()</script>'
            )

        app = Starlette(routes=[Route("/metadata", metadata), Route("/sso", sign_in)])
        server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None))
        with socket.socket(proto=socket.IPPROTO_TCP) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((self.host, self.port))
            listener.listen()
            thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
            thread.start()
            try:
                yield
            finally:
                server.should_exit = True
                thread.join(PATIENCE_SECONDS)

    def _configuration(self, sp_metadata: str | None = None) -> dict[str, Any]:
        return {
            "entityid": ENTITY_ID,
            "xmlsec_binary": find_program(),
            "key_file": str(self.folder / "idp.key"),
            "cert_file": str(self.folder / "idp.pem"),
            "metadata": {"inline": [sp_metadata] if sp_metadata else []},
            "service": {
                "idp": {
                    "name": "Acme",
                    "endpoints": {
                        "single_sign_on_service": [(f"{self.url}/sso", BINDING_HTTP_REDIRECT)],
                        "single_logout_service": [(self.slo, BINDING_HTTP_REDIRECT)],
                    },
                    "policy": {
                        "default": {"name_form": _URI_NAMES, "lifetime": {"minutes": self.lifetime_minutes}}
                    },
                }
            },
        }


def _signed_address(server: Server, message: SamlBase, destination: str) -> str:
    made = server.apply_binding(
        BINDING_HTTP_REDIRECT,
        str(message),
        destination,
        relay_state="state of the provider",
        response=isinstance(message, LogoutResponse),
        sign=True,
        sigalg=SIG_RSA_SHA256,
    )
    return str(dict(made["headers"])["Location"])
