"""Asks a model for a conversation's title. Adds nothing to the conversation's log."""

from collections.abc import Iterable

from agent_runtime.conversation import title
from agent_runtime.conversation.errors import ConversationError
from agent_runtime.events.message import MessageEvent
from agent_runtime.events.union import AnyEvent
from agent_runtime.llm.complete import LLMClient
from agent_runtime.llm.config import LLM


async def title_of(events: Iterable[AnyEvent], llm: LLM, max_length: int) -> str:
    """Asks the model for a title of a conversation, given the conversation's events, and returns the title.
    Raises ConversationError `no_message` if the events contain no message. Raises ConversationError
    `no_title` if the model gives no title.
    """
    said = (event for event in events if isinstance(event, MessageEvent) and event.source == "user")
    task = next(said, None)
    if task is None:
        raise ConversationError("no_message", "There is no message to name the conversation by.")
    client = LLMClient()
    try:
        found = await title.generate(task, llm, client)
    finally:
        await client.close()
    if found is None:
        raise ConversationError("no_title", "The model gave no title.")
    return found.text[:max_length]
