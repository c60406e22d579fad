"""Describes tools to a model, and converts the arguments of the model's tool calls to Action objects."""

from collections.abc import Collection, Mapping
from typing import Literal

from pydantic import JsonValue, ValidationError

from agent_runtime.tools.tool import ActionT, AnyTool, Tool

DescriptionParameter = Literal["security_risk", "summary"]
"""The names of additional parameters in which a model describes its tool call: the risk of the call, and a
short summary of the call.
"""
SECURITY_RISKS = ("UNKNOWN", "LOW", "MEDIUM", "HIGH")


class ToolArgumentError(Exception):
    """The error that is raised when the arguments of a tool call do not fit the tool. The error's text is
    written for the model: it contains parameter names, never values.
    """


def model_schema(tool: AnyTool, *, asked: Collection[DescriptionParameter] = ()) -> dict[str, JsonValue]:
    """Returns the description of a tool in the format of an OpenAI function. Lists the tool's own parameters
    first, then the parameters in `asked`.

    `asked`: the names of additional parameters in which the model describes each call: `summary` (what the
    call does) and `security_risk`. `security_risk` is added as a required parameter, but not to tools that
    only read.
    """
    own = tool.parameters()
    own_properties = own.get("properties")
    common = _common_parameters(tool, asked)
    # If a tool has a parameter of the same name, the tool's parameter is used.
    properties = {**(own_properties if isinstance(own_properties, dict) else {})}
    added = {name: schema for name, schema in common.items() if name not in properties}
    parameters: dict[str, JsonValue] = {"type": "object", **own, "properties": {**properties, **added}}
    if "security_risk" in added:
        needed = own.get("required", [])
        parameters["required"] = [*(needed if isinstance(needed, list) else []), "security_risk"]
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def parse_arguments(tool: Tool[ActionT], arguments: Mapping[str, JsonValue]) -> ActionT:
    """Converts the arguments of a model's tool call to an Action object. Raises ToolArgumentError if the
    arguments do not fit the tool.

    Ignores the arguments `security_risk` and `summary`, because they describe the call and are not for the
    tool. Also ignores arguments whose value is null.
    """
    names = tool.parameter_names()
    own = {
        name: value
        for name, value in arguments.items()
        if value is not None and (name in names or name not in {"security_risk", "summary"})
    }
    try:
        return tool.parse(own)
    except ValidationError as error:
        raise ToolArgumentError(_explain(tool, error)) from error


def _common_parameters(tool: AnyTool, asked: Collection[DescriptionParameter]) -> dict[str, JsonValue]:
    summary: dict[str, JsonValue] = {
        "type": "string",
        "description": "What this call does, in about ten words: the verb and its object. "
        "People read it while they follow your work. Example: 'Run the unit tests of the parser'.",
    }
    risk: dict[str, JsonValue] = {
        "type": "string",
        "description": "Your judgement of the harm this call could do: LOW reads or makes changes that are "
        "easily undone inside the workspace, MEDIUM changes things that are hard to restore, "
        "HIGH reaches outside the workspace or may lose or leak data. UNKNOWN if you cannot tell.",
        "enum": list(SECURITY_RISKS),
    }
    found: dict[str, JsonValue] = {}
    if "security_risk" in asked and not tool.annotations.readOnlyHint:
        found["security_risk"] = risk
    if "summary" in asked:
        found["summary"] = summary
    return found


def _explain(tool: AnyTool, error: ValidationError) -> str:
    problems = "; ".join(
        f"`{'.'.join(map(str, problem['loc']))}`: {_plain_words(problem['type'], problem['msg'])}"
        for problem in error.errors(include_input=False, include_url=False, include_context=False)
    )
    required = tool.parameters().get("required")
    needed = required if isinstance(required, list) else []
    known = ", ".join(f"{name} (required)" if name in needed else name for name in tool.parameter_names())
    return f"The arguments of `{tool.name}` are not valid. {problems}. Its parameters are: {known}."


def _plain_words(error_type: str, message: str) -> str:
    words = {"missing": "is required and was not given", "extra_forbidden": "is not a parameter of this tool"}
    return words.get(error_type, message)
