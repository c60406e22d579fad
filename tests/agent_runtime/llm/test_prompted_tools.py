"""Tests of models without native tool calls, which write their calls as text."""

import json
import time
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_runtime.llm import prompted_tools
from agent_runtime.llm.messages import Prompt, Reply, RequestedCall
from agent_runtime.metering.token_counts import Usage
from tests.agent_runtime.conversation.conftest import Conversations, Watch, kinds_of, of_kind, user
from tests.support.scripted_llm import ScriptedLLM, say, text_of

PROMPTED = {"native_tool_calling": False}
TOOL = {
    "type": "function",
    "function": {
        "name": "edit",
        "description": "Edits.",
        "parameters": {
            "type": "object",
            "required": ["path"],
            "properties": {
                "path": {"type": "string", "description": "Which file."},
                "line": {"type": "integer"},
                "all": {"type": "boolean"},
                "range": {"type": "array"},
                "mode": {"type": "string", "enum": ["a", "b"]},
            },
        },
    },
}


def requested(text: str, *, was_cut: bool = False) -> tuple[RequestedCall, ...]:
    return prompted_tools.read(Reply("r", text, "", (), Usage(), was_cut=was_cut), [TOOL]).tool_calls


def read(text: str, *, was_cut: bool = False) -> list[tuple[str, Any]]:
    return [(call.name, orjson.loads(call.arguments)) for call in requested(text, was_cut=was_cut)]


async def test_a_task_goes_through_a_tool_to_its_finish(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(
        say("Let me look.\n<function=terminal>\n<parameter=command>echo he''llo</parameter>\n"),
        say("<function=finish><parameter=message>All done.</parameter></function>"),
    )
    conversation = conversations.create(llm=PROMPTED)
    watch = Watch(conversation)
    conversation.send(user("Say hello."))

    await conversation.run()

    assert kinds_of(conversation)[2:] == ["ActionEvent", "ObservationEvent"] * 2
    assert conversation.state.final_response == "All done."
    assert of_kind(conversation, "ActionEvent")[0]["thought"][0]["text"] == "Let me look."
    first, second = scripted_llm.requests
    assert "tools" not in first.body
    assert first.body["stop"] == ["\nEXECUTION RESULT of ["]
    assert "## terminal" in text_of(first.messages[0])
    assert [message["role"] for message in second.messages] == ["system", "user", "assistant", "user"]
    assert second.messages[2]["content"].endswith("</function>")
    assert second.messages[3]["content"].startswith("EXECUTION RESULT of [terminal]:\nhello")
    shown = [f["content"] for f in watch.of_type("delta") if f["attempt"] == 1 and f["kind"] == "text"]
    assert "".join(shown).startswith("Let me look.\n")
    assert "<function" not in "".join(shown)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<function=edit><parameter=path>/a</parameter></function>", [("edit", {"path": "/a"})]),
        ("<function=edit>\n<parameter=path>/a</parameter>", [("edit", {"path": "/a"})]),
        ("<function=edit>\n<parameter=path>/a\n<parameter=line>3", [("edit", {"path": "/a", "line": 3})]),
        ('<function name="edit"><parameter name="path">/a</parameter>', [("edit", {"path": "/a"})]),
        ('<function="edit"\n<parameter="path">/a</parameter></function>', [("edit", {"path": "/a"})]),
        ("<function=edit><parameter=all>True</parameter></function>", [("edit", {"all": True})]),
        ("<function=edit><parameter=range>[1, 2]</parameter></function>", [("edit", {"range": [1, 2]})]),
        ("<function=edit><parameter=range>[1, 2,]</parameter></function>", [("edit", {"range": [1, 2]})]),
        ("<function=edit><parameter=line>three</parameter></function>", [("edit", {"line": "three"})]),
        ("<function=edit><parameter=path>\na\n  b\n</parameter></function>", [("edit", {"path": "a\n  b"})]),
        ("<function=edit>", [("edit", {})]),
        ('<function=edit>{"path": "/a"}</function>', [("edit", {"path": "/a"})]),
        ("<function=a></function> <function=b></function>", [("a", {}), ("b", {})]),
        ("<function=edit><parameter=path></x></parameter></function>", [("edit", {"path": "</x>"})]),
        ("Just words, x < function.", []),
        ('<tool_call>\n{"name": "edit", "arguments": {"line": 3}}\n</tool_call>', [("edit", {"line": 3})]),
        ('<tool_call>{"name": "edit", "arguments": {"line": 3}}', [("edit", {"line": 3})]),
        (
            "<function=edit><parameter=path><invoke name='edit'></parameter></function>",
            [("edit", {"path": "<invoke name='edit'>"})],
        ),
        (
            '<tool_call>{"name": "edit", "arguments": {"path": "</function><function=a>"}}</tool_call>',
            [("edit", {"path": "</function><function=a>"})],
        ),
        ('<tool_call>{"name": "edit", "arguments": {"path": "/a', []),
        (
            '<function_calls>\n<invoke name="edit">\n<parameter name="line">3</parameter>\n</invoke>',
            [("edit", {"line": 3})],
        ),
        (
            "<function=edit>\n<parameter=path>\nEnd </function>; <function=a>.\n</parameter>\n</function>",
            [("edit", {"path": "End </function>; <function=a>."})],
        ),
        ('[edit(path="/a", line=3)]', [("edit", {"path": "/a", "line": 3})]),
        ("[edit(path=open('/a').read())]", []),
        ('I answer {"name": "edit", "parameters": {}} to that.', []),
        ('Write <invoke name="x"> or <tool_call>{"name": "x"}</tool_call>.', []),
    ],
)
def test_calls_are_read_also_when_half_broken(text: str, expected: object):
    assert read(text) == expected


async def test_the_markup_that_a_model_has_learnt_is_neither_run_as_text_nor_shown(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    asked = {"name": "terminal", "arguments": {"command": "echo he''llo"}}
    scripted_llm.script(say(f"Let me look.\n<tool_call>\n{json.dumps(asked)}\n</tool_call>"), say("Done."))
    conversation = conversations.create(llm=PROMPTED)
    watch = Watch(conversation)
    conversation.send(user("Say hello."))

    await conversation.run()

    (observed,) = of_kind(conversation, "ObservationEvent")
    assert observed["observation"]["content"][0]["text"] == "hello"
    assert "".join(frame["content"] for frame in watch.of_type("delta")) == "Let me look.\nDone."


def test_a_call_is_run_if_only_the_next_one_was_cut_off():
    first = '<tool_call>{"name": "edit", "arguments": {"line": 3}}</tool_call>'
    assert read(f'{first}<tool_call>{{"name": "edit", "arg', was_cut=True) == [("edit", {"line": 3})]


EXAMPLE = """\
Two calls:
<function=edit>
<parameter=path>/x</parameter>
<parameter=mode>a</parameter>
</function>
<function=other>
<parameter=more>1</parameter>
<parameter=line>2</parameter>
</function>
That is all. A </function> ends a call, a </parameter> a value."""


@pytest.mark.parametrize(
    "end", ["</parameter>\n</function>", "</parameter>", "</parameter>\n</function>\nWait for </function>."]
)
def test_a_value_that_shows_calls_is_one_value(end: str):
    before = "Let me write it.\n<function=edit>\n<parameter=line>7</parameter>\n<parameter=path>\n"
    assert read(before + EXAMPLE + "\n" + end) == [("edit", {"line": 7, "path": EXAMPLE})]
    again = f"{end}\n<function=edit>\n<parameter=line>8</parameter>\n</function>"
    if "Wait" not in end:
        assert read(before + EXAMPLE + "\n" + again)[1:] == [("edit", {"line": 8})]


def test_a_call_that_shows_calls_and_is_cut_off_is_not_run():
    text = f"<function=edit>\n<parameter=path>\n{EXAMPLE}\n<function=edit>\n<parameter=path>/y</para"
    (call,) = requested(text, was_cut=True)
    with pytest.raises(orjson.JSONDecodeError):
        orjson.loads(call.arguments)


def test_calls_after_an_invented_result_are_dropped():
    first = "<function=edit>\n<parameter=line>1</parameter>\n</function>"
    assert read(f"{first}\nThe result is 5, so:\n{first}") == [("edit", {"line": 1})]


def test_much_markup_is_read_in_a_moment():
    pieces = ("\n<function=edit", "<parameter=path>", "<tool_call>{", "<tool_call>edit<arg_key>", "[", " ")
    pieces += (
        '<|open|>call tool="edit"<|sep|><|open|>argument key="path"<|sep|>',
        "<|tool_call>call:edit{a:",
    )
    pieces += ("<|tool_call>call:edit{a b ", "<function=edit>\n<parameter=path>\n</parameter>\n</function>\n")
    begun = time.process_time()
    for piece in pieces:
        requested(piece * (1_000_000 // len(piece)))
    # It takes two to six seconds. If the time grew with the square of the length, it would take minutes.
    assert time.process_time() - begun < 20


def test_a_value_that_was_cut_off_is_not_taken_for_whole():
    text = "<function=edit><parameter=path>/a</parameter><parameter=mode>half of"
    (call,) = requested(text, was_cut=True)

    with pytest.raises(orjson.JSONDecodeError):
        orjson.loads(call.arguments)


async def test_what_was_cut_off_is_answered_not_run(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.script(
        say("<function=terminal><parameter=command>touch half", finish_reason="length"), say("I see.")
    )
    conversation = conversations.create(llm=PROMPTED)
    conversation.send(user("Go."))

    await conversation.run()

    assert "cut off" in of_kind(conversation, "AgentErrorEvent")[0]["error"]
    assert "cut off" in text_of(scripted_llm.requests[1].messages[-1])
    assert not (conversations.workspace / "half").exists()


async def test_a_question_beside_the_work_shows_its_calls_as_text(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    call = {"id": "1", "type": "function", "function": {"name": "edit", "arguments": "{}"}}
    messages = [
        {"role": "system", "content": "Work."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "ok"},
        {"role": "user", "content": "How far are you?"},
    ]
    scripted_llm.script(say("Nearly done: <function=edit> is left."))
    llm = conversations.create(llm=PROMPTED).agent.llm

    reply = await conversations.client.complete(llm, Prompt(messages=[orjson.dumps(m) for m in messages]))

    assert reply.tool_calls == ()
    assert "stop" not in scripted_llm.requests[0].body
    assert scripted_llm.requests[0].messages[0] == {"role": "system", "content": "Work."}
    assert [m["role"] for m in scripted_llm.requests[0].messages[1:]] == ["assistant", "user"]


def test_what_is_written_is_read_again():
    call = {
        "id": "1",
        "function": {"name": "edit", "arguments": '{"path": "a\\nb", "line": 3, "range": [1]}'},
    }
    messages = [{"role": "assistant", "content": "Hm.", "tool_calls": [call]}]
    prompt = Prompt(messages=[orjson.dumps(m) for m in messages], tools=[TOOL])

    written = json.loads(prompted_tools.written_out(prompt).messages[1])["content"]

    assert read(written) == [("edit", {"path": "a\nb", "line": 3, "range": [1]})]


MARKUP = [
    "<function=",
    "edit",
    ">",
    "</function>",
    "<parameter=",
    "path",
    "line",
    "</parameter>",
    "<tool_call>",
    '{"name": "edit", "arguments": {}}',
    "</tool_call>",
    '<invoke name="edit">',
    "</invoke>",
    "<arg_key>path</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "[TOOL_CALLS]edit[ARGS]",
    "<|tool_call_begin|>functions.edit:0<|tool_call_argument_begin|>",
    '[edit(path="a")]',
    "<|tool_call>call:edit{path:",
    '<|"|>',
    '<|open|>call tool="edit"<|sep|><|open|>argument key="path"<|sep|>',
    "<|close|>argument<|sep|>",
    " to=functions.edit<|channel|>commentary<|message|>{}",
    "<",
    "\n",
    '"',
]


@settings(max_examples=1500, deadline=None)
@given(st.lists(st.sampled_from(MARKUP) | st.text(max_size=8), max_size=14), st.booleans())
def test_no_markup_does_harm(pieces: list[str], was_cut: bool):
    text = "".join(pieces).encode("utf-8", "replace").decode()
    shown: list[str] = []
    take = prompted_tools.until_call(lambda _, content: shown.append(content))
    for piece in text:
        take("text", piece)

    reply = prompted_tools.read(Reply("r", text, "", (), Usage(), was_cut=was_cut), [TOOL])

    assert text.startswith("".join(shown))
    assert "<function" not in "".join(shown)
    assert all(isinstance(call.arguments, str) for call in reply.tool_calls)
