"""The API's models of users."""

from pydantic import BaseModel, ConfigDict

from app_server.core.database import Id
from app_server.users.models import Role


class UserInfo(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: Id
    name: str
    role: Role
