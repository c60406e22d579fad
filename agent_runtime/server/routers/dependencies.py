"""FastAPI dependencies that give routes access to the server's long-lived objects.

The dependencies are coroutines, because FastAPI would run plain functions in threads, but logs may only be
used in the event loop's thread.
"""

from collections.abc import AsyncIterator
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Request

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.event_log.log import LogReader
from agent_runtime.server.conversations.children import Children
from agent_runtime.server.conversations.registry import Registry
from agent_runtime.server.conversations.worktrees import WorkTrees


async def _registry(request: Request) -> Registry:
    registry: Registry = request.app.state.registry
    return registry


Conversations = Annotated[Registry, Depends(_registry)]


async def _children(request: Request) -> Children:
    children: Children = request.app.state.children
    return children


AllChildren = Annotated[Children, Depends(_children)]


async def _worktrees(request: Request) -> WorkTrees:
    worktrees: WorkTrees = request.app.state.worktrees
    return worktrees


AllWorkTrees = Annotated[WorkTrees, Depends(_worktrees)]


async def _conversation(conversation_id: UUID, registry: Conversations) -> AsyncIterator[ConversationEngine]:
    with registry.using(conversation_id) as conversation:
        yield conversation


async def _log(conversation_id: UUID, registry: Conversations) -> AsyncIterator[LogReader]:
    with registry.reading(conversation_id) as log:
        yield log


async def _known_id(conversation_id: UUID, registry: Conversations) -> UUID:
    registry.check(conversation_id)
    return conversation_id


KnownId = Annotated[UUID, Depends(_known_id)]
"""The conversation id in the path of the request. The conversation need not be in memory. The server replies
404 if the conversation does not exist.
"""

LoadedConversation = Annotated[ConversationEngine, Depends(_conversation)]
"""The conversation whose id is in the path of the request. The conversation is loaded from disk if it is not
in memory. The server replies 404 if the conversation does not exist.
"""

ConversationLog = Annotated[LogReader, Depends(_log)]
"""The log of the conversation whose id is in the path of the request. The conversation is not loaded into
memory. The server replies 404 if the conversation does not exist.
"""
