"""The problems that the registry raises if a conversation cannot be found, created or opened."""

from uuid import UUID

from agent_runtime.server.errors import ServerProblem


def not_found(conversation_id: UUID) -> ServerProblem:
    return ServerProblem(404, "conversation_not_found", f"There is no conversation {conversation_id}.")


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
