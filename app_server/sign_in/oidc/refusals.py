"""The errors that only a sign-in by OpenID Connect raises. The sign-in page explains each code."""

from app_server.core.errors import BadGateway


def provider_unreachable(title: str) -> BadGateway:
    return BadGateway(
        f"{title} does not answer as an OpenID Connect provider should.",
        code="oidc_provider_unreachable",
        fix="Try again. If it stays so, an administrator can see the reason in the server's log.",
    )


def identity_invalid(title: str) -> BadGateway:
    return BadGateway(
        f"What {title} said about you could not be verified.",
        code="oidc_identity_invalid",
        fix="An administrator can see the reason in the server's log.",
    )
