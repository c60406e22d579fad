"""Reduces an OpenAPI document to sets of names for each operation, so that two documents can be compared.

`python -m tests.contract.wire_shape DOCUMENT > tests/fixtures/app_server_reference.json` makes the fixture
from the reference's own document.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

METHODS = ("get", "post", "put", "patch", "delete")
COMPARED_ELSEWHERE = re.compile(r"Event(-\w+)?|ConversationInfo|EventCallbackProcessor(-\w+)?")
"""Schemas whose fields are left out here. They belong to the agent server, and `make test-compat` checks them
with the SDK.
"""
PARTS = ("status", "query", "header", "body", "reply")

Shape = dict[str, set[str]]
Document = Mapping[str, Any]


def shapes_of(document: Document) -> dict[str, Shape]:
    """Returns the names in each part of each operation, such as `GET /path`. `[]` stands for the items of a
    list, `*` for any key.
    """
    return {
        f"{method.upper()} {path}": _shape(document, operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if method in METHODS
    }


def without_names(operation: str) -> str:
    """Replaces each path parameter by `{}`, because the name of a parameter makes no
    difference to a client.
    """
    return re.sub(r"\{[^}]+\}", "{}", operation)


def _shape(document: Document, operation: Document) -> Shape:
    parameters = operation.get("parameters", [])
    replies = {status: reply for status, reply in operation["responses"].items() if status.startswith("2")}
    return {
        "status": set(replies),
        "query": {each["name"] for each in parameters if each["in"] == "query"},
        "header": {each["name"].lower() for each in parameters if each["in"] == "header"},
        "body": set(_of_contents(document, operation.get("requestBody", {}))),
        "reply": {name for reply in replies.values() for name in _of_contents(document, reply)},
    }


def _of_contents(document: Document, described: Document) -> Iterator[str]:
    for content in described.get("content", {}).values():
        yield from _names(document, content.get("schema", {}), (), frozenset())


def _names(document: Document, schema: Any, above: tuple[str, ...], seen: frozenset[str]) -> Iterator[str]:
    if not isinstance(schema, Mapping):
        return
    if reference := schema.get("$ref"):
        name = reference.rsplit("/", 1)[1]
        if name not in seen and not COMPARED_ELSEWHERE.fullmatch(name):
            yield from _names(document, document["components"]["schemas"][name], above, seen | {name})
        return
    for way in ("anyOf", "oneOf", "allOf"):
        for each in schema.get(way, []):
            yield from _names(document, each, above, seen)
    for name, field in schema.get("properties", {}).items():
        yield ".".join((*above, name))
        yield from _names(document, field, (*above, name), seen)
    yield from _names(document, schema.get("items"), _in_list(above), seen)
    yield from _names(document, schema.get("additionalProperties"), (*above, "*"), seen)


def _in_list(above: tuple[str, ...]) -> tuple[str, ...]:
    return (*above[:-1], f"{above[-1]}[]") if above else ("[]",)


def main() -> None:
    document = json.loads(Path(sys.argv[1]).read_text())
    shapes = {
        operation: {part: sorted(shape[part]) for part in PARTS if shape[part]}
        for operation, shape in sorted(shapes_of(document).items())
    }
    sys.stdout.write(json.dumps(shapes, indent=1) + "\n")


if __name__ == "__main__":
    main()
