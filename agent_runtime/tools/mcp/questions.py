"""The questions that an MCP server asks the user during a tool call (MCP calls this elicitation), and the
user's replies.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import orjson

if TYPE_CHECKING:
    from mcp.types import ElicitRequestParams

MAX_RULE_CHARS = 500


@dataclass(frozen=True)
class Question:
    """A question of an MCP server: either a form to fill in (`requested_schema`) or a web page to open
    (`url`). The other field is None.

    `requested_schema`: the form, as a JSON Schema of an object with plain fields. `url`: the URL of the web
    page.
    """

    server: str
    message: str
    requested_schema: Mapping[str, Any] | None = None
    url: str | None = None

    @classmethod
    def of(cls, server: str, params: "ElicitRequestParams") -> "Question":
        from mcp.types import ElicitRequestFormParams

        if isinstance(params, ElicitRequestFormParams):
            return cls(server, params.message, requested_schema=dict(params.requested_schema))
        return cls(server, params.message, url=params.url)


@dataclass(frozen=True)
class ElicitationResponse:
    """The user's reply to a question of an MCP server. `action`: whether the user accepts, declines, or does
    not decide (`cancel`). `content`: the values of the form; None if the user has not filled in a form.
    """

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] | None = None


AskUser = Callable[[Question], Awaitable[ElicitationResponse]]
"""The type of a function that asks the user a question and returns the answer. The task of the function is
cancelled when no tool call waits for the answer any more.
"""


def filled_in(schema: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the user's form values. Missing fields get the default values of the form's JSON Schema."""
    properties = schema.get("properties")
    fields = properties if isinstance(properties, Mapping) else {}
    defaults = {
        name: field["default"]
        for name, field in fields.items()
        if isinstance(field, Mapping) and field.get("default") is not None
    }
    return {**defaults, **content}


def objection(schema: Mapping[str, Any], content: Mapping[str, Any]) -> str | None:
    """Checks the user's form values against the JSON Schema of the form. Returns the reason why they do not
    fit, without the values, or None if they fit.
    """
    # Loaded with the first answer: most conversations have none.
    import jsonschema

    validator = jsonschema.validators.validator_for(schema)
    checker = jsonschema.FormatChecker()
    try:
        problem = next(validator(schema, format_checker=checker).iter_errors(dict(content)), None)
    except (jsonschema.SchemaError, jsonschema.exceptions.UnknownType, TypeError):
        return "The form of the server is not valid. Decline it."
    if problem is None:
        return None
    if problem.validator == "required":
        missing = [name for name in problem.validator_value if name not in content]
        return f"The answer lacks {', '.join(missing)}."
    where = ".".join(str(part) for part in problem.absolute_path)
    rule = orjson.dumps({problem.validator: problem.validator_value}, default=str).decode()
    return f"{f'The field {where}' if where else 'The form'} must satisfy {rule[:MAX_RULE_CHARS]}."
