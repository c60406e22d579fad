"""The models of commands that clients of the agent server run in a sandbox, outside of conversations."""

from datetime import UTC, datetime
from typing import Literal
from uuid import uuid4

from pydantic import (
    BaseModel,
    Field,
)


class ExecuteBashRequest(BaseModel):
    command: str
    cwd: str | None = None
    timeout: int = Field(default=300, gt=0, description="Seconds the command may run.")


class BashEvent(BaseModel):
    id: str = Field(default_factory=lambda: uuid4().hex)
    timestamp: datetime = Field(default_factory=lambda: datetime.now(UTC))


class BashCommand(ExecuteBashRequest, BashEvent):
    """The event that says that a client has started a command. It contains all fields of the client's
    request.
    """

    kind: Literal["BashCommand"] = "BashCommand"


class BashOutput(BashEvent):
    """The event with a piece of a command's output. `order`: the number of the piece (0, 1, 2 …) within the
    output of one command. The last piece of a command contains the `exit_code`.
    """

    command_id: str
    order: int = 0
    exit_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None
    kind: Literal["BashOutput"] = "BashOutput"


class BashError(BashEvent):
    """The event that says that a client's command could not be started."""

    code: str
    detail: str
    kind: Literal["BashError"] = "BashError"
