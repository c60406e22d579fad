"""Selects which fields of an event the readers of a read-only link may see. Settings, the system prompt,
tools and names of people are left out.
"""

from typing import Any, Final

import orjson

from app_server.conversations.sharing.secret_scan import SecretScan
from app_server.core.pubsub import Frame

_SHOWN_KINDS: Final = frozenset(
    (
        "MessageEvent",
        "ActionEvent",
        "ObservationEvent",
        "AgentErrorEvent",
        "UserRejectObservation",
        "ConversationErrorEvent",
        "PauseEvent",
        "InterruptEvent",
        "Condensation",
    )
)
_UPDATE: Final = "ConversationStateUpdateEvent"
_SHOWN_UPDATES: Final = frozenset(("execution_status", "leaf_event_id", "goal"))
_LEFT_OUT: Final = frozenset(
    (
        "sender",
        "extended_content",
        "activated_skills",
        "thinking_blocks",
        "responses_reasoning_item",
        "vendor_state",
        "critic_result",
    )
)
_ENVELOPE: Final = frozenset(("id", "kind", "source", "timestamp", "parent_id"))


def shown_event(event: dict[str, Any]) -> dict[str, Any]:
    """Returns the event with only the fields that readers of a read-only link may see.

    If the readers may see nothing of the event, returns a state update event without content in its place. So
    the reader's client still gets an event for each position in the log.
    """
    kind = event["kind"]
    if kind in _SHOWN_KINDS:
        return {key: _less(value) for key, value in event.items() if key not in _LEFT_OUT}
    if kind == _UPDATE and event.get("key") in _SHOWN_UPDATES:
        return event
    envelope = {key: value for key, value in event.items() if key in _ENVELOPE}
    return {**envelope, "kind": _UPDATE, "key": "not_shown", "value": None}


def shown_frame(frame: Frame, scan: SecretScan | None) -> Frame:
    """Returns the message (frame) of an event with only the fields that readers of a read-only link may see.
    scan: hides the secrets in the event; None hides no secrets.
    """
    content = orjson.loads(frame.text)
    event = shown_event(content["event"])
    if scan is not None:
        event = {key: value if key in _ENVELOPE else scan.hide_in(value) for key, value in event.items()}
    return Frame(orjson.dumps({**content, "event": event}).decode(), frame.seq)


def _less(value: Any) -> Any:
    return (
        {key: one for key, one in value.items() if key not in _LEFT_OUT} if isinstance(value, dict) else value
    )
