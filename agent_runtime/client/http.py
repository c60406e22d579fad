"""Converts HTTP responses of an agent server to results and exceptions, and repeats requests that get no
response.
"""

import asyncio
from collections.abc import Awaitable, Callable

import httpx

from agent_runtime.client.errors import DisconnectedError, WorkspaceError
from agent_runtime.conversation.errors import REFUSALS, ConversationError
from agent_runtime.wire import API_KEY_HEADER

CONNECT_SECONDS = 10.0
RETRY_SECONDS = 0.2


def headers(api_key: str | None) -> dict[str, str]:
    return {API_KEY_HEADER: api_key} if api_key else {}


def check(response: httpx.Response) -> httpx.Response:
    """Returns the HTTP response of an agent server if its status means success. Otherwise raises the error
    that the response describes.

    The error code in the response determines the class of the error. For a code without a special class,
    raises ConversationError if the URL of the request begins with /api/conversations, otherwise
    WorkspaceError.
    """
    if response.is_success:
        return response
    if "problem+json" not in response.headers.get("content-type", ""):
        raise WorkspaceError(
            f"http_{response.status_code}",
            f"{response.request.url} answered {response.status_code}, and not as an agent server does.",
            "Check the host of the workspace.",
        )
    problem = response.json()
    code, detail = str(problem["code"]), str(problem["detail"])
    if refusal := REFUSALS.get(code):
        raise refusal.of_problem(problem)
    if response.request.url.path.startswith("/api/conversations"):
        raise ConversationError(code, detail, problem.get("fix"))
    raise WorkspaceError(code, detail, problem.get("fix"))


def disconnected(host: str, error: Exception) -> DisconnectedError:
    why = str(error) or type(error).__name__
    return DisconnectedError(
        "disconnected",
        f"The agent server at {host} does not answer: {why}",
        "Check that it runs and can be reached from here, then open the conversation again by its id.",
    )


async def persist(
    ask: Callable[[], Awaitable[httpx.Response]], *, host: str, patience_seconds: float, is_repeatable: bool
) -> httpx.Response:
    """Sends a request by calling `ask`, and returns the response. If the status of the response means an
    error, raises the error that the response describes. If there is no response, repeats the request.

    Raises DisconnectedError if there is still no response after `patience_seconds`, or if the request must
    not be repeated. `host`: the server's URL for the text of this error. `is_repeatable`: whether the request
    may be repeated even if the server may have received it already. If False, the request is repeated only if
    no connection to the server could be made.
    """
    again = httpx.TransportError if is_repeatable else httpx.ConnectError
    deadline = asyncio.get_running_loop().time() + patience_seconds
    while True:
        try:
            return check(await ask())
        except httpx.TransportError as error:
            is_late = asyncio.get_running_loop().time() >= deadline
            if is_late or not isinstance(error, again):
                raise disconnected(host, error) from error
        await asyncio.sleep(RETRY_SECONDS)
