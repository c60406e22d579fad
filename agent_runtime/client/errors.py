"""What a program that uses the runtime may have to catch.

ConversationError            every refusal and failure: `code`, text, `fix`
├─ AlreadyRunningError, CheckpointNotFoundError, CheckpointsUnavailableError, EditedSinceError,
│  EventNotFoundError, HookConfigError, NoCondenserError, NoGoalToResumeError, NothingToCondenseError,
│  NothingToConfirmError, RewindIncompleteError
├─ ConversationRunError      a run ended in an error: `event` says which
│  └─ StuckError             a run was stopped because the agent went round in circles
└─ WorkspaceError            files, commands, git, containers
   └─ DisconnectedError      an agent server cannot be reached any more
"""

from agent_runtime.conversation.errors import ConversationError
from agent_runtime.events.errors import ConversationErrorEvent


class ConversationRunError(ConversationError):
    """A run ended in an error. `run` may be called again; the run then continues where it stopped."""

    def __init__(self, event: ConversationErrorEvent) -> None:
        super().__init__(event.code, f"{event.code}: {event.detail}")
        self.event = event


class StuckError(ConversationRunError):
    """The agent repeated the same steps and was stopped. A new message may help it."""

    def __init__(self) -> None:
        detail = "The agent repeated itself, was told so, and went on repeating itself."
        super().__init__(ConversationErrorEvent(code="stuck", detail=detail))


class WorkspaceError(ConversationError):
    """A workspace refused or failed. `output`: what the failed command or container printed last; empty if
    there is nothing.
    """

    def __init__(self, code: str, detail: str, fix: str | None = None, *, output: str = "") -> None:
        super().__init__(code, detail, fix)
        self.output = output

    def __str__(self) -> str:
        parts = (super().__str__(), self.output, f"Fix: {self.fix}" if self.fix else "")
        return "\n".join(part for part in parts if part)


class DisconnectedError(WorkspaceError):
    """The agent server has not answered for too long, or does not have this conversation any more."""
