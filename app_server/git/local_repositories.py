"""Checks who may read repositories on the server's own machine."""

from app_server.core.errors import StartFailure
from app_server.git.address import Address
from app_server.users.models import Role


def refuse_foreign_path(address: Address, role: Role) -> None:
    """Refuses a repository on the server's machine unless the user is an owner or admin.

    Raises StartFailure `repository_not_allowed`.
    """
    if address.local_path is not None and role not in {Role.OWNER, Role.ADMIN}:
        raise StartFailure(
            "repository_not_allowed",
            "Only owners and admins may use repositories that lie on the server.",
            fix="Give a git URL, or ask an owner.",
        )
