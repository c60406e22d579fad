"""Schemas of API keys in the API."""

from datetime import timedelta
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from app_server.access.permissions import Permission
from app_server.core.addresses import parse_networks
from app_server.core.database import Id, Timestamp

MAX_DAYS = 3650
MAX_ADDRESSES = 50


class CreateApiKey(BaseModel):
    """The request body that creates an API key.

    `scopes`: the permissions that the key is limited to; `read` is always among them. If left out, the key
    may do all that its creator may do, now and later. `expires_in_days`: if left out, the key never expires.
    `addresses`: the IP addresses and networks, such as `192.0.2.0/24`, from which the key is accepted; if
    left out, the key is accepted from everywhere.
    """

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    scopes: Annotated[list[Permission], Field(min_length=1, max_length=len(Permission))] | None = None
    expires_in_days: Annotated[int, Field(ge=1, le=MAX_DAYS)] | None = None
    addresses: Annotated[list[str], Field(min_length=1, max_length=MAX_ADDRESSES)] | None = None

    @field_validator("scopes")
    @classmethod
    def _with_read(cls, scopes: list[Permission] | None) -> list[Permission] | None:
        return None if scopes is None else [one for one in Permission if one in {*scopes, Permission.READ}]

    @field_validator("addresses")
    @classmethod
    def _networks(cls, addresses: list[str] | None) -> list[str] | None:
        return None if addresses is None else [str(network) for network in parse_networks(addresses)]

    @property
    def lifetime(self) -> timedelta | None:
        return None if self.expires_in_days is None else timedelta(days=self.expires_in_days)


class ApiKeyInfo(BaseModel):
    """An API key without its secret part.

    `prefix`: the first characters of the key, by which its user recognises it; the key itself is stored only
    as a hash. `scopes`: null if the key may do all that its user may do. `addresses`: null if the key is
    accepted from everywhere.
    """

    model_config = ConfigDict(from_attributes=True)

    id: Id
    name: str
    prefix: str
    scopes: list[Permission] | None
    addresses: list[str] | None
    created_at: Timestamp
    expires_at: Timestamp | None
    last_used_at: Timestamp | None


class CreatedApiKey(ApiKeyInfo):
    """The reply with a new API key. `key` is the whole key; it is shown only in this reply."""

    key: str
