"""Asks a git host which of its users a token belongs to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
from pydantic import BaseModel

from app_server.core.errors import BadGateway, BadRequest
from app_server.http.bounded_body import IDENTITY, BodyTooLong, whole_body

TIMEOUT_SECONDS = 15.0
MAX_REPLY_BYTES = 256 * 1024

Reply = Mapping[str, Any]


class UserGitInfo(BaseModel):
    """The user at the git host. `id` is a number at most hosts; it is sent as text."""

    id: str
    login: str
    avatar_url: str
    company: str | None = None
    name: str | None = None
    email: str | None = None


@dataclass(frozen=True)
class HostApi:
    """The request that asks a git host for the user of a token.

    `url`: the address of the request. `read`: translates the host's reply into the protocol's fields.
    `scheme`: the scheme of the Authorization header.
    """

    url: str
    read: Callable[[Reply], UserGitInfo]
    scheme: str = "Bearer"


def api_of(origin: str) -> HostApi:
    """Returns the request for this git host, chosen by its host name. A host with an unknown name is treated
    as a Forgejo or Gitea.

    Raises BadRequest `git_host_has_no_user` for a host that does not tell the user of a token.
    """
    host = urlsplit(origin).hostname or ""
    if host == "github.com":
        return HostApi("https://api.github.com/user", _of_github)
    if host.startswith("github."):
        return HostApi(f"{origin}/api/v3/user", _of_github)
    if "gitlab" in host:
        return HostApi(f"{origin}/api/v4/user", _of_gitlab)
    if host == "bitbucket.org":
        return HostApi("https://api.bitbucket.org/2.0/user", _of_bitbucket)
    if host == "dev.azure.com" or host.endswith(".visualstudio.com"):
        raise BadRequest(f"{host} does not tell whose a token is.", code="git_host_has_no_user")
    return HostApi(f"{origin}/api/v1/user", _of_forgejo, scheme="token")


async def ask(client: httpx.AsyncClient, api: HostApi, token: str, username: str | None) -> UserGitInfo:
    """Asks the git host which user the token belongs to, and returns that user.

    `username`: sent with the token as basic authentication; None means that the token is sent alone. Raises
    BadGateway `git_token_refused` and `git_host_failed`, and Forbidden `private_address`.
    """
    auth = httpx.BasicAuth(username, token) if username else None
    headers = {"Accept": "application/json", **IDENTITY} | (
        {} if auth else {"Authorization": f"{api.scheme} {token}"}
    )
    try:
        call = client.stream("GET", api.url, headers=headers, auth=auth, timeout=TIMEOUT_SECONDS)
        async with call as reply:
            if reply.status_code in {401, 403}:
                raise BadGateway("The git host refuses the token.", code="git_token_refused")
            if reply.status_code != httpx.codes.OK:
                raise _failed(f"it answered {reply.status_code}")
            content = await whole_body(reply, MAX_REPLY_BYTES, TIMEOUT_SECONDS)
        return api.read(orjson.loads(content))
    except BodyTooLong as error:
        raise _failed("its answer is too long") from error
    except httpx.HTTPError as error:
        raise _failed(str(error) or type(error).__name__) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _failed("its answer is not that of a git host") from error


def _failed(why: str) -> BadGateway:
    return BadGateway(f"The git host did not say whose token it is: {why}.", code="git_host_failed")


def _of_github(reply: Reply) -> UserGitInfo:
    return UserGitInfo(
        id=str(reply["id"]),
        login=reply["login"],
        avatar_url=reply["avatar_url"],
        company=reply.get("company"),
        name=reply.get("name"),
        email=reply.get("email"),
    )


def _of_gitlab(reply: Reply) -> UserGitInfo:
    return UserGitInfo(
        id=str(reply["id"]),
        login=reply["username"],
        avatar_url=reply.get("avatar_url") or "",
        company=reply.get("organization"),
        name=reply.get("name"),
        email=reply.get("email"),
    )


def _of_bitbucket(reply: Reply) -> UserGitInfo:
    return UserGitInfo(
        id=str(reply["account_id"]),
        login=reply.get("username") or reply["nickname"],
        avatar_url=reply.get("links", {}).get("avatar", {}).get("href") or "",
        name=reply.get("display_name"),
    )


def _of_forgejo(reply: Reply) -> UserGitInfo:
    return UserGitInfo(
        id=str(reply["id"]),
        login=reply["login"],
        avatar_url=reply.get("avatar_url") or "",
        name=reply.get("full_name") or None,
        email=reply.get("email"),
    )
