"""After a malformed reply a conversation goes on: each call gets one result, and each request is valid.

Set HYPOTHESIS_PROFILE=thorough to test 10,000 replies in conversations.
"""

import json
import os
import random
from collections import Counter
from typing import Any

import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_runtime.llm import chat_completions, responses
from agent_runtime.llm.dialect import Dialect
from agent_runtime.llm.errors import LLMError
from agent_runtime.llm.lenient_json import decode
from tests.agent_runtime.conversation.conftest import Conversations, of_kind, user
from tests.support.scripted_llm import ScriptedLLM, Turn, calls, raw, say

TOOLS = ["think", "finish", "task_tracker", "bash", "", "no such tool", "é" * 70, "a.b/c"]

# JSON text can contain half of a surrogate pair. Python can hold it in a str.
texts = st.text(max_size=20) | st.sampled_from(["", "\x00", "\ud83d", "\U0001f600", "</s>", "x" * 5000])
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=4,
)
ARGUMENTS = [
    "",
    "{}",
    '{"thought": "hm"}',
    "{'thought': 'hm'}",
    '{"thought": "hm",}',
    '{"thought": "h',
    '{"thought": NaN}',
    '{"thought": 99999999999999999999999}',
    "[]",
    "null",
    '{"command": "plan", "task_list": [{"title": 1}]}',
    '{"message": "done", "summary": 5}',
    "{" * 2000,
    '{"thought": "\\ud83d"}',
    '{"thought": "' + "x" * 100_000 + '"}',
    {"thought": "an object"},
    17,
    None,
]
arguments = st.sampled_from(ARGUMENTS) | texts | anything
functions = st.fixed_dictionaries(
    {}, optional={"name": st.sampled_from(TOOLS) | anything, "arguments": arguments}
)
tool_calls = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["call_1", "call_1", "functions.think:0", "", "x" * 200, "sp ace"]) | anything,
        "index": st.integers(-1, 3) | anything,
        "type": st.just("function"),
        "function": functions | anything,
    },
)
messages = st.fixed_dictionaries(
    {},
    optional={
        "content": texts | anything,
        "reasoning_content": texts | anything,
        "thinking_blocks": st.lists(anything, max_size=2) | anything,
        "tool_calls": st.lists(tool_calls | anything, max_size=4) | anything,
        "refusal": anything,
    },
)
usages = (
    st.none()
    | anything
    | st.dictionaries(
        st.sampled_from(["prompt_tokens", "completion_tokens", "cost", "prompt_tokens_details"]), anything
    )
)
completions = st.fixed_dictionaries(
    {"choices": st.lists(st.fixed_dictionaries({"message": messages | anything}), max_size=2) | anything},
    optional={"id": anything, "usage": usages},
)
chunks = st.fixed_dictionaries(
    {"choices": st.lists(st.fixed_dictionaries({"delta": messages | anything}), max_size=2) | anything},
    optional={"id": anything, "usage": usages},
)
items = st.fixed_dictionaries(
    {"type": st.sampled_from(["message", "reasoning", "function_call", "other"]) | anything},
    optional={
        "id": anything,
        "call_id": st.sampled_from(["call_1", ""]) | anything,
        "name": st.sampled_from(TOOLS) | anything,
        "arguments": arguments,
        "content": st.lists(anything, max_size=2) | anything,
        "summary": st.lists(anything, max_size=2) | anything,
        "encrypted_content": anything,
    },
)
whole_responses = st.fixed_dictionaries(
    {"output": st.lists(items | anything, max_size=4) | anything},
    optional={"status": anything, "usage": usages, "incomplete_details": anything, "error": anything},
)
response_events = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            [
                "response.output_text.delta",
                "response.reasoning_summary_text.delta",
                "response.reasoning_summary_part.added",
                "response.output_item.done",
                "response.completed",
            ]
        )
    },
    optional={"delta": texts | anything, "item": items | anything, "response": whole_responses | anything},
)


def on_the_wire(value: Any) -> bytes:
    return json.dumps(value).encode()


def quietly(examples: int) -> Any:
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


@quietly(1000)
@given(st.tuples(st.just(chat_completions), completions) | st.tuples(st.just(responses), whole_responses))
def test_a_whole_reply_of_any_shape_is_read_or_refused(sent: tuple[Dialect, Any]):
    dialect, body = sent
    try:
        reply = dialect.parse(decode(on_the_wire(body)))
    except LLMError:
        return
    assert all(isinstance(call.id, str) and isinstance(call.name, str) for call in reply.tool_calls)
    orjson.dumps([reply.text, reply.reasoning, [(c.id, c.name, c.arguments) for c in reply.tool_calls]])
    orjson.dumps([reply.thinking_blocks, reply.reasoning_item, reply.id])


@quietly(1000)
@given(
    st.tuples(st.just(chat_completions), st.lists(chunks, max_size=5))
    | st.tuples(st.just(responses), st.lists(response_events, max_size=5))
)
def test_a_streamed_reply_of_any_shape_is_read_or_refused(sent: tuple[Dialect, list[Any]]):
    dialect, pieces = sent
    told: list[str] = []
    try:
        stream = dialect.stream(lambda _, content: told.append(content))
        for piece in pieces:
            stream.add(decode(on_the_wire(piece)))
        reply = stream.build()
    except LLMError:
        return
    orjson.dumps(told)
    orjson.dumps([reply.text, reply.reasoning, [(c.id, c.name, c.arguments) for c in reply.tool_calls]])


REPLIES_PER_CONVERSATION = 50
CONVERSATIONS = 200 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 50


@quietly(CONVERSATIONS)
@given(st.integers(0, 2**32))
async def test_a_conversation_survives_a_model_that_talks_nonsense(
    conversations: Conversations, seed: int
) -> None:
    conversations.llm.requests.clear()
    nonsense = Nonsense(seed)
    turns = [raw(on_the_wire(nonsense.completion())) for _ in range(REPLIES_PER_CONVERSATION)]
    conversations.llm.fallback = lambda _: turns.pop() if turns else say("That was all.")
    fields = {"stream": False, "num_retries": 0}
    conversation = conversations.create(tools=["task_tracker"], llm=fields, stuck_detection=False)
    try:
        while turns:
            conversation.send(user("Go on."))
            await conversation.run()
        check_answers(conversation)
        for request in conversations.llm.requests[-3:]:
            check_request(request.messages)
    finally:
        await conversation.delete()


async def test_calls_under_one_id_are_told_apart(conversations: Conversations, scripted_llm: ScriptedLLM):
    twice = calls(("think", {"thought": "1"}), ("think", {"thought": "1"}), ("think", {"thought": "2"}))
    same = tuple({**tool_call, "id": "call_0"} for tool_call in twice.tool_calls)
    scripted_llm.script(Turn(tool_calls=same), Turn(tool_calls=same[:1]), say("done"))
    conversation = conversations.create(llm={"stream": False})
    conversation.send(user("Go."))

    await conversation.run()

    thoughts = [event["action"]["thought"] for event in of_kind(conversation, "ActionEvent")]
    assert thoughts == ["1", "2", "1"]
    check_answers(conversation)
    check_request(scripted_llm.requests[-1].messages)


async def test_half_a_character_at_the_end_of_a_piece_waits_for_the_other_half(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    pieces = [{"choices": [{"delta": {"content": half}}]} for half in ("a\ud83d", "\ude00b")]
    halves = b"\n\ndata: ".join(on_the_wire(piece) for piece in pieces)
    scripted_llm.script(raw(halves))
    conversation = conversations.create()
    conversation.send(user("Go."))

    await conversation.run()

    assert conversation.state.final_response == "a\U0001f600b"


async def test_half_a_sentence_is_not_the_end(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("First I", finish_reason="length"), say("All done."))
    conversation = conversations.create()
    conversation.send(user("Go."))

    await conversation.run()

    assert "cut off" in scripted_llm.requests[1].last_text
    assert conversation.state.final_response == "All done."


class Nonsense:
    """Makes random replies that are almost valid. This is faster than a Hypothesis strategy, and thousands
    are needed.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 (no secret)

    def completion(self) -> Any:
        if self._random.random() < 0.05:
            return {"error": self._one([{"message": self._any(), "code": self._any()}, self._any()])}
        reply = {"choices": [{"message": self._message(), "finish_reason": self._one(["stop", "length", 7])}]}
        return self._mostly({**reply, "id": self._any(), "usage": self._usage()})

    def _message(self) -> Any:
        fields = {
            "role": "assistant",
            "content": self._one([None, "", "Words.", self._any()]),
            "reasoning_content": self._any(),
            "thinking_blocks": [{"type": "thinking", "thinking": "x", "signature": "s"}, self._any()],
            "tool_calls": [self._call() for _ in range(self._random.choice([0, 1, 1, 2, 3]))],
        }
        return self._mostly(self._thinned(fields))

    def _call(self) -> Any:
        function = {"name": self._one(TOOLS + TOOLS[:1] * 9), "arguments": self._one(ARGUMENTS)}
        call_id = self._one(
            ["call_1", "", "x" * 99, "sp ace", 7, self._random.random(), str(self._random.random())]
        )
        return self._mostly(self._thinned({"id": call_id, "index": 0, "function": self._mostly(function)}))

    def _usage(self) -> Any:
        return self._one([None, {"prompt_tokens": self._any()}, {"cost": self._any()}, self._any()])

    def _any(self) -> Any:
        return self._one(
            [None, True, -1, 1e300, "", "\ud83d", "\x00", "text", [], {}, [[{}]], {"text": {"a": None}}]
        )

    def _mostly(self, value: Any) -> Any:
        return value if self._random.random() < 0.95 else self._any()

    def _thinned(self, fields: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in fields.items() if self._random.random() < 0.9}

    def _one(self, choices: list[Any]) -> Any:
        return self._random.choice(choices)


def check_answers(conversation: Any) -> None:
    asked = Counter(event["tool_call_id"] for event in of_kind(conversation, "ActionEvent"))
    answers = [
        event["tool_call_id"]
        for kind in ("ObservationEvent", "AgentErrorEvent")
        for event in of_kind(conversation, kind)
    ]
    assert Counter(answers) == asked
    assert set(asked.values()) <= {1}
    # In the log, each id of a call has at most 64 characters. Only the vendor that sent a longer id gets it
    # back.
    assert all(1 <= len(call_id) <= 64 for call_id in asked)
    codes = {event["code"] for event in of_kind(conversation, "ConversationErrorEvent")}
    assert codes <= {"EmptyReply", "LLMMalformedReplyError", "LLMServiceUnavailableError"}


def check_request(messages: list[dict[str, Any]]) -> None:
    """Checks that the messages of a request meet the rules of the strictest vendors."""
    assert messages[0]["role"] == "system"
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting
        assert message.get("content") or message.get("tool_calls")
        for call in message.get("tool_calls", ()):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            assert 1 <= len(call["function"]["name"]) <= 64
            assert call["function"]["name"].replace("_", "").replace("-", "").isalnum()
            waiting.append(call["id"])
    assert not waiting
