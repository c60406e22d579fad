"""Routes that start VS Code and the desktop, and return their URLs and status."""

from typing import Annotated, Any
from urllib.parse import quote, urlsplit

from fastapi import Depends, Request
from pydantic import BaseModel

from agent_runtime.server.config import Config
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.routers.router import Router
from agent_runtime.server.routers.workspace.runtime_plugins import AllRuntimePlugins

router = Router(prefix="/api", tags=["screens"])


class ScreenUrl(BaseModel):
    url: str | None


class ScreenStatus(BaseModel):
    running: bool
    enabled: bool


async def _config(request: Request) -> Config:
    config: Config = request.app.state.config
    return config


Settings = Annotated[Config, Depends(_config)]
_ABSENT: dict[int | str, dict[str, Any]] = {
    503: {"description": "The image has none, it is switched off, or it does not start"}
}


@router.get("/vscode/url", responses=_ABSENT)
async def vscode_url(
    config: Settings,
    plugins: AllRuntimePlugins,
    base_url: str | None = None,
    workspace_dir: str | None = None,
) -> ScreenUrl:
    """Starts VS Code if it does not run yet, and returns the URL at which VS Code shows the directory
    `workspace_dir`. Without `workspace_dir`, it shows the server's workspace.

    `base_url`: the URL at which the caller reaches the port of VS Code through this server, as in
    `…/api/ports/PORT/relay`. The server does not know this URL, because it depends on the address at which
    the caller reaches the server. Without `base_url`, the returned URL is null.
    """
    base = _base(base_url)
    await plugins.start("vscode")
    path = (config.vscode_base_path or "").strip("/")
    folder = quote(workspace_dir or str(config.workspace_path))
    return ScreenUrl(url=base and f"{base}/{path + '/' if path else ''}?folder={folder}")


@router.get("/vscode/status")
async def vscode_status(plugins: AllRuntimePlugins) -> ScreenStatus:
    return ScreenStatus(running=await plugins.vscode.is_healthy(), enabled=plugins.vscode.absence() is None)


@router.get("/desktop/url", responses=_ABSENT)
async def desktop_url(plugins: AllRuntimePlugins, base_url: str | None = None) -> ScreenUrl:
    """Starts the desktop if it does not run yet, and returns the URL of its web page. `base_url`: the URL at
    which the caller reaches the desktop's port. Without `base_url`, the returned URL is null.
    """
    base = _base(base_url)
    await plugins.start("desktop")
    return ScreenUrl(url=base and f"{base}/vnc.html")


@router.get("/desktop/status")
async def desktop_status(plugins: AllRuntimePlugins) -> ScreenStatus:
    return ScreenStatus(running=await plugins.desktop.is_healthy(), enabled=plugins.desktop.absence() is None)


def _base(base_url: str | None) -> str | None:
    if base_url is not None and urlsplit(base_url).scheme not in {"http", "https"}:
        raise ServerProblem(422, "validation_failed", "base_url: this is not an http(s) URL.")
    return base_url and base_url.rstrip("/")
