"""Computes the state and the result of a headless run: a task that runs from the command line without a
browser. The input is the frames (messages) of the conversation's live stream. Does no I/O.
"""

from dataclasses import dataclass, field
from typing import Any

ENDED = frozenset({"finished", "error", "stuck", "paused"})
MAX_WORDS = 200
ASKS = "waiting_for_confirmation"
MAX_REFUSALS = 5
"""The maximum number of times that a run refuses an agent's actions. At the next request for confirmation the
run fails, because the agent probably cannot continue without the refused actions.
"""


@dataclass
class HeadlessOutcome:
    """The state of a headless run: a task that runs from the command line without a browser. When the run has
    ended, this state is the result of the run.

    `status`: the conversation's execution status, or one of three further values. `starting`: the
    conversation has not started yet. `start_failed`: the start has failed. `refused`: the run has just
    refused actions, and the conversation has not reported a new status yet. `events`: the position of the
    latest event in the conversation's log. The field `refused`: how many times the run has refused actions.
    """

    status: str = "starting"
    events: int = 0
    stages: list[dict[str, Any]] = field(default_factory=list)
    failure: dict[str, Any] | None = None
    final_message: str = ""
    pending: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Tool calls without a result. The keys are the ids of the tool calls. Each value is the id of the action
    and a text that describes the action.
    """
    refused: int = 0

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED or self.status == "start_failed" or self.refused > MAX_REFUSALS

    @property
    def asks(self) -> bool:
        """Returns whether the agent is waiting for a user's confirmation of actions."""
        return self.status == ASKS

    @property
    def wanted(self) -> str:
        """Returns a text that describes the actions for which the agent waits for a user's confirmation."""
        return "; ".join(words for _, words in self.pending.values())

    def refuse(self) -> list[str]:
        """Notes that the run refuses the actions for which the agent asks confirmation. Returns the ids of
        these actions; the caller must send the refusal to the server. Sets `status` to `refused` and counts
        one refusal. If there are now more than MAX_REFUSALS refusals, marks the run as failed.
        """
        self.refused += 1
        if self.refused > MAX_REFUSALS:
            cause = f"The agent keeps asking for actions that need a user's approval: {self.wanted}"
            fix = "Run the task where a user can answer, or change the task so that they are not needed."
            self.failure = {"code": "confirmation_needed", "cause": cause, "fix": fix}
        # The status stays until the log reports another one.
        self.status = "refused"
        return [action_id for action_id, _ in self.pending.values()]

    @property
    def succeeded(self) -> bool:
        return self.status == "finished"

    def take(self, frame: dict[str, Any]) -> None:
        """Updates the state of the run with the next frame (message) of the conversation's live stream."""
        match frame["type"]:
            case "start_task":
                self._take_start_task(frame["task"])
            case "durable":
                self.events = frame["seq"]
                self._take_event(frame["event"])

    def _take_start_task(self, task: dict[str, Any]) -> None:
        self.stages = task["stages"]
        if task["status"] == "ERROR":
            self.status, self.failure = "start_failed", task["error"]

    def _take_event(self, event: dict[str, Any]) -> None:
        if event["kind"] == "ActionEvent":
            self.pending[event["tool_call_id"]] = event["id"], _words_of(event)
        elif "tool_call_id" in event:
            self.pending.pop(event["tool_call_id"], None)
        match event:
            case {"kind": "ConversationStateUpdateEvent", "key": "execution_status", "value": str(status)}:
                self.status = status
            case {"kind": "ConversationErrorEvent"}:
                self.failure = {"code": event["code"], "cause": event["detail"]}
            case {"kind": "ActionEvent", "action": {"kind": "FinishAction", "message": str(message)}}:
                self.final_message = message
            case {"kind": "MessageEvent", "source": "agent", "llm_message": {"content": [*parts]}}:
                self.final_message = "\n".join(part.get("text", "") for part in parts)


def _words_of(action: dict[str, Any]) -> str:
    said = action.get("action") or {}
    return str(said.get("command") or said.get("path") or action["tool_name"])[:MAX_WORDS]
