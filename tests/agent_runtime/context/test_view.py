"""Tests of the messages that the model receives: how the events of a conversation become messages."""

from typing import Any

import orjson
import pytest

from agent_runtime.context.system_prompt import render_system_prompt
from agent_runtime.context.view import View
from agent_runtime.events.action import ActionEvent, ToolCall
from agent_runtime.events.condensation import Condensation
from agent_runtime.events.content import ImageContent, TextContent
from agent_runtime.events.message import Message, MessageEvent
from agent_runtime.events.observation import AgentErrorEvent, ObservationEvent, UserRejectObservation
from agent_runtime.events.union import AnyEvent


def said(text: str, *extra: str) -> MessageEvent:
    added = [TextContent(text=one) for one in extra]
    return MessageEvent(llm_message=Message.of("user", text), extended_content=added)


def action(call_id: str, thought: str = "") -> ActionEvent:
    call = ToolCall(id=call_id, name="terminal", arguments="{}")
    return ActionEvent(
        thought=[TextContent(text=thought)] if thought else [],
        tool_name="terminal",
        tool_call_id=call_id,
        tool_call=call,
        llm_response_id="r",
    )


def result(call_id: str, observation: dict[str, Any]) -> ObservationEvent:
    return ObservationEvent(
        tool_name="terminal",
        tool_call_id=call_id,
        action_id="a",
        observation={"kind": "TerminalObservation", **observation},
    )


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def messages(*events: AnyEvent) -> list[dict[str, Any]]:
    view = View()
    for event in events:
        view.add(event)
    return [orjson.loads(message) for message in view.messages()]


def test_calls_of_one_reply_are_one_message_followed_by_their_results_in_order():
    seen = messages(action("1", "Hm."), action("2"), result("2", text("two")), result("1", text("one")))

    assert seen[0]["content"] == "Hm."
    assert [call["id"] for call in seen[0]["tool_calls"]] == ["1", "2"]
    assert [(m["tool_call_id"], m["content"]) for m in seen[1:]] == [("1", "one"), ("2", "two")]


def test_what_is_said_between_a_call_and_its_result_comes_after_the_result():
    seen = messages(action("1"), said("wait"), result("1", text("done")))

    assert [message["role"] for message in seen] == ["assistant", "tool", "user"]


@pytest.mark.parametrize(
    ("suffix", "ending"),
    [
        ("\n[S]", ["[S]", "[Command finished with exit code 2]"]),
        (
            "\n[The command completed with exit code 2.]",
            ["[The command completed with exit code 2.]"],
        ),
    ],
)
def test_a_commands_result_tells_once_where_it_ran_and_how_it_ended(suffix: str, ending: list[str]):
    metadata = {
        "exit_code": 2,
        "working_dir": "/w",
        "py_interpreter_path": "/p",
        "prefix": "",
        "suffix": suffix,
    }

    (_, answer) = messages(action("1"), result("1", {**text("out"), "metadata": metadata}))

    assert answer["content"].splitlines() == [
        "out",
        *ending,
        "[Directory: /w. Python: /p]",
    ]


def test_errors_and_rejections_read_as_results():
    failed = {**text("no such file"), "is_error": True}
    error = AgentErrorEvent(tool_name="t", tool_call_id="2", error="Interrupted.")
    rejection = UserRejectObservation(
        tool_name="t", tool_call_id="3", rejection_reason="not now", action_id="a"
    )

    seen = messages(action("1"), action("2"), action("3"), result("1", failed), error, rejection)

    assert [message["content"] for message in seen[1:]] == [
        "[An error occurred during execution.]\nno such file",
        "Interrupted.",
        "Action rejected: not now",
    ]


def test_images_of_results_follow_all_of_them():
    image = {"content": [{"type": "image", "image_urls": ["data:image/png;base64,AA"]}]}

    seen = messages(action("1"), action("2"), result("1", image), result("2", text("two")))

    assert [message["role"] for message in seen] == ["assistant", "tool", "tool", "user"]
    assert seen[-1]["content"] == [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]


def test_images_and_additions_of_a_message_are_kept():
    picture = Message(role="user", content=[TextContent(text="see"), ImageContent(image_urls=["u"])])

    seen = messages(said("hi", "knowledge"), MessageEvent(llm_message=picture))

    assert seen[0]["content"] == "hi\nknowledge"
    assert [part["type"] for part in seen[1]["content"]] == ["text", "image_url"]


def test_a_condensation_puts_a_summary_in_place_of_what_is_forgotten():
    first, second, third = said("one"), said("two"), said("three")
    condensation = Condensation(
        forgotten_event_ids=[second.id], summary="two, in short", summary_offset=1, llm_response_id="r"
    )

    seen = [message["content"] for message in messages(first, second, third, condensation)]

    assert (seen[0], seen[2]) == ("one", "three")
    assert "two, in short" in seen[1]


def test_the_system_prompt_names_the_working_directory():
    prompt = render_system_prompt(working_dir="/some/where")

    assert "/some/where" in prompt
    assert "{{" not in prompt
