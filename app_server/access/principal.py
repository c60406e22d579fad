"""Who sends a request, and what they may do with it."""

from dataclasses import dataclass

from app_server.access.credentials_in_use import Credential
from app_server.access.permissions import Permission
from app_server.users.models import User


@dataclass(frozen=True)
class Principal:
    """A user, what this request may do for them, and the key or session that it came with."""

    user: User
    permissions: frozenset[Permission]
    credential: Credential

    def may(self, permission: Permission) -> bool:
        return permission in self.permissions
