"""Builds error texts that tell a user why a connection to a server failed."""

import socket
from collections.abc import Iterator


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yields `error`, then the exception that caused it, and so on to the first cause."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def unknown_host(host: str, error: OSError) -> str:
    """Returns the error text for a host whose address is unknown. `error`: the exception of the DNS lookup; a
    TimeoutError means that the DNS did not answer.
    """
    if isinstance(error, TimeoutError):
        return f"the DNS gives no answer for {host}"
    return f"{host} cannot be found in the DNS"


def connection_problem(host: str, error: BaseException) -> str:
    """Returns the reason why a request did not reach the host: the text of the exception, or its type if it
    has no text. An error of the DNS lookup is replaced by a sentence.
    """
    for cause in causes(error):
        if isinstance(cause, socket.gaierror):
            return unknown_host(host, cause)
    return str(error) or type(error).__name__
