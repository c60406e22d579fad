"""The judgement of a critic about an agent's work."""

from pydantic import BaseModel, ConfigDict, Field

from agent_runtime.events.base import JsonObject


class CriticResult(BaseModel):
    """A critic's judgement. `score`: how likely it is that the work is a success, from 0 to 1. `message`: the
    reason.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    score: float = Field(ge=0, le=1)
    message: str
    metadata: JsonObject | None = None
