"""Defines the class Principal: the user who sends a request, and the permissions of this request."""

from dataclasses import dataclass

from app_server.access.credentials_in_use import Credential
from app_server.access.permissions import Permission
from app_server.users.models import User


@dataclass(frozen=True)
class Principal:
    """The result of the authentication of a request: the user, the permissions of the request, and the API
    key or browser session with which the request was sent.
    """

    user: User
    permissions: frozenset[Permission]
    credential: Credential

    def may(self, permission: Permission) -> bool:
        return permission in self.permissions
