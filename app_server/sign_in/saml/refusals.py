"""The errors that only a sign-in by SAML raises. The sign-in page explains each code."""

from app_server.core.errors import BadGateway, Forbidden


def provider_unreachable(title: str) -> BadGateway:
    return BadGateway(
        f"The metadata of {title} cannot be read.",
        code="saml_provider_unreachable",
        fix="Try again. If it stays so, an administrator can see the reason in the server's log.",
    )


def program_missing() -> BadGateway:
    return BadGateway(
        "This server has no program xmlsec1, which checks the signatures of SAML providers.",
        code="saml_xmlsec1_missing",
        fix="An administrator installs it on the server: apt-get install xmlsec1.",
    )


def response_invalid(title: str) -> BadGateway:
    return BadGateway(
        f"What {title} said about you could not be verified.",
        code="saml_response_invalid",
        fix="An administrator can see the reason in the server's log.",
    )


def response_used(title: str) -> Forbidden:
    return Forbidden(
        f"This answer of {title} has been used already.",
        code="saml_response_used",
        fix="Begin again on the sign-in page.",
    )
