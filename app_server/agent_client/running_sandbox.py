"""A sandbox that runs, as this app server knows it."""

import time
from dataclasses import dataclass, field
from uuid import UUID

from app_server.agent_client.client import AgentClient


@dataclass(frozen=True)
class RunningSandbox:
    id: UUID
    working_root: str
    inner_url: str
    """The app server's inner listener as the sandbox reaches it; `INNER_URL/llm/…` is where its LLM is."""
    client: AgentClient
    up_since: float = field(default_factory=time.monotonic)
    """Of the monotonic clock."""
