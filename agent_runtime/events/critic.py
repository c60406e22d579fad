"""Defines the data type for a critic's rating of an agent's work."""

from pydantic import BaseModel, ConfigDict, Field

from agent_runtime.events.base import JsonObject


class CriticResult(BaseModel):
    """The rating of an agent's work by a critic (a program or model that judges the work). `score`: the
    probability, from 0 to 1, that the work is a success. `message`: the reason for the score.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    score: float = Field(ge=0, le=1)
    message: str
    metadata: JsonObject | None = None
