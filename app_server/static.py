"""Serves the built front end, with index.html for every page the browser routes by itself."""

from pathlib import Path

from fastapi import FastAPI, Response
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

DIST = Path(__file__).parent.parent / "frontend" / "dist"

_API = ("/api/", "/mcp/")
_ASSETS = "/assets/"

_NOT_BUILT = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Slipway</title></head>
<body style="font: 16px/1.5 system-ui, sans-serif; max-width: 36rem; margin: 15vh auto; padding: 0 1rem">
<h1>The server runs; its pages are not built yet</h1>
<p>Run <code>make frontend</code> in the directory of the project, then reload this page.</p>
<p>The API answers already: see <a href="/openapi.json">/openapi.json</a>.</p>
</body>
</html>
"""


def install_frontend(app: FastAPI, dist: Path = DIST) -> None:
    """Serves the front end wherever `app` has no route of its own."""
    # Not a mount: one at "/" would also answer wrong methods on known routes (405) with a 404.
    app.router.default = Frontend(directory=dist, check_dir=False)


class Frontend(StaticFiles):
    """Files of `dist`; index.html for what can be a page; a 404 for unknown API paths and assets."""

    async def check_config(self) -> None:
        """A directory that is missing is explained by a page, not by a crash."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        if scope["path"].startswith(_API):
            raise HTTPException(404)
        index = Path(str(self.directory)) / "index.html"
        if not index.is_file():
            return HTMLResponse(_NOT_BUILT, status_code=503)
        try:
            return await super().get_response(path, scope)
        except HTTPException as error:
            if error.status_code != 404 or scope["path"].startswith(_ASSETS):
                raise
            return self.file_response(index, index.stat(), scope)
