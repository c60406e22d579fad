"""Refuses git requests in git's own protocol, so that git shows the reason to its user.

If the server replied with an HTTP error, git would show only the status number. For the status 401, git would
also ask for a password, but in a sandbox no user can enter one.
"""

from typing import Literal, get_args

from fastapi import Response
from fastapi.responses import JSONResponse, PlainTextResponse

from app_server.git_proxy.pkt_line import FLUSH, encode

Service = Literal["git-upload-pack", "git-receive-pack"]
SERVICES: dict[str | None, Service] = {name: name for name in get_args(Service)}


class Refusal(Exception):
    """The error that is raised if Slipway refuses a git request. Its message says why, and what the agent and
    its user can do.
    """


def to_advertisement(service: Service, refusal: Refusal) -> Response:
    """Returns the response with which Slipway refuses to send the list of refs (branches and tags). Git
    requests this list at the beginning of every fetch and push, and then shows the reason in the response.
    `service`: the service that git has requested. `refusal`: contains the reason.
    """
    body = encode(f"# service={service}\n".encode()) + FLUSH + _error(refusal)
    return Response(body, media_type=f"application/x-{service}-advertisement")


def to_fetch(refusal: Refusal) -> Response:
    return Response(_error(refusal), media_type="application/x-git-upload-pack-result")


def to_push(report: bytes) -> Response:
    """Returns the HTTP response to a git push that Slipway refuses. `report`: the bytes of the status report
    that `push_report.py` has written.
    """
    return Response(report, media_type="application/x-git-receive-pack-result")


def to_nobody() -> Response:
    """Returns an empty HTTP response. It is used if the git client has disconnected and cannot receive a
    response.
    """
    return Response(status_code=400)


def dumb_protocol() -> Response:
    return PlainTextResponse("This address supports only git's smart HTTP protocol.\n", 403)


def to_large_files(refusal: Refusal) -> Response:
    """Returns a response that refuses a request of git-lfs. The response is JSON, whose message git-lfs
    shows.
    """
    return JSONResponse({"message": str(refusal)}, 403, media_type="application/vnd.git-lfs+json")


def no_locks() -> Response:
    """Returns a response with HTTP status 501 that refuses file locks. When git-lfs receives this status, it
    continues without locks.
    """
    message = "Slipway does not support locks of large files (Git LFS)."
    return JSONResponse({"message": message}, 501, media_type="application/vnd.git-lfs+json")


def _error(refusal: Refusal) -> bytes:
    return encode(f"ERR {refusal}\n".encode())
