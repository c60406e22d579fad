"""Serves the files of a conversation's working directory as a web site, so that users see the pages that the
agent has built.

A model wrote these pages, so they are not trusted. HTTP headers make the user's browser run the pages in a
browser sandbox with a separate origin.
"""

import hashlib
import hmac
from pathlib import Path
from typing import Annotated

from fastapi import Cookie, Depends, Header, Request, Response
from fastapi.responses import FileResponse
from pydantic import BaseModel

from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.keys.auth import require_key
from agent_runtime.server.keys.session_keys import SessionKeys
from agent_runtime.server.roots import os_errors_as_problems
from agent_runtime.server.routers.dependencies import KnownId, LoadedConversation
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import API_KEY_HEADER
from agent_runtime.workspace.local import PathNotAllowedError, confine

router = Router(prefix="/api", tags=["workspace"])

COOKIE = "oh_workspace_session_key"
_HEADERS = {
    "Content-Security-Policy": "sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-cache",
}


class RuntimeInfo(BaseModel):
    runtime_status: str = "available"
    can_resume: bool = True
    runtime_error: None = None


async def _require_key_or_cookie(
    request: Request,
    key: Annotated[str | None, Header(alias=API_KEY_HEADER)] = None,
    cookie: Annotated[str | None, Cookie(alias=COOKIE)] = None,
) -> None:
    keys: SessionKeys = request.app.state.session_keys
    matches = [
        hmac.compare_digest((cookie or "").encode(), _cookie_for(one).encode()) for one in keys.accepted
    ]
    if not any(matches):
        await require_key(request, key)


@router.post("/auth/workspace-session", status_code=204, dependencies=[Depends(require_key)])
async def begin_session(
    request: Request, response: Response, key: Annotated[str | None, Header(alias=API_KEY_HEADER)] = None
) -> None:
    """Sets a cookie that lets the user's browser open the files of conversations' working directories. The
    cookie gives no other access.

    `key`: the session key of the client, from the request's header. The cookie's value is a digest of this
    key. The cookie is needed because a browser that opens a web page cannot send this header.
    """
    _set_cookie(request, response, _cookie_for(key or ""))


@router.delete("/auth/workspace-session", status_code=204, dependencies=[Depends(require_key)])
async def end_session(request: Request, response: Response) -> None:
    _set_cookie(request, response, "", max_age=0)


@router.get("/conversations/{conversation_id}/runtime", dependencies=[Depends(require_key)])
async def runtime(_: KnownId) -> RuntimeInfo:
    """Replies that the conversation's runtime (the process that runs the agent) is available. This is always
    the case, because conversations run in this process.
    """
    return RuntimeInfo()


@router.post("/conversations/{conversation_id}/runtime/reprovision", dependencies=[Depends(require_key)])
async def reprovision(_: KnownId) -> RuntimeInfo:
    """Replies that the conversation's runtime (the process that runs the agent) is available. Does nothing
    else.

    With this request, clients ask the server to set up the runtime again. Here this is never necessary,
    because conversations run in the process of this server.
    """
    return RuntimeInfo()


_SITE = Router(dependencies=[Depends(_require_key_or_cookie)])


@_SITE.head("/conversations/{conversation_id}/workspace", include_in_schema=False)
@_SITE.get("/conversations/{conversation_id}/workspace")
async def index(conversation: LoadedConversation) -> FileResponse:
    return _file(conversation.spec.working_dir, "")


@_SITE.head("/conversations/{conversation_id}/workspace/{file_path:path}", include_in_schema=False)
@_SITE.get("/conversations/{conversation_id}/workspace/{file_path:path}")
async def file(conversation: LoadedConversation, file_path: str) -> FileResponse:
    """Returns a file of the conversation's working directory. For a directory, returns its `index.html`."""
    return _file(conversation.spec.working_dir, file_path)


router.include_router(_SITE)


def _file(root: Path, relative: str) -> FileResponse:
    path = _inside(root, relative)
    if path.is_dir():
        path = _inside(root, str(Path(relative) / "index.html"))
    with os_errors_as_problems():
        if not path.is_file():
            raise ServerProblem(404, "not_found", "There is no such file in this workspace.")
        path.open("rb").close()
    return FileResponse(path, headers=_HEADERS)


def _inside(root: Path, relative: str) -> Path:
    try:
        return confine(str(root / relative.lstrip("/")), [root])
    except PathNotAllowedError as error:
        raise ServerProblem(404, "not_found", "There is no such file in this workspace.") from error


def _cookie_for(key: str) -> str:
    """Returns the value of the cookie that the server sets in the browser of a client with the session key
    `key`. The value is a digest of the key. It proves that the client knows the key, but it does not reveal
    the key.
    """
    return hmac.new(key.encode(), b"workspace session", hashlib.sha256).hexdigest()


def _set_cookie(request: Request, response: Response, value: str, *, max_age: int | None = None) -> None:
    response.set_cookie(
        COOKIE,
        value,
        max_age=max_age,
        path=f"{request.scope.get('root_path', '')}/api/conversations",
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
