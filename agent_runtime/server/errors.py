"""Failures of the agent server that a client is told about, rendered as RFC 9457 problems."""

import logging
import uuid
from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import JsonValue
from starlette.exceptions import HTTPException

logger = logging.getLogger(__name__)

PROBLEM_MEDIA_TYPE = "application/problem+json"

_CODES = {401: "not_authenticated", 404: "not_found", 405: "method_not_allowed", 413: "payload_too_large"}


class ServerProblem(Exception):
    """A refusal with a stable `code`, a `detail` for people and, where one is known, the `fix`."""

    def __init__(self, status: int, code: str, detail: str, fix: str | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.fix = fix


def install_error_handlers(app: FastAPI) -> None:
    """Every failure of `app` becomes a problem document with a `detail`; nothing else renders errors."""
    app.add_exception_handler(ServerProblem, _on_problem)
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
    """The reply for `problem`; `members` are further members of the document."""
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
        {**body, **(members or {})},
        status_code=problem.status,
        headers=dict(headers or {}),
        media_type=PROBLEM_MEDIA_TYPE,
    )


def request_id(request: Request) -> str:
    """The id of this request, the same wherever it is asked for."""
    return str(request.scope.setdefault("slipway.request_id", uuid.uuid4().hex))


async def _on_problem(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ServerProblem)
    logger.info("request refused", extra={"code": error.code, "request_id": request_id(request)})
    return problem_response(request, error)


async def _on_invalid_request(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    # Rejected values stay out of the reply: they may be secrets.
    errors: list[JsonValue] = [
        {"loc": list(item["loc"]), "msg": item["msg"], "type": item["type"]} for item in error.errors()
    ]
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
        f"Something went wrong in the agent server; its log has the cause ({error_id}).",
    )
    return problem_response(request, problem, members={"error_id": error_id})
