"""Calls vendors that do not use OpenAI's protocol. The library litellm translates the calls. litellm runs in
threads and never on the event loop.
"""

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from typing import Any, TypeVar

import orjson
from anyio import CapacityLimiter, to_thread
from fastapi import Response
from fastapi.responses import StreamingResponse

from agent_runtime import litellm_calls
from app_server.core.errors import BadGateway, BadRequest
from app_server.http.guarded_client import Guard
from app_server.llm_gateway.forwarding import bounds
from app_server.llm_gateway.forwarding.added_fields import Additions
from app_server.llm_gateway.forwarding.contents import without_addresses, without_cache_marks
from app_server.llm_gateway.forwarding.fields import ChatFields
from app_server.llm_gateway.forwarding.readable_replies import ReadableStream, readable
from app_server.llm_gateway.forwarding.vendor_failures import connection_failure, retry_headers, unreachable
from app_server.llm_gateway.forwarding.vendors import Translated

logger = logging.getLogger(__name__)

T = TypeVar("T")

_DONE = b"data: [DONE]\n\n"

_KNOWS_NO_CACHE_MARKS = "azure/"

NO_HEADERS: Mapping[str, str] = {}

_FIELDS = ChatFields.model_fields.keys() - {"model", "messages"}


async def translate(
    vendor: Translated,
    body: dict[str, Any],
    *,
    api_key: str | None,
    timeout_seconds: float,
    guard: Guard | None = None,
    headers: Mapping[str, str] = NO_HEADERS,
) -> Response:
    """Sends a model call through the library litellm and returns a reply in OpenAI's format. The reply is
    streamed if `body` asks for a stream. If the vendor refuses the call, the reply has the vendor's HTTP
    status.

    `body`: a chat completion whose fields are already checked. `guard`: a check of network addresses that
    allows public addresses only; None if this server or an administrator has set the address. `headers`:
    extra headers of the model profile (the saved model with its address and key). `api_key`: the vendor's
    key, or an access token for Vertex AI; None if the profile has no key.

    Raises BadRequest `unknown_model_field` if a message contains a field that is not allowed. Raises
    BadRequest `model_field_unsupported` if the call sets `response_format` and litellm does not support this
    field for the model. Raises BadGateway `llm_vendor_unreachable` if the vendor cannot be reached.
    """
    options = {name: value for name, value in body.items() if name in _FIELDS}
    project_and_location = vendor.project_and_location
    if project_and_location is not None:
        options |= {
            "vertex_credentials": api_key,
            "vertex_project": project_and_location[0],
            "vertex_location": project_and_location[1],
        }
    messages = without_addresses(body["messages"])
    if vendor.model.startswith(_KNOWS_NO_CACHE_MARKS):
        messages = without_cache_marks(messages)
        options["tools"] = without_cache_marks(options.get("tools") or []) or None
    arguments = litellm_calls.arguments(
        vendor.model,
        messages,
        base_url=vendor.base_url,
        api_key=None if project_and_location else api_key,
        timeout_seconds=timeout_seconds,
        options=options | ({"extra_headers": dict(headers)} if headers else {}),
    )
    added = Additions(api_key, timeout_seconds, headers)
    # A separate thread: a slow model must not use up the shared ones.
    limiter = CapacityLimiter(1)
    within = partial(_within, vendor, guard)
    if options.get("response_format") and not await to_thread.run_sync(
        within, partial(_takes_format, vendor.model), limiter=limiter
    ):
        raise BadRequest(
            "This model cannot be asked for a form of its reply (`response_format`).",
            code="model_field_unsupported",
            fix="Leave the field out, or choose another model for the conversation.",
        )
    try:
        ask = partial(_first_of, arguments)
        reply, pieces = await to_thread.run_sync(within, ask, limiter=limiter, abandon_on_cancel=True)
    except Exception as error:  # noqa: BLE001 (litellm lets out its own errors and every client's alike)
        return _refusal(vendor, error, added)
    if not body.get("stream"):
        completion = readable(reply.model_dump(exclude_none=True))
        return Response(orjson.dumps(completion), media_type="application/json")
    return StreamingResponse(_chunks(within, pieces, limiter, added), media_type="text/event-stream")


def _within(vendor: Translated, guard: Guard | None, work: Callable[[Any], T]) -> T:
    """Calls the function `work` with litellm as its argument, and returns the result of `work`. While `work`
    runs, litellm can reach only the vendor's addresses. The caller must run this function in a thread,
    because litellm blocks.

    `guard`: a check of network addresses; None allows every address.
    """
    litellm = litellm_calls.load()
    bounds.keep_in(litellm)
    location = vendor.project_and_location[1] if vendor.project_and_location else None
    with bounds.bounded(litellm, vendor.model, vendor.base_url, guard, location):
        return work(litellm)


def _takes_format(model: str, litellm: Any) -> bool:
    """Returns whether litellm passes the field `response_format` on to this model. For other models, litellm
    would remove the field without an error.
    """
    return "response_format" in (litellm.get_supported_openai_params(model) or ())


def _first_of(arguments: Mapping[str, Any], litellm: Any) -> tuple[Any, Iterator[Any]]:
    """Starts a model call with litellm. Returns litellm's reply, and an iterator of its pieces, which is
    empty if the reply is not streamed. `arguments`: the arguments of `litellm.completion`.

    For a streamed reply, waits for the first piece. If the vendor refuses the call, litellm may raise the
    error only then. The caller must know of the refusal before it sends the HTTP status to the client.
    """
    reply = litellm.completion(**arguments)
    if not arguments.get("stream"):
        return reply, iter(())
    pieces = iter(reply)
    return reply, chain(list(islice(pieces, 1)), pieces)


async def _chunks(
    within: Callable[[Callable[[Any], Any]], Any],
    pieces: Iterator[Any],
    limiter: CapacityLimiter,
    added: Additions,
) -> AsyncIterator[bytes]:
    """Yields the pieces of a streamed reply as server-sent events. If the vendor fails during the stream, the
    last event is an `error` that gives the reason. The error has the form that OpenAI and OpenRouter use, and
    no `[DONE]` follows.

    `within`: a function that calls the function that it gets as its argument. litellm can reach the vendor
    only during such a call, so each piece is read in one. `pieces`: the pieces of litellm's reply. `limiter`:
    limits the threads that wait for pieces. `added`: the API key and other values that an error must not
    reveal.
    """
    end, stream = object(), ReadableStream()
    take: Callable[[Any], Any] = lambda _: next(pieces, end)  # noqa: E731
    try:
        while (
            piece := await to_thread.run_sync(within, take, limiter=limiter, abandon_on_cancel=True)
        ) is not end:
            yield _event(stream.readable(piece.model_dump(exclude_none=True)))
    except Exception as error:  # noqa: BLE001 (as above)
        status = litellm_calls.status_of(error) or BadGateway.status
        logger.warning(
            "the model's vendor broke off", extra={"status": status, "error": type(error).__name__}
        )
        yield added.hidden_in(_event(_reason(error, status)))
    else:
        yield _DONE


def _event(content: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(content) + b"\n\n"


def _reason(error: Exception, status: int) -> dict[str, Any]:
    refusal = litellm_calls.refusal_in(error)
    words = litellm_calls.words_of(refusal)
    return {"error": {"message": words, "type": type(refusal).__name__, "code": status}}


def refused(status: int, kind: str, words: str) -> Response:
    """Returns a reply in OpenAI's error format for a call that the vendor has refused. `kind`: the name of
    the error. `words`: the error message.
    """
    content = orjson.dumps({"error": {"message": words, "type": kind, "code": status}})
    return Response(content, status, media_type="application/json")


def _refusal(vendor: Translated, error: Exception, added: Additions) -> Response:
    if (failure := connection_failure(error)) is not None:
        raise unreachable(failure, vendor.base_url) from error
    status = litellm_calls.status_of(error)
    logger.warning("the model's vendor refused", extra={"status": status, "error": type(error).__name__})
    if status is None:
        raise BadGateway(
            f"The model's vendor could not be asked ({type(error).__name__}).",
            code="llm_vendor_unreachable",
            fix="Check the model's name and base URL in the settings.",
        ) from error
    content = added.hidden_in(orjson.dumps(_reason(error, status)))
    return Response(content, status, headers=retry_headers(error), media_type="application/json")
