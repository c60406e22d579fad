"""The configuration of critics, which judge an agent's work when the agent says that it is done."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from agent_runtime.llm.config import LLM


class IterativeRefinement(BaseModel):
    """The settings that make the agent continue while a critic (a judge of the agent's work) gives a score
    below `success_threshold`, but at most `max_iterations` times.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    success_threshold: float = Field(default=0.6, ge=0, le=1)
    max_iterations: int = Field(default=3, ge=1)


class _Critic(BaseModel):
    """The base class of the configurations of critics. A critic judges the agent's work.

    `mode`: with `all_actions`, the critic judges every reply of the agent; with `finish_and_message`, only
    the last reply before the agent stops. `iterative_refinement`: says below which score the agent must
    continue its work, and how often it must continue at most. None means that the agent may stop after any
    score.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    mode: Literal["finish_and_message", "all_actions"] = "finish_and_message"
    iterative_refinement: IterativeRefinement | None = None


class PassCritic(_Critic):
    """A critic (a judge of the agent's work) that accepts all work of the agent."""

    kind: Literal["PassCritic"] = "PassCritic"


class EmptyPatchCritic(_Critic):
    """A critic (a judge of the agent's work) that accepts work if a file in the repository has changed."""

    kind: Literal["EmptyPatchCritic"] = "EmptyPatchCritic"


class AgentFinishedCritic(_Critic):
    """A critic (a judge of the agent's work) that accepts the work if a file in the repository has changed
    and the agent has called the tool `finish`.
    """

    kind: Literal["AgentFinishedCritic"] = "AgentFinishedCritic"


class LLMCritic(_Critic):
    """A critic (a judge of the agent's work) that asks a model to judge the messages and tool calls of the
    conversation.

    `llm`: the model; None means the agent's model. `criteria`: what the model must check.
    """

    llm: LLM | None = None
    criteria: str = Field(default="", max_length=20_000)
    kind: Literal["LLMCritic"] = "LLMCritic"


Critic = Annotated[
    PassCritic | EmptyPatchCritic | AgentFinishedCritic | LLMCritic, Field(discriminator="kind")
]
