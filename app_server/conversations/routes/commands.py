"""The route that runs a command of the user in the sandbox. The agent does not see the command."""

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
    """The maximum duration of the command in seconds."""


@router.post("/execute-bash-command")
async def execute_bash_command(workplace: OwnedWorkplace, body: ExecuteCommandRequest) -> BashOutput:
    """Runs a command in the conversation's directory, in a separate shell. The agent does not see the command
    or its output.

    `exit_code` is -1 if the command was ended because it reached its timeout.
    """
    return await workplace.client.execute_command(
        body.command, cwd=workplace.directory, timeout_seconds=body.timeout
    )
