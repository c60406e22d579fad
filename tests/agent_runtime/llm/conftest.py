"""Models are tested through whole conversations where that is possible."""

from tests.agent_runtime.conversation.conftest import client, conversations

__all__ = ["client", "conversations"]
