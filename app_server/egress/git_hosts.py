"""Checks requests of sandboxes to the user's git hosts, so that a sandbox can push only through Slipway's git
proxy, which checks each push.

A program in a sandbox could push directly to the git host if it has a credential for this host. Therefore the
egress proxy refuses all pushes to git hosts, and all requests with a credential from inside the sandbox. It
also refuses requests that may change data at the host, unless the proxy itself adds a credential to these
requests.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote_plus, urlsplit
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.addresses import BadHost, parse_host
from app_server.egress.client_connection import ProxyRequest
from app_server.egress.policy import Reason
from app_server.git.credentials import list_credentials

_USUAL_PORTS = frozenset((22, 80, 443))
_MAX_DECODINGS = 4
_PUSH = "git-receive-pack"
_READING_METHODS = frozenset((b"GET", b"HEAD", b"OPTIONS"))
# The paths that git and git-lfs call with POST when they only read.
_READING_PATHS = ("/git-upload-pack", "/info/lfs/objects/batch")
# The headers in which git hosts accept a token.
_CREDENTIAL_HEADERS = frozenset(
    b"authorization private-token job-token deploy-token x-gitlab-token x-api-key x-auth-token".split()
)
_CREDENTIAL_FIELD = re.compile(r"[?&;](access_token|private_token|job_token|oauth_token|token)=")


@dataclass(frozen=True)
class GitHost:
    """A git host of the user. `name`: its host name. `port`: the port in the host's address that the user has
    stored; None if the address has no port. Requests to the ports 22, 80 and 443 also count as requests to
    the git host.
    """

    name: str
    port: int | None

    def is_at(self, host: str, port: int) -> bool:
        """Returns whether a request to `host` and `port` goes to this git host. Hosts whose names are below
        the name of the git host, such as `api.github.com`, count as the git host.
        """
        is_named = host == self.name or host.endswith(f".{self.name}")
        return is_named and (port in _USUAL_PORTS or port == self.port)


async def git_hosts_of(
    session: AsyncSession, user_id: UUID, repositories: Iterable[str | None]
) -> Sequence[GitHost]:
    """Returns the git hosts for which the user has saved a token, and the git hosts of the given
    repositories.

    repositories: identities of repositories (`host/owner/name` or a path); None stands for a conversation
    without a repository.
    """
    named = [row.origin.partition("://")[2] for row in await list_credentials(session, user_id)]
    named += [identity for identity in repositories if identity and not identity.startswith("/")]
    return [host for each in named if (host := _host(each))]


def refusal(asked: ProxyRequest, replaced: Collection[bytes]) -> Reason | None:
    """Decides whether a request to a git host is refused. Returns the reason of the refusal, or None if the
    request is allowed.

    Three kinds of requests are refused: all pushes; requests with a credential from inside the sandbox; and
    requests that may change data at the git host, if the egress proxy does not set a credential in them.

    replaced: the names of the headers in which the egress proxy sets a credential. A credential in one of
    these headers does not come from inside the sandbox.
    """
    target, is_reading = _decoded(asked.path or ""), asked.request.method.upper() in _READING_METHODS
    if _PUSH in target:
        return Reason.GIT_WRITE
    shown = {name for name, _ in asked.request.headers} - {*replaced}
    if shown & _CREDENTIAL_HEADERS or _CREDENTIAL_FIELD.search(target):
        return Reason.FOREIGN_CREDENTIAL
    # Browsers send cookies with each request. Requests with a cookie may read but must not change anything.
    if b"cookie" in shown and not is_reading:
        return Reason.FOREIGN_CREDENTIAL
    # A token could also be in the body, which is not read here. So all other writing requests are refused.
    is_closed = not replaced and not is_reading
    return Reason.GIT_WRITE if is_closed and not target.endswith(_READING_PATHS) else None


def _host(text: str) -> GitHost | None:
    parts = urlsplit(f"//{text}")
    try:
        return GitHost(parse_host(parts.hostname or ""), parts.port)
    except (BadHost, ValueError):
        return None  # the egress proxy refuses an invalid name, too


def _decoded(target: str) -> str:
    """Returns the path and query of a request in lower case and with percent-encoding removed repeatedly,
    because a git host may decode them several times.
    """
    for _ in range(_MAX_DECODINGS):
        target = unquote_plus(target)
    return target.lower()
