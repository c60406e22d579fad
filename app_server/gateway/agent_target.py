"""The agent server of a sandbox as the server to which a request is relayed."""

import ssl
from collections.abc import Iterable
from urllib.parse import urlsplit

from agent_runtime.relay.target import Header, Target
from app_server.agent_client.client import AgentClient


def agent_target(
    client: AgentClient, path: bytes, headers: Iterable[Header], trust_of_hosts: ssl.SSLContext | None
) -> Target:
    """Returns the target of a request to the agent server that `client` calls.

    `path`: the path of the request on the agent server, with the query. `headers`: the headers of the
    request, without `host`, in lower case. `trust_of_hosts`: the TLS settings for agent servers on other
    hosts.
    """
    address = urlsplit(client.url)
    assert address.hostname
    is_https = address.scheme == "https"
    passage = [(name.lower().encode(), value.encode()) for name, value in client.passage.items()]
    return Target(
        host=address.hostname,
        port=address.port or (443 if is_https else 80),
        path=address.path.encode() + path,
        headers=[(b"host", address.netloc.encode()), *headers, *passage],
        tls=trust_of_hosts if is_https else None,
    )
