"""A ready-made agent for software development, for programs that do not choose the tools themselves."""

from agent_runtime.agent.agent import Agent
from agent_runtime.context.condense import LLMSummarizingCondenser
from agent_runtime.llm.capabilities import capabilities, listed
from agent_runtime.llm.config import LLM
from agent_runtime.tools.registry import ToolSpec

DEFAULT_EFFORT = "medium"
DEFAULT_TOOLS = ("terminal", "file_editor", "grep", "task_tracker")
"""Every further tool costs tokens in each request and makes the choice harder. The agent uses the terminal
for everything else, for example to search for names of files.
"""


def default_agent(llm: LLM) -> Agent:
    """Returns an agent that can read, search, change and run code, and keep a plan of its work.

    Long conversations are summarized by the same model before they fill the model's context window. The cost
    of summaries is counted under the usage id `condenser`. A model that takes a reasoning effort gets the
    effort `medium`, unless `llm` sets another. A model that is good at writing patches also gets the tool
    `apply_patch`. To change anything, copy the result: `default_agent(llm).model_copy(update={"mcp_config":
    {...}})`.
    """
    model = _with_effort(llm)
    names = [*DEFAULT_TOOLS, *(["apply_patch"] if listed(llm).writes_patches else [])]
    return Agent(
        llm=model,
        tools=[ToolSpec(name=name) for name in names],
        condenser=LLMSummarizingCondenser(llm=model.model_copy(update={"usage_id": "condenser"})),
    )


def _with_effort(llm: LLM) -> LLM:
    """Returns the model with the reasoning effort `medium`, if the catalogue of models lists this effort for
    the model. Other models may refuse the parameter.
    """
    is_said = llm.reasoning_effort is not None or llm.thinking_budget is not None
    is_known = DEFAULT_EFFORT in (listed(llm).efforts or ())
    if is_said or not (is_known and capabilities(llm).takes_effort):
        return llm
    return llm.model_copy(update={"reasoning_effort": DEFAULT_EFFORT})
