"""Builds the OpenAPI document at /openapi.json, with the possible error replies of every operation."""

from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI

from agent_runtime.server.config import Config
from agent_runtime.wire.problem import PROBLEM_MEDIA_TYPE, Problem

TITLE = "Slipway agent server"

_CONTENT = {PROBLEM_MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
_KEYED = {
    "401": "No session key, or a wrong one",
    "403": "Not from this origin, or not in this place",
    "503": "The server is not initialized yet",
}
_OF_CONVERSATIONS = {
    "404": "There is no such conversation, or not what is asked of it",
    "409": "It cannot be done now, or another server works on this conversation",
}
_OF_THE_FACADE = {
    "401": _KEYED["401"],
    "404": "There is no such model or conversation",
    "409": "The run stopped before it came to an answer",
    "502": "The run failed",
}
_WITH_BODY = {"400": "The body cannot be read", "413": "The body is too large"}
_WRITING = {"507": "The disk is full: nothing of this was saved"}
_OF_PATHS = {
    "400": "The path is not absolute, or is a directory",
    "404": "There is nothing",
    "409": "git refused",
}


class DescribedApp(FastAPI):
    """A FastAPI application that adds common error replies to its OpenAPI document.

    If a route itself declares a reply with the status of a common error reply, the route's reply is used.
    """

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            document = super().openapi()
            for path, operations in document["paths"].items():
                for method, operation in operations.items():
                    _complete(method, path, operation)
            _put_problem_in_place_of_fastapis(document["components"]["schemas"])
        assert self.openapi_schema is not None
        return self.openapi_schema


def root_path(config: Config) -> str:
    """Returns the path part of the server's public URL (`web_url`), without a slash at the end. Returns an
    empty text if `web_url` is not set.
    """
    return urlsplit(config.web_url).path.rstrip("/") if config.web_url else ""


def _complete(method: str, path: str, operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    for status, description in _common(method, path, operation).items():
        responses.setdefault(status, {"description": description})
    for status, response in responses.items():
        if int(status) >= 400:
            response["content"] = _CONTENT


def _common(method: str, path: str, operation: dict[str, Any]) -> dict[str, str]:
    found = _KEYED if path.startswith("/api/") else {}
    if method != "get":
        found = found | _WRITING
    if path.startswith("/v1/"):
        found = found | _OF_THE_FACADE
    if "{" in path:
        found = found | {"404": "There is no such thing"}
    if "{conversation_id}" in path:
        found = found | _OF_CONVERSATIONS
    if path.startswith(("/api/file", "/api/git")):
        found = found | _OF_PATHS
    return found | _WITH_BODY if "requestBody" in operation else found


def _put_problem_in_place_of_fastapis(schemas: dict[str, Any]) -> None:
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= problem.pop("$defs")
    schemas["Problem"] = problem
