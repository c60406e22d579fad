"""The errors of the agent server that clients see, as problem documents (JSON, RFC 9457)."""

import errno
import logging
import sqlite3
import uuid
from collections.abc import Mapping, Sequence

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import JsonValue, ValidationError
from starlette.exceptions import HTTPException

from agent_runtime.conversation.errors import ConversationError, EditedSinceError
from agent_runtime.plugins.plugin import PluginError
from agent_runtime.secrets.sources import InvalidSecretError
from agent_runtime.wire.problem import PROBLEM_MEDIA_TYPE

logger = logging.getLogger(__name__)

_REFUSED = {
    "checkpoint_not_found": 404,
    "event_not_found": 404,
    "hook_config_invalid": 422,
    "llm_failed": 502,
    "mcp_answer_invalid": 400,
    "no_resumable_goal": 400,
    "rewind_incomplete": 500,
}
_UNPLUGGED = {
    "plugin_not_found": 404,
    "plugin_fetch_timeout": 504,
    "consent_required": 409,
    "offer_changed": 409,
    "project_not_in_conversation": 404,
}
_FULL = {errno.ENOSPC, errno.EDQUOT}
_CODES = {401: "not_authenticated", 404: "not_found", 405: "method_not_allowed", 413: "payload_too_large"}


class ServerProblem(Exception):
    """The error that is raised to refuse a request of a client. It has a stable `code`, a `detail` for people
    and, if a solution is known, a `fix`.

    `members`: additional members of the problem document (RFC 9457) that the client gets.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        fix: str | None = None,
        *,
        members: Mapping[str, JsonValue] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.fix = fix
        self.members = dict(members or {})


def invalid(error: ValidationError, *where: str, is_body: bool = True) -> ServerProblem:
    """Converts a validation error to a problem with status 422. The problem's text names the first invalid
    field, and its member `errors` lists all of them. Neither contains the rejected values.

    `where`: the names of the request's fields that lead to the validated value, outermost first. For example,
    `agent` for the value of the field `agent`. The text begins with these names. `is_body`: whether the value
    is a part of the request's body; each `loc` in `errors` then begins with `body`.
    """
    found = error.errors(include_input=False, include_url=False, include_context=False)
    start = (*(("body",) if is_body else ()), *where)
    location = ".".join(map(str, (*where, *found[0]["loc"])))
    return ServerProblem(
        422,
        "validation_failed",
        f"{location}: {found[0]['msg']}",
        members={
            "errors": [field_error((*start, *item["loc"]), item["msg"], item["type"]) for item in found]
        },
    )


def unsupported_field(name: str, fix: str) -> ServerProblem:
    """Returns the problem, with status 422, for a field of the protocol that has no meaning on this server.
    `name`: the field of the body, with dots between the names of nested fields.
    """
    text = f"The field `{name}` has no effect on this server."
    members = {"errors": [field_error(("body", *name.split(".")), text, "unsupported_field")]}
    return ServerProblem(422, "unsupported_field", text, fix, members=members)


def field_error(location: Sequence[int | str], text: str, kind: str) -> JsonValue:
    """Returns an entry of the list `errors` of a problem with status 422. `location`: the place of the
    rejected value in the request, such as `("body", "agent", "llm")`.
    """
    return {"loc": list(location), "msg": text, "type": kind}


def disk_full() -> ServerProblem:
    return ServerProblem(
        507,
        "disk_full",
        "The disk is full: nothing of this was saved.",
        "Free space, then send it again. What was saved before is complete.",
    )


def is_disk_full(error: Exception) -> bool:
    if isinstance(error, sqlite3.OperationalError):
        return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    return isinstance(error, OSError) and error.errno in _FULL


def problem_of(error: Exception) -> ServerProblem | None:
    """Converts an exception that refuses a request (such as ConversationError), or that reports a full disk,
    to the ServerProblem that the client gets. Returns None for all other exceptions.
    """
    if isinstance(error, ServerProblem):
        return error
    if isinstance(error, ConversationError):
        status = _REFUSED.get(error.code, 409)
        return ServerProblem(status, error.code, str(error), error.fix, members=_members_of(error))
    if isinstance(error, InvalidSecretError):
        return ServerProblem(422, "invalid_secret", str(error))
    if isinstance(error, PluginError):
        return ServerProblem(_UNPLUGGED.get(error.code, 422), error.code, str(error))
    return disk_full() if is_disk_full(error) else None


def _members_of(error: ConversationError) -> dict[str, JsonValue]:
    if isinstance(error, EditedSinceError) and error.diff is not None:
        return {"diff": error.diff.model_dump(mode="json")}
    return {}


def install_error_handlers(app: FastAPI) -> None:
    """Adds error handlers to `app`, so that it replies to every failure with a problem document (JSON, RFC
    9457). All error replies are made by these handlers.
    """
    refusals = (ServerProblem, ConversationError, InvalidSecretError, PluginError)
    for kind in (*refusals, sqlite3.OperationalError, OSError):
        app.add_exception_handler(kind, _on_failure)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(Exception, _on_unexpected)


def problem_response(
    request: Request,
    problem: ServerProblem,
    *,
    headers: Mapping[str, str] | None = None,
    members: Mapping[str, JsonValue] | None = None,
) -> JSONResponse:
    """Returns the HTTP reply for `problem`. `headers`: additional HTTP headers of the reply. `members`:
    additional members of the problem document in the body.
    """
    body: dict[str, JsonValue] = {
        "type": f"urn:slipway:problem:{problem.code}",
        "title": problem.code.replace("_", " ").capitalize(),
        "status": problem.status,
        "detail": problem.detail,
        "code": problem.code,
        "request_id": request_id(request),
    }
    if problem.fix:
        body["fix"] = problem.fix
    return JSONResponse(
        {**body, **problem.members, **(members or {})},
        status_code=problem.status,
        headers=dict(headers or {}),
        media_type=PROBLEM_MEDIA_TYPE,
    )


def request_id(request: Request) -> str:
    """Returns the id of this request, which is in error replies and in the server's log. Repeated calls for
    the same request return the same id.
    """
    return str(request.scope.setdefault("slipway.request_id", uuid.uuid4().hex))


async def _on_failure(request: Request, error: Exception) -> JSONResponse:
    problem = problem_of(error)
    if problem is None:
        raise error
    level = logging.ERROR if problem.status >= 500 else logging.INFO
    logger.log(level, "request refused: %s", problem.code, extra={"request_id": request_id(request)})
    return problem_response(request, problem)


async def _on_invalid_request(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    # Rejected values stay out of the reply: they may be secrets.
    errors = [field_error(item["loc"], item["msg"], item["type"]) for item in error.errors()]
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    problem = ServerProblem(422, "validation_failed", f"{where}: {first['msg']}")
    return problem_response(request, problem, members={"errors": errors})


async def _on_http_exception(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code = _CODES.get(error.status_code, f"http_{error.status_code}")
    problem = ServerProblem(error.status_code, code, str(error.detail))
    return problem_response(request, problem, headers=error.headers)


async def _on_unexpected(request: Request, error: Exception) -> JSONResponse:
    error_id = request_id(request)
    logger.error("unexpected error", exc_info=error, extra={"error_id": error_id})
    problem = ServerProblem(
        500,
        "internal_error",
        f"The agent server had an internal error; its log has the cause ({error_id}).",
    )
    return problem_response(request, problem, members={"error_id": error_id})
