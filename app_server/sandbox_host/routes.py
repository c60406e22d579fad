"""The HTTP routes of a sandbox host, which runs sandboxes for an app server on another machine. The app
server calls them to manage its sandboxes on this host (docs/sandbox-service.md).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, File, Form, Query, Request, Response, UploadFile, WebSocket
from fastapi.responses import StreamingResponse
from pydantic import Json

from app_server.core.errors import StartFailure
from app_server.core.start_report import Report
from app_server.core.version import VERSION
from app_server.sandbox_backends.backend import workspace_missing
from app_server.sandbox_backends.remote.wire import (
    NDJSON,
    PREFIX,
    PROTOCOL,
    TAR,
    BaseInfo,
    BaseRequest,
    HostedImage,
    HostedMachine,
    HostedSandbox,
    HostFailure,
    HostInfo,
    ImageName,
    LastWordsInfo,
    SandboxStartRequest,
    Step,
    WorkspaceSize,
)
from app_server.sandbox_backends.workspace_tar import PARTS
from app_server.sandbox_host.access import OPEN_PATH, TOKEN_SCHEME
from app_server.sandbox_host.base_image_check import base_by_name, base_of
from app_server.sandbox_host.services import HostServices, ServerWork
from app_server.sandbox_host.streams import SinkOfReply, SourceOfRequest
from app_server.sandbox_images.image_store import prune_images, stored_images

open_router = APIRouter(tags=["host"])
router = APIRouter(prefix=PREFIX, tags=["sandboxes"], dependencies=[Depends(TOKEN_SCHEME)])

_STEPS: dict[int | str, dict[str, Any]] = {
    200: {"description": "One `Step` per line", "content": {NDJSON: {"schema": {"type": "string"}}}}
}
SILENCE_SECONDS = 15.0
_Bases = Annotated[list[ImageName] | None, Query()]
_FILES = {"type": "string", "format": "binary"}


class _Tar(StreamingResponse):
    media_type = TAR


class _Steps(StreamingResponse):
    media_type = NDJSON


@open_router.get(OPEN_PATH)
async def health() -> dict[str, str]:
    """Replies `ok` while this sandbox host runs. The request needs no token."""
    return {"status": "ok"}


@router.get("/info")
async def get_info(work: ServerWork) -> HostInfo:
    return HostInfo(
        protocol=PROTOCOL,
        version=VERSION,
        engine=await work.backend.engine_version(),
        image=await work.image(),
        capacity_bytes=await work.capacity_bytes(),
        sandbox_memory_bytes=work.config.sandbox_memory_bytes,
        isolation_gap=work.backend.kind.warning,
        workspace_bytes=work.backend.workspace_limit.bytes,
        workspace_kept_by=work.backend.workspace_limit.kept_by,
    )


@router.post("/image", response_class=_Steps, responses=_STEPS)
async def prepare_image(work: ServerWork) -> StreamingResponse:
    """Builds the default sandbox image if this host does not have it yet. Streams the progress as JSON
    objects (`Step`), one per line.
    """

    async def prepare(report: Report) -> Step:
        await work.backend.prepare(report)
        return Step(done=True)

    return _follow(work, prepare)


@router.get("/images")
async def list_images(work: ServerWork, base: _Bases = None) -> list[HostedImage]:
    """Returns all sandbox images on this host, including images of earlier versions of Slipway.

    `base`: the names of base images that users have chosen. Sandbox images that this version has built on
    these base images, or on the base images of this host's sandboxes, are marked as current (still needed).
    """
    found = await work.images(stored_images, base or ())
    return [HostedImage(**asdict(each)) for each in found]


@router.post("/images/prune")
async def prune_unneeded_images(work: ServerWork, base: _Bases = None) -> list[HostedImage]:
    """Removes sandbox images that are no longer needed, and returns the removed images. An image is needed if
    it is current (this version of Slipway uses it for new sandboxes), or if a container uses it.

    `base`: the names of base images that users have chosen. Sandbox images that this version has built on
    these base images, or on the base images of this host's sandboxes, are also current.
    """
    removed = await work.images(prune_images, base or ())
    return [HostedImage(**asdict(each)) for each in removed]


@router.get("/bases")
async def get_base(work: ServerWork, name: Annotated[ImageName, Query()]) -> BaseInfo:
    """Returns the name of the sandbox image that is built on the base image `name`. The returned name is null
    if this host does not have the sandbox image yet.
    """
    return BaseInfo(image=await work.image(name))


@router.put("/bases", response_class=_Steps, responses=_STEPS)
async def prepare_base(
    work: ServerWork,
    base: Annotated[Json[BaseRequest], Form()],
    context: Annotated[UploadFile | None, File()] = None,
) -> StreamingResponse:
    """Prepares this host for sandboxes on a base image that a user has chosen. Builds the base image and the
    sandbox image if this host does not have them yet. Streams the progress as JSON objects (`Step`), one per
    line.

    `base`: the description of the base image. `context`: the gzipped tar of the files from which the base
    image is built; null if the base image is not built from files. If a build of the same base image already
    runs, the request waits for that build.
    """
    packed = await context.read() if context else None
    wanted = await asyncio.to_thread(base_of, base, packed, work.config)

    async def prepare(report: Report) -> Step:
        await work.backend.prepare(report, wanted)
        return Step(done=True)

    return _follow(work, prepare, sign_of_life=Step())


@router.get("/sandboxes")
async def list_sandboxes(work: ServerWork) -> list[HostedSandbox]:
    """Returns all sandboxes of this host with their states. These are the sandboxes that the app server has
    started or restored on this host and has not deleted.
    """
    return [HostedSandbox(id=each, state=state) for each, state in (await work.states()).items()]


@router.put("/sandboxes/{sandbox_id}", response_class=_Steps, responses=_STEPS)
async def start_sandbox(work: ServerWork, sandbox_id: UUID, body: SandboxStartRequest) -> StreamingResponse:
    """Starts the container of a sandbox and streams the progress as JSON objects (`Step`), one per line. A
    running container continues to run. A paused container is resumed. Otherwise a new container starts with
    the sandbox's existing workspace.

    The reply ends when the container runs. The agent server in the container may need more time before it
    answers.
    """

    async def start(report: Report) -> Step:
        if body.authority:
            await asyncio.to_thread(work.believe, body.authority)
        await work.backend.prepare(report, base_by_name(body.base, work.config) if body.base else None)
        async with work.locks[sandbox_id]:
            work.inventory.add(sandbox_id, body.base)
            machine = await work.backend.start(sandbox_id, body.session_key, report, body.base)
        return Step(
            machine=HostedMachine(
                image=machine.spec_id, working_root=machine.working_root, inner_url=machine.inner_url
            )
        )

    return _follow(work, start)


@router.get("/sandboxes/{sandbox_id}/last-words")
async def last_words(work: ServerWork, sandbox_id: UUID) -> LastWordsInfo:
    """Returns why the container of a sandbox has ended, and the last lines of the container's output. Can
    also be called while the container runs. Then the reason is usually that its agent server does not answer.
    """
    words = await work.backend.last_words(sandbox_id)
    return LastWordsInfo(code=words.code, cause=words.cause, fix=words.fix, output=words.output)


@router.get("/sandboxes/{sandbox_id}/size")
async def workspace_size(work: ServerWork, sandbox_id: UUID) -> WorkspaceSize:
    """Returns the size of a sandbox's workspace in bytes. The size is null if the workspace is a separate
    disk of limited size, or if the measurement takes too long. The request may take seconds.
    """
    return WorkspaceSize(bytes=await work.backend.watched_bytes(sandbox_id))


@router.post("/sandboxes/{sandbox_id}/freeze", status_code=204)
async def freeze_sandbox(work: ServerWork, sandbox_id: UUID) -> None:
    """Pauses the container of a sandbox with all its programs. The next start of the sandbox resumes the
    programs. Does nothing if this host has no such sandbox.
    """
    async with work.locks[sandbox_id]:
        if sandbox_id in work.inventory:
            await work.backend.freeze(sandbox_id)


@router.post("/sandboxes/{sandbox_id}/stop", status_code=204)
async def stop_sandbox(work: ServerWork, sandbox_id: UUID) -> None:
    """Ends the container of a sandbox. The workspace is kept. Does nothing if the sandbox has no container or
    this host has no such sandbox.
    """
    async with work.locks[sandbox_id]:
        if sandbox_id in work.inventory:
            await work.backend.stop(sandbox_id)


@router.delete("/sandboxes/{sandbox_id}", status_code=204)
async def delete_sandbox(work: ServerWork, sandbox_id: UUID) -> None:
    """Deletes a sandbox, its container and its workspace. Does nothing if there is no such sandbox."""
    async with work.locks[sandbox_id]:
        if sandbox_id in work.inventory:
            await work.backend.delete(sandbox_id)
            work.inventory.remove(sandbox_id)


@router.get(
    "/sandboxes/{sandbox_id}/workspace",
    response_class=_Tar,
    responses={200: {"description": "A clean tar", "content": {TAR: {"schema": _FILES}}}},
)
async def export_workspace(
    work: ServerWork,
    sandbox_id: UUID,
    part: Annotated[list[str] | None, Query()] = None,
    folder: Annotated[str | None, Query(pattern=r"^[\w.-]+(/[\w.-]+)*$", max_length=255)] = None,
) -> StreamingResponse:
    """Streams parts of a sandbox's workspace as a tar. The programs in the sandbox are paused during the
    export.

    `part`: the names of the parts (top directories) to export; without this parameter, all parts. `folder`: a
    directory in each part; if given, only its content is exported, and the paths in the tar do not contain
    its name. For the folder `src`, `project/src/a.py` becomes `project/a.py`. If the reply ends before the
    tar is complete, the export has failed.
    """
    if sandbox_id not in work.inventory:
        raise workspace_missing()
    await work.ready_to_carry()
    sink = SinkOfReply()
    parts = [each for each in PARTS if part is None or each in part]

    async def export() -> None:
        async with work.locks[sandbox_id]:
            await work.backend.export(sandbox_id, parts, sink, folder)

    pieces = sink.pieces(export)
    first = await anext(pieces)  # an immediate failure becomes a problem document

    async def all_of_it() -> AsyncIterator[bytes]:
        yield first
        async for piece in pieces:
            yield piece

    return _Tar(all_of_it())


@router.put(
    "/sandboxes/{sandbox_id}/workspace",
    status_code=204,
    openapi_extra={"requestBody": {"content": {TAR: {"schema": _FILES}}, "required": True}},
)
async def restore_workspace(work: ServerWork, request: Request, sandbox_id: UUID) -> Response:
    """Replaces a sandbox's workspace by the content of the tar in the request body. Before that, deletes the
    sandbox's container and old workspace. Does not start a new container.
    """
    await work.ready_to_carry()
    async with work.locks[sandbox_id]:
        work.inventory.add(sandbox_id)
        await work.backend.restore(sandbox_id, SourceOfRequest(request.stream()))
    return Response(status_code=204)


@router.websocket("/tunnel")
async def open_tunnel(work: ServerWork, socket: WebSocket) -> None:
    await work.egress_relay.control(socket)


@router.websocket("/tunnel/{name}")
async def fetch_connection(work: ServerWork, socket: WebSocket, name: str) -> None:
    await work.egress_relay.fetch(socket, name)


def _follow(
    work: HostServices, carry_out: Callable[[Report], Awaitable[Step]], sign_of_life: Step | None = None
) -> StreamingResponse:
    """Runs `carry_out` in the background and returns a reply that streams the progress, one `Step` as JSON
    per line. `carry_out` continues to its end even if the client disconnects.

    `carry_out`: the operation. Its argument is a function that sends a line about the progress; its result is
    the last `Step`. `sign_of_life`: a `Step` that is sent each time no other `Step` was sent for
    SILENCE_SECONDS; None means that nothing is sent then.
    """
    steps: asyncio.Queue[Step] = asyncio.Queue()

    async def run() -> None:
        try:
            last = await carry_out(lambda line: steps.put_nowait(Step(report=line)))
        except StartFailure as failure:
            reported = HostFailure(
                code=failure.code, cause=failure.cause, fix=failure.fix, output=failure.output
            )
            last = Step(failure=reported)
        except Exception:
            reported = HostFailure(
                code="internal_error",
                cause="The sandbox host had an internal error.",
                fix="The log of the sandbox host has the cause.",
            )
            steps.put_nowait(Step(failure=reported))
            raise
        steps.put_nowait(last)

    work.background.start(run(), name="work for the app server")

    async def lines() -> AsyncIterator[str]:
        while True:
            step = await _next(steps, sign_of_life)
            yield step.model_dump_json(exclude_defaults=True) + "\n"
            if step.is_last:
                return

    return _Steps(lines())


async def _next(steps: asyncio.Queue[Step], sign_of_life: Step | None) -> Step:
    if sign_of_life is None:
        return await steps.get()
    try:
        return await asyncio.wait_for(steps.get(), SILENCE_SECONDS)
    except TimeoutError:
        return sign_of_life
