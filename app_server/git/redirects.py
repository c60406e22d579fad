"""Asks a git host whether it redirects requests for a repository, before git connects to this host. Slipway
then gives the new address to git. Git itself must not follow redirects, because a redirect could lead into
the private network.
"""

from base64 import b64encode
from uuid import UUID

import httpx

from app_server.core.database import Database
from app_server.git.address import parse_address
from app_server.git.command import Credentials
from app_server.http.additional_trust import context_with
from app_server.http.bounded_body import IDENTITY
from app_server.http.certificates import public_authorities
from app_server.http.guarded_client import Guard, GuardedTransport
from app_server.http.origins import is_same_origin
from app_server.teams.repositories.ownership import require_member

MAX_REDIRECTS = 3
_TIMEOUT_SECONDS = 20.0
_REFS = "/info/refs?service=git-upload-pack"


async def moved_address(url: str, credentials: Credentials | None, guard: Guard | None) -> str | None:
    """Returns the address to which the git host redirects requests for a repository. Returns None if the host
    does not redirect the repository or does not reply, or if the redirect leads to another origin.

    `url`: the repository's address over http or https. `credentials`: the user's credentials for the git
    host; None if there are none. `guard`: refuses private network addresses; None means that the host may be
    private.
    """
    trust = credentials.trust if credentials and is_same_origin(credentials.origin, url) else None
    verify = context_with(trust.authorities) if trust else public_authorities()
    transport = GuardedTransport(guard, verify=verify) if guard else None
    headers = {**IDENTITY, "user-agent": "git/slipway"}
    if credentials and is_same_origin(credentials.origin, url):
        pair = f"{credentials.username}:{credentials.password}"
        headers["authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    address = url
    async with httpx.AsyncClient(transport=transport, verify=verify, timeout=_TIMEOUT_SECONDS) as client:
        for _ in range(MAX_REDIRECTS):
            try:
                async with client.stream("GET", address + _REFS, headers=headers) as reply:
                    target = str(reply.next_request.url) if reply.next_request else None
            except (httpx.HTTPError, httpx.InvalidURL):
                return None
            if target is None:
                break
            if not is_same_origin(url, target) or not target.endswith(_REFS):
                return None
            address = target.removesuffix(_REFS)
    return None if address == url else address


async def require_member_of_moved(database: Database, user_id: UUID, address: str) -> None:
    """Checks that the user may use a repository at its new address, after the git host has redirected a
    request. `address`: the new address. Raises Forbidden `repository_of_team` if a team reserves the
    repository at this address for its members and the user is not a member.
    """
    async with database.read() as session:
        await require_member(session, user_id, [parse_address(address).identity])
