"""The permissions of requests, the roles that include them, and the scopes that limit an API key."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from types import MappingProxyType
from uuid import UUID

from app_server.users.models import Role, administers_installation


class Permission(StrEnum):
    """The permissions that a request can have. Each route of the public API requires one permission; see
    access/route_access.py.
    """

    READ = "read"
    """The permission to see the user's own conversations, sandboxes and settings, and to follow them live."""
    WORK = "work"
    """The permission to start, steer and delete conversations and sandboxes."""
    SETTINGS = "settings"
    """The permission to change the user's own settings: models, secrets, git hosts, MCP servers, network,
    skills, notes.
    """
    KEYS = "keys"
    """The permission to create and delete the user's own API keys, and to sign out the user's own browsers.
    """
    ADMINISTER = "administer"
    """The permission to administer the user's organisation: to invite and manage people, to set their limits,
    and to share model profiles with them.
    """
    INSTALLATION = "installation"
    """The permission to administer the parts that all organisations share: jobs, git apps, sign-in providers,
    marketplaces and more.
    """
    AUDIT = "audit"
    """The permission to read and export the audit log."""


_MEMBER = frozenset(set(Permission) - {Permission.ADMINISTER, Permission.INSTALLATION, Permission.AUDIT})

OF_ROLE: Mapping[Role, frozenset[Permission]] = MappingProxyType(
    {
        Role.OWNER: frozenset(Permission),
        Role.ADMIN: frozenset(Permission),
        Role.MEMBER: _MEMBER,
        Role.VIEWER: frozenset({Permission.READ, Permission.KEYS}),
    }
)


def permissions_of(
    role: Role, organisation_id: UUID, scopes: Collection[str] | None = None
) -> frozenset[Permission]:
    """Returns the permissions of a request. `role`, `organisation_id`: the user's role and organisation. Only
    administrators of the default organisation, who administer the whole installation, have the permission
    INSTALLATION.

    `scopes`: the scopes of the API key with which the request was sent. The result then contains only
    permissions with these names. None means that all permissions of the role are returned, as for a browser
    session or an API key without scopes.
    """
    allowed = OF_ROLE[role]
    if not administers_installation(role, organisation_id):
        allowed -= {Permission.INSTALLATION}
    return allowed if scopes is None else allowed.intersection(scopes)
