"""Sends git requests to the git host with the user's credentials. The credentials are sent only to the host
that they belong to.
"""

import logging
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

import httpx

from app_server.core.errors import Forbidden
from app_server.git.address import origin_of
from app_server.git.command import Credentials
from app_server.git.models import PushScope
from app_server.git_proxy.refusal import Refusal, Service
from app_server.http.additional_trust import certificate_problem
from app_server.http.connection_errors import connection_problem

logger = logging.getLogger(__name__)


class HostSilent(Refusal):
    """The error that is raised if the git host did not reply. It is unknown whether the host has carried out
    the request.
    """


MAX_REDIRECTS = 3
# A host may pack for minutes, but it sends progress every few seconds.
_TIMEOUT = httpx.Timeout(300.0, connect=15.0)
_FORWARDED = ("accept", "accept-encoding", "user-agent")
_VERSION = re.compile(r"[a-z0-9=.:-]{1,100}")
_ADD = "The user can add one under Settings, Git hosts."
_RENEW = "The user can renew it under Settings, Git hosts."


@dataclass(frozen=True)
class UpstreamRepository:
    """A repository at its git host, with the rights that a sandbox's conversations have there.

    `name`: `host/owner/name`. `url`: the address without credentials. `credentials`: the user's credentials;
    None means that requests are sent to the host without credentials. `scope`: which branches agents may push
    to. `protected_branches`: the branches that the user has chosen as the beginning of the sandbox's
    conversations. Agents may push to them only if `scope` is ANY or if the sandbox has created them.
    `is_read_only`: True if agents may not push to the repository at all.
    """

    name: str
    url: str
    credentials: Credentials | None
    scope: PushScope
    protected_branches: frozenset[str]
    is_read_only: bool = False

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc


async def advertised(
    http: httpx.AsyncClient, target: UpstreamRepository, service: Service, given: Mapping[str, str]
) -> tuple[httpx.Response, str]:
    """Requests the list of refs (branches and tags) from the git host and follows the host's redirects.
    Returns the reply, whose body is not read yet, and the repository's address after the redirects.

    `service`: `git-upload-pack` for a fetch or `git-receive-pack` for a push. `given`: the headers of the
    sandbox's request. Raises Refusal if the host refuses the request, does not reply, or redirects to another
    host or too often.
    """
    url, ending = target.url, f"/info/refs?service={service}"
    for _ in range(MAX_REDIRECTS + 1):
        reply = await _send(
            http, target, http.build_request("GET", url + ending, headers=_headers(target, given))
        )
        if not reply.is_redirect:
            await _check(target, reply, service, f"application/x-{service}-advertisement")
            return reply, url
        await reply.aclose()
        url = _moved(target, reply, ending)
    raise Refusal(f"{target.host} redirects again and again.")


async def called(
    http: httpx.AsyncClient,
    target: UpstreamRepository,
    url: str,
    service: Service,
    given: Mapping[str, str],
    body: AsyncIterator[bytes],
) -> httpx.Response:
    """Sends a git request to the git host and returns the reply, whose body is not read yet. `url`: the
    repository's address after redirects. `service`: `git-upload-pack` for a fetch or `git-receive-pack` for a
    push. `given`: the headers of the sandbox's request. `body`: the body of this request, which is streamed
    to the host.

    Raises Refusal if the host refuses the request or redirects it. Also raises Refusal if the host's
    certificate is not trusted, or if the user may not reach the host's network address. Raises HostSilent (a
    subclass of Refusal) if the host does not reply.
    """
    headers = _headers(target, given) | {
        "content-type": f"application/x-{service}-request",
        **{name: given[name] for name in ("content-encoding", "content-length") if name in given},
    }
    if service == "git-receive-pack":
        headers["accept-encoding"] = "identity"  # the report in the answer is read here
    request = http.build_request("POST", f"{url}/{service}", content=body, headers=headers)
    reply = await _send(http, target, request)
    if reply.is_redirect:
        await reply.aclose()
        raise Refusal(f"{target.host} has moved the repository meanwhile. Try again.")
    await _check(target, reply, service, f"application/x-{service}-result")
    return reply


def _headers(target: UpstreamRepository, given: Mapping[str, str]) -> dict[str, str]:
    headers = {name: given[name] for name in _FORWARDED if name in given}
    # Without this header the client library would name encodings that git may not be able to decode.
    headers.setdefault("accept-encoding", "identity")
    version = given.get("git-protocol", "")
    if _VERSION.fullmatch(version):
        headers["git-protocol"] = version
    return headers | basic_of(target.credentials)


def basic_of(credentials: Credentials | None) -> dict[str, str]:
    """Returns the header for HTTP Basic authentication with the credentials. Returns an empty dictionary if
    `credentials` is None.
    """
    if credentials is None:
        return {}
    pair = f"{credentials.username}:{credentials.password}"
    return {"authorization": f"Basic {b64encode(pair.encode()).decode()}"}


async def _send(
    http: httpx.AsyncClient, target: UpstreamRepository, request: httpx.Request
) -> httpx.Response:
    if target.credentials and origin_of(str(request.url)) != origin_of(target.credentials.origin):
        raise AssertionError("credentials would go to another host")
    request.extensions["timeout"] = _TIMEOUT.as_dict()
    try:
        return await http.send(request, stream=True, follow_redirects=False, auth=None)
    except Forbidden as error:
        raise Refusal(f"{error.detail} {error.fix}") from error
    except httpx.HTTPError as error:
        if problem := certificate_problem(error):
            raise Refusal(untrusted(target.host, problem)) from error
        logger.info("a git host did not answer", extra={"host": target.host, "cause": type(error).__name__})
        raise HostSilent(
            f"{target.host} did not answer: {connection_problem(target.host, error)}. Try again later."
        ) from error


def _moved(target: UpstreamRepository, reply: httpx.Response, ending: str) -> str:
    """Returns the address to which the git host redirects the repository. Raises Refusal for a redirect to
    another host, because the user's credentials must not be sent there. Also raises Refusal for a redirect to
    a page that is not a git repository.

    `reply`: the git host's redirect. `ending`: the part of the request's path after the repository's address.
    The new address is returned without this part.
    """
    wanted = reply.next_request.url if reply.next_request else None
    address = str(wanted)
    try:
        is_there = wanted is not None and origin_of(address) == origin_of(target.url)
    except ValueError:
        is_there = False
    if not is_there:
        raise Refusal(
            f"{target.host} redirects to another address, where the user's token must not go. "
            "The user can start a conversation on the repository's new address."
        )
    if not address.endswith(ending) or "@" in urlsplit(address).netloc:
        raise Refusal(f"{target.host} redirects to a page that is not a git repository. {_sign_in(target)}")
    return address.removesuffix(ending)


async def _check(
    target: UpstreamRepository, reply: httpx.Response, service: Service, media_type: str
) -> None:
    content_type = reply.headers.get("content-type", "").partition(";")[0].strip()
    if reply.status_code == HTTPStatus.OK and content_type == media_type:
        return
    await reply.aclose()
    extra = {"host": target.host, "status": reply.status_code}
    logger.info("a git host refused", extra=extra)
    raise Refusal(explained(target, reply.status_code, service))


def untrusted(host: str, problem: str) -> str:
    """Returns a message for the user about a TLS certificate that was not accepted. `problem`: the reason
    that the TLS library states.
    """
    return (
        f"The certificate of {host} is not trusted ({problem}). If a private authority has signed it, the "
        "user can paste the certificate of that authority under Settings, Git hosts."
    )


def explained(target: UpstreamRepository, status: int, service: Service) -> str:
    """Returns a message that tells the user what an error reply of the git host means. `status`: the HTTP
    status of the reply. `service`: whether the request was a push or a fetch.
    """
    host, name = target.host, target.name
    wish = "push to" if service == "git-receive-pack" else "read"
    with_token: dict[int, str] = {
        HTTPStatus.UNAUTHORIZED: f"{host} does not accept the user's token. {_RENEW}",
        HTTPStatus.FORBIDDEN: f"{host} does not let the user's token {wish} {name}. {_RENEW}",
    }
    without_token: dict[int, str] = {
        HTTPStatus.UNAUTHORIZED: f"{host} wants a token of the user to {wish} {name}. {_ADD}",
        HTTPStatus.FORBIDDEN: f"{host} does not let you {wish} {name} without a token. {_ADD}",
    }
    always: dict[int, str] = {
        HTTPStatus.OK: f"{host} answered with something else than git's protocol. {_sign_in(target)}",
        HTTPStatus.NOT_FOUND: f"{host} has no repository {name}, or does not show it. {_sign_in(target)}",
        HTTPStatus.TOO_MANY_REQUESTS: f"{host} has had too many requests. Try again later.",
    }
    known = always | (with_token if target.credentials else without_token)
    return known.get(status, f"{host} failed (HTTP {status}). Try again later.")


def _sign_in(target: UpstreamRepository) -> str:
    return "The user's token may not open it." if target.credentials else f"It may need a token. {_ADD}"
