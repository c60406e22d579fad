"""The place where conversations live, as far as those need it that start further ones."""

from pathlib import Path
from typing import Protocol
from uuid import UUID

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.llm.config import LLM
from agent_runtime.secrets.registry import Secrets
from agent_runtime.wire import StartConversationRequest


class Home(Protocol):
    """A server, or the process of a program. trees: where work trees lie."""

    @property
    def trees(self) -> Path: ...

    def find(self, conversation_id: UUID) -> ConversationEngine | None:
        """The live conversation; None when there is none (any more)."""

    def create(self, request: StartConversationRequest, secrets: Secrets) -> ConversationEngine:
        """A new one, live. DelegationError. secrets: where to keep its own, and what it is to know."""

    def model(self, name: str) -> LLM | None:
        """The model that goes by that name here."""

    async def put_away(self, conversation: ConversationEngine) -> None:
        """It is done for now: what it holds may be given back. It is found again all the same."""


def above(conversation: ConversationEngine, home: Home) -> list[ConversationEngine]:
    """Those that stand above it, the next one first."""
    found: list[ConversationEngine] = []
    parent_id = conversation.spec.parent_conversation_id
    while parent_id is not None and (parent := home.find(parent_id)) is not None:
        found.append(parent)
        parent_id = parent.spec.parent_conversation_id
    return found
