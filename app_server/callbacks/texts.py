"""Describes an event of a conversation in a few lines for people. Chats, e-mails and comments contain these
descriptions. This module does no I/O.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

MAX_CHARACTERS: Final = 2_000
_STATUSES: Final = {
    "running": "The agent works.",
    "finished": "The agent has finished.",
    "paused": "The agent is paused.",
    "idle": "The agent is ready.",
    "waiting_for_confirmation": "The agent waits for your answer.",
    "error": "The agent has stopped, because of an error.",
    "stuck": "The agent has stopped, because it repeated itself.",
}
_ERRORS: Final = {"ConversationErrorEvent", "ServerErrorEvent", "AgentErrorEvent"}


@dataclass(frozen=True)
class EventDescription:
    """A description of an event of a conversation for people. `title`: the title of the conversation. `text`:
    what has happened. `url`: the URL of the conversation's web page.
    """

    title: str
    text: str
    url: str


def describe_event(event: Mapping[str, Any], *, title: str | None, url: str) -> EventDescription:
    """Returns the description of an event of a conversation for people. `title`: the title of the
    conversation; None if the conversation has no title yet. `url`: the URL of the conversation's web page.
    """
    return EventDescription(_one_line(title or "A conversation"), _shortened(_text(event)), url)


def for_chat(description: EventDescription) -> str:
    """Returns the description of an event as a message for Slack, Mattermost or a similar chat. Changes the
    title and the text so that mentions of people and Slack's markup in angle brackets, such as links, have no
    effect.
    """
    return f"*{_inert(description.title)}*\n{_inert(description.text)}\n{description.url}"


def for_comment(description: EventDescription) -> str:
    """Returns the description of an event as a Markdown comment for a git host, with a link to the
    conversation. Changes the text so that the git host notifies no person who is mentioned in it.
    """
    return f"{without_mentions(description.text)}\n\n[Follow the work]({description.url})"


def without_mentions(text: str) -> str:
    """Returns the text with an invisible character after each `@`. The git host or the chat then finds no
    mention of a person and sends no notification.
    """
    return text.replace("@", "@\u200b")


def _inert(text: str) -> str:
    # Slack takes these three characters for its markup.
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return without_mentions(escaped)


def _text(event: Mapping[str, Any]) -> str:
    kind = str(event.get("kind"))
    if kind == "ConversationStateUpdateEvent" and event.get("key") == "execution_status":
        return _STATUSES.get(str(event.get("value")), f"The agent's status is now {event.get('value')}.")
    if kind == "MessageEvent":
        who = "You" if event.get("source") == "user" else "The agent"
        return f"{who}: {_of_message(event.get('llm_message'))}"
    if kind in _ERRORS:
        detail = event.get("detail") or event.get("error") or event.get("code") or ""
        return f"An error: {detail}"
    if kind == "ActionEvent" and event.get("tool_name") == "finish":
        action = event.get("action")
        message = action.get("message") if isinstance(action, Mapping) else None
        return f"The agent: {message or 'Finished.'}"
    tool = event.get("tool_name")
    return f"{kind} ({tool})" if tool else kind


def _of_message(message: object) -> str:
    content = message.get("content") if isinstance(message, Mapping) else None
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, Mapping) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str)) or "(no text)"


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]


def _shortened(text: str) -> str:
    text = text.replace("\x00", " ").strip()
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"
