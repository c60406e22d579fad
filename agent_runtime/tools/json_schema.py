"""Converts a pydantic model to a JSON Schema that all model vendors accept."""

from collections.abc import Mapping
from functools import lru_cache

import orjson
from pydantic import BaseModel, JsonValue


def parameters_of(arguments: type[BaseModel]) -> dict[str, JsonValue]:
    """Returns the fields of the class `arguments` as a JSON Schema with `properties`, and with `required` if
    a field is required.
    """
    parameters: dict[str, JsonValue] = orjson.loads(_parameters_of(arguments))
    return parameters


@lru_cache(maxsize=256)
def _parameters_of(arguments: type[BaseModel]) -> bytes:
    # The schema is cached as text, so that each caller gets a separate copy and may change it.
    schema = _plain(arguments.model_json_schema())
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    required: list[JsonValue] = [n for n, field in arguments.model_fields.items() if field.is_required()]
    return orjson.dumps({"properties": properties, **({"required": required} if required else {})})


def _plain(schema: JsonValue, definitions: Mapping[str, JsonValue] | None = None) -> JsonValue:
    """Returns a simpler form of pydantic's JSON Schema, because some model vendors do not accept all parts of
    it.

    Replaces each reference (`$ref`) by the schema to which it points, and `X | null` by X. Removes titles,
    defaults, minimums and `additionalProperties`. `definitions`: the schemas to which references point, by
    name; None means that they are in the field `$defs` of `schema`.
    """
    if isinstance(schema, list):
        return [_plain(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if definitions is None:
        found = schema.get("$defs", {})
        definitions = found if isinstance(found, dict) else {}
    if isinstance(reference := schema.get("$ref"), str):
        target = definitions[reference.rsplit("/", 1)[-1]]
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return _plain({**target, **rest}, definitions) if isinstance(target, dict) else target
    if isinstance(choices := schema.get("anyOf"), list):
        others = [choice for choice in choices if choice != {"type": "null"}]
        if len(others) == 1 and isinstance(others[0], dict):
            rest = {key: value for key, value in schema.items() if key != "anyOf"}
            return _plain({**others[0], **rest}, definitions)
    return {
        key: _plain_properties(value, definitions) if key == "properties" else _plain(value, definitions)
        for key, value in schema.items()
        if key not in {"title", "default", "additionalProperties", "$defs", "minimum"}
    }


def _plain_properties(properties: JsonValue, definitions: Mapping[str, JsonValue]) -> JsonValue:
    # Handled separately, because a parameter may have the name "title" or "default".
    if not isinstance(properties, dict):
        return properties
    return {name: _plain(schema, definitions) for name, schema in properties.items()}
