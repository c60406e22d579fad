"""Who judges an agent's work when it says it is done, as data."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from agent_runtime.llm.config import LLM


class IterativeRefinement(BaseModel):
    """Sends the agent back, so often at most, while the critic gives it less than that."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    success_threshold: float = Field(default=0.6, ge=0, le=1)
    max_iterations: int = Field(default=3, ge=1)


class _Critic(BaseModel):
    """mode: whether it looks at the end of a turn only, or at every reply."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    mode: Literal["finish_and_message", "all_actions"] = "finish_and_message"
    iterative_refinement: IterativeRefinement | None = None


class PassCritic(_Critic):
    """Is content with everything."""

    kind: Literal["PassCritic"] = "PassCritic"


class EmptyPatchCritic(_Critic):
    """Is content once something in the repository has changed."""

    kind: Literal["EmptyPatchCritic"] = "EmptyPatchCritic"


class AgentFinishedCritic(_Critic):
    """Is content once something in the repository has changed and the agent has called `finish`."""

    kind: Literal["AgentFinishedCritic"] = "AgentFinishedCritic"


class LLMCritic(_Critic):
    """Has a model read the record of the work. llm: the agent's own unless given; criteria: what counts."""

    llm: LLM | None = None
    criteria: str = Field(default="", max_length=20_000)
    kind: Literal["LLMCritic"] = "LLMCritic"


Critic = Annotated[
    PassCritic | EmptyPatchCritic | AgentFinishedCritic | LLMCritic, Field(discriminator="kind")
]
