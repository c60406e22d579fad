"""Defines the union type of all known event classes. The field `kind` of an event tells its class. Events of
an unknown kind have the class OtherEvent.
"""

from typing import Annotated, Any

from pydantic import ConfigDict, Discriminator, Tag, TypeAdapter

from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import Event
from agent_runtime.events.condensation import Condensation, CondensationRequest
from agent_runtime.events.errors import ConversationErrorEvent, ServerErrorEvent
from agent_runtime.events.hook import HookExecutionEvent
from agent_runtime.events.message import (
    LLMCompletionLogEvent,
    MessageEvent,
    StreamingDeltaEvent,
    SystemPromptEvent,
)
from agent_runtime.events.observation import AgentErrorEvent, ObservationEvent, UserRejectObservation
from agent_runtime.events.security import SecurityAnalysisEvent
from agent_runtime.events.state import ConversationStateUpdateEvent, InterruptEvent, PauseEvent


class OtherEvent(Event):
    """An event of a kind that this runtime does not write or interpret. All its fields are stored and sent
    unchanged.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    kind: str


_KINDS = {
    kind.__name__
    for kind in (
        SystemPromptEvent,
        MessageEvent,
        ActionEvent,
        ObservationEvent,
        AgentErrorEvent,
        UserRejectObservation,
        SecurityAnalysisEvent,
        ConversationStateUpdateEvent,
        ConversationErrorEvent,
        PauseEvent,
        InterruptEvent,
        Condensation,
        CondensationRequest,
        HookExecutionEvent,
        ServerErrorEvent,
        StreamingDeltaEvent,
        LLMCompletionLogEvent,
    )
}


def _tag(value: Any) -> str:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return kind if kind in _KINDS else "OtherEvent"


AnyEvent = Annotated[
    Annotated[SystemPromptEvent, Tag("SystemPromptEvent")]
    | Annotated[MessageEvent, Tag("MessageEvent")]
    | Annotated[ActionEvent, Tag("ActionEvent")]
    | Annotated[ObservationEvent, Tag("ObservationEvent")]
    | Annotated[AgentErrorEvent, Tag("AgentErrorEvent")]
    | Annotated[UserRejectObservation, Tag("UserRejectObservation")]
    | Annotated[SecurityAnalysisEvent, Tag("SecurityAnalysisEvent")]
    | Annotated[ConversationStateUpdateEvent, Tag("ConversationStateUpdateEvent")]
    | Annotated[ConversationErrorEvent, Tag("ConversationErrorEvent")]
    | Annotated[PauseEvent, Tag("PauseEvent")]
    | Annotated[InterruptEvent, Tag("InterruptEvent")]
    | Annotated[Condensation, Tag("Condensation")]
    | Annotated[CondensationRequest, Tag("CondensationRequest")]
    | Annotated[HookExecutionEvent, Tag("HookExecutionEvent")]
    | Annotated[ServerErrorEvent, Tag("ServerErrorEvent")]
    | Annotated[StreamingDeltaEvent, Tag("StreamingDeltaEvent")]
    | Annotated[LLMCompletionLogEvent, Tag("LLMCompletionLogEvent")]
    | Annotated[OtherEvent, Tag("OtherEvent")],
    Discriminator(_tag),
]

_ADAPTER: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)


def parse_event(encoded: bytes | str) -> AnyEvent:
    """Parses the JSON text of an event and returns the event. Raises pydantic.ValidationError if the text is
    not a valid event.
    """
    return _ADAPTER.validate_json(encoded)


def validate_event(value: Any) -> AnyEvent:
    """Converts a decoded JSON value to an event and returns the event. Raises pydantic.ValidationError if the
    value is not a valid event.
    """
    return _ADAPTER.validate_python(value)
