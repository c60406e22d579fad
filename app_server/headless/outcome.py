"""What a run has come to, folded from the frames of its conversation. Pure."""

from dataclasses import dataclass, field
from typing import Any

ENDED = frozenset({"finished", "error", "stuck", "paused", "waiting_for_confirmation"})


@dataclass
class Outcome:
    """`status` is the conversation's execution status, or `start_failed`."""

    status: str = "starting"
    events: int = 0
    stages: list[dict[str, Any]] = field(default_factory=list)
    failure: dict[str, Any] | None = None
    final_message: str = ""

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED or self.status == "start_failed"

    @property
    def succeeded(self) -> bool:
        return self.status == "finished"

    def take(self, frame: dict[str, Any]) -> None:
        """Moves on by one frame."""
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
        match event:
            case {"kind": "ConversationStateUpdateEvent", "key": "execution_status", "value": str(status)}:
                self.status = status
            case {"kind": "ConversationErrorEvent"}:
                self.failure = {"code": event["code"], "cause": event["detail"]}
            case {"kind": "ActionEvent", "action": {"kind": "FinishAction", "message": str(message)}}:
                self.final_message = message
            case {"kind": "MessageEvent", "source": "agent", "llm_message": {"content": [*parts]}}:
                self.final_message = "\n".join(part.get("text", "") for part in parts)
