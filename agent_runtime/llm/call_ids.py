"""Converts ids of tool calls to a form that a vendor accepts. Has no side effects."""

import hashlib
import re
from base64 import b32encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agent_runtime.catalogue.parameters import is_model_of_openai

_WRITTEN = re.compile(rb'"(?:tool_call_id|id)":"([^"]*)"')


@dataclass(frozen=True)
class Limit:
    """The rule of a model vendor for the ids of tool calls. An id that the vendor does not accept is replaced
    by a new id.

    `accepted`: a regular expression; the vendor accepts an id if the whole id matches. `shortened`: a
    function that gets the SHA-256 digest of the old id as bytes and returns the new id.
    """

    accepted: re.Pattern[str]
    shortened: Callable[[bytes], str]

    def id_of(self, call_id: str) -> str:
        if self.accepted.fullmatch(call_id):
            return call_id
        return self.shortened(hashlib.sha256(call_id.encode()).digest())

    def is_met_by(self, messages: bytes) -> bool:
        """Checks quickly whether the vendor accepts all ids of tool calls in the messages. True means that it
        certainly accepts them. False means that it may refuse one, so the caller must check each message.
        `messages`: chat messages as JSON.
        """
        return all(self.accepted.fullmatch(found.decode()) for found in _WRITTEN.findall(messages))

    def applied(self, message: dict[str, Any]) -> dict[str, Any]:
        """Returns the chat message with ids that the vendor accepts. A tool call and its result get the same
        new id.
        """
        changed = dict(message)
        if calls := message.get("tool_calls"):
            changed["tool_calls"] = [{**call, "id": self.id_of(call["id"])} for call in calls]
        if "tool_call_id" in message:
            changed["tool_call_id"] = self.id_of(message["tool_call_id"])
        return changed


def _as_usual(digest: bytes) -> str:
    return f"call_{digest.hex()[:24]}"


_MISTRAL = Limit(re.compile(r"[A-Za-z0-9]{9}"), lambda digest: b32encode(digest).decode().lower()[:9])
_ANTHROPIC = Limit(re.compile(r"[A-Za-z0-9_-]{1,64}"), _as_usual)
_OPENAI = Limit(re.compile(r".{1,40}", re.DOTALL), _as_usual)


def limit_of(model: str) -> Limit | None:
    """Returns the rule of the model's vendor for the ids of tool calls. Returns None if the vendor accepts
    all ids that the runtime makes.
    """
    name = model.lower()
    vendor = name.partition("/")[0]
    if vendor == "mistral" or name.startswith("openrouter/mistralai/"):
        return _MISTRAL
    if "claude" in name or vendor in {"anthropic", "bedrock"}:
        return _ANTHROPIC
    return _OPENAI if is_model_of_openai(name) else None
