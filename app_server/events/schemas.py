"""Schemas of the frames (messages of the live stream) that a sandbox reports, and of the replies of the event
routes.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticSerializationError, to_json

from app_server.core.database import Moment
from app_server.core.pubsub import Frame
from app_server.events.blobs import Reference, StoredForm, shortened

MAX_FRAMES = 4096
MAX_REPORT_BYTES = 8 * 1024**2
"""The maximum size, in bytes, of a report of a sandbox. A report is decoded in the event loop, which blocks
other requests during this time (see sandbox_reports/fairness.py).
"""

MAX_OUTPUT_CHARS = 16_000
"""The maximum length, in characters, of the output of one running tool call in an OutputFrame (a message of
the live stream).
"""

OUTPUT, RETRY = "output", "retry"
"""Values of `Frame.subject`. The newest frame (message of the live stream) with one of these subjects is also
sent to clients that connect later, as long as the frame is still valid. OUTPUT: the output of running tool
calls. RETRY: the announcement that a failed model call will be tried again.
"""

_Word = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9_.:\-]+$")]


class _Envelope(BaseModel):
    """The fields of an event that the app server reads. Every event must have them. Other fields of an event
    are not checked.
    """

    model_config = ConfigDict(extra="allow")

    id: Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[!-~]+$")]
    kind: _Word
    source: Annotated[_Word, Field(max_length=50)]
    timestamp: Moment


def durable_frame(seq: int, body: str, blobs: Sequence[Reference] | None = None) -> Frame:
    """Returns the frame (message of the live stream) for a stored event at the position `seq`. `body`: the
    event as JSON text, which is sent unchanged. `blobs`: the references that `body` has in place of large
    parts of the event. The large parts are stored elsewhere, and clients fetch them with these references.
    """
    blobs_field = f',"blobs":{to_json(blobs).decode()}' if blobs else ""
    return Frame(f'{{"type":"durable","seq":{seq},"event":{body}{blobs_field}}}', seq)


class DurableFrame(BaseModel):
    """A frame (message of the live stream) with one event of the log, as a sandbox reports it. `seq`: the
    position of the event in the log. `envelope`: the fields of the event that the app server reads.
    """

    type: Literal["durable"]
    seq: int = Field(ge=1, le=2**53)
    event: dict[str, Any]

    @model_validator(mode="after")
    def _can_be_stored(self) -> "DurableFrame":
        try:
            self._envelope = _Envelope.model_validate(self.event)
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            raise ValueError(f"event.{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        try:
            self._body = to_json(self.event, inf_nan_mode="null").decode()
        except PydanticSerializationError:
            # The event has lone surrogates or is nested too deeply. It could not be sent to any reader.
            raise ValueError("event: cannot be written as JSON text") from None
        return self

    _envelope: _Envelope
    _body: str
    _stored_form: StoredForm | None = None

    def keep(self, conversation_id: UUID) -> StoredForm:
        """Converts the event to the form in which the log stores it, with references in place of large parts,
        and returns this form. Does not write to the database.

        The object remembers this form: after the call, the property `frame` also contains references in place
        of large parts.
        """
        self._stored_form = shortened(conversation_id, self.event, self._body)
        return self._stored_form

    @property
    def envelope(self) -> _Envelope:
        return self._envelope

    @property
    def body(self) -> str:
        """The event as JSON text, with the same content as the sandbox reported."""
        return self._body

    @property
    def frame(self) -> Frame:
        """The message (frame) with this event for the clients that follow the conversation."""
        stored = self._stored_form or StoredForm(self._body, [], [])
        frame = durable_frame(self.seq, stored.body, stored.references)
        return replace(frame, stands=False, subject=RETRY) if self._ends_retry else frame

    @property
    def _ends_retry(self) -> bool:
        # Messages of the user, new titles and new counts do not end the wait (as in events/fold/reduce.ts).
        if self._envelope.kind == "ConversationStateUpdateEvent":
            return self.event.get("key") in ("execution_status", "full_state")
        return self._envelope.source != "user"


class _ItemFrame(BaseModel):
    model_config = ConfigDict(extra="ignore")

    item_id: str = Field(max_length=128)
    attempt: int

    @property
    def frame(self) -> Frame:
        return Frame(self.model_dump_json(exclude_none=True), item_id=self.item_id)


class ItemStartedFrame(_ItemFrame):
    type: Literal["item_started"]

    @property
    def frame(self) -> Frame:
        return replace(super().frame, stands=False, subject=RETRY)


class DeltaFrame(_ItemFrame):
    type: Literal["delta"]
    order: int
    kind: Literal["text", "reasoning"]
    content: str


class Retry(BaseModel):
    """The announcement, in a frame (message of the live stream) about a failed model call, that the call will
    be tried again, possibly with another model. `wait_seconds`: the time until the next attempt.
    """

    model_config = ConfigDict(extra="ignore")

    code: str
    detail: str
    model: str
    wait_seconds: FiniteFloat
    next_attempt: int
    max_attempts: int


class ItemAbortedFrame(_ItemFrame):
    type: Literal["item_aborted"]
    reason: str
    retry: Retry | None = None

    @property
    def frame(self) -> Frame:
        return replace(super().frame, stands=self.retry is not None, subject=RETRY)


_Style = tuple[
    Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)], Annotated[str, Field(max_length=100)]
]


class _LiveOutput(BaseModel):
    model_config = ConfigDict(extra="ignore")

    action_id: str = Field(max_length=128)
    text: str = Field(max_length=MAX_OUTPUT_CHARS)
    styles: list[_Style] = Field(default=[], max_length=1000)


class OutputFrame(BaseModel):
    """A frame (message of the live stream) with the output of the tool calls that are running now. It
    contains the output of each call since the call began, so clients show only the newest frame of this kind.
    """

    model_config = ConfigDict(extra="ignore")

    type: Literal["output"]
    outputs: list[_LiveOutput] = Field(max_length=64)

    @property
    def frame(self) -> Frame:
        return Frame(self.model_dump_json(), stands=bool(self.outputs), subject=OUTPUT)


ReportedFrame = Annotated[
    DurableFrame | ItemStartedFrame | DeltaFrame | ItemAbortedFrame | OutputFrame, Field(discriminator="type")
]


def as_of_now(frame: Frame) -> Frame:
    """Returns a stored frame (message for clients) in the form for a client that connects now. If the frame
    announces that a model call will be tried again, the remaining seconds until the next attempt are
    updated. Other frames are returned unchanged.
    """
    if frame.subject != RETRY or not frame.stands or not frame.age_seconds:
        return frame
    aborted = ItemAbortedFrame.model_validate_json(frame.text)
    if aborted.retry is None:
        return frame
    remaining_seconds = max(0.0, aborted.retry.wait_seconds - frame.age_seconds)
    retry = aborted.retry.model_copy(update={"wait_seconds": remaining_seconds})
    return aborted.model_copy(update={"retry": retry}).frame


class EventsReport(BaseModel):
    """A request of a sandbox that reports frames (messages of the live stream of a conversation) in the order
    in which they were created.
    """

    frames: list[ReportedFrame] = Field(max_length=MAX_FRAMES)

    @property
    def durable(self) -> list[DurableFrame]:
        return [frame for frame in self.frames if isinstance(frame, DurableFrame)]


class Acknowledged(BaseModel):
    acknowledged_seq: int


class BlobReference(BaseModel):
    """A reference to a large part of an event that is stored outside of the event.

    `path`: the keys and indexes that lead to the part in the event. `sha256`: the hash of the part as it was
    in the event. The URL of the part contains this hash. `size`: the size of the part in bytes.
    """

    path: list[str | int]
    sha256: str
    media_type: str
    size: int


class WindowEvent(BaseModel):
    """One event of the log in a reply of the API, in the same form as in the live stream. `seq`: the position
    of the event in the log. `blobs`: the references to the event's large parts; left out if there are none.
    """

    type: Literal["durable"]
    seq: int
    event: dict[str, Any]
    blobs: list[BlobReference] = []


class EventWindow(BaseModel):
    """A reply of the API with consecutive events of a conversation's log, from the position `first_seq` to
    the position `last_seq`. There are no events if `first_seq` is after `last_seq`.

    `log_seq`: the position of the newest event of the log. `state`: earlier events from which a client
    computes the conversation's present settings, task list and open tool calls. `state` is given only if the
    request asks for the newest events. It is null if the request asks for the events before, after or around
    an event.
    """

    first_seq: int
    last_seq: int
    log_seq: int
    state: list[WindowEvent] | None
    events: list[WindowEvent]


class MatchPart(BaseModel):
    """A part of the passage that the search in a conversation shows for an event. A passage is split into
    searched words and other text. `is_match`: true if this part is a searched word, false if it is other
    text.
    """

    text: str
    is_match: bool


class EventMatch(BaseModel):
    """The passage of an event that the search in a conversation shows. `passage`: about 200 characters around
    the first searched word, split into searched words and other text.
    """

    event_id: str
    seq: int
    passage: list[MatchPart]


class FoundEvents(BaseModel):
    """The API's reply with one page of events. `matches`: for each event, the passage around the first
    searched word; empty if the request had no `query`.
    """

    items: list[dict[str, Any]]
    next_page_id: str | None = None
    matches: list[EventMatch] = []
