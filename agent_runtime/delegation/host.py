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
    """The interface of the process in which the conversations are open: an agent server, or a program that
    uses this library. `trees`: the directory in which sub-agents' git work trees are created.
    """

    @property
    def trees(self) -> Path: ...

    def find(self, conversation_id: UUID) -> ConversationEngine | None:
        """Returns the engine of the conversation with this id. Returns None if there is no such conversation,
        or if it is closed.
        """

    def create(
        self, request: StartConversationRequest, secrets: Secrets, git: GitState | None
    ) -> ConversationEngine:
        """Creates a conversation for a sub-agent and returns its open engine. Raises DelegationError.

        `secrets`: the store with the secrets that the conversation may use. `git`: the git state of the
        repository in which the conversation works; None if there is none.
        """

    def model(self, name: str) -> LLM | None:
        """Returns the saved model with this name. Returns None if there is none."""

    async def put_away(self, conversation: ConversationEngine) -> None:
        """Closes the shells and other tools of a conversation that has nothing to do now, to free resources.
        The conversation itself stays open, so `find` still returns it.
        """


def above(conversation: ConversationEngine, host: ConversationHost) -> list[ConversationEngine]:
    """Returns the parent conversation, the parent's parent, and so on, nearest first. Returns an empty list
    for a conversation without a parent.
    """
    found: list[ConversationEngine] = []
    parent_id = conversation.spec.parent_conversation_id
    while parent_id is not None and (parent := host.find(parent_id)) is not None:
        found.append(parent)
        parent_id = parent.spec.parent_conversation_id
    return found
