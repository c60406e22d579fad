"""The result of a critic, which judges an agent's work."""

from pydantic import BaseModel, ConfigDict, Field

from agent_runtime.events.base import JsonObject


class CriticResult(BaseModel):
    """score: how likely the work is to be a success; message: why."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    score: float = Field(ge=0, le=1)
    message: str
    metadata: JsonObject | None = None
