"""The base class of tools whose parameters are described by a JSON Schema. The schema comes from an MCP
server or from a client of the agent server.
"""

from collections.abc import Collection, Mapping
from typing import Any

import orjson
from pydantic import JsonValue

from agent_runtime.tools.arguments import ToolArgumentError
from agent_runtime.tools.tool import ActionT, Tool

_KEYWORDS = ("properties", "required", "$defs", "definitions")
MAX_RULE_CHARS = 500


class DescribedTool(Tool[ActionT]):
    """The base class of tools with a JSON Schema for their arguments. `input_schema`: the JSON Schema. It is
    shown to the model, and the model's arguments are checked against it.
    """

    input_schema: Mapping[str, Any]

    def parameters(self) -> dict[str, JsonValue]:
        return {
            "properties": {},
            **{key: self.input_schema[key] for key in _KEYWORDS if key in self.input_schema},
        }

    def parameter_names(self) -> Collection[str]:
        names: Collection[str] = self.input_schema.get("properties", {})
        return names

    def check(self, arguments: Mapping[str, JsonValue]) -> None:
        """Checks the model's arguments against the JSON Schema of the tool. Raises ToolArgumentError if the
        arguments do not fit the schema, or if the schema is not valid.
        """
        # Loaded with the first such tool: most conversations have none.
        import jsonschema

        validator = jsonschema.validators.validator_for(self.input_schema)
        try:
            problem = next(validator(self.input_schema).iter_errors(dict(arguments)), None)
        except (jsonschema.SchemaError, jsonschema.exceptions.UnknownType, TypeError) as error:
            raise ToolArgumentError(
                f"`{self.name}` cannot be called: the description of its arguments is not valid."
            ) from error
        if problem is not None:
            raise ToolArgumentError(self._explain(problem))

    def _explain(self, problem: Any) -> str:
        """Returns a text that says which argument of the tool call violates which rule of the JSON Schema.
        The text contains no values. `problem`: the error that the check of the arguments has found.
        """
        where = ".".join(str(part) for part in problem.absolute_path)
        rule = orjson.dumps({problem.validator: problem.validator_value}, default=str).decode()
        return (
            f"The arguments of `{self.name}` are not valid: {f'`{where}`' if where else 'they'} must satisfy "
            f"{rule[:MAX_RULE_CHARS]}. Its parameters are: {', '.join(self.parameter_names()) or 'none'}."
        )
