"""Routes through which git in a sandbox fetches from and pushes to the user's git host. The routes add the
user's credentials to the requests. The sandbox never sees the credentials.
"""

import re
from collections.abc import AsyncIterator, Mapping
from urllib.parse import quote

import httpx
from fastapi import APIRouter, Request, Response
from starlette.requests import ClientDisconnect

from agent_runtime.wire import GIT_RELAY_HEADER
from app_server.core.encryption import ServerCipher
from app_server.git_proxy import large_files as large
from app_server.git_proxy import refusal, upstream
from app_server.git_proxy.access import RepositoryAccess
from app_server.git_proxy.commands import CommandList, read_commands
from app_server.git_proxy.pkt_line import ProtocolError, Reader
from app_server.git_proxy.policy import FIX, refusals
from app_server.git_proxy.push_reply import Push
from app_server.git_proxy.push_report import fatal, refused
from app_server.git_proxy.refusal import Refusal, Service
from app_server.git_proxy.streams import passing

_OUTLET = re.compile(r"http://127\.0\.0\.1:\d{1,5}/[0-9a-f]{16}")

router = APIRouter(prefix="/git", tags=["Git proxy"])


@router.get("/{name:path}/info/refs")
async def advertise(name: str, request: Request, service: str | None = None) -> Response:
    """Returns the list of refs (branches and tags) of a repository that the sandbox's conversation works on.
    Git sends this request at the beginning of every fetch and push. `service`: `git-upload-pack` for a fetch
    or `git-receive-pack` for a push; requests without one of these are refused.
    """
    wanted = refusal.SERVICES.get(service)
    if wanted is None:
        return refusal.dumb_protocol()
    try:
        access = await RepositoryAccess.of(request, name)
        if wanted == "git-receive-pack":
            access.require_writable()
        target, given = access.target, request.headers
        reply, address = await upstream.advertised(access.http, target, wanted, given)
        try:
            await access.remember(address)
        except Refusal:
            await reply.aclose()
            raise
    except Refusal as no:
        return refusal.to_advertisement(wanted, no)
    return passing(reply)


@router.post("/{name:path}/info/lfs/objects/batch")
async def large_files(name: str, cipher: ServerCipher, request: Request) -> Response:
    """Returns to git-lfs the addresses from which it downloads large files, or to which it uploads them. The
    addresses are on this server.
    """
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > large.MAX_BATCH_BYTES:
            return refusal.to_large_files(Refusal("The request of git-lfs is too long."))
    try:
        access = await RepositoryAccess.of(request, name)
        here = f"{_seen_from_the_sandbox(request)}/{quote(name, safe='/:')}/info/lfs/transfers"
        answer = await large.transfer_addresses(access, cipher, bytes(content), here)
    except Refusal as no:
        return refusal.to_large_files(no)
    return Response(answer, media_type=large.MEDIA_TYPE)


@router.get("/{name:path}/info/lfs/transfers/{ticket}")
async def download_large_file(name: str, ticket: str, cipher: ServerCipher, request: Request) -> Response:
    """Streams a large file (Git LFS) from the git host to the sandbox. `ticket`: the encrypted permission of
    the sandbox for this file, which Slipway has put into the URL.
    """
    try:
        access = await RepositoryAccess.of(request, name)
        allowed = large.opened(access, cipher, ticket, "download")
        return await large.download(access, allowed, request.headers)
    except Refusal as no:
        return refusal.to_large_files(no)


@router.put("/{name:path}/info/lfs/transfers/{ticket}")
async def upload_large_file(name: str, ticket: str, cipher: ServerCipher, request: Request) -> Response:
    """Streams a large file (Git LFS) from the sandbox to the git host. `ticket`: the encrypted permission of
    the sandbox for this file, which Slipway has put into the URL.
    """
    reader = Reader(aiter(request.stream()))
    try:
        try:
            access = await RepositoryAccess.of(request, name)
            allowed = large.opened(access, cipher, ticket, "upload")
            return await large.upload(access, allowed, reader.rest())
        except Refusal as no:
            await reader.drain()
            return refusal.to_large_files(no)
    except ClientDisconnect:
        return refusal.to_nobody()


@router.post("/{name:path}/info/lfs/transfers/{ticket}")
async def verify_large_file(name: str, ticket: str, cipher: ServerCipher, request: Request) -> Response:
    """Tells the git host that git-lfs has completely uploaded a large file. `ticket`: the encrypted
    permission of the sandbox for this file, which Slipway has put into the URL.
    """
    try:
        access = await RepositoryAccess.of(request, name)
        return await large.verify(access, large.opened(access, cipher, ticket, "verify"))
    except Refusal as no:
        return refusal.to_large_files(no)


@router.get("/{name:path}/info/lfs/{rest:path}", include_in_schema=False)
@router.post("/{name:path}/info/lfs/{rest:path}", include_in_schema=False)
async def locks() -> Response:
    """Refuses file locks of git-lfs with HTTP status 501. When git-lfs receives this status, it continues
    without locks. The request needs no authentication.
    """
    return refusal.no_locks()


def _seen_from_the_sandbox(request: Request) -> str:
    """Returns the base URL under which git in the sandbox reaches this server. The proxy program in the
    sandbox states this URL in a header. If the header is missing or not a valid URL, returns the address of
    the request without its path, followed by the prefix of these routes.
    """
    outlet = request.headers.get(GIT_RELAY_HEADER, "")
    return outlet if _OUTLET.fullmatch(outlet) else f"{str(request.base_url).rstrip('/')}{router.prefix}"


@router.post("/{name:path}/git-upload-pack")
async def fetch(name: str, request: Request) -> Response:
    """Returns the git objects that a `git fetch` in a sandbox requests. The objects are streamed from the git
    host.
    """
    reader = Reader(aiter(request.stream()))
    try:
        try:
            access = await RepositoryAccess.of(request, name)
            return passing(await _called(access, "git-upload-pack", request, reader.rest()))
        except Refusal as no:
            await reader.drain()
            return refusal.to_fetch(no)
    except ClientDisconnect:
        return refusal.to_nobody()


@router.post("/{name:path}/git-receive-pack")
async def push(name: str, request: Request) -> Response:
    """Passes a git push on to the git host, or refuses it if the conversation may not write to one of the
    branches. Stores one row in the table of pushes for each ref of the push.
    """
    reader = Reader(aiter(request.stream()))
    try:
        try:
            return await _judge(name, request, reader)
        except (Refusal, ProtocolError) as no:
            await reader.drain()
            return refusal.to_push(fatal(str(no)))
    except ClientDisconnect:
        return refusal.to_nobody()


async def _judge(name: str, request: Request, reader: Reader) -> Response:
    access = await RepositoryAccess.of(request, name)
    access.require_writable()
    if "content-encoding" in request.headers:
        raise Refusal("The request of a push must not be packed once more.")
    pushed = await read_commands(reader)
    if "push-options" in pushed.capabilities:
        # With push options, a host may merge the pushed commits.
        reasons = {each.ref: "options of a push are not passed on" for each in pushed.commands}
        return await _refuse(access, pushed, reader, reasons, "Push again without -o (--push-option).")
    reasons = refusals(
        pushed.commands,
        scope=access.target.scope,
        own=await access.own_refs(pushed.commands),
        protected_branches=access.target.protected_branches,
    )
    if reasons:
        return await _refuse(access, pushed, reader, reasons, FIX)
    return await _pass_on(access, pushed, reader, request)


async def _refuse(
    access: RepositoryAccess, pushed: CommandList, reader: Reader, reasons: Mapping[str, str], message: str
) -> Response:
    await access.record(pushed.commands, reasons)
    await reader.drain()
    return refusal.to_push(refused(pushed, reasons, f"Slipway did not pass this push on. {message}"))


async def _pass_on(
    access: RepositoryAccess, pushed: CommandList, reader: Reader, request: Request
) -> Response:
    ids = await access.record(pushed.commands)

    async def body() -> AsyncIterator[bytes]:
        yield reader.seen
        async for piece in reader.rest():
            yield piece

    try:
        reply = await _called(access, "git-receive-pack", request, body())
    except Refusal as no:
        reasons = {command.ref: str(no) for command in pushed.commands}
        await access.settle(ids, {} if isinstance(no, upstream.HostSilent) else reasons)
        await reader.drain()
        return refusal.to_push(refused(pushed, reasons, str(no)))
    return Push(reply, access, ids, has_sideband=pushed.has_sideband)


async def _called(
    access: RepositoryAccess, service: Service, request: Request, body: AsyncIterator[bytes]
) -> httpx.Response:
    return await upstream.called(access.http, access.target, access.url, service, request.headers, body)
