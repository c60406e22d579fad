"""Users and API keys on the wire."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

from app_server.database import Id, Timestamp
from app_server.users.models import Role


class UserInfo(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: Id
    name: str
    role: Role


class CreateApiKey(BaseModel):
    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class ApiKeyInfo(BaseModel):
    """`prefix` tells keys apart; the rest of a key is not known to us."""

    model_config = ConfigDict(from_attributes=True)

    id: Id
    name: str
    prefix: str
    created_at: Timestamp
    last_used_at: Timestamp | None


class CreatedApiKey(ApiKeyInfo):
    """`key` is shown here and never again."""

    key: str
