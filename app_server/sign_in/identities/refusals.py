"""The errors that sign-ins by OpenID Connect and by SAML share. Their codes begin with the protocol: `oidc_`
or `saml_`. The sign-in page explains each error by its code.
"""

from app_server.core.errors import BadRequest, Conflict, Forbidden, NotFound
from app_server.core.identity_providers import Protocol


def provider_not_found(protocol: Protocol) -> NotFound:
    return NotFound("There is no such provider.", code=f"{protocol}_provider_not_found")


def attempt_expired(protocol: Protocol) -> BadRequest:
    return BadRequest(
        "This sign-in was begun in another browser, or more than ten minutes ago.",
        code=f"{protocol}_attempt_expired",
        fix="Begin again on the sign-in page.",
    )


def refused_by_provider(protocol: Protocol, title: str) -> Forbidden:
    return Forbidden(f"{title} did not sign you in.", code=f"{protocol}_refused_by_provider")


def domain_not_allowed(protocol: Protocol) -> Forbidden:
    return Forbidden(
        "Your e-mail address is not in a domain that may sign in here, or is not verified.",
        code=f"{protocol}_domain_not_allowed",
        fix="Ask an administrator.",
    )


def no_role(protocol: Protocol) -> Forbidden:
    return Forbidden(
        "None of your groups gives you a role here.", code=f"{protocol}_no_role", fix="Ask an administrator."
    )


def no_organisation(protocol: Protocol) -> Forbidden:
    return Forbidden(
        "The organisation that this provider's settings name does not exist.",
        code=f"{protocol}_no_organisation",
        fix="Ask an administrator.",
    )


def identity_taken(protocol: Protocol) -> Conflict:
    return Conflict(
        "This account of the provider signs in to another account here.",
        code=f"{protocol}_identity_taken",
        fix="Disconnect it there first, or have an administrator disable that account.",
    )


def already_connected(protocol: Protocol) -> Conflict:
    return Conflict(
        "Your account is connected with another account of this provider.",
        code=f"{protocol}_already_connected",
        fix="Disconnect that one first.",
    )


def identity_not_found() -> NotFound:
    return NotFound("Your account is not connected with this provider.", code="identity_not_found")
