"""The exceptions that a program which uses the runtime may have to catch.

ConversationError            the base class; has a `code`, a text, and a `fix` that says what to do
├─ AlreadyRunningError, CheckpointNotFoundError, CheckpointsUnavailableError, EditedSinceError,
│  EventNotFoundError, HookConfigError, NoCondenserError, NoGoalToResumeError, NothingToCondenseError,
│  NothingToConfirmError, RewindIncompleteError
├─ ConversationRunError      a run ended with an error; `event` is the event with the reason
│  └─ StuckError             a run was stopped because the agent repeated itself
└─ WorkspaceError            an operation on files, commands, git or containers failed
   └─ DisconnectedError      an agent server cannot be reached any more
"""

from agent_runtime.conversation.errors import ConversationError
from agent_runtime.events.errors import ConversationErrorEvent


class ConversationRunError(ConversationError):
    """The error that is raised when a run (the agent's work until it stops) ended with an error. A later call
    of `Conversation.run` continues where the run stopped. `event`: the event with the reason.
    """

    def __init__(self, event: ConversationErrorEvent) -> None:
        super().__init__(event.code, f"{event.code}: {event.detail}")
        self.event = event


class StuckError(ConversationRunError):
    """The error that is raised when the agent was stopped because it repeated the same steps. A new message
    from the user may help the agent.
    """

    def __init__(self) -> None:
        detail = "The agent repeated itself, was told so, and went on repeating itself."
        super().__init__(ConversationErrorEvent(code="stuck", detail=detail))


class WorkspaceError(ConversationError):
    """The error that is raised when an operation of a workspace was refused or has failed. `output`: the last
    output of the failed command or container; empty if there is no output.
    """

    def __init__(self, code: str, detail: str, fix: str | None = None, *, output: str = "") -> None:
        super().__init__(code, detail, fix)
        self.output = output

    def __str__(self) -> str:
        parts = (super().__str__(), self.output, f"Fix: {self.fix}" if self.fix else "")
        return "\n".join(part for part in parts if part)


class DisconnectedError(WorkspaceError):
    """The error that is raised when the agent server has not answered for too long, or no longer has the
    conversation.
    """
