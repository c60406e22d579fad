"""The interface to the place where conversations live, for code that starts further conversations."""

from pathlib import Path
from typing import Protocol
from uuid import UUID

from agent_runtime.context.git_state import GitState
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.llm.config import LLM
from agent_runtime.secrets.registry import Secrets
from agent_runtime.wire import StartConversationRequest


class ConversationHost(Protocol):
    """An agent server or the process of a program. `trees`: the directory of the work trees."""

    @property
    def trees(self) -> Path: ...

    def find(self, conversation_id: UUID) -> ConversationEngine | None:
        """Returns the live conversation with this id. Returns None if there is none, or if it is not live any
        more.
        """

    def create(
        self, request: StartConversationRequest, secrets: Secrets, git: GitState | None
    ) -> ConversationEngine:
        """Creates a conversation and returns it, live. Raises DelegationError.

        `secrets`: the store for its secrets, with the secrets that it may use. `git`: the state of the
        repository that it works in.
        """

    def model(self, name: str) -> LLM | None:
        """Returns the model with this name. Returns None if there is none."""

    async def put_away(self, conversation: ConversationEngine) -> None:
        """Ends the shells and other tools of a conversation that has nothing to do now, to free its
        resources. `find` still returns the conversation.
        """


def above(conversation: ConversationEngine, host: ConversationHost) -> list[ConversationEngine]:
    """Returns the parent of the conversation, its parent's parent, and so on, nearest first."""
    found: list[ConversationEngine] = []
    parent_id = conversation.spec.parent_conversation_id
    while parent_id is not None and (parent := host.find(parent_id)) is not None:
        found.append(parent)
        parent_id = parent.spec.parent_conversation_id
    return found
