"""How git is told that something is not to be: in its own protocol, so that it shows the sentence.

An HTTP error it would report by its number; and 401 makes it ask for a password, which no user can give.
"""

from typing import Literal, get_args

from fastapi import Response
from fastapi.responses import JSONResponse, PlainTextResponse

from app_server.git_proxy.pkt_line import FLUSH, encode

Service = Literal["git-upload-pack", "git-receive-pack"]
SERVICES: dict[str | None, Service] = {name: name for name in get_args(Service)}


class Refusal(Exception):
    """The sentence for the agent and its user, with what helps in it."""


def to_advertisement(service: Service, refusal: Refusal) -> Response:
    """In place of the refs, with which every fetch and every push begins."""
    body = encode(f"# service={service}\n".encode()) + FLUSH + _error(refusal)
    return Response(body, media_type=f"application/x-{service}-advertisement")


def to_fetch(refusal: Refusal) -> Response:
    return Response(_error(refusal), media_type="application/x-git-upload-pack-result")


def to_push(report: bytes) -> Response:
    """report: see report.py."""
    return Response(report, media_type="application/x-git-receive-pack-result")


def to_nobody() -> Response:
    """The client has gone away."""
    return Response(status_code=400)


def dumb_protocol() -> Response:
    return PlainTextResponse("Only git's smart HTTP protocol is spoken here.\n", 403)


def no_large_files() -> Response:
    """To git-lfs, which shows the message of an error that is put in its own way."""
    message = (
        "Slipway does not pass on large files (Git LFS). What is not in LFS can be fetched and pushed; "
        "GIT_LFS_SKIP_SMUDGE=1 leaves the pointers in place of the files."
    )
    return JSONResponse({"message": message}, 501, media_type="application/vnd.git-lfs+json")


def _error(refusal: Refusal) -> bytes:
    return encode(f"ERR {refusal}\n".encode())
