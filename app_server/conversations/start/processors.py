"""Adds callbacks for the event processors that a request to start a conversation names. A callback is an
action of the server after an event of the conversation. In the OpenHands protocol, which Slipway's clients
use, a callback is called an event processor.
"""

from collections.abc import Iterable
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.callbacks.models import Callback, Processor
from app_server.conversations.protocol_schemas import LoggingProcessor, SetTitleProcessor


async def add_processors(
    session: AsyncSession,
    user_id: UUID,
    conversation_id: UUID,
    processors: Iterable[SetTitleProcessor | LoggingProcessor],
) -> None:
    """Adds a callback (an action of the server after an event) to the conversation for each event processor
    that logs events (LoggingProcessor). An event processor that sets the title (SetTitleProcessor) needs no
    callback, because every conversation gets a title.
    """
    for processor in processors:
        if isinstance(processor, LoggingProcessor):
            session.add(
                Callback(
                    user_id=user_id,
                    conversation_id=conversation_id,
                    name=processor.kind,
                    processor=Processor.LOG,
                    kinds=[],
                    sources=[],
                    tools=[],
                    statuses=[],
                )
            )
    await session.flush()
