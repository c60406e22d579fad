"""The models of the ports of a sandbox on which programs listen, and the path on which the agent server
relays requests to these ports.
"""

from uuid import UUID

from pydantic import BaseModel

from agent_runtime.wire.basics import API_KEY_HEADER

RELAY_KEY_HEADER = f"X-Slipway-{API_KEY_HEADER.removeprefix('X-')}"
"""The header that contains the session key (the key for the agent server) in a request to a port of the
sandbox. All other headers of the request are meant for the program that listens on the port.
"""

NOT_ANSWERED_HEADER = "X-Slipway-Not-Answered"
"""The header that marks a reply that the agent server has made itself, because the program on the port could
not answer. The value is the `code` of the error (see `Problem`).
"""


class ListeningPort(BaseModel):
    """One port of a sandbox on which a program listens.

    `process_name`: the name of the program and of the script that it runs. `conversation_id`: the
    conversation whose agent started the program; null if a person started the program, or if Slipway does not
    know who started it.
    """

    port: int
    process_name: str
    pid: int
    conversation_id: UUID | None = None


class PortsResponse(BaseModel):
    """The reply of GET /api/ports: the ports of the sandbox on which programs listen, sorted by number."""

    ports: list[ListeningPort]


def relay_path(port: int) -> str:
    """Returns the path prefix under which the agent server forwards HTTP requests to a program that listens
    on `port` in the sandbox. A caller appends the path of the request.
    """
    return f"/api/ports/{port}/relay"
