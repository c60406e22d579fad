"""Gives a conversation its title."""

from collections.abc import Callable
from typing import Protocol

from agent_runtime.conversation import title
from agent_runtime.conversation.event_log.log import EventLog, Filter
from agent_runtime.conversation.run.condensing import BeginAside
from agent_runtime.conversation.run.context import Running
from agent_runtime.conversation.spec import Spec
from agent_runtime.events.message import MessageEvent
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.llm.config import LLM
from agent_runtime.secrets.registry import Secrets

_FROM_USER = Filter(kind="MessageEvent", source="user")

SavedLLM = Callable[[str], LLM | None]
"""Returns the model of the saved profile with this name. Returns None if there is no such profile or its
model cannot be called.
"""


class Nameable(Running, Protocol):
    """The part of a conversation that naming needs."""

    @property
    def log(self) -> EventLog: ...
    @property
    def spec(self) -> Spec: ...
    @property
    def secrets(self) -> Secrets: ...


class Naming:
    """`saved_llm`: finds the model that the conversation's specification names for titles."""

    def __init__(self, conversation: Nameable, begin: BeginAside) -> None:
        self._conversation = conversation
        self._begin = begin
        self.saved_llm: SavedLLM = _none_saved

    def begin_if_wanted(self) -> None:
        """Starts naming the conversation in the background. Does nothing if it has a title, its specification
        wants none, or a hook has blocked a message.
        """
        conversation = self._conversation
        state = conversation.state
        if conversation.spec.wants_title and state.title is None and not state.blocked_messages:
            self._begin(self.generate(), "title")

    async def generate(self) -> None:
        """Sets a title for the first message: the model's suggestion, or else the first words
        of the message.
        """
        conversation = self._conversation
        first, _ = conversation.log.search(_FROM_USER, from_seq=None, descending=False, limit=1)
        if not first:
            return
        task = MessageEvent.model_validate_json(first[0].body)
        mask = conversation.secrets.masker.text
        found = await title.generate(task, self._llm(), conversation.llm_client, mask)
        if conversation.state.title is not None:
            return
        if found is not None:
            conversation.emit(*found.events(conversation.state.stats))
        elif (words := title.first_words(mask(task.llm_message.text))) is not None:
            conversation.emit(ConversationStateUpdateEvent(key="title", value=words))
        conversation.publish_full_state()

    def _llm(self) -> LLM:
        name = self._conversation.spec.request.title_llm_profile
        return (self.saved_llm(name) if name else None) or self._conversation.agent.llm


def _none_saved(_: str) -> None:
    return None
