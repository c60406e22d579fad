"""Routes that list and read single files in the sandbox of a conversation, while the sandbox runs."""

import posixpath
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from agent_runtime.wire import DirectoryPage
from app_server.conversations.repositories.workplaces import Workplace
from app_server.conversations.routes.dependencies import SeenWorkplace
from app_server.conversations.routes.git import require_within, within
from app_server.conversations.schemas import PlainText
from app_server.http.reply_streaming import Passing

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}", tags=["Conversations"])

PLAN = "PLAN.md"

FilePath = Annotated[PlainText, Query(min_length=1, max_length=4096)]


@router.get("/directory")
async def list_conversation_directory(
    workplace: SeenWorkplace,
    path: Annotated[PlainText | None, Query(min_length=1, max_length=4096)] = None,
    page_id: Annotated[
        str | None, Query(pattern=r"^(directory|other):([0-9a-f]{2})+$", max_length=1024)
    ] = None,
) -> DirectoryPage:
    """Returns a page of the contents of a directory in the sandbox, at most 500 entries. Directories come
    first. Hidden files are included.

    `path`: absolute, or relative to the directory of the conversation's first repository (for example
    `../lamp`); if left out, this directory. `page_id`: the `next_page_id` of the page before.

    403 `outside_the_repository` if the conversation belongs to another user and the directory is not in one
    of the conversation's repositories. 404 if there is no such directory.
    """
    directory = within(workplace.directory, path)
    return await workplace.client.list_directory(directory, page_id, _boundary(workplace, directory))


@router.get("/file")
async def read_conversation_file(workplace: SeenWorkplace, file_path: FilePath = PLAN) -> str:
    """Returns the text of one file in the sandbox; empty if the file does not exist. `file_path`: relative to
    the conversation's repository, or absolute.

    403 `outside_the_repository` if the conversation belongs to another user and the file is not in one of the
    conversation's repositories.
    """
    absolute = within(workplace.directory, file_path)
    content = await workplace.client.read_file(absolute, _boundary(workplace, absolute))
    return "" if content is None else content.decode(errors="replace")


@router.get(
    "/file/download",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/octet-stream": {}}}},
)
async def download_conversation_file(workplace: SeenWorkplace, path: FilePath) -> StreamingResponse:
    """Downloads one file from the sandbox, byte by byte as it is. `path`: absolute, or relative to the
    directory of the conversation's first repository.

    403 `outside_the_repository` if the conversation belongs to another user and the file is not in one of the
    conversation's repositories. 404 if there is no such file.
    """
    absolute = within(workplace.directory, path)
    reply = await workplace.client.open_file(absolute, _boundary(workplace, absolute))
    headers = {
        "Content-Type": "application/octet-stream",
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(posixpath.basename(absolute), safe='')}",
    }
    if length := reply.headers.get("content-length"):
        headers["Content-Length"] = length
    return Passing(reply, reply.aiter_raw(), status=200, headers=headers)


def _boundary(workplace: Workplace, path: str) -> str | None:
    """Returns the directory that a link at `path` must not leave: for other users than the owner, the
    repository that contains `path`. Returns None for the owner.

    Raises Forbidden `outside_the_repository` if the user may not read the path.
    """
    require_within(workplace, path)
    if workplace.is_own:
        return None
    checkout = workplace.checkout_with(path)
    return checkout.directory if checkout else None
