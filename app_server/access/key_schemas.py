"""API keys on the wire."""

from datetime import timedelta
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from app_server.access.permissions import Permission
from app_server.core.addresses import parse_networks
from app_server.core.database import Id, Timestamp

MAX_DAYS = 3650
MAX_ADDRESSES = 50


class CreateApiKey(BaseModel):
    """`scopes`: the permissions that the key is limited to; left out: all that its maker may do, also later.
    `read` is always among them. `expires_in_days`: left out, the key never expires. `addresses`: the IP
    addresses and networks, such as `192.0.2.0/24`, from which the key counts; left out: from everywhere.
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
    """`prefix` tells keys apart; only a hash of the rest is kept.

    `scopes`: null for a key that may do all that its user may do. `addresses`: null for one that counts from
    everywhere.
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
    """`key` is shown here and never again."""

    key: str
