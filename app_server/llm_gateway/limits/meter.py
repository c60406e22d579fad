"""Reads the token usage that a vendor reports in its reply, while the reply passes through this server."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import orjson
from fastapi import Response
from starlette.types import Message, Receive, Scope, Send

from agent_runtime.metering.lenient_numbers import a_dict
from agent_runtime.metering.token_counts import Usage, usage_of, usage_of_message, usage_of_response

MAX_LINE_BYTES = 1024**2
MAX_DOCUMENT_BYTES = 16 * 1024**2
_BYTES_PER_TOKEN = 4
_ENDINGS = {"response.completed", "response.incomplete", "response.failed", "message_stop"}
"""The types of the last event of a stream in the Responses and Messages protocols. In these protocols, no
`[DONE]` marks the end of the stream.
"""


class Meter(Protocol):
    def feed(self, piece: bytes) -> None: ...

    def usage(self) -> Usage | None:
        """Returns the token usage that the reply has reported. Returns None if none was reported."""

    @property
    def text_bytes(self) -> int:
        """The number of bytes of the reply received so far. If the reply reports no token usage, the usage is
        estimated from this number.
        """

    @property
    def has_ended(self) -> bool:
        """Whether the vendor has marked the reply as complete."""


class EventStreamMeter:
    """A meter (a reader of the token usage) for a reply that is a stream of server-sent events.

    In most protocols, one or several events report the usage of the whole reply. The meter uses the last
    report. Anthropic's Messages protocol reports the usage in two events: the prompt's tokens at the start,
    and the final counts at the end. The meter combines these two. If a reply in this protocol breaks off
    before the end, the meter estimates the tokens of the reply from its size.
    """

    def __init__(self) -> None:
        self._line = b""
        self._usage: Usage | None = None
        self._of_message: dict[str, Any] = {}
        self._is_cut_off = False
        self.text_bytes = 0
        self.has_ended = False

    def feed(self, piece: bytes) -> None:
        self.text_bytes += len(piece)
        *lines, rest = (self._line + piece).split(b"\n")
        # No vendor sends longer lines. The rest of a longer line is useless and dropped.
        self._line = rest if len(rest) <= MAX_LINE_BYTES else b""
        for line in lines:
            if b'"usage"' in line:
                self._read(line.removeprefix(b"data:"))
            elif line.removeprefix(b"data:").strip() == b"[DONE]":
                self.has_ended = True
            elif self._of_message and b'"message_stop"' in line:
                self._read(line.removeprefix(b"data:"))

    def usage(self) -> Usage | None:
        if self._usage is None and self._of_message:
            usage = usage_of_message(self._of_message)
            # At the start only the prompt is known. A reply that broke off never states its length.
            sent = estimated(0, self.text_bytes).completion_tokens
            return replace(usage, completion_tokens=sent) if self._is_cut_off else usage
        return self._usage

    def _read(self, content: bytes) -> None:
        event = _decoded(content)
        kind = event.get("type")
        if kind == "message_start":
            self._of_message = a_dict(a_dict(event.get("message")).get("usage"))
            self._is_cut_off = True
        elif kind == "message_delta":
            grown = a_dict(event.get("usage"))
            self._of_message |= {name: value for name, value in grown.items() if value is not None}
            self._is_cut_off = False
        else:
            self._usage = _stated(event) or self._usage
        self.has_ended = self.has_ended or kind in _ENDINGS


class DocumentMeter:
    """A meter (a reader of the token usage) for a reply that is one JSON document."""

    has_ended = False  # The end of the response says it.

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.text_bytes = 0

    def feed(self, piece: bytes) -> None:
        self.text_bytes += len(piece)
        if self.text_bytes <= MAX_DOCUMENT_BYTES:
            self._pieces.append(piece)

    def usage(self) -> Usage | None:
        return _stated(_decoded(b"".join(self._pieces)))


def meter_for(content_type: str | None) -> Meter:
    return EventStreamMeter() if (content_type or "").startswith("text/event-stream") else DocumentMeter()


def estimated(request_bytes: int, reply_bytes: int) -> Usage:
    """Estimates the token usage from the sizes in bytes, for a reply in which the vendor has reported no
    token usage. Returns the estimate.
    """
    return Usage(
        prompt_tokens=request_bytes // _BYTES_PER_TOKEN, completion_tokens=reply_bytes // _BYTES_PER_TOKEN
    )


class Metered(Response):
    """An HTTP response that streams another response unchanged, and passes its bytes to a meter, which reads
    the token usage.

    `at_end`: a function that is called once: just before the last bytes of the response are sent, or when the
    response is interrupted.
    """

    def __init__(self, response: Response, meter: Meter, at_end: Callable[[], None]) -> None:
        super().__init__(status_code=response.status_code)
        self._response = response
        self._meter = meter
        self._at_end = at_end
        self._is_over = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def read_and_send(message: Message) -> None:
            self._meter.feed(message.get("body", b""))
            is_last = message["type"] == "http.response.body" and not message.get("more_body")
            if is_last or self._meter.has_ended:
                self._end()
            await send(message)

        try:
            await self._response(scope, receive, read_and_send)
        finally:
            self._end()

    def _end(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._at_end()


def _decoded(content: bytes) -> dict[str, Any]:
    try:
        return a_dict(orjson.loads(content))
    except orjson.JSONDecodeError:
        return {}


def _stated(reply: dict[str, Any]) -> Usage | None:
    """Returns the token usage that a JSON object reports. Returns None if it reports no usage. The object is
    a chat completion, a response of the Responses protocol, an event that contains such a response, or a
    message of Anthropic.
    """
    if usage := a_dict(a_dict(reply.get("response")).get("usage")):
        return usage_of_response(usage)
    usage = a_dict(reply.get("usage"))
    if reply.get("object") == "response":
        return usage_of_response(usage) if usage else None
    if reply.get("type") == "message":
        return usage_of_message(usage) if usage else None
    return usage_of(usage) if usage else None
