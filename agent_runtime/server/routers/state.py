"""What routes are given: the server's long-lived objects.

Dependencies are coroutines on purpose: plain functions run in threads, and logs belong to the event loop's.
"""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Request

from agent_runtime.conversation.conversation import Conversation
from agent_runtime.server.registry import Registry


async def _registry(request: Request) -> Registry:
    registry: Registry = request.app.state.registry
    return registry


Conversations = Annotated[Registry, Depends(_registry)]


async def _conversation(conversation_id: UUID, registry: Conversations) -> Conversation:
    return registry.get(conversation_id)


Found = Annotated[Conversation, Depends(_conversation)]
"""The conversation of the path; 404 when there is none."""
