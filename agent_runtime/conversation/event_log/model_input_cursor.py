"""Computes, for each reply of the model, which events the model had seen when it wrote the reply. Uses only
the events themselves.
"""

from agent_runtime.conversation.event_log.log import Record
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import Event
from agent_runtime.events.message import MessageEvent


class ModelInputCursor:
    """An object that determines which events the model had seen when it wrote each reply. It assumes that the
    model had seen all events before the first event of the reply. A reply can consist of several events; all
    of them get the same position. The events of a log must be passed to the method `by` in order.
    """

    def __init__(self, reply_id: str | None = None, seq: int = 0) -> None:
        """Creates a cursor that continues after an earlier reply of the model. `reply_id`: the id of that
        reply; None if there is none. `seq`: the position in the log of the last event that the model had seen
        when it wrote that reply.
        """
        self._reply_id = reply_id
        self._seq = seq

    @classmethod
    def after(cls, said: Record | None) -> "ModelInputCursor":
        """Returns a cursor that continues after the model's last event. `said`: the record of that event, or
        None if the model has written none.
        """
        if said is None:
            return cls()
        kind = ActionEvent if said.kind == "ActionEvent" else MessageEvent
        return cls(kind.model_validate_json(said.body).llm_response_id, said.seen_seq or 0)

    def by(self, event: Event, seq: int) -> int | None:
        """Returns the last position in the log that the model had seen when it wrote this event. Returns None
        if the model did not write the event. `seq`: the event's position.
        """
        if not isinstance(event, ActionEvent | MessageEvent) or event.source != "agent":
            return None
        if event.llm_response_id is None or event.llm_response_id != self._reply_id:
            self._reply_id, self._seq = event.llm_response_id, seq - 1
        return self._seq
