"""A ready-made agent for software development, for programs that do not choose tools themselves."""

from agent_runtime.agent.agent import Agent
from agent_runtime.context.condense import LLMSummarizingCondenser
from agent_runtime.llm.capabilities import capabilities, listed
from agent_runtime.llm.config import LLM
from agent_runtime.tools.registry import ToolSpec

DEFAULT_EFFORT = "medium"
DEFAULT_TOOLS = ("terminal", "file_editor", "grep", "task_tracker")
"""The tools of the default agent. There are only a few tools, because every additional tool costs tokens in
each request and makes the model's choice harder. For all other work, for example to search for names of
files, the agent uses the terminal.
"""


def default_agent(llm: LLM) -> Agent:
    """Returns an agent that can read, search, change and run code, and keep a plan of its work.

    The model `llm` also summarizes long conversations before they fill its context window. The cost of
    summaries is counted under the usage id `condenser`. A model that supports a reasoning effort gets the
    effort `medium`, unless `llm` sets another effort. If the model is good at writing patches, the agent also
    gets the tool `apply_patch`. To change the configuration, copy the result:
    `default_agent(llm).model_copy(update={"mcp_config": {...}})`.
    """
    model = _with_effort(llm)
    names = [*DEFAULT_TOOLS, *(["apply_patch"] if listed(llm).writes_patches else [])]
    return Agent(
        llm=model,
        tools=[ToolSpec(name=name) for name in names],
        condenser=LLMSummarizingCondenser(llm=model.model_copy(update={"usage_id": "condenser"})),
    )


def _with_effort(llm: LLM) -> LLM:
    """Returns a copy of the model with the reasoning effort `medium`. Returns the model unchanged if it
    already has an effort or a number of thinking tokens. Also returns the model unchanged if the catalogue of
    models does not list the effort `medium` for it, because the vendor may then refuse the parameter.
    """
    is_said = llm.reasoning_effort is not None or llm.thinking_budget is not None
    is_known = DEFAULT_EFFORT in (listed(llm).efforts or ())
    if is_said or not (is_known and capabilities(llm).takes_effort):
        return llm
    return llm.model_copy(update={"reasoning_effort": DEFAULT_EFFORT})
