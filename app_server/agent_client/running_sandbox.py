"""Defines RunningSandbox: the directory, the URL and the agent server client of a sandbox that runs now."""

import time
from dataclasses import dataclass, field
from uuid import UUID

from app_server.agent_client.client import AgentClient


@dataclass(frozen=True)
class RunningSandbox:
    id: UUID
    working_root: str
    inner_url: str
    """The URL at which programs in the sandbox reach the app server. Model calls go to `INNER_URL/llm/…`."""
    client: AgentClient
    up_since: float = field(default_factory=time.monotonic)
    """When this app server first knew that the sandbox was running, in seconds of the monotonic clock."""
