"""Finds out whether an e-mail address is a verified address of the user's account at a git host.

A git host shows a signed commit as verified only if the e-mail address of the commit is verified.
"""

from typing import Protocol, cast

from app_server.core.errors import AppError
from app_server.git.providers import GitProvider
from app_server.git_hosts.protocol import GitHostClient

_SUPPORTED_PROVIDERS = frozenset((GitProvider.GITHUB, GitProvider.GITLAB, GitProvider.FORGEJO))
_MAY_NOT_READ = frozenset(("git_host_forbidden", "git_host_not_found"))


class AddressHost(Protocol):
    """A client of a git host whose API returns the verified e-mail addresses of the user."""

    async def addresses(self) -> frozenset[str]:
        """Returns all verified e-mail addresses of the account in lower case. Raises `git_host_forbidden` or
        `git_host_not_found` if the token may not read the addresses.
        """
        ...


async def knows_address(client: GitHostClient, address: str) -> bool | None:
    """Returns whether this e-mail address is a verified address of the user's account at the git host.
    Returns None if the host's API does not return addresses, or if the token may not read them. If the call
    to the host fails for another reason, raises one of the errors that `git_hosts/errors.py` lists.
    """
    if client.provider not in _SUPPORTED_PROVIDERS:
        return None
    try:
        return address.lower() in await cast("AddressHost", client).addresses()
    except AppError as error:
        if error.code not in _MAY_NOT_READ:
            raise
        return None
