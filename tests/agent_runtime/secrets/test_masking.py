"""Secrets are masked in every encoding, wherever a text is cut into pieces.

Set HYPOTHESIS_PROFILE=thorough for 10,000 examples in each test.
"""

import base64
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agent_runtime.conversation.event_log.masked_events import masked
from agent_runtime.events.action import ActionEvent, ToolCall
from agent_runtime.events.base import Event, encode
from agent_runtime.events.content import TextContent
from agent_runtime.events.errors import ConversationErrorEvent
from agent_runtime.events.message import Message, MessageEvent
from agent_runtime.events.observation import AgentErrorEvent, ObservationEvent, UserRejectObservation
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.secrets.masking import MASK, Masker, StreamMask

# Ten thousand events of each kind take minutes.
pytestmark = pytest.mark.timeout(3600)

ENCODINGS: dict[str, Callable[[str], str]] = {
    "clear": lambda value: value,
    "backwards": lambda value: value[::-1],
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64 for URLs": lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
    "hex": lambda value: value.encode().hex(),
    "HEX": lambda value: value.encode().hex().upper(),
    "URL": lambda value: quote(value, safe=""),
    "path": quote,
    "form": quote_plus,
    "JSON": lambda value: json.dumps(value)[1:-1],
    "JSON with Unicode": lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
    "JSON in JSON": lambda value: json.dumps(json.dumps(value))[3:-3],
}

texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=40)
secrets = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\0<>-"), min_size=4, max_size=60
).filter(lambda value: len(value.strip()) >= 4 and value not in MASK)
encodings = st.sampled_from(sorted(ENCODINGS))


def masker_of(*values: str) -> Masker:
    masker = Masker()
    masker.learn(values)
    return masker


def shows(text: str, secret: str, encoding: str) -> bool:
    return ENCODINGS[encoding](secret) in text.replace(MASK, "\0")


@given(secrets, encodings, texts, texts)
def test_no_text_shows_a_secret(secret: str, encoding: str, before: str, after: str):
    said = masker_of(secret).text(before + ENCODINGS[encoding](secret) + after)
    assert not shows(said, secret, encoding)


@given(secrets, encodings, texts, texts, st.data())
def test_no_cut_of_a_stream_shows_a_secret(
    secret: str, encoding: str, before: str, after: str, data: st.DataObject
):
    text = before + ENCODINGS[encoding](secret) + after
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    masker = masker_of(secret)
    stream = StreamMask(lambda: masker)

    pieces = [stream.feed(text[a:b]) for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    assert not shows("".join([*pieces, stream.flush()]), secret, encoding)


@given(secrets, st.binary(max_size=20), st.binary(max_size=20))
def test_base64_of_more_than_the_secret_does_not_show_it(secret: str, before: bytes, after: bytes):
    whole = base64.b64encode(before + secret.encode() + after).decode()
    said = masker_of(secret).text(whole)
    assert MASK in said
    kept = said.replace(MASK, "\0").split("\0")
    assert max(map(len, kept)) < len(whole)


def events(said: str) -> list[Event]:
    """Returns events of all kinds that can contain text of users, models or tools. `said` stands in every
    such field.
    """
    arguments = orjson.dumps({"command": said, said: [said]}).decode()
    text = [TextContent(text=said)]
    called = {"tool_name": "terminal", "tool_call_id": "c"}
    return [
        MessageEvent(llm_message=Message.of("user", said), extended_content=text),
        MessageEvent(
            source="agent",
            llm_message=Message(
                role="assistant",
                content=text,
                reasoning_content=said,
                thinking_blocks=[{"type": "thinking", "thinking": said}],
            ),
        ),
        ActionEvent(
            **called,
            thought=text,
            reasoning_content=said,
            action={"command": said, "source": said, "kind": "TerminalAction"},
            tool_call=ToolCall(id="c", name="terminal", arguments=arguments),
            llm_response_id="r",
            summary=said,
        ),
        ObservationEvent(
            **called,
            action_id="a",
            observation={
                "content": [{"type": "text", "text": said}],
                "command": said,
                "kind": "TerminalObservation",
            },
        ),
        AgentErrorEvent(**called, error=said),
        UserRejectObservation(**called, action_id="a", rejection_reason=said),
        ConversationErrorEvent(code="X", detail=said),
        ConversationStateUpdateEvent(key="title", value=said),
        ConversationStateUpdateEvent(key="agent_state", value={"note": [said]}),
    ]


def strings_of(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = [*value, *value.values()]
    return [one for item in value for one in strings_of(item)] if isinstance(value, list) else []


# The texts that are in the events even if `said` is empty.
WORDS = {said for event in events("") for said in strings_of(event.model_dump(mode="json"))}


@given(secrets, encodings, texts, texts)
def test_no_event_shows_a_secret(secret: str, encoding: str, before: str, after: str):
    masker = masker_of(secret)
    for event in events(before + ENCODINGS[encoding](secret) + after):
        body = encode(event)
        hidden = masked(event, masker) if masker.is_in_json(body) else event

        assert type(hidden) is type(event)
        for said in strings_of(hidden.model_dump(mode="json", exclude={"id", "timestamp"})):
            assert not shows(said, secret, encoding) or said in WORDS


@given(secrets)
def test_arguments_of_calls_stay_json(secret: str):
    event = events(secret)[2]
    assert isinstance(event, ActionEvent)
    hidden = masked(event, masker_of(secret))
    assert isinstance(hidden, ActionEvent)
    orjson.loads(hidden.tool_call.arguments)


@pytest.mark.parametrize("value", ["user", "text", "terminal", "assistant", "role", "TerminalAction"])
def test_a_secret_like_a_word_of_the_protocol_breaks_no_event(value: str):
    for event in events(f"so {value} so"):
        hidden = masked(event, masker_of(value))
        assert f"so {value} so" not in encode(hidden).decode()


def test_each_line_of_a_key_is_hidden():
    lines = [f"line{number}of-the-secret-key" for number in range(3)]
    key = "-----BEGIN KEY-----\n" + "\n".join(lines) + "\n-----END KEY-----\n"
    said = masker_of(key).text("\n".join(f"    {line}," for line in lines))
    assert not any(line in said for line in lines)


def test_long_base64_is_hidden_however_it_is_wrapped():
    secret = "correct horse battery staple " * 6
    for width in (60, 64, 76):
        text = base64.b64encode(secret.encode()).decode()
        wrapped = "\n".join(text[at : at + width] for at in range(0, len(text), width))
        said = masker_of(secret).text(wrapped)
        assert not any(line in said for line in wrapped.split("\n"))


def test_text_without_secrets_passes_at_once():
    masker = masker_of("s3cret-value")
    stream = StreamMask(lambda: masker)
    assert stream.feed("plain text, ") == "plain text, "
    assert stream.feed("and s3cret") == "and "
    assert stream.feed("ly long") == "s3cretly long"


def test_replaced_values_stay_hidden():
    masker = masker_of("first-value")
    masker.learn(["second-value"])
    assert masker.text("first-value second-value") == f"{MASK} {MASK}"


@given(secrets, secrets)
def test_two_secrets_hide_each_other_or_themselves(one: str, other: str):
    assume(one not in other and other not in one)
    said = masker_of(one, other).text(f"{one} {other}")
    assert not shows(said, one, "clear")
    assert not shows(said, other, "clear")
