"""Gives a new conversation a title in the background."""

from collections.abc import Callable

from agent_runtime.conversation import title
from agent_runtime.conversation.event_log.log import Filter
from agent_runtime.conversation.run.context import RunContext
from agent_runtime.events.message import MessageEvent
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.llm.config import LLM

_FROM_USER = Filter(kind="MessageEvent", source="user")

SavedLLM = Callable[[str], LLM | None]
"""A function that returns the saved model with the given name, or None if there is no such model or the model
cannot be called.
"""


class Naming:
    """An object that creates the title of one conversation in the background.

    `saved_llm`: a function that returns the saved model with a given name; it is used if the request that
    created the conversation names a model for titles.
    """

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self.saved_llm: SavedLLM = _none_saved

    def begin_if_wanted(self) -> None:
        """Starts to create a title in the background. Does nothing if the conversation already has a title,
        if the request that created the conversation asked for no title, or if a hook has blocked a message.
        """
        context = self._context
        state = context.state
        if context.spec.wants_title and state.title is None and not state.blocked_messages:
            self._context.background.begin(self.generate(), "title")

    async def generate(self) -> None:
        """Creates a title from the user's first message and logs the title. A model suggests the title; if
        the model suggests no title, the first words of the message become the title.

        Only the title is published, not the full state of the conversation. One of the client libraries
        (openhands-sdk) misunderstands a full state that arrives just after the agent's start: it concludes
        that the agent has stopped.
        """
        context = self._context
        first, _ = context.log.search(_FROM_USER, from_seq=None, descending=False, limit=1)
        if not first:
            return
        task = MessageEvent.model_validate_json(first[0].body)
        mask = context.secrets.masker.text
        found = await title.generate(task, self._llm(), context.llm_client, mask)
        if context.state.title is not None:
            return
        if found is not None:
            context.emit(*found.events(context.state.stats))
        elif (words := title.first_words(mask(task.llm_message.text))) is not None:
            context.emit(ConversationStateUpdateEvent(key="title", value=words))

    def _llm(self) -> LLM:
        name = self._context.spec.request.title_llm_profile
        return (self.saved_llm(name) if name else None) or self._context.agent.llm


def _none_saved(_: str) -> None:
    return None
