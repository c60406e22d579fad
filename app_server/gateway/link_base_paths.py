"""Finds links whose path a program in a sandbox uses. A user can configure the program to serve its pages
below the path of a link (for example with `vite --base PATH`). The first page of the program then contains
that path.
"""

import re
from dataclasses import dataclass
from uuid import UUID

from app_server.access.credentials_in_use import Credential
from app_server.agent_client.client import AgentClient
from app_server.core.encryption import Cipher
from app_server.core.errors import AppError
from app_server.gateway import links
from app_server.gateway.links import PreviewGrant

_PATH = re.compile(rb"/preview/([\w-]{1,2000}\.[\w-]{1,2000}\.[\w-]{1,2000})/")
_MAX_TRIED = 5


@dataclass(frozen=True)
class LinkInUse:
    """A link whose path a program in a sandbox uses. The link has not expired. `token`: the token in the URL
    of the link. `grant`: the access that the link gives.
    """

    token: str
    grant: PreviewGrant


async def find_link_in_use(
    cipher: Cipher, client: AgentClient, *, port: int, made_by: Credential, sandbox_id: UUID
) -> LinkInUse | None:
    """Reads the first page of the program on this port. If the page contains the path of a link to this port,
    returns this link. Otherwise returns None. The caller then gives the user this link and not a new one,
    because the program's pages work only below the path of this link.

    Considers only links to this port of this sandbox that were made with the API key or browser session
    `made_by`. For these links, `keeps_prefix` must be true: the gateway then leaves the link's prefix in the
    paths that it sends to the program.
    """
    tokens = dict.fromkeys(_PATH.findall(await client.first_page(port)))
    for token in list(tokens)[:_MAX_TRIED]:
        link = _read(cipher, token.decode())
        if link is None:
            continue
        grant = link.grant
        if grant.keeps_prefix and (grant.sandbox_id, grant.port, grant.made_by) == (
            sandbox_id,
            port,
            made_by,
        ):
            return link
    return None


def _read(cipher: Cipher, token: str) -> LinkInUse | None:
    try:
        return LinkInUse(token, links.read(cipher, token))
    except AppError:
        return None  # has ended or is not ours: the page may contain any text
