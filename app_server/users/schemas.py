"""The response model of a user in the API."""

from pydantic import BaseModel, ConfigDict

from app_server.core.database import Id
from app_server.users.models import Role


class UserInfo(BaseModel):
    """A user in an API reply. `role`: the role of the user in their organisation. `administers_installation`:
    whether the user is an administrator of the default organisation, and therefore of the installation.
    """

    model_config = ConfigDict(from_attributes=True)

    id: Id
    name: str
    role: Role
    administers_installation: bool
