"""The errors that are sent to clients, and the handlers that write them as problem documents (RFC 9457).

The classes of errors and their HTTP statuses:

    AppError
    ├── BadRequest 400            ├── Gone 410
    ├── NotAuthenticated 401      ├── PayloadTooLarge 413
    ├── PaymentRequired 402       ├── TooManyRequests 429
    ├── Forbidden 403             ├── BadGateway 502
    ├── NotFound 404              └── Unavailable 503
    └── Conflict 409

A feature raises the most specific class with a stable `code`. Routes never catch these errors.
"""

import logging
import re
import secrets
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from agent_runtime.wire.problem import PROBLEM_MEDIA_TYPE, Problem

logger = logging.getLogger(__name__)


class ConfigurationError(Exception):
    """The error that is raised if the configuration is not valid. The process must then not start. The
    message says what is wrong.
    """


StartCode = Literal[
    "docker_unavailable",
    "docker_not_permitted",
    "engine_disk_full",
    "bubblewrap_unavailable",
    "inner_port_taken",
    "sandbox_image_missing",
    "sandbox_image_wrong",
    "sandbox_image_wrong_architecture",
    "sandbox_image_build_failed",
    "sandbox_image_no_room",
    "sandbox_base_missing",
    "sandbox_base_build_failed",
    "sandbox_base_too_large",
    "sandbox_spec_missing",
    "sandbox_base_no_shell",
    "sandbox_base_no_glibc",
    "sandbox_base_no_apt",
    "sandbox_base_no_browser",
    "sandbox_base_too_old",
    "sandbox_base_wrong_architecture",
    "sandbox_runtime_missing",
    "sandbox_limits_refused",
    "sandbox_larger_than_total",
    "sandbox_network_foreign",
    "sandbox_network_exhausted",
    "sandbox_name_taken",
    "sandbox_port_taken",
    "sandbox_disk_failed",
    "sandbox_disk_full",
    "sandbox_home_unusable",
    "sandbox_workspace_broken",
    "sandbox_workspace_full",
    "sandbox_of_other_kind",
    "sandbox_host_lost",
    "sandbox_host_refused",
    "sandbox_host_unknown",
    "workspace_missing",
    "archive_failed",
    "archive_too_large",
    "archive_missing",
    "archive_damaged",
    "log_not_restored",
    "sandbox_start_failed",
    "sandbox_start_timeout",
    "sandbox_out_of_memory",
    "agent_server_missing",
    "agent_server_ended",
    "agent_server_error",
    "repository_not_found",
    "repository_not_allowed",
    "repository_clone_failed",
    "certificate_not_trusted",
    "branch_not_found",
    "directory_not_found",
    "directory_outside_repository",
    "setup_script_failed",
    "llm_profile_not_found",
    "setting_enforced",
    "internal_error",
]
"""The stable codes of the errors that a failed start of a conversation can have. docs/start-failures.md
explains the cause and the fix of each code.
"""

HOST_LOST_CODES: frozenset[StartCode] = frozenset({"sandbox_host_lost", "sandbox_host_unknown"})
"""The codes of a sandbox whose host cannot be reached. The sandbox may still run there. It continues when the
host can be reached again, or on another host from its last backup.
"""


class StartFailure(Exception):
    """The error that is raised if a conversation or its sandbox cannot be started. It is shown to the user
    next to the step of the start that failed. `cause`: what happened. `fix`: what the user should do.
    `output`: the last output of the command that failed; empty if there is none.
    """

    def __init__(self, code: StartCode, cause: str, *, fix: str, output: str = "") -> None:
        super().__init__(cause)
        self.code = code
        self.cause = cause
        self.fix = fix
        self.output = output[-8192:]


class AppError(Exception):
    """The base class of the errors whose message and stable code are sent to the client.

    `detail`: the message. `fix`: what the user should do. `extra`: additional fields of the problem document
    (RFC 9457), which is the body of the reply. `headers`: additional headers of the reply. For `fix` and
    `headers`, None means that there are none.
    """

    status: ClassVar[int] = 500
    code: str = "internal_error"

    def __init__(
        self,
        detail: str,
        *,
        code: str | None = None,
        fix: str | None = None,
        headers: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code or type(self).code
        self.fix = fix
        self.headers = dict(headers or {})
        self.extra = extra


class BadRequest(AppError):
    status = 400
    code = "bad_request"


class NotAuthenticated(AppError):
    status = 401
    code = "not_authenticated"


class PaymentRequired(AppError):
    status = 402
    code = "payment_required"


class Forbidden(AppError):
    status = 403
    code = "forbidden"


class NotFound(AppError):
    status = 404
    code = "not_found"


class Conflict(AppError):
    status = 409
    code = "conflict"


class Gone(AppError):
    status = 410
    code = "gone"


class PayloadTooLarge(AppError):
    status = 413
    code = "payload_too_large"


class TooManyRequests(AppError):
    status = 429
    code = "too_many_requests"


class BadGateway(AppError):
    status = 502
    code = "bad_gateway"


class Unavailable(AppError):
    status = 503
    code = "unavailable"


_CODES_BY_STATUS = {error.status: error.code for error in AppError.__subclasses__()} | {
    405: "method_not_allowed",
    408: "request_timeout",
    415: "unsupported_media_type",
}


PROBLEM_RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "A problem (RFC 9457)",
        "content": {PROBLEM_MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}
"""The description of error replies that is added to every route in the OpenAPI document. It refers to the
schema `Problem`, which `add_problem_schema` adds to the document.
"""


def add_problem_schema(description: dict[str, Any]) -> None:
    """Adds the schema of `Problem`, the body of error replies, to an OpenAPI document. Does nothing if the
    document already contains the schema.
    """
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas = description.setdefault("components", {}).setdefault("schemas", {})
    schemas.update(schema.pop("$defs", {}), Problem=schema)


def install_error_handlers(app: FastAPI) -> None:
    """Makes `app` reply to every error with a problem document (RFC 9457)."""
    app.add_exception_handler(AppError, _on_app_error)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(Exception, on_unexpected)


def problem(
    request: Request,
    *,
    status: int,
    code: str,
    detail: str,
    fix: str | None = None,
    headers: Mapping[str, str] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> JSONResponse:
    """Returns an error reply as a problem document (RFC 9457). `code`: a stable code for programs; it is a
    part of the API. `detail`: a message for people. `fix`: what the user should do. `extra`: additional
    fields of the document.
    """
    body: dict[str, Any] = {
        "type": f"urn:slipway:problem:{code}",
        "title": code.replace("_", " ").capitalize(),
        "status": status,
        "detail": detail,
        "code": code,
        "request_id": request_id(request),
    }
    if fix:
        body["fix"] = fix
    return JSONResponse(
        {**body, **(extra or {})},
        status_code=status,
        headers=dict(headers or {}),
        media_type=PROBLEM_MEDIA_TYPE,
    )


def request_id(request: Request) -> str:
    """Returns the id of this request. The id is created at the first call; later calls return the same id."""
    known = request.scope.setdefault("slipway.request_id", secrets.token_hex(8))
    return str(known)


async def _on_app_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, AppError)
    log = logger.error if error.status >= 500 else logger.info
    log(
        "request failed",
        extra={"code": error.code, "status": error.status, "request_id": request_id(request)},
    )
    return problem(
        request,
        status=error.status,
        code=error.code,
        detail=error.detail,
        fix=error.fix,
        headers=error.headers,
        extra=error.extra,
    )


def invalid_body(error: ValidationError) -> RequestValidationError:
    """Converts pydantic's error about a request body to FastAPI's error for a body that is not valid, and
    returns FastAPI's error. Code that validates a body with pydantic itself raises this error. So the
    client gets the same reply (422) as if FastAPI had validated the body. `error`: pydantic's error.
    """
    return RequestValidationError(
        [{**one, "loc": ("body", *one["loc"])} for one in error.errors(include_url=False)]
    )


async def _on_validation_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    # The rejected values stay out: they may be secrets.
    errors = [{"loc": item["loc"], "msg": _message(item), "type": item["type"]} for item in error.errors()]
    first = errors[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or "body"
    # The library puts this in front of the messages of our own validators.
    cause = first["msg"].removeprefix("Value error, ")
    return problem(
        request,
        status=422,
        code="validation_failed",
        detail=f"{where}: {cause}",
        extra={"errors": errors},
    )


def _message(item: Mapping[str, Any]) -> str:
    """Returns the message about one invalid value. pydantic says "items" for the characters of a secret."""
    message: str = item["msg"]
    if item["type"] in {"too_short", "too_long"} and isinstance(item.get("input"), str):
        return re.sub(r"item(s?) after validation", r"character\1", message)
    return message


async def _on_http_exception(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code = _CODES_BY_STATUS.get(error.status_code, f"http_{error.status_code}")
    return problem(
        request, status=error.status_code, code=code, detail=str(error.detail), headers=error.headers
    )


async def on_unexpected(request: Request, error: Exception) -> JSONResponse:
    """Returns the reply to an unexpected error, with status 500. The reply says nothing about the error and
    contains only the request id. The server's log has the error under this id.
    """
    logger.error("unexpected error", exc_info=error, extra={"request_id": request_id(request)})
    return problem(
        request,
        status=500,
        code="internal_error",
        detail="Slipway had an internal error. The server's log has the cause under this request id.",
    )
