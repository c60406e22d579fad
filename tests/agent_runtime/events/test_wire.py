"""Tests of events as JSON: a parsed event is encoded to the same JSON again, with the keys in the protocol's
order.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from agent_runtime.events.base import encode
from agent_runtime.events.message import Message, MessageEvent
from agent_runtime.events.state import PauseEvent
from agent_runtime.events.union import OtherEvent, parse_event

EXAMPLES: dict[str, Any] = json.loads((Path(__file__).parent / "examples.json").read_text())


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_captured_event_survives_parsing_and_encoding_unchanged(name: str):
    example = EXAMPLES[name]

    encoded = encode(parse_event(json.dumps(example)))

    assert json.loads(encoded) == example


# The kinds that have a class here. Events of other kinds are passed on with their keys in the received order.
OWN_KINDS = [
    name for name, each in EXAMPLES.items() if not isinstance(parse_event(json.dumps(each)), OtherEvent)
]


@pytest.mark.parametrize("name", OWN_KINDS)
def test_the_fields_stand_in_the_protocols_order(name: str):
    example = EXAMPLES[name]

    assert list(json.loads(encode(parse_event(json.dumps(example))))) == list(example)


def test_a_stamped_event_is_never_earlier_than_its_predecessor():
    event = PauseEvent(timestamp="2026-01-01T00:00:00.000000")

    stamped = event.stamped(parent_id="before", not_before="2026-01-02T00:00:00.000000")

    assert stamped.timestamp == "2026-01-02T00:00:00.000000"
    assert stamped.parent_id == "before"
    assert event.parent_id is None


def test_events_cannot_be_changed():
    event = MessageEvent(llm_message=Message.of("user", "hello"))

    with pytest.raises(ValueError, match="frozen"):
        event.source = "agent"
