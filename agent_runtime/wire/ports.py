"""The ports of a sandbox, and the way to them."""

from uuid import UUID

from pydantic import BaseModel

from agent_runtime.wire.basics import API_KEY_HEADER

RELAY_KEY_HEADER = f"X-Slipway-{API_KEY_HEADER.removeprefix('X-')}"
"""Carries the session key of a request to a port: whatever listens there may use any other header itself."""

NOT_ANSWERED_HEADER = "X-Slipway-Not-Answered"
"""On a reply that the agent server gives in place of a port: the `code` of its problem."""


class ListeningPort(BaseModel):
    """process_name: of the program, and of the script it runs. conversation_id: whose agent has started it;
    None if a person has, or it cannot be told.
    """

    port: int
    process_name: str
    pid: int
    conversation_id: UUID | None = None


class PortsResponse(BaseModel):
    """By port, ascending."""

    ports: list[ListeningPort]


def relay_path(port: int) -> str:
    """Where the agent server passes requests on to `port`; the path there follows."""
    return f"/api/ports/{port}/relay"
