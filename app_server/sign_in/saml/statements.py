"""Checks the response of a SAML provider, and reads what it states about a person. The functions block the
thread.

The library pysaml2 checks the signature and the times. It accepts a response without an audience, a recipient
or the id of Slipway's request, so this module checks that the response has them. Rules: SAML 2.0 Profiles,
sections 4.1.4.2 and 4.1.4.3.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from app_server.core.sign_in.saml_providers import SamlProvider
from app_server.sign_in.identities.identity import (
    MAX_NAME,
    MAX_SUBJECT,
    ProviderIdentity,
    require_allowed_domain,
    role_of,
    teams_of,
)
from app_server.sign_in.saml.document import Unacceptable, decoded
from app_server.sign_in.saml.moments import moment_of
from app_server.sign_in.saml.service_provider import LEEWAY_SECONDS, POST, Addresses, log_text

if TYPE_CHECKING:
    from saml2.config import SPConfig

_BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
_TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
_MAX_EMAIL = 320


class SubjectAtProvider(BaseModel):
    """The identifiers that a SAML provider has given to a person and to the person's session. A logout
    request contains the same identifiers, so both sides know which session it ends.

    `name_id`: the NameID, which identifies the person. `format`, `name_qualifier`, `sp_name_qualifier`: the
    attributes of the NameID; None if missing. `session_index`: identifies the session; None if the provider
    gave none.
    """

    name_id: str
    format: str | None
    name_qualifier: str | None
    sp_name_qualifier: str | None
    session_index: str | None


class SignatureWrong(Unacceptable):
    """The error that is raised if no known key of the provider fits the signature of a message."""


@dataclass(frozen=True)
class Statement:
    """The data that a verified SAML assertion states about a person.

    `in_response_to`: the id of the request that the assertion answers. `valid_until`: the time after which
    the assertion is refused. It is a little later than the time in the assertion, because the clocks of the
    provider and this server may differ.

    `name_id`: the NameID, if it identifies the person permanently. It is None if the assertion has no NameID,
    or if the provider creates a new NameID for each sign-in. `subject`: the data with which Slipway can later
    sign the person out at the provider; None if the assertion has no NameID. `attributes`: the texts of each
    attribute, by the attribute's name.
    """

    assertion_id: str
    in_response_to: str
    valid_until: datetime
    name_id: str | None
    subject: SubjectAtProvider | None
    attributes: Mapping[str, Sequence[str]]


def verified(settings: "SPConfig", addresses: Addresses, provider: SamlProvider, response: str) -> Statement:
    """Verifies the form field `SAMLResponse` and returns what it states about a person.

    Raises NotSuccessful if the provider says that it has not signed the person in. Raises SignatureWrong if
    no known key of the provider fits the signature. Raises Unacceptable if Slipway refuses the response for
    another reason.
    """
    from saml2.client import Saml2Client  # see service_provider.settings_for
    from saml2.samlp import response_from_string
    from saml2.sigver import SignatureError

    document = decoded(response)
    request_id = response_from_string(document).in_response_to
    if not request_id:
        raise Unacceptable("it answers no request")
    try:
        parsed = Saml2Client(config=settings).parse_authn_request_response(
            base64.b64encode(document).decode(),
            POST,
            outstanding={request_id: addresses.acs},  # that this browser has sent it is checked later
            conv_info={"entity_id": addresses.entity_id},
        )
    except SignatureError as error:
        raise SignatureWrong(f"its signature is wrong: {type(error).__name__}") from None
    except Exception as error:  # noqa: BLE001  pysaml2 raises plain ones for wrong times and audiences
        raise Unacceptable(log_text(error)) from None
    if parsed is None or parsed.assertion is None:
        raise Unacceptable("its destination or its time is wrong")
    return _read(parsed.assertion, addresses, provider, request_id)


def identity_of(provider: SamlProvider, statement: Statement) -> ProviderIdentity:
    """Returns the person that a verified SAML assertion (`statement`) describes: id, name, e-mail address,
    role and teams. The id is the NameID, or the attribute that is configured as the id. The other data come
    from the attributes that are configured for them.

    Raises Unacceptable if the assertion contains no id that stays the same at each sign-in. Raises
    Unacceptable if the id or the e-mail address is too long. Raises Forbidden `saml_domain_not_allowed` if
    the domain of the e-mail address is not allowed.
    """
    subject = statement.name_id
    if provider.subject_attribute:
        subject = _first(statement, provider.subject_attribute)
    if not subject:
        raise Unacceptable("it names no person by a lasting id")
    if len(subject) > MAX_SUBJECT:
        raise Unacceptable(f"the id of the person has more than {MAX_SUBJECT} characters")
    email = _first(statement, provider.email_attribute)
    if email and len(email) > _MAX_EMAIL:
        raise Unacceptable(f"the e-mail address has more than {_MAX_EMAIL} characters")
    require_allowed_domain(provider, email)
    groups = statement.attributes.get(provider.groups_attribute or "", ())
    return ProviderIdentity(
        issuer=provider.issuer,
        subject=subject,
        name=(_first(statement, provider.name_attribute) or email or subject)[:MAX_NAME],
        email=email,
        role=role_of(provider, groups),
        session=None,
        teams=teams_of(provider, groups),
    )


def _read(assertion: Any, addresses: Addresses, provider: SamlProvider, request_id: str) -> Statement:
    """Checks that a SAML assertion (what the identity provider says about a person) comes from this provider
    and is meant for Slipway and for this sign-in. Returns its content as a Statement. `assertion`: an
    assertion of pysaml2 whose signature and times are already checked. `request_id`: the id of Slipway's
    sign-in request. Raises Unacceptable if a check fails.
    """
    if _text(assertion.issuer) != provider.entity_id:
        raise Unacceptable("another provider has made it")
    restrictions = assertion.conditions.audience_restriction if assertion.conditions else []
    audiences = [[_text(one) for one in restriction.audience] for restriction in restrictions]
    if not audiences or any(addresses.entity_id not in named for named in audiences):
        raise Unacceptable("it is for another audience")
    ends = [
        one.subject_confirmation_data.not_on_or_after
        for one in assertion.subject.subject_confirmation
        if one.method == _BEARER
        and one.subject_confirmation_data is not None
        and one.subject_confirmation_data.recipient == addresses.acs
        and one.subject_confirmation_data.in_response_to == request_id
        and one.subject_confirmation_data.not_on_or_after
    ]
    if not ends:
        raise Unacceptable("no bearer confirmation names this recipient, this request and an end")
    name_id = assertion.subject.name_id
    is_lasting = name_id is not None and name_id.format != _TRANSIENT
    return Statement(
        assertion_id=assertion.id,
        in_response_to=request_id,
        valid_until=max(moment_of(end) for end in ends) + timedelta(seconds=LEEWAY_SECONDS),
        name_id=_text(name_id) or None if is_lasting else None,
        subject=_subject(assertion),
        attributes=_attributes(assertion),
    )


def _subject(assertion: Any) -> SubjectAtProvider | None:
    name_id = assertion.subject.name_id
    if not _text(name_id):
        return None
    indexes = [one.session_index for one in assertion.authn_statement if one.session_index]
    return SubjectAtProvider(
        name_id=_text(name_id),
        format=name_id.format,
        name_qualifier=name_id.name_qualifier,
        sp_name_qualifier=name_id.sp_name_qualifier,
        session_index=indexes[0] if indexes else None,
    )


def _attributes(assertion: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for statement in assertion.attribute_statement:
        for attribute in statement.attribute:
            texts = [_text(value) for value in attribute.attribute_value]
            found.setdefault(attribute.name, []).extend(text for text in texts if text)
    return found


def _first(statement: Statement, name: str | None) -> str | None:
    return next(iter(statement.attributes.get(name or "", ())), None)


def _text(element: Any) -> str:
    return (element.text or "").strip() if element is not None else ""
