"""Fixtures of the tests of models. Where possible, these tests run whole conversations."""

from tests.agent_runtime.conversation.conftest import client, conversations

__all__ = ["client", "conversations"]
