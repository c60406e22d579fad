"""Calls vendors with other protocols. litellm translates, in threads and never on the event loop."""

import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

import orjson
from anyio import CapacityLimiter, to_thread
from fastapi import Response
from fastapi.responses import StreamingResponse

from app_server.core.errors import BadGateway
from app_server.http.guarded_client import Guard
from app_server.llm_gateway.forwarding import bounds
from app_server.llm_gateway.forwarding.additions import Additions
from app_server.llm_gateway.forwarding.contents import without_addresses
from app_server.llm_gateway.forwarding.fields import ChatFields
from app_server.llm_gateway.forwarding.vendor_failures import RETRY_HEADERS, connection_failure, unreachable
from app_server.llm_gateway.forwarding.vendors import Translated

logger = logging.getLogger(__name__)

T = TypeVar("T")

_DONE = b"data: [DONE]\n\n"

NO_HEADERS: Mapping[str, str] = {}

_FIELDS = ChatFields.model_fields.keys() - {"model"}


async def translate(
    vendor: Translated,
    body: dict[str, Any],
    *,
    api_key: str | None,
    timeout_seconds: float,
    guard: Guard | None = None,
    headers: Mapping[str, str] = NO_HEADERS,
) -> Response:
    """Sends the call through litellm and returns a reply in OpenAI's format, streamed if `body` asks for it.
    A vendor's refusal keeps its HTTP status.

    `body`: fields that passed the check with ChatFields. `guard`: keeps the call to public addresses; None if
    only this server or an administrator has set the address. `headers`: extra headers of the profile.

    Raises BadRequest `unknown_model_field`, BadGateway `llm_vendor_unreachable`.
    """
    arguments = {name: value for name, value in body.items() if name in _FIELDS} | {
        "messages": without_addresses(body["messages"]),
        "model": vendor.model,
        "base_url": vendor.base_url,
        "api_key": api_key,
        "timeout": timeout_seconds,
        "num_retries": 0,
        "max_retries": 0,
        "drop_params": True,
    }
    added = Additions(api_key, timeout_seconds, headers)
    arguments |= {"extra_headers": dict(headers)} if headers else {}
    # A separate thread: a slow model must not use up the shared ones.
    limiter = CapacityLimiter(1)
    within = partial(_within, vendor, guard)
    try:
        reply = await to_thread.run_sync(
            within, lambda litellm: litellm.completion(**arguments), limiter=limiter, abandon_on_cancel=True
        )
    except Exception as error:  # noqa: BLE001 (litellm lets out its own errors and every client's alike)
        return _refusal(vendor, error, added)
    if not body.get("stream"):
        return Response(orjson.dumps(reply.model_dump(exclude_none=True)), media_type="application/json")
    return StreamingResponse(_chunks(within, iter(reply), limiter), media_type="text/event-stream")


def _within(vendor: Translated, guard: Guard | None, work: Callable[[Any], T]) -> T:
    """Runs `work` with litellm, and lets litellm reach only the vendor's addresses. Runs in a thread."""
    # Without this setting litellm fetches its price list over the network when it is imported.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm  # 4 CPU s and 190 MB: paid only by those who use such a vendor

    # Otherwise litellm prints advice to standard output with every failure.
    litellm.suppress_debug_info = True
    # After a change of models, older replies lack the new model's signed thinking. That is no error.
    litellm.modify_params = True
    bounds.keep_in(litellm)
    with bounds.bounded(litellm, vendor.model, vendor.base_url, guard):
        return work(litellm)


async def _chunks(
    within: Callable[[Callable[[Any], Any]], Any], pieces: Iterator[Any], limiter: CapacityLimiter
) -> AsyncIterator[bytes]:
    end = object()
    take: Callable[[Any], Any] = lambda _: next(pieces, end)  # noqa: E731
    while (
        piece := await to_thread.run_sync(within, take, limiter=limiter, abandon_on_cancel=True)
    ) is not end:
        yield b"data: " + orjson.dumps(piece.model_dump(exclude_none=True)) + b"\n\n"
    yield _DONE


def _refusal(vendor: Translated, error: Exception, added: Additions) -> Response:
    if (failure := connection_failure(error)) is not None:
        raise unreachable(failure, vendor.base_url) from error
    status = getattr(error, "status_code", None)
    logger.warning("the model's vendor refused", extra={"status": status, "error": type(error).__name__})
    if not isinstance(status, int) or not 400 <= status < 600:
        raise BadGateway(
            f"The model's vendor could not be asked ({type(error).__name__}).",
            code="llm_vendor_unreachable",
            fix="Check the model's name and base URL in the settings.",
        ) from error
    content = orjson.dumps({"error": {"message": str(error), "type": type(error).__name__, "code": status}})
    told = getattr(error, "litellm_response_headers", None) or {}
    headers = {name: value for name, value in told.items() if name.lower() in RETRY_HEADERS}
    return Response(added.hidden_in(content), status, headers=headers, media_type="application/json")
