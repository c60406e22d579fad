"""The SCIM resources of Slipway (RFC 7643), and the documents in which the service describes itself.

This module loads scim2-models, which takes a second. It is imported at the first request, see router.py.
"""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field
from scim2_models import (
    URN,
    AuthenticationScheme,
    Bulk,
    CaseExact,
    ChangePassword,
    ComplexAttribute,
    EnterpriseUser,
    ETag,
    Filter,
    Group,
    Mutability,
    Patch,
    Reference,
    Required,
    Resource,
    ResourceType,
    Schema,
    ScimPolicy,
    ServiceProviderConfig,
    Sort,
    Uniqueness,
    User,
)
from scim2_models.resources.resource import AnyExtension

from app_server.users.models import Role

MAX_RESULTS = 200
"""The number of resources in one reply, at most."""

POLICY = ScimPolicy(
    remove_value_as_filter=ScimPolicy.RemoveValue.apply,
    unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
)
"""Strict, but for two habits of Microsoft Entra ID: values in operations that remove something, and filters
in paths that match nothing yet.
"""


class RoleName(StrEnum):
    """The names of the roles that an identity provider can give. The owner's role is not among them."""

    ADMIN = Role.ADMIN.value
    MEMBER = Role.MEMBER.value
    VIEWER = Role.VIEWER.value


class GivenRole(ComplexAttribute):
    """The role in Slipway that a SCIM resource gives to a person."""

    value: Annotated[RoleName | None, Required.true] = None
    display: str | None = None
    type: str | None = None
    primary: bool | None = None


class TeamOfPerson(ComplexAttribute):
    """A team of a person, as a part of the person's SCIM resource. Providers change teams by the SCIM
    resource of the team, not by this one.
    """

    value: Annotated[str | None, Mutability.read_only, CaseExact.true] = None
    ref: Annotated[Reference["Group"] | None, Mutability.read_only] = Field(
        None, serialization_alias="$ref", validation_alias="$ref"
    )
    display: Annotated[str | None, Mutability.read_only] = None


class ScimUser(Resource[AnyExtension]):
    """A person, as a User of SCIM (RFC 7643, section 4.1). It has no password: people sign in at the provider
    or by a link, or set a password in Slipway.
    """

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:User")

    user_name: Annotated[str | None, Uniqueness.server, Required.true] = None
    name: User.Name | None = None  # type: ignore[valid-type]
    display_name: str | None = None
    nick_name: str | None = None
    title: str | None = None
    user_type: str | None = None
    preferred_language: str | None = None
    locale: str | None = None
    timezone: str | None = None
    active: bool | None = None
    emails: list[User.Emails] | None = None  # type: ignore[valid-type]
    phone_numbers: list[User.PhoneNumbers] | None = None  # type: ignore[valid-type]
    addresses: list[User.Addresses] | None = None  # type: ignore[valid-type]
    roles: list[GivenRole] | None = None
    groups: Annotated[list[TeamOfPerson] | None, Mutability.read_only] = None


class MemberOfGroup(ComplexAttribute):
    """A member of a team, as a part of the team's SCIM resource."""

    value: Annotated[str | None, Mutability.immutable, CaseExact.true, Required.true] = None
    ref: Annotated[Reference["User"] | None, Mutability.immutable] = Field(  # type: ignore[type-arg]
        None, serialization_alias="$ref", validation_alias="$ref"
    )
    type: Annotated[str | None, Mutability.immutable] = Field(None, examples=["User"])


class ScimGroup(Resource[Any]):
    """A team, as a Group of SCIM (RFC 7643, section 4.2)."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:Group")

    display_name: Annotated[str | None, Uniqueness.server, Required.true] = None
    members: list[MemberOfGroup] | None = None


PersonResource = ScimUser[EnterpriseUser]
RESOURCE_TYPES = (ResourceType.from_resource(PersonResource), ResourceType.from_resource(ScimGroup))


def schemas() -> list[Schema]:
    """Returns the published schemas, with the names that RFC 7643 gives them."""
    found = [model.to_schema() for model in (ScimUser, ScimGroup, EnterpriseUser)]
    for schema, name in zip(found, ("User", "Group", "EnterpriseUser"), strict=True):
        schema.name = name
    return found


def service_provider_config() -> ServiceProviderConfig:
    return ServiceProviderConfig(
        patch=Patch(supported=True),
        bulk=Bulk(supported=False, max_operations=0, max_payload_size=0),
        filter=Filter(supported=True, max_results=MAX_RESULTS),
        change_password=ChangePassword(supported=False),
        sort=Sort(supported=True),
        etag=ETag(supported=False),
        authentication_schemes=[
            AuthenticationScheme(
                type=AuthenticationScheme.Type.oauthbearertoken,
                name="API key",
                description="An API key of an administrator or of a service account, as a bearer token",
                primary=True,
            )
        ],
    )
