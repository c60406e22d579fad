"""Schemas for the people of an organisation and for their invitations."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

from app_server.core.database import Id, Timestamp
from app_server.core.mail.address import EmailAddress
from app_server.users.models import Role

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
GivenRole = Literal[Role.ADMIN, Role.MEMBER, Role.VIEWER]
"""The roles that can be given to people of an organisation. The owner role is not one of them: an
organisation has only one owner, who is created at the first start or invited when the organisation is set up.
"""


InvitationMailState = Literal["waiting", "sent", "failed"]


class InvitationMailInfo(BaseModel):
    """An invitation that the server sends by e-mail.

    `state`: `waiting` until the mail server accepts the e-mail, `sent` after that, or `failed` if all
    attempts have failed. `link_expires_at`: when the link in the sent e-mail expires. `error`: why the last
    attempt failed.
    """

    address: str
    state: InvitationMailState
    sent_at: Timestamp | None
    link_expires_at: Timestamp | None
    error: str | None


class Person(BaseModel):
    """A person with an account, as administrators see it.

    `signed_in_at`: the time of the last sign-in; null if there was none. `disabled_at`: when the account was
    disabled; null if the account is enabled. `deleting_at`: when the deletion of the account began; null if
    it has not begun. `is_service`: whether the account is a service account, which programs use and which
    cannot sign in.

    `has_totp`: whether the person has an authenticator app. Only the list of people contains this value; in
    other replies, the field is always false. `invitation_mail`: the invitation by e-mail; null if there was
    none, or if the person has signed in. Only two replies contain this value: the list of people, and the
    reply to a request that sends the invitation again. In other replies, the field is always null.
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
    invitation_mail: InvitationMailInfo | None = None
    is_service: bool = False


class InvitePerson(BaseModel):
    """The request body that invites a person. `email`: the address to which the server sends the sign-in
    link; null if the link is returned in the reply.
    """

    model_config = ConfigDict(extra="forbid")

    name: Name
    role: GivenRole = Role.MEMBER
    email: EmailAddress | None = None


class ChangePerson(BaseModel):
    """The request body that changes a person's account. A field that is left out does not change."""

    model_config = ConfigDict(extra="forbid")

    name: Name | None = None
    role: GivenRole | None = None
    is_disabled: bool | None = None


class SignInLinkInfo(BaseModel):
    """A one-time sign-in link. `url`: the link; the first browser that opens it is signed in."""

    url: str
    expires_at: Timestamp


class Invitation(BaseModel):
    """The reply to an invitation: the invited person. `sign_in_link`: the link by which the person signs in;
    null if the server sends the link by e-mail.
    """

    person: Person
    sign_in_link: SignInLinkInfo | None
