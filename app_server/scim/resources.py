"""The models of Slipway's SCIM resources (RFC 7643), and the documents that describe the SCIM service to
identity providers.

The import of the library scim2-models takes a second. Therefore this module is imported only at the first
SCIM request, see router.py.
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
"""The maximum number of resources in one reply to a SCIM request."""

POLICY = ScimPolicy(
    remove_value_as_filter=ScimPolicy.RemoveValue.apply,
    unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
)
"""The rules by which SCIM requests are checked. They are strict, with two exceptions that Microsoft Entra ID
needs. First, a `remove` operation may contain a value, which selects what to remove. Second, if the filter in
the path of an operation matches no entry, the operation adds the entry.
"""


class RoleName(StrEnum):
    """The names of the roles that an identity provider can assign to a person. The provider cannot assign the
    role of the owner.
    """

    ADMIN = Role.ADMIN.value
    MEMBER = Role.MEMBER.value
    VIEWER = Role.VIEWER.value


class GivenRole(ComplexAttribute):
    """A role in Slipway that the identity provider assigns to a person. It is a part of the person's SCIM
    resource.
    """

    value: Annotated[RoleName | None, Required.true] = None
    display: str | None = None
    type: str | None = None
    primary: bool | None = None


class TeamOfPerson(ComplexAttribute):
    """A team that a person is a member of, as a part of the person's SCIM resource. This part is read-only.
    Identity providers change the members of a team in the SCIM resource of the team.

    value: the id of the team. ref: the URL of the team's SCIM resource. display: the name of the team.
    """

    value: Annotated[str | None, Mutability.read_only, CaseExact.true] = None
    ref: Annotated[Reference["Group"] | None, Mutability.read_only] = Field(
        None, serialization_alias="$ref", validation_alias="$ref"
    )
    display: Annotated[str | None, Mutability.read_only] = None


class ScimUser(Resource[AnyExtension]):
    """The SCIM resource of a person (a User of RFC 7643, section 4.1).

    The resource has no password. People sign in at the identity provider, with a one-time link from Slipway,
    or with a password that they set in Slipway.
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
    """A member of a team, as a part of the team's SCIM resource. value: the id of the person. ref: the URL of
    the person's SCIM resource.
    """

    value: Annotated[str | None, Mutability.immutable, CaseExact.true, Required.true] = None
    ref: Annotated[Reference["User"] | None, Mutability.immutable] = Field(  # type: ignore[type-arg]
        None, serialization_alias="$ref", validation_alias="$ref"
    )
    type: Annotated[str | None, Mutability.immutable] = Field(None, examples=["User"])


class ScimGroup(Resource[Any]):
    """The SCIM resource of a team (a Group of RFC 7643, section 4.2)."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:Group")

    display_name: Annotated[str | None, Uniqueness.server, Required.true] = None
    members: list[MemberOfGroup] | None = None


PersonResource = ScimUser[EnterpriseUser]
RESOURCE_TYPES = (ResourceType.from_resource(PersonResource), ResourceType.from_resource(ScimGroup))


def schemas() -> list[Schema]:
    """Returns the SCIM schemas that the service publishes, for User, Group and EnterpriseUser. Sets the name
    of each schema to the name in RFC 7643, because the classes here have other names, such as ScimUser.
    """
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
