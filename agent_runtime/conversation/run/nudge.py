"""Contains the text of a message to an agent that works without a user. The agent gets the message if its
last reply has no tool call. The text tells the agent to continue or to call `finish`.
"""

from agent_runtime.events.message import MessageEvent, runtime_message

_GO_ON_OR_FINISH = (
    "You ended your reply without a call, and no one is here to answer. Go on with the task by calling a "
    "tool, or call `finish` with your report if it is done or cannot be done."
)


def go_on_or_finish() -> MessageEvent:
    return runtime_message(_GO_ON_OR_FINISH)


def is_finish_reminder(event: MessageEvent) -> bool:
    return event.source == "environment" and event.llm_message.text == _GO_ON_OR_FINISH
