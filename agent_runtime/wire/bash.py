"""Commands that clients run in a sandbox, outside of conversations."""

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
    """A command that was started."""

    kind: Literal["BashCommand"] = "BashCommand"


class BashOutput(BashEvent):
    """A piece of output; `order` counts 0, 1, 2 … The last one of a command has its `exit_code`."""

    command_id: str
    order: int = 0
    exit_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None
    kind: Literal["BashOutput"] = "BashOutput"


class BashError(BashEvent):
    """A command that could not be started."""

    code: str
    detail: str
    kind: Literal["BashError"] = "BashError"
