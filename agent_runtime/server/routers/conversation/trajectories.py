"""Routes that export conversations as files, and that import conversations from such files."""

from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

import orjson
from fastapi import Form, Request, UploadFile
from fastapi.responses import StreamingResponse

from agent_runtime.conversation.trajectory.export_atif import atif_chunks
from agent_runtime.conversation.trajectory.export_zip import zip_chunks
from agent_runtime.conversation.trajectory.import_file import NotATrajectoryError, Wishes
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.routers.dependencies import Conversations
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import ConversationInfo

router = Router(prefix="/api", tags=["trajectories"])


@router.get("/file/download-trajectory/{conversation_id}", response_class=StreamingResponse)
async def download(
    conversation_id: UUID,
    registry: Conversations,
    format: Literal["zip", "atif"] = "zip",  # noqa: A002
) -> StreamingResponse:
    """Exports a conversation as a file.

    `zip`: one JSON file for each event, and one for the conversation. `atif`: one JSON document in the Agent
    Trajectory Interchange Format.
    """
    directory = registry.check(conversation_id)
    if format == "zip":
        chunks, media_type, name = zip_chunks(directory), "application/zip", f"{conversation_id.hex}.zip"
    else:
        chunks, media_type, name = (
            atif_chunks(directory),
            "application/json",
            f"{conversation_id.hex}.atif.json",
        )
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(chunks, media_type=media_type, headers=headers)


@router.post(
    "/conversations/import", status_code=201, responses={422: {"description": "It is not a trajectory"}}
)
async def import_conversation(
    request: Request,
    registry: Conversations,
    file: UploadFile,
    conversation_id: Annotated[UUID | None, Form()] = None,
    agent: Annotated[str | None, Form(description="JSON; keys do not travel in files")] = None,
    working_dir: Annotated[str | None, Form(min_length=1, max_length=4096)] = None,
    title: Annotated[str | None, Form(max_length=200)] = None,
) -> ConversationInfo:
    """Creates a conversation from a file that this server or another server has exported (GET
    /api/file/download-trajectory). Returns the description of the new conversation, which can be continued.
    The form fields replace values from the file. Without `conversation_id`, the conversation gets a new id;
    without `working_dir`, its agent works in the server's workspace.
    """
    wishes = Wishes(
        conversation_id=conversation_id or uuid4(),
        agent=_object(agent),
        working_dir=working_dir or str(request.app.state.config.workspace_path),
        title=title,
    )
    try:
        return (await registry.receive(file.file, wishes)).info()
    except NotATrajectoryError as error:
        raise ServerProblem(422, "not_a_trajectory", str(error)) from error


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ServerProblem(422, "validation_failed", f"agent: this is not JSON: {error}.") from error
    if not isinstance(body, dict):
        raise ServerProblem(422, "validation_failed", "agent: a JSON object is expected.")
    return body
