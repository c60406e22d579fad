"""Request bodies of public routes refuse unknown fields."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCUMENT = json.loads((Path(__file__).parents[2] / "docs" / "openapi" / "app_server.json").read_text())

FORMS = {
    "/oauth/device/authorize": "RFC 8628 says that unknown parameters are ignored",
    "/oauth/device/token": "RFC 6749 says that unknown parameters are ignored",
    "/oauth/revoke": "RFC 7009 extends RFC 6749, which says that unknown parameters are ignored",
    "/api/v1/sign-in/oidc/{name}/logout": "the identity provider writes the form",
    "/api/v1/sign-in/saml/{name}/acs": "the identity provider writes the form",
    "/api/v1/sign-in/saml/{name}/slo": "the identity provider writes the form",
}
"""The routes whose forms may contain unknown fields, each with the reason."""

SCHEMAS = {
    "ChangeMcpServer": "its fields are checked as those of SaveMcpServer, which refuses unknown fields",
}
"""The schemas of bodies that permit unknown fields, each with the reason."""


def bodies() -> Iterator[tuple[str, str, Any]]:
    for path, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items():
            for kind, content in operation.get("requestBody", {}).get("content", {}).items():
                yield f"{method.upper()} {path}", kind, content.get("schema", {})


def lenient(schema: Any, name: str, seen: set[str]) -> Iterator[str]:
    """Yields the names of the objects in the schema that permit unknown fields. An object without named
    fields is a map, whose keys are data.
    """
    if isinstance(schema, list):
        for part in schema:
            yield from lenient(part, name, seen)
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in seen:
            seen.add(name)
            yield from lenient(DOCUMENT["components"]["schemas"][name], name, seen)
        return
    is_open = schema.get("additionalProperties", True) is True
    if schema.get("type") == "object" and is_open and ("properties" in schema or name in SCHEMAS):
        yield name
    for field in schema.get("properties", {}).values():
        yield from lenient(field, name, seen)
    for key in ("items", "prefixItems", "anyOf", "oneOf", "allOf", "additionalProperties"):
        yield from lenient(schema.get(key), name, seen)


def test_the_body_of_each_public_route_refuses_unknown_fields() -> None:
    found = {
        f"{operation}: {name}"
        for operation, kind, schema in bodies()
        if not (kind == "application/x-www-form-urlencoded" and operation.split()[1] in FORMS)
        for name in lenient(schema, "body", set())
        if name not in SCHEMAS
    }
    assert found == set()


def test_each_exception_is_needed() -> None:
    forms = {operation.split()[1] for operation, kind, _ in bodies() if "form-urlencoded" in kind}
    open_schemas = {name for _, _, schema in bodies() for name in lenient(schema, "body", set())}
    assert forms >= FORMS.keys()
    assert open_schemas >= SCHEMAS.keys()
