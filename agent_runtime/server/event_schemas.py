"""Prints the JSON schemas of events, of the actions and observations in events, and of frames (messages to
clients), as the components of an OpenAPI document: `python -m agent_runtime.server.event_schemas`.

The types of the front end are generated from these schemas. The pydantic models of events allow any object as
an action or observation, because another version of the server may have written the log. These schemas allow
only the actions and observations of the built-in tools.
"""

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema

import agent_runtime.tools
from agent_runtime.events.base import Event
from agent_runtime.events.union import AnyEvent, OtherEvent
from agent_runtime.tools.external.client_tool import ClientAction
from agent_runtime.tools.tool import Action, Observation, OwnObservation
from agent_runtime.wire.frames import AnyFrame

_REF = "#/components/schemas/{model}"
_NOT_KINDS = (ClientAction, OwnObservation)
"""Classes that get no schema. OwnObservation is only a base class of observations. The fields of a
ClientAction are chosen by the client that declares the tool.
"""

_Schema = dict[str, Any]


def document() -> _Schema:
    """Returns the OpenAPI document with the schemas of events, actions, observations and frames. The document
    has no paths.

    The schema `Event` is the union of all kinds of events. `Action`, `Observation` and `Frame` are such
    unions, too (a frame is a message of a live stream). A field is required if it has no default, if its
    value is constant, or if each logged event has it. Fields that can be null are optional, because null is
    never sent.
    """
    for module in walk_packages(agent_runtime.tools.__path__, f"{agent_runtime.tools.__name__}."):
        import_module(module.name)
    unions = {"Event": _events(), "Action": _kinds(Action), "Observation": _kinds(Observation)}
    models = [model for kinds in unions.values() for model in kinds.values()]
    _, described = models_json_schema([(model, "validation") for model in models], ref_template=_REF)
    schemas: dict[str, _Schema] = described["$defs"]
    for schema in schemas.values():
        _tidy(schema)
    for model in models:
        _adapt(schemas[model.__name__], model)
    for union, kinds in unions.items():
        schemas[union] = _union(kinds)
    schemas.update(_frames())
    return {
        "openapi": "3.1.0",
        "info": {"title": "Events of a conversation", "version": "1"},
        "paths": {},
        "components": {"schemas": schemas},
    }


def _events() -> dict[str, type[BaseModel]]:
    union = get_args(get_args(AnyEvent)[0])
    kinds: list[type[BaseModel]] = [get_args(tagged)[0] for tagged in union]
    return {kind.__name__: kind for kind in kinds if kind is not OtherEvent}


def _kinds(base: type[Action] | type[Observation]) -> dict[str, type[BaseModel]]:
    """Returns the action or observation classes of the built-in tools: the subclasses of `base`. The keys are
    the values that the field `kind` has in the JSON of these classes.
    """
    package = f"{agent_runtime.tools.__name__}."
    return {
        kind.__name__: kind
        for kind in sorted(_below(base), key=lambda kind: kind.__name__)
        if kind.__module__.startswith(package)
        and kind not in _NOT_KINDS
        and not kind.__name__.startswith("_")
        and kind.wire_kind() == kind.__name__  # otherwise the kind of another class
    }


def _frames() -> dict[str, _Schema]:
    union = TypeAdapter[Any](AnyFrame).json_schema(ref_template=_REF)
    schemas: dict[str, _Schema] = union.pop("$defs")
    for schema in schemas.values():
        _tidy(schema)
    return {**schemas, "Frame": union}


def _below(base: type[Action] | type[Observation]) -> Iterator[type[Action] | type[Observation]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _below(kind)


def _tidy(schema: _Schema) -> None:
    """Simplifies the JSON schema of a pydantic model. Removes all titles. Removes the descriptions of fields,
    because the descriptions of tool parameters are written for language models. Makes fields with a constant
    value required, and fields that can be null optional.
    """
    schema.pop("title", None)
    fields: dict[str, _Schema] = schema.get("properties", {})
    for field in fields.values():
        field.pop("title", None)
        field.pop("description", None)
    if fields:
        nullable = {name for name, field in fields.items() if {"type": "null"} in field.get("anyOf", ())}
        constants = {name for name, field in fields.items() if "const" in field}
        schema["required"] = sorted({*schema.get("required", []), *constants} - nullable)


def _adapt(schema: _Schema, model: type[BaseModel]) -> None:
    """Changes the JSON schema of the pydantic class `model`, so that the schema describes the JSON that is
    sent to clients.

    Removes the fields of actions that are not sent. Makes the fields `id`, `timestamp` and `source` of events
    required, because the log sets them. Adds the required field `kind` to actions and observations.
    """
    fields: dict[str, _Schema] = schema.setdefault("properties", {})
    if issubclass(model, Action):
        for name in model.off_wire:
            del fields[name]
    if issubclass(model, Event):
        always = {"id", "timestamp", "source"}
    else:
        always = {"kind"}
        fields["kind"] = {"const": model.__name__, "type": "string"}
    schema["required"] = sorted({*schema.get("required", []), *always} & fields.keys())


def _union(kinds: dict[str, type[BaseModel]]) -> _Schema:
    return {"oneOf": [{"$ref": _REF.format(model=name)} for name in kinds]}


if __name__ == "__main__":
    json.dump(document(), sys.stdout, indent=2, sort_keys=True, ensure_ascii=False)
    sys.stdout.write("\n")
