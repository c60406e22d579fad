"""A check of the command `slipway doctor`: whether people can sign in with identity providers on this
machine.
"""

from collections.abc import Sequence

from app_server.core.config import Config
from app_server.doctor.findings import Finding, failed, well
from app_server.sign_in.saml.service_provider import find_program


def check_saml(config: Config) -> Sequence[Finding]:
    """Checks whether the program that verifies SAML signatures is installed. Returns no findings if no SAML
    provider is configured.
    """
    if not config.saml_providers:
        return []
    if find_program():
        return [well("saml", "xmlsec1 is there. It checks the signatures of SAML providers.")]
    cause = "xmlsec1 is not installed: sign-ins by SAML providers fail."
    return [failed("saml", cause, "apt-get install xmlsec1")]
