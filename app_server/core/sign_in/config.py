"""The part of the deploy-time configuration (`Config`) that lists the identity providers by which people sign
in.
"""

from pydantic import ValidationInfo, field_validator
from pydantic_settings import BaseSettings

from app_server.core.identity_providers import IdentityProvider, SignInProvider
from app_server.core.sign_in.saml_providers import SamlProvider


class SignInConfig(BaseSettings):
    """The fields of `Config` that list the identity providers by which people sign in."""

    oidc_providers: list[IdentityProvider] = []
    """OpenID Connect providers for sign-in, in addition to one-time links: see single-sign-on.md."""

    saml_providers: list[SamlProvider] = []
    """SAML 2.0 providers for sign-in: see single-sign-on.md. They need the program xmlsec1."""

    @field_validator("oidc_providers", "saml_providers")
    @classmethod
    def _are_distinct(cls, providers: list[SignInProvider], checked: ValidationInfo) -> list[SignInProvider]:
        others = checked.data.get("oidc_providers", [])
        for field_name in ("name", "issuer"):
            values = [getattr(one, field_name) for one in [*others, *providers]]
            if len(set(values)) < len(values):
                raise ValueError(f"two providers have the same {field_name}")
        return providers
