"""A class of HTTP responses that convert a reply from one protocol to another while the reply is sent."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import orjson
from fastapi import Response
from starlette.types import Message, Receive, Scope, Send

MAX_BYTES = 16 * 1024**2
_FORWARDED_HEADERS = (b"retry-after", b"retry-after-ms")


class Events(Protocol):
    """The interface of objects that convert one streamed reply from one protocol to another. The method
    `feed` takes the next bytes of the reply and yields the converted bytes. `is_last`: whether the reply ends
    with `piece`.
    """

    def feed(self, piece: bytes, *, is_last: bool) -> Iterator[bytes]: ...


class ConvertedReply(Response):
    """An HTTP response that sends another response, converted to another protocol. Streams are converted
    piece by piece.

    `new_events`: a function that returns a converter for a streamed reply. `document`: a function that
    converts a reply that is not streamed. It takes the HTTP status and the body, and returns the new status
    and body.
    """

    def __init__(
        self,
        response: Response,
        new_events: Callable[[], Events],
        document: Callable[[int, bytes], tuple[int, dict[str, Any]]],
    ) -> None:
        super().__init__(status_code=response.status_code)
        self._response = response
        self._new_events = new_events
        self._document = document

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start: Message = {}
        events: Events | None = None
        body = bytearray()

        async def speak(message: Message) -> None:
            nonlocal start, events
            if message["type"] == "http.response.start":
                start = message
                if _is_stream(message):
                    events = self._new_events()
                    await send(_started(message, b"text/event-stream"))
                return
            is_last = not message.get("more_body")
            if events is not None:
                piece = b"".join(events.feed(message.get("body", b""), is_last=is_last))
                await send({**message, "body": piece})
                return
            if len(body) < MAX_BYTES:
                body.extend(message.get("body", b""))
            if is_last:
                status, content = self._document(start["status"], bytes(body))
                await send(_started({**start, "status": status}, b"application/json"))
                await send({"type": "http.response.body", "body": orjson.dumps(content)})

        await self._response(scope, receive, speak)


def _is_stream(start: Message) -> bool:
    types = [value for name, value in start["headers"] if name.lower() == b"content-type"]
    return bool(types) and types[0].startswith(b"text/event-stream")


def _started(start: Message, content_type: bytes) -> Message:
    remaining = [(name, value) for name, value in start["headers"] if name.lower() in _FORWARDED_HEADERS]
    return {**start, "headers": [*remaining, (b"content-type", content_type)]}
