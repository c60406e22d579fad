"""Checks whether a user may read a repository on the server's own machine."""

from pathlib import Path

from app_server.core.errors import StartFailure
from app_server.demo import repository_path
from app_server.git.address import Address


def refuse_foreign_path(address: Address, home: Path, *, administers: bool) -> None:
    """Checks that the user may use a repository on the app server's machine. Only administrators of the
    installation may use such repositories. Every user may use the sample repository in `home`, the data
    directory of the server. `administers`: whether the user is an administrator of the installation.

    Raises StartFailure `repository_not_allowed` if the user may not use the repository.
    """
    is_foreign = address.local_path is not None and address.local_path != repository_path(home)
    if is_foreign and not administers:
        raise StartFailure(
            "repository_not_allowed",
            "Only owners and admins may use repositories that lie on the server.",
            fix="Give a git URL, or ask an owner.",
        )
