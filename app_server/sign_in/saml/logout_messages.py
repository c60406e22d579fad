"""Reads and creates the messages of SAML single logout: LogoutRequest and LogoutResponse. The functions block
the thread.

With the redirect binding, the query of the URL is signed (SAML 2.0 Bindings, section 3.4.4.1). With the POST
binding, the XML is signed. Rules for both bindings: SAML 2.0 Core, section 3.7, and SAML 2.0 Profiles,
section 4.4.
"""

import base64
import binascii
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

from app_server.core.database import now
from app_server.core.identity_providers import is_safe_url
from app_server.core.sign_in.saml_providers import SamlProvider
from app_server.sign_in.saml.document import MAX_BYTES, Unacceptable, check_logout
from app_server.sign_in.saml.moments import moment_of
from app_server.sign_in.saml.service_provider import (
    LEEWAY_SECONDS,
    REDIRECT,
    Addresses,
    log_text,
    redirect_address,
)
from app_server.sign_in.saml.statements import SignatureWrong, SubjectAtProvider

if TYPE_CHECKING:
    from saml2.config import SPConfig

LIFETIME = timedelta(minutes=5)
"""The maximum age of a logout message. The allowed difference between the clocks of the provider and this
server is added.
"""

Kind = Literal["SAMLRequest", "SAMLResponse"]

_TYPES: Mapping[Kind, tuple[str, str]] = {
    "SAMLRequest": ("LogoutRequest", "logout_request"),
    "SAMLResponse": ("LogoutResponse", "logout_response"),
}
_SUCCESS = "urn:oasis:names:tc:SAML:2.0:status:Success"
_HASHES = {f"http://www.w3.org/2001/04/xmldsig-more#rsa-sha{bits}": f"SHA{bits}" for bits in (256, 384, 512)}


@dataclass(frozen=True)
class LogoutMessage:
    """A verified single logout message: a request or a response. `valid_until`: the time after which the
    message is refused. `name_id`: the person to sign out; only in a request. `session_indexes`: the sessions
    to end; only in a request; an empty list means all sessions of the person. `is_success`: whether the
    logout at the provider has succeeded; only in a response.
    """

    id: str
    valid_until: datetime
    name_id: str | None
    session_indexes: Sequence[str]
    is_success: bool


def from_address(
    settings: "SPConfig", addresses: Addresses, provider: SamlProvider, kind: Kind, query: str
) -> LogoutMessage:
    """Verifies the logout message in the query of a URL (redirect binding) and returns it. `kind`: whether
    the message is a request or a response. `query`: the query exactly as the browser has sent it.

    Raises SignatureWrong if no known key of the provider fits the signature. Raises Unacceptable if Slipway
    refuses the message for another reason.
    """
    parts: dict[str, str] = {}
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if "%" in name:
            # The route reads it as another name, which the signature does not cover.
            raise Unacceptable("its address has a name with escapes")
        if name in parts:
            raise Unacceptable(f"its address has {name[:40]!r} twice")
        parts[name] = value
    document = _inflated(unquote(parts.get(kind, "")))
    check_logout(document, _TYPES[kind][0], has_signature=False)
    signed = "&".join(f"{name}={parts[name]}" for name in (kind, "RelayState", "SigAlg") if name in parts)
    _check_signature(settings, provider, signed, parts)
    return _read(_parsed(kind, document), addresses, provider)


def from_form(
    settings: "SPConfig", addresses: Addresses, provider: SamlProvider, kind: Kind, field: str
) -> LogoutMessage:
    """Verifies the logout message in a field of a form (POST binding) and returns it. `kind`: whether the
    message is a request or a response.

    Raises SignatureWrong if no known key of the provider fits the signature. Raises Unacceptable if Slipway
    refuses the message for another reason.
    """
    from saml2.client import Saml2Client  # see service_provider.settings_for
    from saml2.sigver import SignatureError

    document = _plain(field)
    check_logout(document, _TYPES[kind][0], has_signature=True)
    try:
        message = Saml2Client(config=settings).sec.correctly_signed_message(
            document, _TYPES[kind][1], must=True
        )
    except SignatureError as error:
        raise SignatureWrong(f"its signature is wrong: {type(error).__name__}") from None
    except Exception as error:  # noqa: BLE001  pysaml2 raises exceptions of many libraries, and plain ones
        raise Unacceptable(log_text(error)) from None
    return _read(message, addresses, provider)


def address_of_logout(settings: "SPConfig", provider: SamlProvider) -> tuple[str, str] | None:
    """Returns the provider's two URLs for the redirect binding: the URL for logout requests, and the URL for
    logout responses. Returns None if the provider's metadata contain no such URLs, or if Slipway has no
    signing key.
    """
    if provider.signing_key_file is None:
        return None
    services = settings.metadata.single_logout_service(provider.entity_id, REDIRECT, "idpsso") or ()
    for service in services:
        location = str(service["location"])
        answers = str(service.get("response_location") or location)
        if is_safe_url(location) and is_safe_url(answers):
            return location, answers
    return None


def request_to(settings: "SPConfig", destination: str, subject: SubjectAtProvider) -> str:
    """Returns the URL with a signed request that asks the provider to end this person's session.
    `destination`: the provider's URL for logout requests.
    """
    from saml2.client import Saml2Client  # see service_provider.settings_for
    from saml2.saml import NameID

    client = Saml2Client(config=settings)
    name_id = NameID(
        text=subject.name_id,
        format=subject.format,
        name_qualifier=subject.name_qualifier,
        sp_name_qualifier=subject.sp_name_qualifier,
    )
    indexes = [subject.session_index] if subject.session_index else None
    _, message = client.create_logout_request(
        destination, settings.entityid, name_id=name_id, session_indexes=indexes, sign=False
    )
    return redirect_address(client, str(message), destination)


def response_to(settings: "SPConfig", destination: str, request_id: str, relay_state: str) -> str:
    """Returns the URL with a signed response that informs the provider that the person is signed out.
    `destination`: the provider's URL for logout responses. `request_id`: the id of the provider's logout
    request. `relay_state`: the text `RelayState` that came with the request and is sent back.
    """
    from saml2.client import Saml2Client  # see service_provider.settings_for
    from saml2.s_utils import sid, success_status_factory
    from saml2.saml import Issuer
    from saml2.samlp import LogoutResponse
    from saml2.time_util import instant

    message = LogoutResponse(
        id=sid(),
        version="2.0",
        issue_instant=instant(),
        destination=destination,
        in_response_to=request_id,
        issuer=Issuer(text=settings.entityid),
        status=success_status_factory(),
    )
    return redirect_address(
        Saml2Client(config=settings), str(message), destination, relay_state=relay_state, is_response=True
    )


def _check_signature(
    settings: "SPConfig", provider: SamlProvider, signed: str, parts: Mapping[str, str]
) -> None:
    from cryptography.exceptions import InvalidSignature  # see service_provider.settings_for
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.x509 import load_der_x509_certificate

    algorithm = _HASHES.get(unquote(parts.get("SigAlg", "")))
    if algorithm is None or not parts.get("Signature"):
        raise Unacceptable("it is not signed, or with an algorithm that is not accepted")
    signature = _base64(unquote(parts["Signature"]))
    for _, certificate in settings.metadata.certs(provider.entity_id, "idpsso", "signing"):
        key = load_der_x509_certificate(_base64(certificate)).public_key()
        if not isinstance(key, RSAPublicKey):
            continue
        try:
            key.verify(signature, signed.encode(), PKCS1v15(), getattr(hashes, algorithm)())
        except InvalidSignature:
            continue
        return
    raise SignatureWrong("no known key fits the signature of its address")


def _parsed(kind: Kind, document: str) -> Any:
    from saml2 import samlp  # see service_provider.settings_for

    message = getattr(samlp, f"{_TYPES[kind][1]}_from_string")(document)
    if message is None:
        raise Unacceptable(f"it is not a {_TYPES[kind][0]}")
    return message


def _read(message: Any, addresses: Addresses, provider: SamlProvider) -> LogoutMessage:
    """Checks the fields of a logout message and returns them. `message`: a message of pysaml2 whose signature
    is already checked. Raises Unacceptable if the message is from another provider, is for another
    destination, has no id, or is not valid at this time.
    """
    if message.issuer is None or (message.issuer.text or "").strip() != provider.entity_id:
        raise Unacceptable("another provider has made it")
    if message.destination != addresses.slo:
        raise Unacceptable("it is for another destination")
    if not message.id:
        raise Unacceptable("it has no ID")
    leeway = timedelta(seconds=LEEWAY_SECONDS)
    try:
        issued = moment_of(message.issue_instant or "")
        ends = [issued + LIFETIME]
        if end := getattr(message, "not_on_or_after", None):
            ends.append(moment_of(end))
    except ValueError:
        raise Unacceptable("its time cannot be read") from None
    valid_until = min(ends) + leeway
    if issued - leeway > now() or valid_until <= now():
        raise Unacceptable("its time is wrong")
    name_id = getattr(message, "name_id", None)
    # A provider may leave out the status or its code, though SAML requires both.
    code = getattr(getattr(message, "status", None), "status_code", None)
    return LogoutMessage(
        id=message.id,
        valid_until=valid_until,
        name_id=(name_id.text or "").strip() if name_id is not None else None,
        session_indexes=[(one.text or "").strip() for one in getattr(message, "session_index", ())],
        is_success=code is not None and code.value == _SUCCESS,
    )


def _inflated(field: str) -> str:
    """Decodes the field of a URL that contains a SAML message in the DEFLATE encoding, and returns the
    message (SAML 2.0 Bindings, section 3.4.4.1).
    """
    decoder = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        document = decoder.decompress(_base64(field), MAX_BYTES + 1)
        return _bounded(document)
    except (zlib.error, UnicodeDecodeError):
        raise Unacceptable("it is not deflated UTF-8") from None


def _plain(field: str) -> str:
    try:
        return _bounded(_base64(field))
    except UnicodeDecodeError:
        raise Unacceptable("it is not UTF-8") from None


def _bounded(document: bytes) -> str:
    if len(document) > MAX_BYTES:
        raise Unacceptable(f"it is larger than {MAX_BYTES} bytes")
    return document.decode()


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError):
        raise Unacceptable("it is not base64") from None
