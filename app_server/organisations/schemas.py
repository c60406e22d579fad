"""The request and reply bodies of the routes for organisations."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

from app_server.access.people_schemas import GivenRole, Name
from app_server.core.database import Id, Timestamp
from app_server.core.mail.address import EmailAddress
from app_server.users.models import Role

OrganisationName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]


class OrganisationInfo(BaseModel):
    """An organisation, as the HTTP routes return it. `is_default`: whether it is the default organisation,
    whose administrators run the installation. `person_count`: the number of people in the organisation,
    including service accounts.
    """

    id: Id
    name: str
    is_default: bool
    created_at: Timestamp
    person_count: int


class SaveOrganisation(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: OrganisationName


class InviteIntoOrganisation(BaseModel):
    """The request body that invites a person into an organisation. Only one person of an organisation can
    have the role of owner. `email`: the address to which the server sends the sign-in link; null if the reply
    must contain the link instead.
    """

    model_config = ConfigDict(extra="forbid")

    name: Name
    role: Role = Role.MEMBER
    email: EmailAddress | None = None


class MovePerson(BaseModel):
    """The request body that moves a person to another organisation. `role`: the person's role in the new
    organisation.
    """

    model_config = ConfigDict(extra="forbid")

    role: GivenRole = Role.MEMBER
