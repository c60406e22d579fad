"""The replies of the egress proxy to requests that it refuses. They tell the program in the sandbox the
reason, and what the user can do.
"""

from dataclasses import dataclass
from http import HTTPStatus

from app_server.egress.policy import Reason

REASON_HEADER = "X-Slipway-Egress"


@dataclass(frozen=True)
class ProxyAnswer:
    """A reply of the egress proxy to a refused request.

    code: a short code of the reason, for programs; the reply contains it in the header `X-Slipway-Egress`.
    phrase: the reason in the status line of the reply, because some programs show only this line. text: the
    body of the reply, with the reason and what to do.
    """

    status: HTTPStatus
    code: str
    phrase: str
    text: str


NOT_A_SANDBOX = ProxyAnswer(
    HTTPStatus.PROXY_AUTHENTICATION_REQUIRED,
    "not_authenticated",
    "Slipway: only a sandbox may pass here",
    "This proxy needs the session key of a sandbox.",
)
KEY_EXPIRED = ProxyAnswer(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "session_key_expired",
    "Slipway: the sandbox's key has expired",
    "The session key of this sandbox has expired and is about to be renewed. Try again in a moment.",
)
TOO_MANY = ProxyAnswer(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "too_many_connections",
    "Slipway: too many connections at once",
    "This sandbox has as many connections open as it may have. Close some and try again.",
)
BROKEN = ProxyAnswer(
    HTTPStatus.BAD_GATEWAY,
    "broken_answer",
    "Slipway: the host closed the connection",
    "The host did not answer in HTTP, or closed the connection before its answer was complete.",
)
NO_TRACE = ProxyAnswer(
    HTTPStatus.METHOD_NOT_ALLOWED,
    "trace_refused",
    "Slipway: no TRACE where a credential is added",
    "TRACE repeats what was sent, and a credential is added to calls of this host.",
)
MALFORMED = ProxyAnswer(
    HTTPStatus.BAD_REQUEST,
    "malformed_request",
    "Slipway: malformed request",
    "The proxy takes CONNECT host:port, and http:// addresses in full.",
)
NOT_HTTP = ProxyAnswer(
    HTTPStatus.BAD_REQUEST,
    "not_http",
    "Slipway: only HTTP passes to port 80",
    "A tunnel to port 80 carries HTTP requests for the host that it was asked for, and nothing else.",
)


def answer_to(reason: Reason, host: str, port: int) -> ProxyAnswer:
    address = f"{host}:{port}"
    why, fix = (text.format(place=address, host=host) for text in _WORDS[reason])
    phrase = f"Slipway: {why}" + (", your user can allow it in the chat" if reason == "not_allowed" else "")
    return ProxyAnswer(_STATUS.get(reason, HTTPStatus.FORBIDDEN), reason, phrase, f"Refused: {why}. {fix}")


_WORDS = {
    Reason.NOT_ALLOWED: (
        "{place} is not on this conversation's list of allowed hosts",
        "The user can allow it in the chat, or under Network in the settings.",
    ),
    Reason.DENIED: (
        "{place} is denied by the organisation or a team",
        "Ask an administrator. The rules are under Network in the settings.",
    ),
    Reason.NETWORK_OFF: (
        "{place} cannot be reached: the network is switched off for this conversation",
        "The user can switch it on under Network in the settings.",
    ),
    Reason.BAD_HOST: (
        "this is not the name of a host",
        "Write names in letters, addresses as four decimal numbers or as IPv6.",
    ),
    Reason.PRIVATE_ADDRESS: (
        "{place} leads to a private address",
        "An administrator can name it in SLIPWAY_EGRESS_PRIVATE.",
    ),
    Reason.UNKNOWN_HOST: ("{host} cannot be found in the DNS", "Check how the name is written."),
    Reason.UNREACHABLE: ("{place} does not answer", "Check the port, and that the host is up."),
    Reason.OTHER_NAME: (
        "the connection to {place} names another host",
        "Use the same host name for the connection and the request.",
    ),
    Reason.NOT_TLS: ("what was sent to {place} is not TLS", "Use https there."),
    Reason.NOT_TRUSTED: (
        "TLS with {place} failed in the sandbox",
        "Trust the certificates that SSL_CERT_FILE names: Slipway reads what goes to this host.",
    ),
    Reason.UPSTREAM_REFUSED: (
        "the proxy of this server's network does not let {place} through",
        "Ask the administrator of that proxy, or name the host in NO_PROXY.",
    ),
    Reason.GIT_WRITE: (
        "{host} is a git host of the user, and changes there must go through Slipway's git proxy",
        "Push to the conversation's repository, at the address that git remote -v shows.",
    ),
    Reason.FOREIGN_CREDENTIAL: (
        "{host} is a git host of the user, and Slipway does not pass on a credential of the sandbox to it",
        "Read without one. The user can add a credential for the host under Network in the settings.",
    ),
    Reason.BAD_CERTIFICATE: (
        "the certificate of {place} cannot be verified",
        "Nothing was sent. Check the host's certificate, and the certificates that Slipway's machine trusts.",
    ),
}
_STATUS = {
    Reason.BAD_HOST: HTTPStatus.BAD_REQUEST,
    Reason.UNKNOWN_HOST: HTTPStatus.BAD_GATEWAY,
    Reason.UNREACHABLE: HTTPStatus.BAD_GATEWAY,
    Reason.BAD_CERTIFICATE: HTTPStatus.BAD_GATEWAY,
    Reason.UPSTREAM_REFUSED: HTTPStatus.BAD_GATEWAY,
}
