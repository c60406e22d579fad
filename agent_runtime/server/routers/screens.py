"""Where the editor and the desktop beside this server are, if the image has them."""

import asyncio
import shutil
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel

from agent_runtime.server.config import Config
from agent_runtime.server.errors import ServerProblem

router = APIRouter(prefix="/api", tags=["screens"])

EDITORS = ("openvscode-server", "code-server")
DESKTOPS = ("Xvnc", "x11vnc", "vncserver")
_PROBE_SECONDS = 0.5


class ScreenUrl(BaseModel):
    url: str | None


class ScreenStatus(BaseModel):
    running: bool
    enabled: bool


async def _config(request: Request) -> Config:
    config: Config = request.app.state.config
    return config


Settings = Annotated[Config, Depends(_config)]
_ABSENT: dict[int | str, dict[str, Any]] = {503: {"description": "The image has none, or it is switched off"}}


@router.get("/vscode/url", responses=_ABSENT)
async def vscode_url(
    config: Settings, base_url: str | None = None, workspace_dir: str | None = None
) -> ScreenUrl:
    """Of the editor, opened at a directory. `base_url`: where the caller reaches its port."""
    if not config.enable_vscode:
        raise _disabled("vscode_disabled", "The editor is switched off.", "Set OH_ENABLE_VSCODE=true.")
    _require("vscode_unavailable", "editor", EDITORS)
    base = _base(base_url, config.vscode_port)
    path = (config.vscode_base_path or "").strip("/")
    folder = workspace_dir or str(config.workspace_path)
    return ScreenUrl(url=f"{base}/{path + '/' if path else ''}?folder={quote(folder)}")


@router.get("/vscode/status")
async def vscode_status(config: Settings) -> ScreenStatus:
    return ScreenStatus(running=await _answers(config.vscode_port), enabled=config.enable_vscode)


@router.get("/desktop/url", responses=_ABSENT)
async def desktop_url(config: Settings, base_url: str | None = None) -> ScreenUrl:
    _require("desktop_unavailable", "desktop", DESKTOPS)
    return ScreenUrl(url=f"{_base(base_url, config.desktop_port)}/vnc.html?autoconnect=1&resize=remote")


@router.get("/desktop/status")
async def desktop_status(config: Settings) -> ScreenStatus:
    return ScreenStatus(running=await _answers(config.desktop_port), enabled=_has_any(DESKTOPS))


def _require(code: str, what: str, programs: tuple[str, ...]) -> None:
    if not _has_any(programs):
        raise _disabled(
            code,
            f"This image has no {what}: none of {', '.join(programs)} is installed.",
            f"Use a sandbox image that carries the {what}.",
        )


def _has_any(programs: tuple[str, ...]) -> bool:
    return any(shutil.which(program) for program in programs)


def _disabled(code: str, detail: str, fix: str) -> ServerProblem:
    return ServerProblem(503, code, detail, fix)


def _base(base_url: str | None, port: int) -> str:
    if base_url is None:
        return f"http://localhost:{port}"
    if urlsplit(base_url).scheme not in {"http", "https"}:
        raise ServerProblem(422, "validation_failed", "base_url: this is no http(s) URL.")
    return base_url.rstrip("/")


async def _answers(port: int) -> bool:
    try:
        async with asyncio.timeout(_PROBE_SECONDS):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
