"""Applies changes that clients request for an existing conversation: a new title, tags or budget, or a new
list of child conversations.
"""

from collections.abc import Sequence
from uuid import UUID

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.event_log.state import CHILDREN
from agent_runtime.conversation.run.budget import budget_update
from agent_runtime.events.state import ConversationStateUpdateEvent


def relabel(
    conversation: ConversationEngine, *, title: str | None = None, tags: dict[str, str] | None = None
) -> None:
    """Sets the title and the tags of a conversation. If `title` or `tags` is None, the current value stays.
    New tags replace all earlier tags.
    """
    given = {"title": title, "tags": tags}
    changes = {key: value for key, value in given.items() if value is not None}
    conversation.emit(*(ConversationStateUpdateEvent(key=key, value=value) for key, value in changes.items()))
    conversation.publish_full_state()


def set_budget(conversation: ConversationEngine, dollars: float | None) -> None:
    """Sets the limit for the cost of the whole conversation, in dollars. None means no limit."""
    conversation.emit(budget_update(conversation.run_context, dollars))
    conversation.publish_full_state()


def note_children(conversation: ConversationEngine, children: Sequence[UUID]) -> None:
    """Logs the complete list of conversations that this conversation has started and that still exist.
    `children`: the ids of these conversations.
    """
    value = [str(child) for child in children]
    conversation.emit(ConversationStateUpdateEvent(key=CHILDREN, value=value))
    conversation.publish_full_state()
