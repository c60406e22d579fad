"""The models of requests that add missing events to a conversation's log, for example to a log from a
backup.
"""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from agent_runtime.events.base import JsonObject

MAX_MISSING_EVENTS = 500


class Restored(BaseModel):
    """The information that the workspace's files were lost and come from a backup. It is a part of
    CatchUpRequest, the request that adds missing events to a log. The runtime tells the agent that the files
    are older than the log.

    `id`: the id of the backup from which the files were restored, or of the sandbox if there was no backup.
    `as_of`: the time of the backup; null if there was no backup, so that the workspace starts empty.
    `lost_events`: the number of events in the log after the backup. The changes to files from this time are
    lost.
    """

    id: str = Field(min_length=1, max_length=64)
    as_of: datetime | None = None
    lost_events: int = Field(ge=0)


class Forked(BaseModel):
    """The part of CatchUpRequest (the request that adds missing events to a log) for a copied conversation.
    This part says that the log and the workspace were copied from another conversation.

    `id`: the id of the copy. `conversation_id`: the conversation that was copied. `as_of`: the time at which
    the files of that conversation were copied.
    """

    id: UUID
    conversation_id: UUID
    as_of: datetime

    @property
    def message_id(self) -> str:
        """The id of the message that tells the agent that its conversation is a copy. The id is always the
        same for one copy, so that the message is added to the log only once.
        """
        return f"forked-{self.id.hex}"


class CatchUpRequest(BaseModel):
    """The request body of POST /api/conversations/{id}/log/catch_up: the events to add after the position
    `after_seq` of the log. `after_id`: the id of the event at that position; null if `after_seq` is 0.

    The missing events may need several requests. The last of these requests also contains the reason, which
    the runtime tells the agent. `restored`: the files were lost and restored from a backup. `forked`: the
    conversation is a copy of another conversation.
    """

    after_seq: int = Field(ge=0)
    after_id: str | None = None
    events: list[JsonObject] = Field(max_length=MAX_MISSING_EVENTS)
    restored: Restored | None = None
    forked: Forked | None = None


class LogPosition(BaseModel):
    """The reply of the routes below /api/conversations/{id}/log: the position of the last
    event in the log.
    """

    last_seq: int = Field(ge=0)
