"""Streams replies of a git host to a sandbox while the bytes arrive."""

import logging
from collections.abc import AsyncIterator

import httpx

from app_server.http.reply_streaming import Passing

logger = logging.getLogger(__name__)

_RETURNED = ("content-type", "content-encoding")


def passing(reply: httpx.Response) -> Passing:
    """Returns a response that streams the git host's reply to the sandbox unchanged."""
    return Passing(reply, bytes_of(reply), status=reply.status_code, headers=returned_headers(reply))


def returned_headers(reply: httpx.Response) -> dict[str, str]:
    return {name: reply.headers[name] for name in _RETURNED if name in reply.headers}


async def bytes_of(reply: httpx.Response) -> AsyncIterator[bytes]:
    """Yields the bytes of the git host's reply as they arrive, without decompressing them."""
    try:
        async for piece in reply.aiter_raw():
            yield piece
    except httpx.HTTPError as error:
        # Git's packet lines show the client that the reply is incomplete.
        logger.info("a git host broke off", extra={"cause": type(error).__name__})
