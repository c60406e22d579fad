"""Schemas of the people of this installation in the API."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

from app_server.core.database import Id, Timestamp
from app_server.users.models import Role

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
GivenRole = Literal[Role.ADMIN, Role.MEMBER, Role.VIEWER]
"""The roles that can be given to people. The owner role cannot be given: the only owner is created at the
first start.
"""


class Person(BaseModel):
    """A person with an account.

    `signed_in_at`: time of the last sign-in; null if there was none. `disabled_at`: null if the account is
    enabled. `deleting_at`: null unless the account is being deleted. `has_totp`: whether the person has an
    authenticator app; only the list of all people has this field set. `is_service`: whether it
    is a service account, which programs use and which cannot sign in.
    """

    model_config = ConfigDict(from_attributes=True)

    id: Id
    name: str
    role: Role
    created_at: Timestamp
    signed_in_at: Timestamp | None
    disabled_at: Timestamp | None
    deleting_at: Timestamp | None = None
    has_totp: bool = False
    is_service: bool = False


class InvitePerson(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Name
    role: GivenRole = Role.MEMBER


class ChangePerson(BaseModel):
    """Changes to a person's account. A field that is left out stays as it is."""

    model_config = ConfigDict(extra="forbid")

    name: Name | None = None
    role: GivenRole | None = None
    is_disabled: bool | None = None


class SignInLinkInfo(BaseModel):
    """A one-time link. `url` signs in the first browser that opens it."""

    url: str
    expires_at: Timestamp


class Invitation(BaseModel):
    person: Person
    sign_in_link: SignInLinkInfo
