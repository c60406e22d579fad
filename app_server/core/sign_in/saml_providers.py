"""The configuration of SAML 2.0 providers for sign-in."""

from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field, field_validator, model_validator

from app_server.core.identity_providers import Protocol, SignInProvider, is_safe_url


class SamlProvider(SignInProvider):
    """A SAML 2.0 provider for sign-in: one entry of SLIPWAY_SAML_PROVIDERS.

    name: a part of the address to which the provider sends people back,
    `PUBLIC_URL/api/v1/sign-in/saml/NAME/acs`.
    entity_id: the provider's name for itself, exactly as in its metadata.
    metadata_url: where the provider publishes its metadata. metadata_file: a file with the metadata. One
    of the two is set.
    subject_attribute: the attribute that identifies a person. None: the NameID does.
    name_attribute, email_attribute, groups_attribute: the names of the attributes that are read. No other
    attribute is read. The e-mail address counts as verified.
    signing_key_file, signing_certificate_file: the private RSA key that signs our requests, and its
    certificate, both as PEM. None: requests are not signed. Either both are set or none.
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
        """The text that identifies this provider in the database rows of its people. The text is `entity_id`
        with a prefix: an OpenID Connect provider may have the same URL but other ids for the same people.
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
