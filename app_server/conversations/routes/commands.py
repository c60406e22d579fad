"""The route that runs a command of the user in the sandbox. The agent does not see the command."""

from posixpath import join
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field, StringConstraints

from agent_runtime.wire import BashOutput
from app_server.conversations.routes.dependencies import OwnedWorkplace
from app_server.http.strict_body import StrictBody

MAX_COMMAND_CHARACTERS = 100_000
MAX_TIMEOUT_SECONDS = 3600

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}", tags=["Conversations"])

Command = Annotated[str, StringConstraints(min_length=1, max_length=MAX_COMMAND_CHARACTERS)]
Directory = Annotated[str, StringConstraints(min_length=1, max_length=4096)]
Timeout = Annotated[int, Field(gt=0, le=MAX_TIMEOUT_SECONDS)]


class ExecuteCommandRequest(StrictBody):
    """The request body with a command. `cwd`: the directory in which the command runs, absolute or relative
    to the conversation's directory; null means the conversation's directory.
    """

    command: Command
    cwd: Directory | None = None
    timeout: Timeout = 300
    """The maximum duration of the command in seconds."""


@router.post("/execute-bash-command")
async def execute_bash_command(workplace: OwnedWorkplace, body: ExecuteCommandRequest) -> BashOutput:
    """Runs a command in a separate shell. The agent does not see the command or its output.

    `exit_code` is -1 if the command was ended because it reached its timeout.
    """
    directory = join(workplace.directory, body.cwd) if body.cwd else workplace.directory
    return await workplace.client.execute_command(body.command, cwd=directory, timeout_seconds=body.timeout)
