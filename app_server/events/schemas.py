"""Schemas of the frames (messages about events) that a sandbox reports, and of the replies of the event
routes.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticSerializationError, to_json

from app_server.core.pubsub import Frame
from app_server.events.blobs import Reference, StoredForm, shortened

MAX_FRAMES = 4096
MAX_REPORT_BYTES = 8 * 1024**2
"""Maximum size of a report. It is decoded in the event loop, which blocks other requests
(webhooks/fairness.py).
"""

MAX_OUTPUT_CHARS = 16_000
"""Maximum output of one running call in an output frame."""

OUTPUT, RETRY = "output", "retry"
"""Subjects of frames that later subscribers also get: the output of running calls, and a pending
model retry.
"""

_Word = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9_.:\-]+$")]


def _as_utc(value: datetime) -> datetime:
    # The wire's own timestamps carry no zone.
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    try:
        return aware.astimezone(UTC)
    except OverflowError:
        raise ValueError("the moment is out of range") from None


Moment = Annotated[datetime, AfterValidator(_as_utc)]
"""A time given by a client, with any offset; UTC if none is given."""


class _Envelope(BaseModel):
    """The fields that every event must have and that the app server reads. The app server does not check the
    other fields of the event.
    """

    model_config = ConfigDict(extra="allow")

    id: Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[!-~]+$")]
    kind: _Word
    source: Annotated[_Word, Field(max_length=50)]
    timestamp: Moment


def durable_frame(seq: int, body: str, blobs: Sequence[Reference] | None = None) -> Frame:
    """Returns the frame with which a live stream sends a stored event. `body`: the event as JSON text, which
    is sent unchanged. `blobs`: the references in `body` to large parts.
    """
    told = f',"blobs":{to_json(blobs).decode()}' if blobs else ""
    return Frame(f'{{"type":"durable","seq":{seq},"event":{body}{told}}}', seq)


class DurableFrame(BaseModel):
    """A frame in which a sandbox reports one event for the log. `seq`: the position in the log. `envelope`:
    those fields of the event that the app server reads.
    """

    type: Literal["durable"]
    seq: int = Field(ge=1, le=2**53)
    event: dict[str, Any]

    @model_validator(mode="after")
    def _can_be_kept(self) -> "DurableFrame":
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
    _kept: StoredForm | None = None

    def keep(self, conversation_id: UUID) -> StoredForm:
        """Returns the event in the form in which the log of this conversation stores it. After this call, the
        property `frame` also contains the stored form of the event.
        """
        self._kept = shortened(conversation_id, self.event, self._body)
        return self._kept

    @property
    def envelope(self) -> _Envelope:
        return self._envelope

    @property
    def body(self) -> str:
        """Returns the event as JSON text, with its large parts."""
        return self._body

    @property
    def frame(self) -> Frame:
        """Returns the frame that subscribers of the conversation receive."""
        kept = self._kept or StoredForm(self._body, [], [])
        frame = durable_frame(self.seq, kept.body, kept.references)
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
    """A model call that failed and that the agent will repeat, possibly with another model."""

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
    """A frame with the complete output so far of the tool calls that run now. Each output frame replaces the
    output frame before it.
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
    """Returns the frame in the form that a client needs when it subscribes now. In a frame about a pending
    retry of a model call, the remaining seconds are updated. All other frames are returned unchanged.
    """
    if frame.subject != RETRY or not frame.stands or not frame.kept_seconds:
        return frame
    aborted = ItemAbortedFrame.model_validate_json(frame.text)
    if aborted.retry is None:
        return frame
    left = max(0.0, aborted.retry.wait_seconds - frame.kept_seconds)
    retry = aborted.retry.model_copy(update={"wait_seconds": left})
    return aborted.model_copy(update={"retry": retry}).frame


class EventsReport(BaseModel):
    """The request body with which a sandbox reports frames of a conversation, in the order in which they were
    created.
    """

    frames: list[ReportedFrame] = Field(max_length=MAX_FRAMES)

    @property
    def durable(self) -> list[DurableFrame]:
        return [frame for frame in self.frames if isinstance(frame, DurableFrame)]


class Acknowledged(BaseModel):
    acknowledged_seq: int


class BlobReference(BaseModel):
    """A reference to a large part of an event that is stored in a separate table.

    `path`: the keys and indexes that lead from the event to the part. `sha256`: the hash of the part as it
    was in the event; the route for large parts finds the part by this hash. `size`: in bytes.
    """

    path: list[str | int]
    sha256: str
    media_type: str
    size: int


class WindowEvent(BaseModel):
    """One event in a reply with a window of the log. `event`: in its stored form. `blobs`: the references to
    its large parts; left out if the event has none.
    """

    type: Literal["durable"]
    seq: int
    event: dict[str, Any]
    blobs: list[BlobReference] = []


class EventWindow(BaseModel):
    """The reply with a window of a log: consecutive events from the position `first_seq` to `last_seq`. There
    are no events if `first_seq` is after `last_seq`.

    `log_seq`: the position of the newest event in the log. `state`: events outside the window from which a
    client computes the settings, the task list and the open tool calls (the folded state of the log). `state`
    is null for a window before, after or around a position.
    """

    first_seq: int
    last_seq: int
    log_seq: int
    state: list[WindowEvent] | None
    events: list[WindowEvent]


class MatchPart(BaseModel):
    """A piece of the text around a match. `is_match`: whether the piece is one of the words that the user
    searched for.
    """

    text: str
    is_match: bool


class EventMatch(BaseModel):
    """The place where an event contains the searched words. `passage`: about 200 characters around the first
    match, in pieces.
    """

    event_id: str
    seq: int
    passage: list[MatchPart]


class FoundEvents(BaseModel):
    """The reply of a search: a page of events. `matches`: one for each event in `items`; only present if the
    request has a `query`.
    """

    items: list[dict[str, Any]]
    next_page_id: str | None = None
    matches: list[EventMatch] = []
