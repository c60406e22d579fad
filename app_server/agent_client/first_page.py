"""The client that reads the web page at `/` of a program that listens on a port of a sandbox. The request
goes through the sandbox's agent server.
"""

import httpx

from agent_runtime.time_limits import time_limit
from agent_runtime.wire import RELAY_KEY_HEADER, relay_path
from app_server.agent_client.calls import AgentCalls

TIMEOUT_SECONDS = 3.0
MAX_BYTES = 65_536


class AgentPages(AgentCalls):
    """The client that reads the web page at `/` of programs that listen on ports of a sandbox. The content of
    the pages is untrusted.
    """

    async def first_page(self, port: int) -> bytes:
        """Sends `GET /` to the program on this port and returns the beginning of its reply as bytes. Does not
        follow redirects.

        The function puts one additional line before the page: the value of the reply's header `Location`,
        which is the target of a redirect. The line is empty if the program does not redirect. The result has
        at most MAX_BYTES.

        If the request fails or takes longer than TIMEOUT_SECONDS, returns the bytes that have arrived,
        possibly none.
        """
        headers = {**self.passage, RELAY_KEY_HEADER: self.session_key, "Accept": "text/html"}
        page = bytearray()
        try:
            async with (
                time_limit(TIMEOUT_SECONDS),
                self._http.stream("GET", f"{self.url}{relay_path(port)}/", headers=headers) as reply,
            ):
                page += str(reply.headers.get("Location", "")).encode() + b"\n"
                async for piece in reply.aiter_bytes():
                    page += piece
                    if len(page) >= MAX_BYTES:
                        break
        except (httpx.HTTPError, TimeoutError):
            return bytes(page[:MAX_BYTES])  # what came by then
        return bytes(page[:MAX_BYTES])
