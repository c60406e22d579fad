"""Builds the message to an agent whose claims about its work are not proved by the event log."""

from agent_runtime.events.message import MessageEvent, runtime_message

_BEGINNING = "Your report does not fit what was done. "
_ADVICE = (
    " Run it now and go by the result, or finish again with a report that says plainly what was not checked."
)


def unproven(problem: str) -> MessageEvent:
    return runtime_message(f"{_BEGINNING}{problem}{_ADVICE}")


def is_unproven(event: MessageEvent) -> bool:
    return event.source == "environment" and event.llm_message.text.startswith(_BEGINNING)
