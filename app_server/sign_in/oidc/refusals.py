"""The errors of a sign-in by a provider. The sign-in page explains each by its code."""

from app_server.core.errors import BadGateway, BadRequest, Forbidden, NotFound


def provider_not_found() -> NotFound:
    return NotFound("There is no such provider.", code="oidc_provider_not_found")


def provider_unreachable(title: str) -> BadGateway:
    return BadGateway(
        f"{title} does not answer as an OpenID Connect provider should.",
        code="oidc_provider_unreachable",
        fix="Try again. If it stays so, an administrator can see the reason in the server's log.",
    )


def attempt_expired() -> BadRequest:
    return BadRequest(
        "This sign-in was begun in another browser, or more than ten minutes ago.",
        code="oidc_attempt_expired",
        fix="Begin again on the sign-in page.",
    )


def refused_by_provider(title: str) -> Forbidden:
    return Forbidden(f"{title} did not sign you in.", code="oidc_refused_by_provider")


def identity_invalid(title: str) -> BadGateway:
    return BadGateway(
        f"What {title} said about you could not be verified.",
        code="oidc_identity_invalid",
        fix="An administrator can see the reason in the server's log.",
    )
