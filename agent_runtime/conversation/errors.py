"""The errors that a conversation raises. Their codes and texts are the same whether the conversation runs in
the agent server or in a program that uses this package directly.
"""

from typing import ClassVar, Self

from agent_runtime.events.base import JsonObject
from agent_runtime.wire import CheckpointDiff


class ConversationError(Exception):
    """The base class of the errors of a conversation: a request was refused, or an operation failed. An error
    has a stable `code`, a text for people and, if a solution is known, the `fix`, which says what the user
    can do.
    """

    code: str
    fix: str | None

    def __init__(self, code: str, detail: str, fix: str | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.fix = fix


class _Refusal(ConversationError):
    """The base class of errors for refused requests. Each subclass sets the error's code, text and fix."""

    _code: ClassVar[str]
    _detail: ClassVar[str]
    _fix: ClassVar[str | None] = None

    def __init__(self, detail: str | None = None) -> None:
        super().__init__(self._code, detail or self._detail, self._fix)

    @classmethod
    def of_problem(cls, problem: JsonObject) -> Self:
        """Creates an error of this class from a problem document (RFC 9457) that a server has sent as its
        HTTP reply.
        """
        return cls(str(problem["detail"]))


class AlreadyRunningError(_Refusal):
    """The error that is raised when a request is refused because the agent is working."""

    _code = "already_running"
    _detail = "The conversation is running already."
    _fix = "Pause or interrupt it first."


class LogGapError(_Refusal):
    """The error that is raised when new events cannot be added to a log because the events between the log's
    last event and the new events are missing.
    """

    _code = "log_gap"
    _detail = "The log ends before this position."
    _fix = "Start with the event after its last one."


class LogDiffersError(_Refusal):
    """The error that is raised when the events to add to a log differ from the events that the log already
    has at the same positions.
    """

    _code = "log_differs"
    _detail = "The log has another event on one of these positions."


class NothingToConfirmError(_Refusal):
    """The error that is raised when the user approves or rejects actions, but no action waits for
    confirmation.
    """

    _code = "nothing_to_confirm"
    _detail = "No action waits to be confirmed."


class ConfirmationOutdatedError(_Refusal):
    """The error that is raised when the actions that the user approves or rejects are not the actions that
    wait for confirmation now.
    """

    _code = "confirmation_outdated"
    _detail = "Other actions wait now."
    _fix = "Look at those that wait, then answer."


class ClientCallNotWaitingError(_Refusal):
    """The error that is raised when a client sends the result of a tool call, but no call with this id waits
    for a result from a client. For example, the call already has a result.
    """

    _code = "client_call_not_waiting"
    _detail = "There is no call with this id that waits for an answer of the client."
    _fix = "Read the events: a call waits until an event answers its action."


class McpChangeOutdatedError(_Refusal):
    """The error that is raised when the user accepts or refuses a version of an MCP tool that is not the
    current version.
    """

    _code = "mcp_change_outdated"
    _detail = "This tool has not changed, or has changed in another way since."
    _fix = "Read the present difference, then answer."


class McpQuestionClosedError(_Refusal):
    """The error that is raised when the user answers a question of an MCP server, but the question no longer
    waits for an answer.
    """

    _code = "mcp_question_closed"
    _detail = "This question does not wait for an answer any more."
    _fix = "Look at what the agent does now."


class McpAnswerInvalidError(_Refusal):
    """The error that is raised when the user's answer to a question of an MCP server does not fit the form
    that the MCP server sent.
    """

    _code = "mcp_answer_invalid"
    _detail = "The answer does not fit the form."
    _fix = "Change the answer, or decline the question."


class NoCondenserError(_Refusal):
    """The error that is raised when a condensation (a summary that replaces older events) is requested, but
    the agent has no condenser.
    """

    _code = "no_condenser"
    _detail = "This agent has no condenser."
    _fix = "Give the agent an LLMSummarizingCondenser."


class NothingToCondenseError(_Refusal):
    """The error that is raised when a condensation (a summary that replaces older events) is requested, but
    there are too few events to condense.
    """

    _code = "nothing_to_condense"
    _detail = "The conversation is too short to condense."


class HookConfigError(_Refusal):
    """The error that is raised when the configuration of a conversation's hooks is not valid. A hook is a
    command, or a question to a model, that runs at a certain point, for example before a tool call.
    """

    _code = "hook_config_invalid"
    _detail = "hook_config cannot be understood."


class NoGoalToResumeError(_Refusal):
    """The error that is raised when a goal (a task that the agent continues until a judge finds it reached)
    cannot be resumed. Either the conversation has no goal, or the goal is over: it is reached, or it was
    checked the maximum number of times.
    """

    _code = "no_resumable_goal"
    _detail = "There is no goal that can be resumed."
    _fix = "Start a new one."


class EventNotFoundError(_Refusal):
    """The error that is raised when a request names an event that is not in the conversation's log, or an
    event to which the conversation cannot return. For example, a conversation cannot return to an event that
    only updates its state.
    """

    _code = "event_not_found"
    _detail = "There is no such event."

    @classmethod
    def of(cls, event_id: str) -> "EventNotFoundError":
        return cls(f"There is no event {event_id[:128]} to go back to.")


class CheckpointNotFoundError(_Refusal):
    """The error that is raised when a request names a checkpoint (a snapshot of the workspace's files) that
    never existed or was deleted.
    """

    _code = "checkpoint_not_found"
    _detail = "There is no such checkpoint."


class CheckpointsUnavailableError(_Refusal):
    """The error that is raised when checkpoints (snapshots of the workspace's files) cannot be made or
    compared, for example because the disk is full. Without a checkpoint of the current files, the user could
    not undo a rewind (a reset to a checkpoint), so rewinds are then refused.
    """

    _code = "checkpoints_unavailable"
    _detail = "No checkpoint of the workspace can be made."


class EditedSinceError(_Refusal):
    """The error that is raised when a rewind (a reset to a checkpoint) cannot restore all files safely. The
    user or another program has edited some of them, or other files are in their way.

    `diff`: the changes that the rewind would undo, with the names of these files.
    """

    _code = "edited_since"
    _detail = "Files were edited since, and not by the agent."
    _fix = "Look at them, then keep them as they are, or go back with the chat alone."

    def __init__(self, detail: str | None = None, diff: CheckpointDiff | None = None) -> None:
        super().__init__(detail)
        self.diff = diff

    @classmethod
    def of_problem(cls, problem: JsonObject) -> Self:
        return cls(str(problem["detail"]), CheckpointDiff.model_validate(problem["diff"]))


class RewindIncompleteError(_Refusal):
    """The error that is raised when a rewind (a reset to a checkpoint) could not restore some files. The
    server has made a checkpoint just before the rewind. With this checkpoint, the user can undo the rewind.
    """

    _code = "rewind_incomplete"
    _detail = "Not all files could be put back."
    _fix = "Free space and check the permissions of the workspace, then go back again."


REFUSALS: dict[str, type[_Refusal]] = {
    refusal._code: refusal  # noqa: SLF001
    for refusal in (
        AlreadyRunningError,
        NothingToConfirmError,
        ConfirmationOutdatedError,
        ClientCallNotWaitingError,
        McpChangeOutdatedError,
        McpQuestionClosedError,
        McpAnswerInvalidError,
        NoCondenserError,
        NothingToCondenseError,
        EventNotFoundError,
        HookConfigError,
        NoGoalToResumeError,
        CheckpointNotFoundError,
        CheckpointsUnavailableError,
        EditedSinceError,
        RewindIncompleteError,
    )
}
"""The error class for each error code. Clients use this mapping to convert the code in a server's error reply
to an exception.
"""
