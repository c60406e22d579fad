"""The route for commands that the user runs in the sandbox. The agent's commands run separately."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field, StringConstraints

from agent_runtime.wire import BashOutput
from app_server.conversations.routes.dependencies import OwnedWorkplace

MAX_COMMAND_CHARACTERS = 100_000
MAX_TIMEOUT_SECONDS = 3600

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}", tags=["Conversations"])

Command = Annotated[str, StringConstraints(min_length=1, max_length=MAX_COMMAND_CHARACTERS)]
Timeout = Annotated[int, Field(gt=0, le=MAX_TIMEOUT_SECONDS)]


class ExecuteCommandRequest(BaseModel):
    command: Command
    timeout: Timeout = 300
    """In seconds."""


@router.post("/execute-bash-command")
async def execute_bash_command(place: OwnedWorkplace, body: ExecuteCommandRequest) -> BashOutput:
    """Runs a command of the user in the conversation's directory, in a new shell. The agent does not see the
    command or its output.

    `exit_code` is -1 if the command was stopped at its timeout.
    """
    return await place.client.execute_command(body.command, cwd=place.directory, timeout_seconds=body.timeout)
