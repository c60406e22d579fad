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
    """The URL of the app server's inner listener as seen from the sandbox. The LLM is at `INNER_URL/llm/…`.
    """
    client: AgentClient
    up_since: float = field(default_factory=time.monotonic)
    """The time since when the sandbox is known to run, in seconds of the monotonic clock."""
