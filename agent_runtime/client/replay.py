"""Yields the prompts of a stored conversation: for each reply of the model, the prompt that led to it."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

from agent_runtime.agent.agent import Agent
from agent_runtime.conversation.errors import ConversationError
from agent_runtime.conversation.event_log.log import EventLog, LogInUseError, LogMissingError
from agent_runtime.conversation.event_log.replay import Prompted
from agent_runtime.conversation.event_log.replay import replay as replay_log
from agent_runtime.conversation.spec import Spec


def replay(persistence_dir: str | Path, conversation_id: UUID) -> Iterator[Prompted]:
    """Yields the full list of messages of each model call in a conversation that is stored in
    `persistence_dir`, in order. The messages are computed from the event log and are the same as in the
    original call. Calls no model, runs no tool and writes nothing.

    Raises ConversationError `conversation_not_found` if there is no such conversation. Raises
    ConversationError `conversation_in_use` if another process has the conversation open.
    """
    try:
        log = EventLog(Path(persistence_dir) / conversation_id.hex)
    except LogMissingError as error:
        raise ConversationError(
            "conversation_not_found", f"There is no conversation {conversation_id} in {persistence_dir}."
        ) from error
    except LogInUseError as error:
        raise ConversationError(
            "conversation_in_use",
            f"Conversation {conversation_id} is open in another process.",
            "Close it there.",
        ) from error
    try:
        spec = Spec.model_validate_json(log.get_meta("spec") or "")
        yield from replay_log(log, Agent.model_validate(spec.agent).llm.usage_id)
    finally:
        log.close()
