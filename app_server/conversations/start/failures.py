"""Turns the error of a failed start into the text that the user sees."""

import logging
import secrets
from uuid import UUID

from app_server.conversations.models import StartStatus
from app_server.conversations.schemas import StartError
from app_server.core.errors import AppError, StartFailure

logger = logging.getLogger(__name__)

_START_CODES = frozenset(
    (
        "repository_not_found",
        "repository_not_allowed",
        "llm_profile_not_found",
        "setting_enforced",
        "agent_server_error",
    )
)


def start_error(error: Exception, stage: StartStatus, task_id: UUID) -> StartError:
    """Returns the error that the user sees for a failed start: its code, its cause and how to fix it.
    `error`: the error that was raised. `stage`: the stage that has failed. `task_id`: the id of the
    conversation, which is also the id of its start task.

    An unexpected error is also written to the server's log, with a random reference (16 hex digits). The text
    for the user contains the same reference, so that the entry in the log can be found.
    """
    match error:
        case StartFailure():
            return StartError(
                code=error.code, stage=stage, cause=error.cause, fix=error.fix, output=error.output or None
            )
        case AppError():
            code = error.code if error.code in _START_CODES else "agent_server_error"
            return StartError(
                code=code,
                stage=stage,
                cause=error.detail,
                fix=error.fix or "Retry; the server's log says more.",
            )
        case _:
            reference = secrets.token_hex(8)
            logger.error(
                "start failed unexpectedly",
                exc_info=error,
                extra={"conversation_id": task_id.hex, "reference": reference, "stage": stage.value},
            )
            return StartError(
                code="internal_error",
                stage=stage,
                cause=f"The start failed because of an error in Slipway (reference {reference}).",
                fix="Retry. The server's log has the cause under this reference.",
            )
