"""Converts a user's message to an event of the log, with the skills and memory notes that relate to the
message.
"""

from collections.abc import Collection

from agent_runtime.context.skills import (
    NO_CONTEXT,
    AgentContext,
    ProjectContext,
    render_knowledge,
    render_notes,
    triggered,
)
from agent_runtime.events.content import TextContent
from agent_runtime.events.message import Message, MessageEvent


def message_event(
    message: Message,
    message_id: str | None,
    project: ProjectContext,
    context: AgentContext | None,
    *,
    known_skills: Collection[str],
    is_first: bool,
    sender: str | None = None,
) -> MessageEvent:
    """Returns the event for a user's message. The event also contains the skills that words in the message
    trigger. `known_skills`: the names of skills that the model already has; these skills are not added again.
    `sender`: the name of the person who wrote the message; None means the owner of the conversation.

    `is_first`: whether this is the user's first message in the conversation. Memory notes (texts that agents
    wrote in earlier conversations) are added only to the first message.
    """
    given_id = {} if message_id is None else {"id": message_id}
    found = triggered(project.skills, message.text, known=known_skills)
    notes = (project.notes or ()) if is_first else ()
    suffix = (context or NO_CONTEXT).user_message_suffix
    return MessageEvent(
        llm_message=message,
        sender=sender,
        activated_skills=[skill.name for skill, _ in found],
        extended_content=[
            *render_knowledge(found, message.text),
            *render_notes(notes, message.text),
            *([TextContent(text=suffix)] if suffix else []),
        ],
        **given_id,
    )
