"""Vendors with protocols of their own: litellm translates, in threads, never on the event loop."""

import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeVar

import orjson
from anyio import CapacityLimiter, to_thread
from fastapi import Response
from fastapi.responses import StreamingResponse

from app_server.errors import BadGateway
from app_server.guarded import Guard
from app_server.llm_gateway import guarded
from app_server.llm_gateway.pass_through import without_key
from app_server.llm_gateway.vendors import Translated

logger = logging.getLogger(__name__)

T = TypeVar("T")

_DONE = b"data: [DONE]\n\n"

# What is ours to say, not the sandbox's: where the call goes and with whose key.
_RESERVED = frozenset({"api_key", "api_base", "base_url", "model", "custom_llm_provider", "extra_headers"})


async def translate(
    vendor: Translated,
    body: dict[str, Any],
    *,
    api_key: str | None,
    timeout_seconds: float,
    guard: Guard | None = None,
) -> Response:
    """An OpenAI reply, streaming if `body` asks for it. A vendor's refusal keeps its status.

    guard: keeps the call to what is public; None where nobody but this server has said where it goes.
    """
    arguments = {name: value for name, value in body.items() if name not in _RESERVED} | {
        "model": vendor.model,
        "base_url": vendor.base_url,
        "api_key": api_key,
        "timeout": timeout_seconds,
        "num_retries": 0,
        "drop_params": True,
    }
    # A thread of its own: a slow model must not use up those that everybody shares.
    limiter = CapacityLimiter(1)
    try:
        reply = await to_thread.run_sync(_complete, arguments, guard, limiter=limiter, abandon_on_cancel=True)
    except Exception as error:  # noqa: BLE001 (litellm lets out its own errors and every client's alike)
        return _refusal(error, api_key)
    if not body.get("stream"):
        return Response(orjson.dumps(reply.model_dump(exclude_none=True)), media_type="application/json")
    return StreamingResponse(_chunks(iter(reply), limiter), media_type="text/event-stream")


def _complete(arguments: dict[str, Any], guard: Guard | None) -> Any:
    # Without it litellm fetches its price list over the network when it is imported.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm  # 4 CPU s and 190 MB: paid only by those who use such a vendor

    guarded.keep_in(litellm)
    return litellm.completion(**arguments, **guarded.client_for(arguments["model"], guard))


async def _chunks(pieces: Iterator[Any], limiter: CapacityLimiter) -> AsyncIterator[bytes]:
    end = object()
    take: Callable[[], Any] = lambda: next(pieces, end)  # noqa: E731
    while (piece := await to_thread.run_sync(take, limiter=limiter, abandon_on_cancel=True)) is not end:
        yield b"data: " + orjson.dumps(piece.model_dump(exclude_none=True)) + b"\n\n"
    yield _DONE


def _refusal(error: Exception, api_key: str | None) -> Response:
    status = getattr(error, "status_code", None)
    logger.warning("the model's vendor refused", extra={"status": status, "error": type(error).__name__})
    if not isinstance(status, int) or not 400 <= status < 600:
        raise BadGateway(
            f"The model's vendor could not be asked ({type(error).__name__}).",
            code="llm_vendor_unreachable",
            fix="Check the model's name and base URL in the settings.",
        ) from error
    content = orjson.dumps({"error": {"message": str(error), "type": type(error).__name__, "code": status}})
    return Response(without_key(content, api_key), status, media_type="application/json")
