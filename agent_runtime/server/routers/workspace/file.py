"""Routes that read and write files of the workspace, for clients of the agent server."""

import asyncio
import shutil
from pathlib import Path
from typing import IO, Annotated, Literal

from fastapi import Query, UploadFile
from fastapi.responses import FileResponse, Response
from pydantic import BaseModel
from starlette.background import BackgroundTask

from agent_runtime.server.archive import DEFAULT_EXCLUDES, write_archive
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.roots import AllowedPath, ReadablePath, WritablePath, os_errors_as_problems
from agent_runtime.server.routers.router import Router
from agent_runtime.server.routers.workspace.git import git_errors_as_problems
from agent_runtime.workspace import git
from agent_runtime.workspace.local import is_directory, replacing

router = Router(prefix="/api/file", tags=["Files"])


class FileUploadResult(BaseModel):
    success: bool = True
    file_size: int


@router.post("/upload")
async def upload_file(path: WritablePath, file: UploadFile) -> FileUploadResult:
    """Writes a file and creates the missing directories of its path. An existing file is replaced
    atomically.
    """
    with os_errors_as_problems():
        if path.is_dir():
            raise _is_a_directory()
        return FileUploadResult(file_size=await asyncio.to_thread(_store, file.file, path))


@router.get("/download", response_class=FileResponse)
async def download_file(path: ReadablePath) -> FileResponse:
    with os_errors_as_problems():
        if path.is_dir():
            raise _is_a_directory()
        if not path.is_file():
            raise ServerProblem(404, "not_found", "There is no such file.")
        await asyncio.to_thread(_check_readable, path)
    return FileResponse(path, filename=path.name, media_type="application/octet-stream")


@router.post("/create_directory")
async def create_directory(path: WritablePath) -> dict[str, bool]:
    """Creates a directory and its parents. The request also succeeds if the directory exists."""
    with os_errors_as_problems():
        path.mkdir(parents=True, exist_ok=True)
    return {"success": True}


@router.get("/archive", response_class=Response)
async def archive(
    path: AllowedPath,
    archive_format: Annotated[Literal["git-delta", "tar.gz"], Query(alias="format")] = "git-delta",
    base_ref: str | None = None,
    use_default_excludes: bool = True,
    exclude: Annotated[list[str] | None, Query()] = None,
) -> Response:
    """Returns a directory as an archive file.

    The format `git-delta` contains the changes since the commit `base_ref` as a git patch. Without
    `base_ref`, these are the changes since the last commit that the current branch and its upstream branch
    have in common. If there is no upstream branch, the default branch of the remote `origin` is used. If
    there is no common commit at all, these are the changes since the last commit.

    The format `tar.gz` contains the files as a compressed tar file. `exclude`: patterns of the names or paths
    to leave out of the tar file. `use_default_excludes`: whether the default patterns also apply.
    """
    if archive_format == "git-delta":
        with git_errors_as_problems():
            return Response(await git.patch(path, base_ref), media_type="text/x-diff")
    if not is_directory(path):
        raise ServerProblem(404, "not_found", "There is no such directory.")
    excludes = [*(DEFAULT_EXCLUDES if use_default_excludes else ()), *(exclude or ())]
    with os_errors_as_problems():
        file = await asyncio.to_thread(write_archive, path, excludes)
    return FileResponse(
        file,
        filename=f"{path.name}.tar.gz",
        media_type="application/gzip",
        background=BackgroundTask(file.unlink),
    )


def _store(source: IO[bytes], path: Path) -> int:
    with replacing(path) as target:
        shutil.copyfileobj(source, target, 1 << 20)
        return target.tell()


def _check_readable(path: Path) -> None:
    path.open("rb").close()


def _is_a_directory() -> ServerProblem:
    return ServerProblem(
        400,
        "is_a_directory",
        "The path is a directory.",
        "Name a file, or use /api/file/archive for directories.",
    )
