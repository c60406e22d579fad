"""Creates Slipway's metadata and its requests to identity providers. In SAML, Slipway is a service provider.
The module uses the library pysaml2. The functions block the thread.
"""

import logging
import shutil
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from app_server.core.config import Config
from app_server.core.identity_providers import is_safe_url
from app_server.core.sign_in.saml_providers import SamlProvider

if TYPE_CHECKING:
    from saml2.client import Saml2Client
    from saml2.config import SPConfig

LEEWAY_SECONDS = 60
"""How many seconds the clocks of the provider and this server may differ."""

PATH = "/api/v1/sign-in/saml"

POST = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
REDIRECT = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"

_SIGNATURE = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
_signing = threading.Lock()
"""A lock that allows only one thread at a time to sign a message. It is needed because pysaml2 stores the
signing key in an object that all threads and providers share.
"""

logger = logging.getLogger(__name__)


class MetadataUnusable(Exception):
    """The error that is raised if the metadata of a provider do not contain something that a sign-in needs.
    The error's text says what is missing.
    """


@dataclass(frozen=True)
class Addresses:
    """The entity ID and the URLs of Slipway as a SAML service provider, as they are registered at the
    identity provider. `acs`: the URL of the assertion consumer service. `slo`: the URL of the single logout
    service.
    """

    entity_id: str
    acs: str
    slo: str

    @classmethod
    def of(cls, config: Config, provider: SamlProvider) -> "Addresses":
        base = f"{config.base_url}{PATH}/{provider.name}"
        return cls(entity_id=f"{base}/metadata", acs=f"{base}/acs", slo=f"{base}/slo")


def find_program() -> str | None:
    """Returns the path of the program xmlsec1, which checks signatures. Returns None if xmlsec1 is not
    installed.
    """
    return shutil.which("xmlsec1")


def own_metadata(addresses: Addresses, provider: SamlProvider) -> str:
    """Returns Slipway's metadata as XML (SAML 2.0 Metadata, EntityDescriptor with SPSSODescriptor)."""
    from saml2.config import SPConfig  # see settings_for
    from saml2.metadata import entity_descriptor

    settings = _settings(addresses, provider)
    # It asks for signed assertions. A signed response with an unsigned one is accepted, too.
    settings["service"]["sp"]["want_assertions_signed"] = True
    return str(entity_descriptor(SPConfig().load(settings)))


def settings_for(addresses: Addresses, provider: SamlProvider, metadata: str, program: str) -> "SPConfig":
    """Returns the configuration with which the library pysaml2 communicates with this provider. `metadata`:
    the provider's metadata as XML. `program`: the path of xmlsec1.

    Raises MetadataUnusable if the metadata cannot be read, contain no signing key of the provider, or contain
    no usable URL for the redirect binding. The URL is usable if it begins with https. A URL on this machine
    may also begin with http.
    """
    # Loaded at the first sign-in: it takes more than a second, and most servers have no provider.
    from saml2.config import SPConfig

    # It logs whole documents with the data of people. The reasons of refusals are logged here, without them.
    logging.getLogger("saml2").setLevel(logging.CRITICAL)
    try:
        settings = SPConfig().load(
            {
                **_settings(addresses, provider),
                "xmlsec_binary": program,
                "metadata": {"inline": [metadata]},
            }
        )
        has_keys = bool(settings.metadata.certs(provider.entity_id, "idpsso", "signing"))
    except Exception as error:  # noqa: BLE001  pysaml2 raises exceptions of many libraries, and plain ones
        raise MetadataUnusable(log_text(error)) from None
    if not has_keys:
        raise MetadataUnusable(f"there is no key for signatures of {provider.entity_id}")
    if not is_safe_url(_destination(settings, provider)):
        raise MetadataUnusable(f"{provider.entity_id} has no https address for the redirect binding")
    if provider.signing_key_file is None and _wants_signed_requests(settings, provider):
        logger.warning(
            "%s wants signed requests: set signing_key_file and signing_certificate_file", provider.name
        )
    return settings


def request(settings: "SPConfig", provider: SamlProvider) -> tuple[str, str]:
    """Creates a request to sign a person in. Returns the id of the request and a URL at the provider. The URL
    contains the request, and the browser opens the URL (SAML 2.0 Bindings, section 3.4). The request is
    signed if a signing key is configured (section 3.4.4.1).
    """
    from saml2.client import Saml2Client  # see settings_for

    client = Saml2Client(config=settings)
    destination = _destination(settings, provider)
    request_id, message = client.create_authn_request(destination, binding=POST, sign=False)
    signs = provider.signing_key_file is not None
    return str(request_id), redirect_address(client, str(message), destination, signs=signs)


def redirect_address(
    client: "Saml2Client",
    message: str,
    destination: str,
    *,
    signs: bool = True,
    is_response: bool = False,
    relay_state: str = "",
) -> str:
    """Returns the URL that contains the SAML message (redirect binding). The browser opens this URL. `signs`:
    whether the message is signed. `is_response`: whether the message is a response, not a request.
    `destination`: the URL at the provider that receives the message. `relay_state`: the text of the parameter
    `RelayState`. For a response, this is the text that came with the provider's request. For a request, the
    provider sends the text back with its response.
    """
    with _signing:
        made = client.apply_binding(
            REDIRECT,
            message,
            destination,
            relay_state=relay_state,
            response=is_response,
            sign=signs,
            sigalg=_SIGNATURE,
        )
    return str(dict(made["headers"])["Location"])


def log_text(error: Exception) -> str:
    """Returns the type and text of an error of pysaml2 for the server's log. Returns only the type if the
    text is long or may quote a SAML document.
    """
    text = str(error)
    return type(error).__name__ if len(text) > 200 or "<" in text else f"{type(error).__name__}: {text}"


def _destination(settings: "SPConfig", provider: SamlProvider) -> str:
    for service in settings.metadata.single_sign_on_service(provider.entity_id, REDIRECT) or ():
        location = str(service["location"])
        if not urlsplit(location).fragment:
            return location
    return ""


def _wants_signed_requests(settings: "SPConfig", provider: SamlProvider) -> bool:
    roles = settings.metadata[provider.entity_id].get("idpsso_descriptor", ())
    return any(role.get("want_authn_requests_signed") == "true" for role in roles)


def _settings(addresses: Addresses, provider: SamlProvider) -> dict[str, Any]:
    key, certificate = provider.signing_key_file, provider.signing_certificate_file
    return {
        "key_file": str(key) if key else None,
        "cert_file": str(certificate) if certificate else None,
        # Otherwise our metadata would ask for encrypted assertions, which are refused.
        "metadata_key_usage": "signing",
        "entityid": addresses.entity_id,
        "accepted_time_diff": LEEWAY_SECONDS,
        "allow_unknown_attributes": True,
        "only_use_keys_in_metadata": True,
        "service": {
            "sp": {
                "name": "Slipway",
                "endpoints": {
                    "assertion_consumer_service": [(addresses.acs, POST)],
                    # Messages of single logout must be signed, so there is none without a key.
                    **(
                        {"single_logout_service": [(addresses.slo, REDIRECT), (addresses.slo, POST)]}
                        if key
                        else {}
                    ),
                },
                "allow_unsolicited": False,
                "authn_requests_signed": key is not None,
                # One of the two must be signed; see document.py for what that has to cover.
                "want_assertions_or_response_signed": True,
                "want_assertions_signed": False,
                "want_response_signed": False,
            }
        },
    }
