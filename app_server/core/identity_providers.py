"""The configuration of the identity providers by which people sign in: the settings that all protocols share,
and those of OpenID Connect.
"""

from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

GivenRole = Literal["admin", "member", "viewer"]
TeamName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
Protocol = Literal["oidc", "saml"]

_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))


def is_safe_url(url: str) -> bool:
    """Returns whether the URL may be used to exchange sign-in data with a provider. It must begin with
    `https`, or begin with `http` and name this machine as `localhost`, `127.0.0.1` or `::1`.
    """
    parts = urlsplit(url)
    is_local = parts.scheme == "http" and parts.hostname in _LOOPBACK
    return is_local or (parts.scheme == "https" and bool(parts.hostname))


class SignInProvider(BaseModel):
    """The settings of an identity provider that are the same for OpenID Connect and SAML. Entries of
    SLIPWAY_OIDC_PROVIDERS and SLIPWAY_SAML_PROVIDERS have these settings.

    `name`: a part of the Slipway URLs that are registered at the provider.
    `title`: what the button on the sign-in page says after "Continue with".
    `roles`: the role for each group of the provider. A person in several groups gets the strongest role.
    `default_role`: the role of people who are in none of these groups. Null: these people cannot sign in.
    `teams`: the Slipway team for each group of the provider. A team that does not exist is created.
    `organisation`: the name of the organisation that new people join. Null: the default
    organisation, whose administrators manage the installation.
    `knows_scim_people`: whether people can sign in to accounts that were created earlier through SCIM (a
    protocol with which an identity provider manages accounts). At the first sign-in, a person gets the
    account whose user name is the person's verified e-mail address.
    `allowed_domains`: if not empty, only people whose verified e-mail address has one of these domains can
    sign in.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    protocol: ClassVar[Protocol]

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")
    title: str = Field(min_length=1, max_length=60)
    roles: dict[str, GivenRole] = {}
    default_role: GivenRole | None = "member"
    teams: dict[str, TeamName] = {}
    organisation: str | None = Field(None, min_length=1, max_length=100)
    knows_scim_people: bool = False
    allowed_domains: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _scim_people_are_of_the_default_organisation(self) -> Self:
        if self.organisation is not None and self.knows_scim_people:
            raise ValueError("knows_scim_people is for providers without an organisation")
        return self

    @field_validator("allowed_domains")
    @classmethod
    def _in_lower_case(cls, domains: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(domain.lower().lstrip("@") for domain in domains)


class IdentityProvider(SignInProvider):
    """The settings of an OpenID Connect provider by which people sign in. Each entry of
    SLIPWAY_OIDC_PROVIDERS is one provider.

    `name`: a part of the redirect URI, `PUBLIC_URL/api/v1/sign-in/oidc/NAME/callback`.
    `client_secret_file`: a file with the client secret. Null: Slipway has no client secret (it
    is a public client), and only PKCE protects the sign-in.
    `groups_claim`: the name of the claim that contains the groups of a person.
    """

    protocol: ClassVar[Protocol] = "oidc"

    issuer: str = Field(max_length=500)
    client_id: str = Field(min_length=1, max_length=500)
    client_secret_file: Path | None = None
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    groups_claim: str = "groups"

    @field_validator("issuer")
    @classmethod
    def _is_safe(cls, issuer: str) -> str:
        parts = urlsplit(issuer)
        if not is_safe_url(issuer) or parts.query or parts.fragment:
            raise ValueError("the issuer must be an https URL without a query")
        return issuer

    @field_validator("scopes")
    @classmethod
    def _ask_for_an_id_token(cls, scopes: tuple[str, ...]) -> tuple[str, ...]:
        return scopes if "openid" in scopes else ("openid", *scopes)

    @model_validator(mode="after")
    def _secret_is_there(self) -> Self:
        if self.client_secret_file and not self.client_secret_file.is_file():
            raise ValueError(f"there is no file at the client_secret_file of {self.name}")
        return self
