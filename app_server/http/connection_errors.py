"""What to tell a person about a connection that could not be made."""

import socket
from collections.abc import Iterator


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yields the error, then the error that caused it, and so on."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def unknown_host(host: str, error: OSError) -> str:
    """Returns the text for a host without a known address. error: from the lookup; a TimeoutError means that
    the DNS did not answer.
    """
    if isinstance(error, TimeoutError):
        return f"the DNS gives no answer for {host}"
    return f"{host} cannot be found in the DNS"


def connection_problem(host: str, error: BaseException) -> str:
    """Returns why a request did not reach the host: the text of the error, or its type if it has no text.
    The codes of the system's resolver become a sentence.
    """
    for cause in causes(error):
        if isinstance(cause, socket.gaierror):
            return unknown_host(host, cause)
    return str(error) or type(error).__name__
