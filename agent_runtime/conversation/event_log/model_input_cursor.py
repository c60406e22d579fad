"""What the model had seen when it said something, where only the events themselves tell of it."""

from agent_runtime.conversation.event_log.log import Record
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import Event
from agent_runtime.events.message import MessageEvent


class Seen:
    """Give it a log's events in order. A reply is taken to have seen all that stands before it."""

    def __init__(self, reply_id: str | None = None, seq: int = 0) -> None:
        """reply_id: of the last reply before, which had seen all up to `seq`."""
        self._reply_id = reply_id
        self._seq = seq

    @classmethod
    def after(cls, said: Record | None) -> "Seen":
        """said: the last thing that the model has said so far."""
        if said is None:
            return cls()
        kind = ActionEvent if said.kind == "ActionEvent" else MessageEvent
        return cls(kind.model_validate_json(said.body).llm_response_id, said.seen_seq or 0)

    def by(self, event: Event, seq: int) -> int | None:
        """For what the model said at `seq`, the last position that it had seen; None for all else."""
        if not isinstance(event, ActionEvent | MessageEvent) or event.source != "agent":
            return None
        if event.llm_response_id is None or event.llm_response_id != self._reply_id:
            self._reply_id, self._seq = event.llm_response_id, seq - 1
        return self._seq
