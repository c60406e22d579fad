"""Converts argument values that a model wrote as text to the types that a tool expects. Has no side
effects.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from agent_runtime.calls_in_text.arguments import repaired

Kinds = frozenset[str]
"""The JSON types that a parameter may have, for example `{"integer", "null"}`."""

TEXT: Kinds = frozenset({"string"})

_NUMBERS = {"integer": int, "number": int | float}
_NESTED = {"array": list, "object": dict}


def kinds_of_parameters(tool: Mapping[str, Any]) -> dict[str, Kinds]:
    """Returns the JSON types of each parameter of a tool. `tool`: the definition of the tool in the format of
    the OpenAI chat completions API.
    """
    properties = tool["function"].get("parameters", {}).get("properties", {})
    return {name: _kinds(schema) or TEXT for name, schema in properties.items()}


def _kinds(schema: Mapping[str, Any]) -> Kinds:
    stated = schema.get("type", [])
    kinds = frozenset([stated] if isinstance(stated, str) else stated)
    if schema.get("nullable") is True:
        kinds |= {"null"}
    for either in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        kinds |= _kinds(either)
    return kinds


def converted(value: str, wanted: Kinds) -> Any:
    """Converts the value of a tool call's argument, which the model wrote as text, to one of the JSON types
    that the tool accepts. A value that cannot be converted stays a string, so that the tool reports the
    error. `wanted`: the accepted JSON types.
    """
    plain = value.strip().lower()
    if "null" in wanted and plain in {"null", "none"}:
        return None
    if "boolean" in wanted and plain in {"true", "false"}:
        return plain == "true"
    for kinds in (_NUMBERS, _NESTED):
        for kind in wanted & kinds.keys():
            decoded = _decoded(value)
            if isinstance(decoded, kinds[kind]) and not isinstance(decoded, bool):
                return decoded
    return value


def _decoded(value: str) -> Any:
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return repaired(value)
