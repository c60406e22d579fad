"""Proxies Git LFS: asks the git host for the addresses of large files, and streams the files.

Source: https://github.com/git-lfs/git-lfs/tree/main/docs/api. The host replies with an address for each file.
The address often contains a secret. Therefore the sandbox gets an address of this server in its place. The
address of this server contains an encrypted ticket (the permission for one file) that only this sandbox can
use.
"""

import time
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit
from uuid import UUID

import httpx
import orjson
from fastapi import Response
from pydantic import BaseModel, Field, ValidationError

from app_server.core.encryption import Cipher
from app_server.core.errors import ConfigurationError, Forbidden
from app_server.git.address import origin_of
from app_server.git_proxy.access import RepositoryAccess
from app_server.git_proxy.refusal import Refusal
from app_server.git_proxy.streams import bytes_of
from app_server.git_proxy.upstream import basic_of, explained, untrusted
from app_server.http.additional_trust import certificate_problem
from app_server.http.bounded_body import IDENTITY, BodyTooLong, read_body
from app_server.http.connection_errors import connection_problem
from app_server.http.guarded_client import bound_to
from app_server.http.reply_streaming import Passing

MEDIA_TYPE = "application/vnd.git-lfs+json"
MAX_FILES = 1000
MAX_FILE_BYTES = 5 * 1024**3
MAX_BATCH_BYTES = 1024**2
MAX_REPLY_BYTES = 8 * 1024**2
TICKET_SECONDS = 3600.0
_MAX_REDIRECTS = 3
_TIMEOUT = httpx.Timeout(300.0, connect=15.0)
_REPLY_SECONDS = 60.0
_ACTIONS = ("download", "upload", "verify")
# The HTTP client sets these headers itself, so values that the host states for them are not used.
_NOT_FORWARDED = frozenset(("host", "content-length", "transfer-encoding", "connection", "accept-encoding"))

Action = Literal["download", "upload", "verify"]


class LargeFile(BaseModel):
    """A file in Git LFS: its SHA-256 hash, which is its id, and its size in bytes."""

    oid: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    size: Annotated[int, Field(ge=0)]


class _Ref(BaseModel):
    name: Annotated[str, Field(max_length=1024)]


class Batch(BaseModel):
    """The body of a request in which git-lfs asks for the addresses of several files. Slipway supports only
    the transfer type `basic`. `ref`: the branch that git-lfs works on; None if git-lfs does not state one.
    """

    operation: Literal["download", "upload"]
    objects: Annotated[list[LargeFile], Field(max_length=MAX_FILES)]
    ref: _Ref | None = None


class Ticket(BaseModel):
    """The permission for one sandbox to transfer one file of Git LFS. `action`: download the file, upload it,
    or tell the git host that the upload is complete (`verify`). `href`, `header`: the address and the HTTP
    headers that the host has stated for the file. `is_authenticated`: True if the host has stated that these
    headers are sufficient; then the user's credentials are not sent. `ends_at`: when the ticket expires, in
    epoch seconds.
    """

    purpose: Literal["git-lfs"] = "git-lfs"
    action: Action
    sandbox_id: UUID
    file: LargeFile
    href: str
    header: dict[str, str]
    is_authenticated: bool
    ends_at: float


async def transfer_addresses(access: RepositoryAccess, cipher: Cipher, content: bytes, here: str) -> bytes:
    """Asks the git host for the addresses of large files (Git LFS). Returns the host's reply, in which
    addresses of this server replace the host's addresses.

    `content`: the body of the request that git-lfs has sent. `here`: the base URL of the new addresses; an
    encrypted ticket (the permission for one file) is appended for each file. Raises Refusal if the request
    cannot be read, a file is too large, or the sandbox may not upload to this repository.
    """
    try:
        batch = Batch.model_validate_json(content)
    except ValidationError as error:
        raise Refusal(
            f"The request of git-lfs cannot be read, or names more than {MAX_FILES} files."
        ) from error
    if batch.operation == "upload":
        access.require_writable()
    for file in batch.objects:
        if file.size > MAX_FILE_BYTES:
            raise Refusal(f"Files of more than {MAX_FILE_BYTES // 1024**3} GiB are not passed on.")
    question = {**batch.model_dump(exclude_none=True), "transfers": ["basic"], "hash_algo": "sha256"}
    found = await _batch_reply(access, orjson.dumps(question), batch.operation)
    wanted = {file.oid: file for file in batch.objects}
    try:
        objects = [
            _with_tickets(access, cipher, one, wanted[one["oid"]], here)
            for one in found.get("objects") or ()
            if isinstance(one, dict) and one.get("oid") in wanted
        ]
    except (TypeError, AttributeError, ValueError) as error:
        raise Refusal(f"The answer of {access.target.host} about large files cannot be read.") from error
    return orjson.dumps({"transfer": "basic", "objects": objects, "hash_algo": "sha256"})


async def _batch_reply(access: RepositoryAccess, content: bytes, operation: str) -> dict[str, Any]:
    headers = {**IDENTITY, "accept": MEDIA_TYPE, "content-type": MEDIA_TYPE}
    headers |= basic_of(access.target.credentials)
    address = f"{access.url.removesuffix('.git')}.git/info/lfs/objects/batch"
    reply = await _send(access, access.http.build_request("POST", address, headers=headers, content=content))
    try:
        said = await read_body(reply, MAX_REPLY_BYTES, _REPLY_SECONDS)
    except BodyTooLong as error:
        raise Refusal(f"The answer of {access.target.host} is too long.") from error
    except httpx.HTTPError as error:
        raise Refusal(f"{access.target.host} did not answer. Try again later.") from error
    finally:
        await reply.aclose()
    found = _parsed(said)
    if reply.is_success and isinstance(found, dict):
        if found.get("transfer", "basic") != "basic":
            raise Refusal(f"{access.target.host} transfers large files in a way that cannot be passed on.")
        return found
    service: Literal["git-receive-pack", "git-upload-pack"] = (
        "git-receive-pack" if operation == "upload" else "git-upload-pack"
    )
    words = found.get("message") if isinstance(found, dict) else None
    raise Refusal(
        explained(access.target, reply.status_code, service) + (f" It says: {words}" if words else "")
    )


def _with_tickets(
    access: RepositoryAccess, cipher: Cipher, found: dict[str, Any], file: LargeFile, here: str
) -> dict[str, Any]:
    """Converts the git host's reply about one file (`found`) to the reply for the sandbox, and returns it.
    Addresses of this server replace the host's addresses. Each new address contains an encrypted ticket (the
    permission for this file). `here`: the base URL of these addresses.
    """
    answer: dict[str, Any] = {"oid": file.oid, "size": file.size, "authenticated": True}
    if isinstance(found.get("error"), dict):
        error = found["error"]
        return answer | {"error": {"code": error.get("code"), "message": str(error.get("message") or "")}}
    actions = found.get("actions") or {}
    answer["actions"] = {
        name: {
            "href": f"{here}/{_ticket(access, cipher, name, found, file)}",
            "expires_in": int(TICKET_SECONDS),
        }
        for name in _ACTIONS
        if isinstance(actions.get(name), dict)
    }
    return answer


def _ticket(
    access: RepositoryAccess, cipher: Cipher, name: str, found: dict[str, Any], file: LargeFile
) -> str:
    action = found["actions"][name]
    href, header = str(action.get("href") or ""), action.get("header") or {}
    _check_address(access, href)
    ticket = Ticket.model_validate(
        {
            "action": name,
            "sandbox_id": access.sandbox.id,
            "file": file,
            "href": href,
            "header": {str(key): str(value) for key, value in header.items()},
            "is_authenticated": bool(found.get("authenticated")),
            "ends_at": time.time() + TICKET_SECONDS,
        }
    )
    return cipher.encrypt(ticket.model_dump_json())


def _check_address(access: RepositoryAccess, href: str) -> None:
    unusable = Refusal(f"{access.target.host} has large files at an address that cannot be called.")
    try:
        httpx.URL(href)
        parts = urlsplit(href)
    except (httpx.InvalidURL, ValueError) as error:
        raise unusable from error
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and access.target.url.startswith("http:"))
    if not is_safe or not parts.netloc or "@" in parts.netloc:
        raise unusable


def opened(access: RepositoryAccess, cipher: Cipher, text: str, *actions: Action) -> Ticket:
    """Decrypts a ticket (the permission of a sandbox to transfer one large file) and returns it. `text`: the
    encrypted ticket from the URL of the request. `actions`: the ticket must permit one of these actions, such
    as `download`.

    Raises Refusal if the ticket is not valid, has expired, was made for another sandbox, or permits none of
    `actions`.
    """
    try:
        ticket = Ticket.model_validate_json(cipher.decrypt(text))
    except (ConfigurationError, ValidationError, ValueError):
        raise Refusal("This address of a large file is not valid. Run the command again.") from None
    is_own = ticket.sandbox_id == access.sandbox.id and ticket.action in actions
    if not is_own or ticket.ends_at < time.time():
        raise Refusal("This address of a large file is not valid, or has expired. Run the command again.")
    return ticket


async def download(access: RepositoryAccess, ticket: Ticket, given: Mapping[str, str]) -> Response:
    """Streams a file from the git host to the sandbox. Returns the HTTP response that streams the file.
    `ticket`: the permission for this file. `given`: the headers of the sandbox's request. The header `Range`
    is passed on, so that git-lfs can continue an interrupted download.

    Raises Refusal if the host does not send the file. Also raises Refusal if the host does not state the
    length of its reply, or states more bytes than the size in the ticket.
    """
    headers = _headers(access, ticket)
    if "range" in given:
        headers["range"] = given["range"]
    href = ticket.href
    for _ in range(_MAX_REDIRECTS + 1):
        reply = await _send(access, access.http.build_request("GET", href, headers=headers))
        if not reply.is_redirect or reply.next_request is None:
            break
        await reply.aclose()
        next_address = str(reply.next_request.url)
        _check_address(access, next_address)
        if origin_of(next_address) != origin_of(href):
            headers = {name: headers[name] for name in ("accept-encoding", "range") if name in headers}
        href = next_address
    length = reply.headers.get("content-length", "")
    is_too_long = not length.isdecimal() or int(length) > ticket.file.size
    if not reply.is_success or is_too_long:
        await reply.aclose()
        raise Refusal(f"The large file {ticket.file.oid[:12]} is not given out (HTTP {reply.status_code}).")
    header_names = ("content-length", "content-range", "content-type", "accept-ranges")
    returned = {name: reply.headers[name] for name in header_names if name in reply.headers}
    return Passing(reply, bytes_of(reply), status=reply.status_code, headers=returned)


async def upload(access: RepositoryAccess, ticket: Ticket, pieces: AsyncIterator[bytes]) -> Response:
    """Streams a file from the sandbox to the git host. Returns the HTTP response for the sandbox. Raises
    Refusal if the number of bytes differs from the size in the ticket (the permission for this file), or if
    the host refuses the file.
    """
    headers = {"content-type": "application/octet-stream", **_headers(access, ticket)}
    headers["content-length"] = str(ticket.file.size)
    content = _exactly(pieces, ticket.file.size)
    return await _answer(
        access, access.http.build_request("PUT", ticket.href, headers=headers, content=content)
    )


async def verify(access: RepositoryAccess, ticket: Ticket) -> Response:
    """Tells the git host that the sandbox has uploaded the file of this ticket (the permission for one file).
    Returns an HTTP response for the sandbox.
    """
    headers = {"accept": MEDIA_TYPE, "content-type": MEDIA_TYPE, **_headers(access, ticket)}
    content = ticket.file.model_dump_json().encode()
    return await _answer(
        access, access.http.build_request("POST", ticket.href, headers=headers, content=content)
    )


async def _answer(access: RepositoryAccess, request: httpx.Request) -> Response:
    reply = await _send(access, request)
    try:
        said = await read_body(reply, MAX_REPLY_BYTES, _REPLY_SECONDS)
    except httpx.HTTPError as error:
        raise Refusal(f"{request.url.host} did not answer. Try again later.") from error
    finally:
        await reply.aclose()
    if reply.is_success:
        return Response(status_code=200)
    found = _parsed(said)
    words = f": {found['message']}" if isinstance(found, dict) and found.get("message") else ""
    raise Refusal(f"{request.url.host} does not take the large file (HTTP {reply.status_code}){words}.")


def _headers(access: RepositoryAccess, ticket: Ticket) -> dict[str, str]:
    headers = {
        name.lower(): value for name, value in ticket.header.items() if name.lower() not in _NOT_FORWARDED
    }
    credentials = access.target.credentials
    if credentials and "authorization" not in headers and not ticket.is_authenticated:
        # Then git-lfs uses the credentials of the address, and they are good for their own host only.
        is_own = origin_of(ticket.href) == origin_of(credentials.origin)
        headers |= basic_of(credentials) if is_own else {}
    return {**headers, "accept-encoding": "identity"}


async def _send(access: RepositoryAccess, request: httpx.Request) -> httpx.Response:
    request.extensions |= {"timeout": _TIMEOUT.as_dict(), **bound_to(access.target.url)}
    try:
        return await access.http.send(request, stream=True, follow_redirects=False, auth=None)
    except Forbidden as error:
        raise Refusal(f"{error.detail} {error.fix}") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        host = request.url.host
        if problem := certificate_problem(error):
            raise Refusal(untrusted(host, problem)) from error
        raise Refusal(
            f"{host} did not answer: {connection_problem(host, error)}. Try again later."
        ) from error


async def _exactly(pieces: AsyncIterator[bytes], limit: int) -> AsyncIterator[bytes]:
    """Yields the pieces of a file unchanged, and checks that the file has exactly `limit` bytes. Raises
    httpx.WriteError if it has more bytes or fewer bytes, so that the upload fails.
    """
    count = 0
    async for piece in pieces:
        count += len(piece)
        if count > limit:
            raise httpx.WriteError("the large file is longer than was stated")
        yield piece
    if count < limit:
        raise httpx.WriteError("the large file is shorter than was stated")


def _parsed(content: bytes) -> Any:
    try:
        return orjson.loads(content)
    except ValueError:
        return None
