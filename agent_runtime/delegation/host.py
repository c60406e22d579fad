"""The interface through which a conversation finds and starts other conversations in the same process."""

from pathlib import Path
from typing import Protocol
from uuid import UUID

from agent_runtime.context.git_state import GitState
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.llm.config import LLM
from agent_runtime.secrets.registry import Secrets
from agent_runtime.wire import StartConversationRequest


class ConversationHost(Protocol):
    """The interface of the process that runs the conversations: an agent server, or a program that uses this
    library. `trees`: the directory in which sub-agents' git work trees are created.
    """

    @property
    def trees(self) -> Path: ...

    def find(self, conversation_id: UUID) -> ConversationEngine | None:
        """Returns the engine of the conversation with this id. A conversation that is only stored on disk is
        loaded first, if the process supports this. Returns None if there is no such conversation.
        """

    def create(
        self, request: StartConversationRequest, secrets: Secrets, git: GitState | None
    ) -> ConversationEngine:
        """Creates a conversation for a sub-agent and returns the engine of this conversation. Raises
        DelegationError if the conversation cannot be created.

        `secrets`: the store with the secrets that the conversation may use. `git`: the git state of the
        repository in which the conversation works; None if there is none.
        """

    def model(self, name: str) -> LLM | None:
        """Returns the model that is saved under this name. Returns None if there is no such model."""

    async def put_away(self, conversation: ConversationEngine) -> None:
        """Frees the resources, such as shells, of a conversation that has nothing to do now. After that,
        `find` still returns the conversation.
        """


def above(conversation: ConversationEngine, host: ConversationHost) -> list[ConversationEngine]:
    """Returns the parent of `conversation` (the conversation that started it), the parent's parent, and so
    on, nearest first. Returns an empty list for a conversation without a parent. `host`: finds the
    conversations.
    """
    found: list[ConversationEngine] = []
    parent_id = conversation.spec.parent_conversation_id
    while parent_id is not None and (parent := host.find(parent_id)) is not None:
        found.append(parent)
        parent_id = parent.spec.parent_conversation_id
    return found
