"""A transport for httpx that checks calls to a git host against the host's own OpenAPI document.

    contract = HostContract(GITLAB, base="/api/v4").reply(201, {"iid": 7, ...})
    client = httpx.AsyncClient(transport=contract)

Each request must be an operation of the document: path, query and body are checked. Each answer is checked
too, so that a test cannot use an answer that the real host never gives. Answers come from the queue that
`reply` fills, or from the function `respond`, which may keep a state.

`also` describes by hand the operations that a document lacks, or that may not be copied:

    also={"PUT /projects/{id}/issues/{number}/notes/{note_id}": ("body!",), "GET /user": ()}

For a GET the names are query parameters, for other methods they are fields of the body; `!` marks required
ones. Query parameters of other methods begin with `?`. Files of a form (multipart/form-data) begin with `@`.
"""

import copy
import email.policy
import functools
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from email.parser import BytesParser
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import unquote

import httpx
import jsonschema

DOCUMENTS = Path(__file__).parent.parent / "fixtures" / "git_hosts"
_METHODS = frozenset(("get", "post", "put", "patch", "delete"))


class FormFile(NamedTuple):
    """A file of a received multipart form."""

    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True)
class Seen:
    """A received request. `values`: the values of the path parameters by name, without URL quoting."""

    method: str
    path: str
    values: dict[str, str]
    query: dict[str, str]
    body: Any
    headers: httpx.Headers


Answer = tuple[int, Any, dict[str, str]]
"""An answer: status, body (JSON, or bytes for a raw file) and headers."""


@dataclass(frozen=True)
class _Operation:
    method: str
    pattern: re.Pattern[str]
    path: str
    content: dict[str, Any]
    parameters: list[dict[str, Any]]


class HostContract(httpx.MockTransport):
    """The checking transport. document: the file name of the OpenAPI document; None for no document.

    base: the prefix of all paths of the document. greedy: path parameters whose values may contain slashes.
    not_required: fields that the document requires by mistake. extra_query: query parameters that the
    document lacks. also: operations that the document lacks. envelope: the field of an answer that contains
    the list, although the document says that the answer is the list itself. respond: a function that answers
    requests; None for the answers that `reply` has queued.
    """

    def __init__(
        self,
        document: str | None,
        *,
        base: str = "",
        greedy: Collection[str] = ("path", "filepath", "ref", "name"),
        not_required: Collection[str] = (),
        extra_query: Collection[str] = (),
        also: Mapping[str, Collection[str]] | None = None,
        envelope: str | None = None,
        respond: Callable[[Seen], Answer] | None = None,
    ) -> None:
        self.seen: list[Seen] = []
        self._base, self._envelope = base, envelope
        read = json.loads((DOCUMENTS / document).read_text(encoding="utf-8")) if document else {"paths": {}}
        self._examples = read.get("components", {}).get("examples", {})
        self._document = _as_json_schema(read)
        for operation, names in (also or {}).items():
            method, path = operation.split(" ")
            paths = self._document["paths"]
            paths[path] = {**paths.get(path, {}), method.lower(): _stated(method, names)}
        self._not_required, self._extra_query = set(not_required), set(extra_query)
        self._answers: list[Answer] = []
        self._respond = respond or self._next_answer
        self._operations = sorted(
            (
                _Operation(method, _pattern(path, greedy), path, operation, self._parameters(item, operation))
                for path, item in self._document["paths"].items()
                for method, operation in item.items()
                if method in _METHODS
            ),
            key=lambda operation: (operation.path.count("{"), -len(operation.path)),
        )
        super().__init__(self._answer)

    def reply(self, status: int = 200, body: Any = None, headers: dict[str, str] | None = None) -> Self:
        """Queues an answer. `body`: JSON, or bytes for a raw file."""
        self._answers.append((status, body, headers or {}))
        return self

    def example(self, name: str) -> Any:
        """Returns a copy of the example with this name in the document. The test may change the copy."""
        return copy.deepcopy(self._examples[name]["value"])

    @property
    def is_used_up(self) -> bool:
        return not self._answers

    def _answer(self, request: httpx.Request) -> httpx.Response:
        raw = request.url.raw_path.decode().split("?")[0]
        assert raw.startswith(self._base), f"{raw} is not below {self._base}"
        operation, values = self._operation(request.method.lower(), raw.removeprefix(self._base))
        self._check_query(operation, request.url.params)
        body = self._checked_body(operation, request)
        query = dict(request.url.params)
        seen = Seen(request.method, operation.path, values, query, body, request.headers)
        self.seen.append(seen)
        status, answer, headers = self._respond(seen)
        if isinstance(answer, bytes):
            return httpx.Response(status, content=answer, headers=headers, request=request)
        self._check_answer(operation, status, answer)
        return httpx.Response(status, json=answer, headers=headers, request=request)

    def _next_answer(self, seen: Seen) -> Answer:
        assert self._answers, f"no answer is left for {seen.method} {seen.path}"
        return self._answers.pop(0)

    def _operation(self, method: str, path: str) -> tuple[_Operation, dict[str, str]]:
        for operation in self._operations:
            if operation.method == method and (match := operation.pattern.match(path)):
                return operation, {name: unquote(value) for name, value in match.groupdict().items()}
        raise AssertionError(f"the host has no such operation: {method.upper()} {path}")

    def _check_query(self, operation: _Operation, given: httpx.QueryParams) -> None:
        known = {p["name"].rstrip("[]"): p for p in operation.parameters if p["in"] == "query"}
        for name in given:
            is_known = name.rstrip("[]") in known or name in self._extra_query
            assert is_known, f"{operation.path}: unknown query parameter {name}"
        for name, parameter in known.items():
            is_given = name in given or f"{name}[]" in given
            assert is_given or not parameter.get("required"), f"{operation.path}: {name} is missing"

    def _checked_body(self, operation: _Operation, request: httpx.Request) -> Any:
        wanted = self._resolved(operation.content.get("requestBody", {}))
        if not request.content:
            assert not wanted.get("required"), f"{operation.path}: a body is required"
            return None
        assert wanted, f"{operation.path} takes no body"
        kind = request.headers["content-type"].split(";")[0]
        assert kind in wanted["content"] or kind.endswith("json"), f"{operation.path}: {kind}"
        body = _form(request) if kind == "multipart/form-data" else json.loads(request.content)
        schema = next(iter(wanted["content"].values())).get("schema", {})
        self._check(schema, body, f"{request.method} {operation.path} request")
        return body

    def _check_answer(self, operation: _Operation, status: int, answer: Any) -> None:
        responses = operation.content["responses"]
        stated = self._resolved(responses.get(str(status)) or responses.get("default") or {})
        kinds = stated.get("content", {}).items()
        schema = next((content.get("schema") for kind, content in kinds if "json" in kind), None)
        if self._envelope and isinstance(answer, dict) and schema and schema.get("type") == "array":
            answer = answer[self._envelope]
        if schema is not None and answer is not None:
            self._check(schema, answer, f"{operation.method.upper()} {operation.path} {status} answer")

    def _check(self, schema: dict[str, Any], value: Any, what: str) -> None:
        whole = {**schema, "components": self._document.get("components", {})}
        wrong = [
            error
            for error in jsonschema.Draft202012Validator(whole).iter_errors(value)
            if not (error.validator == "required" and error.message.split("'")[1] in self._not_required)
        ]
        said = (f"{'/'.join(map(str, e.absolute_path)) or '.'}: {e.message[:160]}" for e in wrong[:4])
        assert not wrong, f"{what}: {'; '.join(said)}"

    def _parameters(self, item: dict[str, Any], operation: dict[str, Any]) -> list[dict[str, Any]]:
        both = item.get("parameters", []) + operation.get("parameters", [])
        return [self._resolved(parameter) for parameter in both]

    def _resolved(self, node: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in node:
            steps = node["$ref"][2:].split("/")
            node = functools.reduce(
                lambda inside, step: inside[step.replace("~1", "/")], steps, self._document
            )
        return node


def _stated(method: str, names: Collection[str]) -> dict[str, Any]:
    """Returns the OpenAPI description of an operation with these parameters or fields. Any answer
    is allowed.
    """
    in_query = [name.removeprefix("?") for name in names if method == "GET" or name.startswith("?")]
    fields = [name.removeprefix("@") for name in names if method != "GET" and not name.startswith("?")]
    kind = "multipart/form-data" if any(name.startswith("@") for name in names) else "application/json"
    parameters = [
        {"name": name.rstrip("!"), "in": "query", "required": name.endswith("!")} for name in in_query
    ]
    schema = {
        "type": "object",
        "properties": {name.rstrip("!"): {} for name in fields},
        "required": [name[:-1] for name in fields if name.endswith("!")],
        "additionalProperties": False,
    }
    body = {"content": {kind: {"schema": schema}}}
    return {"parameters": parameters, "responses": {}, **({"requestBody": body} if fields else {})}


def _form(request: httpx.Request) -> dict[str, FormFile]:
    """Returns the files of a form by the names of their fields."""
    head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
    parts = BytesParser(policy=email.policy.HTTP).parsebytes(head + request.content).iter_parts()
    return {
        str(part.get_param("name", header="content-disposition")): FormFile(
            str(part.get_filename()), part.get_content_type(), part.get_payload(decode=True)
        )
        for part in parts
    }


def _pattern(path: str, greedy: Collection[str]) -> re.Pattern[str]:
    def part(match: re.Match[str]) -> str:
        return f"(?P<{match[1]}>{'.+' if match[1] in greedy else '[^/]+'})"

    return re.compile(re.sub(r"\\\{(\w+)\\\}", part, re.escape(path)) + r"\Z")


def _as_json_schema(node: Any) -> Any:
    """Turns OpenAPI 3.0 into JSON Schema 2020-12: `nullable` becomes a union with null."""
    if isinstance(node, list):
        return [_as_json_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {k: _as_json_schema(v) for k, v in node.items() if k not in {"example", "discriminator", "xml"}}
    return {"anyOf": [kept, {"type": "null"}]} if kept.pop("nullable", False) else kept
