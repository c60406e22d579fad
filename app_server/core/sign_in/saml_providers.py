"""The configuration of the SAML 2.0 providers by which people sign in."""

from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field, field_validator, model_validator

from app_server.core.identity_providers import Protocol, SignInProvider, is_safe_url


class SamlProvider(SignInProvider):
    """The settings of a SAML 2.0 provider by which people sign in. Each entry of SLIPWAY_SAML_PROVIDERS is
    one provider.

    `name`: a part of the URL to which the provider sends people back,
    `PUBLIC_URL/api/v1/sign-in/saml/NAME/acs`.
    `entity_id`: the id of the provider, exactly as in its metadata.
    `metadata_url`: the URL at which the provider publishes its metadata. `metadata_file`: a file with the
    metadata. Exactly one of the two must be set.
    `subject_attribute`: the attribute that identifies a person. Null: the NameID identifies a person.
    `name_attribute`, `email_attribute`, `groups_attribute`: the attributes with a person's name, e-mail
    address and groups. No other attribute is read. The e-mail address counts as verified.
    `signing_key_file`, `signing_certificate_file`: PEM files with the private RSA key that signs Slipway's
    requests, and with its certificate. Null: requests are not signed. Both must be set, or neither.
    """

    protocol: ClassVar[Protocol] = "saml"

    entity_id: str = Field(min_length=1, max_length=480)
    metadata_url: str | None = Field(None, max_length=2000)
    metadata_file: Path | None = None
    subject_attribute: str | None = Field(None, min_length=1)
    name_attribute: str | None = Field(None, min_length=1)
    email_attribute: str | None = Field(None, min_length=1)
    groups_attribute: str | None = Field(None, min_length=1)
    signing_key_file: Path | None = None
    signing_certificate_file: Path | None = None

    @property
    def issuer(self) -> str:
        """The text that identifies this provider in the database rows of the people who sign in with it. It
        is `entity_id` with the prefix `saml:`. The prefix distinguishes the provider from an OpenID Connect
        provider with the same URL, which may identify the same people by different ids.
        """
        return f"saml:{self.entity_id}"

    @field_validator("metadata_url")
    @classmethod
    def _is_safe(cls, url: str | None) -> str | None:
        if url is not None and not is_safe_url(url):
            raise ValueError("the metadata_url must begin with https")
        return url

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.metadata_url is None) == (self.metadata_file is None):
            raise ValueError(f"{self.name} needs either metadata_url or metadata_file")
        if self.metadata_file and not self.metadata_file.is_file():
            raise ValueError(f"there is no file at the metadata_file of {self.name}")
        if (self.signing_key_file is None) != (self.signing_certificate_file is None):
            raise ValueError(f"{self.name} needs both signing_key_file and signing_certificate_file, or none")
        for name in ("signing_key_file", "signing_certificate_file"):
            file: Path | None = getattr(self, name)
            if file and not file.is_file():
                raise ValueError(f"there is no file at the {name} of {self.name}")
        if (self.roles or self.teams) and self.groups_attribute is None:
            raise ValueError(f"roles and teams of {self.name} need groups_attribute")
        if (self.allowed_domains or self.knows_scim_people) and self.email_attribute is None:
            raise ValueError(f"allowed_domains and knows_scim_people of {self.name} need email_attribute")
        return self
