"""The people of this installation on the wire."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

from app_server.core.database import Id, Timestamp
from app_server.users.models import Role

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
GivenRole = Literal[Role.ADMIN, Role.MEMBER, Role.VIEWER]
"""There is one owner, who was made at the first start."""


class Person(BaseModel):
    """`signed_in_at`: the last time; null: never. `disabled_at`: null for an account that can be used.
    `has_totp`: whether the person has an authenticator app. Only the list of all people tells it.
    """

    model_config = ConfigDict(from_attributes=True)

    id: Id
    name: str
    role: Role
    created_at: Timestamp
    signed_in_at: Timestamp | None
    disabled_at: Timestamp | None
    has_totp: bool = False


class InvitePerson(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Name
    role: GivenRole = Role.MEMBER


class ChangePerson(BaseModel):
    """What is left out stays as it is."""

    model_config = ConfigDict(extra="forbid")

    name: Name | None = None
    role: GivenRole | None = None
    is_disabled: bool | None = None


class SignInLinkInfo(BaseModel):
    """`url` signs in the first browser that opens it."""

    url: str
    expires_at: Timestamp


class Invitation(BaseModel):
    person: Person
    sign_in_link: SignInLinkInfo
