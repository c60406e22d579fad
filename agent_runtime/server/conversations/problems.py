"""Converts exceptions to the error replies for conversations that cannot be found, created or loaded from
disk.
"""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from pydantic import ValidationError

from agent_runtime.conversation.event_log.log import LogInUseError
from agent_runtime.conversation.event_log.spec_signature import SpecChangedError
from agent_runtime.security.kinds import UnsupportedKindError
from agent_runtime.server.errors import ServerProblem, invalid, is_disk_full
from agent_runtime.tools.registry import ToolNotFoundError

logger = logging.getLogger(__name__)

_PLACES = {
    "McpServer": ("agent", "mcp_config"),
    "Skill": ("agent", "agent_context", "skills"),
    "StartConversationRequest": (),
}
"""The fields of the request in which the values of a class are that is checked at the creation. The values of
all other classes are in the field `agent`.
"""


def not_found(conversation_id: UUID) -> ServerProblem:
    return ServerProblem(404, "conversation_not_found", f"There is no conversation {conversation_id}.")


def exists(conversation_id: UUID) -> ServerProblem:
    return ServerProblem(409, "conversation_exists", f"There is a conversation {conversation_id} already.")


def being_deleted(conversation_id: UUID) -> ServerProblem:
    return ServerProblem(
        409,
        "conversation_being_deleted",
        f"The conversation {conversation_id} is being deleted.",
        "Take another id, or try again in a moment.",
    )


def spec_changed(conversation_id: UUID) -> ServerProblem:
    return ServerProblem(
        409,
        "spec_changed",
        f"The specification of the conversation {conversation_id} was changed outside of the agent server.",
        "Start a new conversation: the events of this one stay readable. If an encryption key of the server "
        "was taken away, add it again (SLIPWAY_ENCRYPTION_KEYS, or OH_SPEC_SEAL_KEYS) and restart.",
    )


def damaged() -> ServerProblem:
    return ServerProblem(500, "conversation_damaged", "The conversation's log on disk cannot be read.")


@contextmanager
def of_creation() -> Iterator[None]:
    """Converts exceptions that are raised in the `with` block to a ServerProblem with status 422. The block
    creates a conversation. The error for a full disk is raised unchanged, because the client then gets the
    status 507.
    """
    try:
        yield
    except ValidationError as error:
        raise invalid(error, *_PLACES.get(error.title, ("agent",))) from error
    except ToolNotFoundError as error:
        raise ServerProblem(422, "tool_not_found", str(error)) from error
    except UnsupportedKindError as error:
        raise ServerProblem(422, "unsupported_safeguard", str(error)) from error
    except OSError as error:
        if is_disk_full(error):
            raise
        raise ServerProblem(
            422, "workspace_unusable", f"The working directory cannot be made: {error.strerror}."
        ) from error
    except ValueError as error:
        # For example a null byte in a path, or a lone surrogate in a text. Neither can be stored.
        raise ServerProblem(
            422, "validation_failed", "The request holds text that cannot be stored."
        ) from error


@contextmanager
def of_opening(conversation_id: UUID) -> Iterator[None]:
    """Converts exceptions that are raised in the `with` block to a ServerProblem. The block loads an existing
    conversation from disk.

    The function converts the exceptions for a log that is damaged or is in use by another server, and for a
    conversation whose stored specification was changed by another program. It does not convert the exception
    for a conversation that does not exist.
    """
    try:
        yield
    except LogInUseError as error:
        raise ServerProblem(
            409, "conversation_in_use", "Another agent server works on this conversation."
        ) from error
    except SpecChangedError as error:
        raise spec_changed(conversation_id) from error
    except (sqlite3.DatabaseError, ValidationError, UnsupportedKindError) as error:
        logger.exception("a log is damaged", extra={"conversation_id": str(conversation_id)})
        raise damaged() from error
